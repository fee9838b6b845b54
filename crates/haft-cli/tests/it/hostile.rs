//! Agent files that mean harm, or are none.

use std::path::Path;
use std::process::Command;

use insta::assert_snapshot;

use super::{agent, ran};

fn pipe(path: &Path) {
    assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
}

/// None of these ends if it is waited for.
#[test]
fn what_is_no_file_is_refused_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let check = |agent: &str| ran(folder.path(), &["check", agent]);
    std::fs::create_dir_all(folder.path().join("a/agent.toml")).unwrap();
    assert_snapshot!(check("a"), @r"
    exit 1
    --- err
    error: `a/agent.toml` is a folder
    hint: name a file with text in it
    ");
    std::fs::remove_dir(folder.path().join("a/agent.toml")).unwrap();
    pipe(&folder.path().join("a/agent.toml"));
    assert_snapshot!(check("a"), @r"
    exit 1
    --- err
    error: `a/agent.toml` is no regular file
    hint: name a file with text in it
    ");
    assert_snapshot!(check("/dev/zero"), @r"
    exit 1
    --- err
    error: `/dev/zero` is no regular file
    hint: name a file with text in it
    ");
    std::fs::remove_file(folder.path().join("a/agent.toml")).unwrap();
    pipe(&folder.path().join("a/pipe"));
    agent(folder.path(), "system_file = 'pipe'");
    assert_snapshot!(check("a"), @r"
    exit 1
    --- err
    error: `a/pipe` is no regular file
    hint: name a file with text in it
    ");
    agent(folder.path(), "system = 'x'\nscript = 'pipe'");
    assert_snapshot!(check("a"), @r"
    exit 1
    --- err
    error: `a/pipe` is no regular file
    hint: name a file with text in it
    ");
    agent(folder.path(), "system_file = '.'");
    assert_snapshot!(check("a"), @r"
    exit 1
    --- err
    error: `a/.` is a folder
    hint: name a file with text in it
    ");
}

/// 100 MB, of which nothing is read.
#[test]
fn a_huge_file_is_refused_by_its_size() {
    let folder = tempfile::tempdir().unwrap();
    agent(folder.path(), "");
    let file = std::fs::File::options().write(true).open(folder.path().join("a/agent.toml"));
    file.unwrap().set_len(100_000_000).unwrap();
    assert_snapshot!(ran(folder.path(), &["check", "a"]), @r"
    exit 1
    --- err
    error: `a/agent.toml` has 100000000 bytes
    hint: at most 1048576 are read: is this the right file?
    ");
    assert!(ran(folder.path(), &["run", "a", "Hi"]).contains("has 100000000 bytes"));
}

#[test]
fn no_path_leads_out_of_the_folder() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("secret"), "the secret").unwrap();
    let check = |text: &str| {
        agent(folder.path(), text);
        let said = ran(folder.path(), &["check", "a"]);
        assert!(!said.contains("the secret"), "{said}");
        said
    };
    assert_snapshot!(check("system_file = '../secret'"), @r"
    exit 1
    --- err
    error: a/agent.toml:1: `system_file`: `../secret` leads out of the agent's folder
    hint: put the file into the folder, and name it from there
    ");
    assert_snapshot!(check("system_file = '/etc/hostname'"), @r"
    exit 1
    --- err
    error: a/agent.toml:1: `system_file`: `/etc/hostname` leads out of the agent's folder
    hint: put the file into the folder, and name it from there
    ");
    assert_snapshot!(check("name = 'x'\nsystem_file = 'nowhere.md'"), @r"
    exit 1
    --- err
    error: a/agent.toml:2: `system_file`: `nowhere.md` cannot be read: No such file or directory (os error 2)
    hint: paths start from the folder of the agent file
    ");
    assert_snapshot!(check("system = 'x'\n\nscript = 'x/../../secret'"), @r"
    exit 1
    --- err
    error: a/agent.toml:3: `script`: `x/../../secret` leads out of the agent's folder
    hint: put the file into the folder, and name it from there
    ");
    std::fs::create_dir_all(folder.path().join("a")).unwrap();
    std::os::unix::fs::symlink("../secret", folder.path().join("a/link")).unwrap();
    assert_snapshot!(check("system_file = 'link'"), @r"
    exit 1
    --- err
    error: a/agent.toml:1: `system_file`: `link` leads out of the agent's folder
    hint: put the file into the folder, and name it from there
    ");
    assert_snapshot!(check("system_file = \"a\\u0000b\""), @r"
    exit 1
    --- err
    error: a/agent.toml:1: `system_file`: `a�b` cannot be read: file name contained an unexpected NUL byte
    hint: paths start from the folder of the agent file
    ");
}

#[test]
fn text_that_is_no_agent_is_explained() {
    let folder = tempfile::tempdir().unwrap();
    let check = |text: &[u8]| {
        agent(folder.path(), text);
        ran(folder.path(), &["check", "a"])
    };
    assert_snapshot!(check(b"system = 'x'\nname = 'a\0b'"), @r"
    exit 1
    --- err
    error: a/agent.toml:2: invalid literal string, expected non-single-quote visible characters
    ");
    assert_snapshot!(check(b"system = 'x'\nname = '\xff'"), @r"
    exit 1
    --- err
    error: a/agent.toml:2: this is not text in UTF-8
    hint: is this the right file?
    ");
    assert_snapshot!(check(b"system = 'x'\nname = "), @r"
    exit 1
    --- err
    error: a/agent.toml:2: string values must be quoted, expected literal string
    ");
    assert_snapshot!(check(b"system = 7"), @r"
    exit 1
    --- err
    error: a/agent.toml:1: `system`: invalid type: integer `7`, expected a string
    ");
    assert_snapshot!(check(b"system = 'x'\ninstructions = 'one'"), @r#"
    exit 1
    --- err
    error: a/agent.toml:2: `instructions`: invalid type: string "one", expected a list
    "#);
    assert_snapshot!(check(b"system = 'x'\n[limits]\niterations = 'many'"), @r#"
    exit 1
    --- err
    error: a/agent.toml:3: `limits.iterations`: invalid type: string "many", expected a whole number
    "#);
    assert_snapshot!(check(b"system = 'x'\ntools = []"), @r"
    exit 1
    --- err
    error: a/agent.toml:2: `tools`: this is a list, and a table is expected
    ");
    assert_snapshot!(check(b"system = 'x'\nsystem = 'y'"), @r"
    exit 1
    --- err
    error: a/agent.toml:2: duplicate key
    ");
    let command = |rest: &str| {
        format!("system = 'x'\n[tools.command.t]\ndescription = 'T.'\n{rest}").into_bytes()
    };
    assert_snapshot!(check(&command("argv = []")), @r#"
    exit 1
    --- err
    error: a/agent.toml:4: `tools.command.t.argv`: `argv` begins with the program, which is fixed
    hint: such as argv = ["ls", "-1", "{folder}"]
    "#);
    assert_snapshot!(check(&command("argv = ['']")), @r#"
    exit 1
    --- err
    error: a/agent.toml:4: `tools.command.t.argv`: `argv` begins with the program, which is fixed
    hint: such as argv = ["ls", "-1", "{folder}"]
    "#);
    assert_snapshot!(check(&command("argv = [\"a\\u0000b\"]")), @r"
    exit 1
    --- err
    error: a/agent.toml:4: `tools.command.t.argv`: a word cannot have a NUL character in it
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
    error: a/agent.toml:5: `tools.command.t.args.n`: the pattern `(` cannot be used: it is not an ECMAScript pattern
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
    error: a/agent.toml:5: `tools.command.t.approval`: whoever allows a call needs a question to answer
    ");
    assert_snapshot!(
        check(b"system = 'x'\n[tools.command.'not a name']\ndescription = 'T.'\nargv = ['ls']"),
        @r"
    exit 1
    --- err
    error: a/agent.toml:2: `tools.command.not a name`: a tool's name has no white space and no control characters, this one has ' '
    "
    );
}

/// Deep or long: an answer, and no overflow of the stack.
#[test]
fn deep_nesting_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    for text in [
        format!("system = 'x'\noptions.a = {}{}", "[".repeat(100_000), "]".repeat(100_000)),
        format!("system = 'x'\noptions.a = {}{}", "{a = ".repeat(50_000), "}".repeat(50_000)),
        format!("system = 'x'\noptions.{}a = 1", "a.".repeat(100_000)),
        format!("system = 'x'\n[{}a]", "a.".repeat(100_000)),
    ] {
        agent(folder.path(), &text);
        let said = ran(folder.path(), &["check", "a"]);
        assert!(said.starts_with("exit 1") && said.contains("error: a/agent.toml"), "{said:.300}");
        assert!(said.len() < 2000, "{} bytes are said", said.len());
    }
}
