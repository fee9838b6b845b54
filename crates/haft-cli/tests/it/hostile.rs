//! Hostile and invalid agent files.

use std::path::Path;
use std::process::Command;

use insta::assert_snapshot;

use super::support::{haft, run_haft, transcript, write_agent};

fn make_pipe(path: &Path) {
    assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
}

/// Reading any of these files would block or never end.
#[test]
fn what_is_no_file_is_refused_at_once() {
    let dir = tempfile::tempdir().unwrap();
    let check = |agent: &str| run_haft(dir.path(), &["check", agent]);
    std::fs::create_dir_all(dir.path().join("a/agent.toml")).unwrap();
    assert_snapshot!(check("a"), @r"
    exit 1
    --- err
    error: `a/agent.toml` is a directory
    hint: use the path of a text file
    ");
    std::fs::remove_dir(dir.path().join("a/agent.toml")).unwrap();
    make_pipe(&dir.path().join("a/agent.toml"));
    assert_snapshot!(check("a"), @r"
    exit 1
    --- err
    error: `a/agent.toml` is not a regular file
    hint: use the path of a text file
    ");
    assert_snapshot!(check("/dev/zero"), @r"
    exit 1
    --- err
    error: `/dev/zero` is not a regular file
    hint: use the path of a text file
    ");
    std::fs::remove_file(dir.path().join("a/agent.toml")).unwrap();
    make_pipe(&dir.path().join("a/pipe"));
    write_agent(dir.path(), "system_file = 'pipe'");
    assert_snapshot!(check("a"), @r"
    exit 1
    --- err
    error: `a/pipe` is not a regular file
    hint: use the path of a text file
    ");
    write_agent(dir.path(), "system = 'x'\nscript = 'pipe'");
    assert_snapshot!(check("a"), @r"
    exit 1
    --- err
    error: `a/pipe` is not a regular file
    hint: use the path of a text file
    ");
    write_agent(dir.path(), "system_file = '.'");
    assert_snapshot!(check("a"), @r"
    exit 1
    --- err
    error: `a/.` is a directory
    hint: use the path of a text file
    ");
}

/// The file has 100 MB, and nothing of it is read.
#[test]
fn a_huge_file_is_refused_by_its_size() {
    let dir = tempfile::tempdir().unwrap();
    write_agent(dir.path(), "");
    let file = std::fs::File::options().write(true).open(dir.path().join("a/agent.toml"));
    file.unwrap().set_len(100_000_000).unwrap();
    assert_snapshot!(run_haft(dir.path(), &["check", "a"]), @r"
    exit 1
    --- err
    error: `a/agent.toml` has 100000000 bytes
    hint: the maximum is 1048576 bytes; is this the right file?
    ");
    assert!(run_haft(dir.path(), &["run", "a", "Hi"]).contains("has 100000000 bytes"));
}

#[test]
fn no_path_leads_out_of_the_directory() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("secret"), "the secret").unwrap();
    let check = |text: &str| {
        write_agent(dir.path(), text);
        let said = run_haft(dir.path(), &["check", "a"]);
        assert!(!said.contains("the secret"), "{said}");
        said
    };
    assert_snapshot!(check("system_file = '../secret'"), @r"
    exit 1
    --- err
    error: a/agent.toml:1: `system_file`: `../secret` is outside the agent's directory
    hint: move the file into the directory and use a relative path
    ");
    assert_snapshot!(check("system_file = '/etc/hostname'"), @r"
    exit 1
    --- err
    error: a/agent.toml:1: `system_file`: `/etc/hostname` is outside the agent's directory
    hint: move the file into the directory and use a relative path
    ");
    assert_snapshot!(check("name = 'x'\nsystem_file = 'nowhere.md'"), @r"
    exit 1
    --- err
    error: a/agent.toml:2: `system_file`: cannot read `nowhere.md`: No such file or directory (os error 2)
    hint: paths are relative to the directory of the agent file
    ");
    assert_snapshot!(check("system = 'x'\n\nscript = 'x/../../secret'"), @r"
    exit 1
    --- err
    error: a/agent.toml:3: `script`: `x/../../secret` is outside the agent's directory
    hint: move the file into the directory and use a relative path
    ");
    std::fs::create_dir_all(dir.path().join("a")).unwrap();
    std::os::unix::fs::symlink("../secret", dir.path().join("a/link")).unwrap();
    assert_snapshot!(check("system_file = 'link'"), @r"
    exit 1
    --- err
    error: a/agent.toml:1: `system_file`: `link` is outside the agent's directory
    hint: move the file into the directory and use a relative path
    ");
    assert_snapshot!(check("system_file = \"a\\u0000b\""), @r"
    exit 1
    --- err
    error: a/agent.toml:1: `system_file`: cannot read `a�b`: file name contained an unexpected NUL byte
    hint: paths are relative to the directory of the agent file
    ");
}

#[test]
fn text_that_is_no_agent_is_explained() {
    let dir = tempfile::tempdir().unwrap();
    let check = |text: &[u8]| {
        write_agent(dir.path(), text);
        run_haft(dir.path(), &["check", "a"])
    };
    assert_snapshot!(check(b"system = 'x'\nname = 'a\0b'"), @r#"
    exit 1
    --- err
    error: a/agent.toml:2: invalid literal string, expected non-single-quote visible characters
    hint: a text stands in quotes on one line, "text"; three quotes on each side allow several lines
    "#);
    assert_snapshot!(check(b"system = 'x'\nname = '\xff'"), @r"
    exit 1
    --- err
    error: a/agent.toml:2: the text is not valid UTF-8
    hint: is this the right file?
    ");
    assert_snapshot!(check(b"system = 'x'\nname = "), @r"
    exit 1
    --- err
    error: a/agent.toml:2: string values must be quoted, expected literal string
    ");
    assert_snapshot!(check(b"system = 7"), @r#"
    exit 1
    --- err
    error: a/agent.toml:1: `system`: invalid type: integer `7`, expected a string
    hint: write text in quotes: "text"
    "#);
    assert_snapshot!(check(b"system = 'x'\ninstructions = 'one'"), @r#"
    exit 1
    --- err
    error: a/agent.toml:2: `instructions`: invalid type: string "one", expected a list
    hint: write a list: ["one", "two"]
    "#);
    assert_snapshot!(check(b"system = 'x'\n[limits]\niterations = 'many'"), @r#"
    exit 1
    --- err
    error: a/agent.toml:3: `limits.iterations`: invalid type: string "many", expected an integer
    hint: write a number without quotes: 12
    "#);
    assert_snapshot!(check(b"system = 'x'\ntools = []"), @r"
    exit 1
    --- err
    error: a/agent.toml:2: `tools`: expected a table, found a list
    ");
    assert_snapshot!(check(b"system = 'x'\nsystem = 'y'"), @r"
    exit 1
    --- err
    error: a/agent.toml:2: duplicate key
    hint: keep one of them
    ");
    let command = |rest: &str| {
        format!("system = 'x'\n[tools.command.t]\ndescription = 'T.'\n{rest}").into_bytes()
    };
    assert_snapshot!(check(&command("argv = []")), @r#"
    exit 1
    --- err
    error: a/agent.toml:4: `tools.command.t.argv`: `argv` must start with a fixed program name
    hint: for example: argv = ["ls", "-1", "{folder}"]
    "#);
    assert_snapshot!(check(&command("argv = ['']")), @r#"
    exit 1
    --- err
    error: a/agent.toml:4: `tools.command.t.argv`: `argv` must start with a fixed program name
    hint: for example: argv = ["ls", "-1", "{folder}"]
    "#);
    assert_snapshot!(check(&command("argv = [\"a\\u0000b\"]")), @r"
    exit 1
    --- err
    error: a/agent.toml:4: `tools.command.t.argv`: an argument must not contain a NUL character
    ");
    assert_snapshot!(check(&command("argv = ['ls']\nargs.n.type = 'strng'")), @r"
    exit 1
    --- err
    error: a/agent.toml:5: `tools.command.t.args.n.type`: unknown variant `strng`
    hint: did you mean `string`?
    ");
    assert_snapshot!(check(&command("argv = ['ls']\nargs.n.pattern = '('")), @r"
    exit 1
    --- err
    error: a/agent.toml:5: `tools.command.t.args.n`: the pattern `(` cannot be used: unclosed group, at character 1
    ");
    assert_snapshot!(check(&command("argv = ['ls']\neffect = 'none'")), @r"
    exit 1
    --- err
    error: a/agent.toml:5: `tools.command.t.effect`: unknown variant `none`
    hint: did you mean `once`?
    ");
    assert_snapshot!(check(&command("argv = ['ls']\napproval = ' '")), @r"
    exit 1
    --- err
    error: a/agent.toml:5: `tools.command.t.approval`: the person who approves a call needs a question to decide on
    ");
    assert_snapshot!(
        check(b"system = 'x'\n[tools.command.'not a name']\ndescription = 'T.'\nargv = ['ls']"),
        @r"
    exit 1
    --- err
    error: a/agent.toml:2: `tools.command.not a name`: the name of a tool has to be 1 to 128 bytes without white space and control characters
    "
    );
}

/// Deep nesting is an error with a short message, and does not overflow the stack.
#[test]
fn deep_nesting_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    for text in [
        format!("system = 'x'\noptions.a = {}{}", "[".repeat(100_000), "]".repeat(100_000)),
        format!("system = 'x'\noptions.a = {}{}", "{a = ".repeat(50_000), "}".repeat(50_000)),
        format!("system = 'x'\noptions.{}a = 1", "a.".repeat(100_000)),
        format!("system = 'x'\n[{}a]", "a.".repeat(100_000)),
    ] {
        write_agent(dir.path(), &text);
        let said = run_haft(dir.path(), &["check", "a"]);
        assert!(said.starts_with("exit 1") && said.contains("error: a/agent.toml"), "{said:.300}");
        assert!(said.len() < 2000, "{} bytes are said", said.len());
    }
}

/// A pipe in their place would block, and a device would fill the memory.
#[test]
fn other_files_that_are_read_are_refused_as_well() {
    let dir = tempfile::tempdir().unwrap();
    write_agent(dir.path(), "system = 'x'\nprompt = 'Hi'");
    let tests = dir.path().join("a/tests");
    std::fs::create_dir_all(&tests).unwrap();
    for name in ["a.yaml", "b.json", "c.toml"] {
        make_pipe(&tests.join(name));
        let said = run_haft(dir.path(), &["test", "a"]);
        assert!(said.contains(&format!("`a/tests/{name}` is not a regular file")), "{said}");
        std::fs::remove_file(tests.join(name)).unwrap();
    }
}

/// `/dev/null` stands for no configuration, so that other files than regular ones are read.
#[test]
fn a_configuration_without_an_end_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let read = |file: &str| {
        transcript(&haft(dir.path()).arg("config").env("HAFT_CONFIG", file).output().unwrap())
    };
    assert_snapshot!(read("/dev/zero"), @r"
    exit 1
    --- err
    /dev/zero
    error: cannot read `/dev/zero`
      caused by: it has more than 1048576 bytes
    ");
    assert_snapshot!(read("/dev/null"), @r"
    exit 0
    --- err
    /dev/null
    ");
}

/// The current directory may be that of another user.
#[test]
fn the_current_directory_is_not_the_home_directory() {
    let dir = tempfile::tempdir().unwrap();
    let config = dir.path().join(".config/haft");
    std::fs::create_dir_all(&config).unwrap();
    std::fs::write(config.join("config.toml"), "model = 'openai:planted'").unwrap();
    let home = |home: &str| {
        let mut command = haft(dir.path());
        command.args(["config"]).env("HOME", home);
        for variable in ["HAFT_CONFIG", "XDG_CONFIG_HOME"] {
            command.env_remove(variable);
        }
        transcript(&command.output().unwrap())
    };
    for relative in ["", "."] {
        assert!(!home(relative).contains("planted"), "{relative:?}: {}", home(relative));
    }
    assert!(home(dir.path().to_str().unwrap()).contains("planted"));
}
