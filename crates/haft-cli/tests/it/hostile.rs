//! Agent files that mean harm, or are none.

use std::path::Path;
use std::process::Command;

use insta::assert_snapshot;

use super::ran;

fn agent(folder: &Path, text: impl AsRef<[u8]>) {
    std::fs::create_dir_all(folder.join("a")).unwrap();
    std::fs::write(folder.join("a/agent.toml"), text).unwrap();
}

fn pipe(path: &Path) {
    assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
}

/// None of these ends if it is waited for.
#[test]
fn what_is_no_file_is_refused_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let check = |agent: &str| ran(folder.path(), &["check", agent]);
    std::fs::create_dir_all(folder.path().join("a/agent.toml")).unwrap();
    assert_snapshot!(check("a"), @"");
    std::fs::remove_dir(folder.path().join("a/agent.toml")).unwrap();
    pipe(&folder.path().join("a/agent.toml"));
    assert_snapshot!(check("a"), @"");
    assert_snapshot!(check("/dev/zero"), @"");
    std::fs::remove_file(folder.path().join("a/agent.toml")).unwrap();
    pipe(&folder.path().join("a/pipe"));
    agent(folder.path(), "system_file = 'pipe'");
    assert_snapshot!(check("a"), @"");
    agent(folder.path(), "system = 'x'\nscript = 'pipe'");
    assert_snapshot!(check("a"), @"");
    agent(folder.path(), "system_file = '.'");
    assert_snapshot!(check("a"), @"");
}

/// 100 MB, of which nothing is read.
#[test]
fn a_huge_file_is_refused_by_its_size() {
    let folder = tempfile::tempdir().unwrap();
    agent(folder.path(), "");
    let file = std::fs::File::options().write(true).open(folder.path().join("a/agent.toml"));
    file.unwrap().set_len(100_000_000).unwrap();
    assert_snapshot!(ran(folder.path(), &["check", "a"]), @"");
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
    assert_snapshot!(check("system_file = '../secret'"), @"");
    assert_snapshot!(check("system_file = '/etc/hostname'"), @"");
    assert_snapshot!(check("name = 'x'\nsystem_file = 'nowhere.md'"), @"");
    assert_snapshot!(check("system = 'x'\n\nscript = 'x/../../secret'"), @"");
    std::fs::create_dir_all(folder.path().join("a")).unwrap();
    std::os::unix::fs::symlink("../secret", folder.path().join("a/link")).unwrap();
    assert_snapshot!(check("system_file = 'link'"), @"");
    assert_snapshot!(check("system_file = \"a\\u0000b\""), @"");
}

#[test]
fn text_that_is_no_agent_is_explained() {
    let folder = tempfile::tempdir().unwrap();
    let check = |text: &[u8]| {
        agent(folder.path(), text);
        ran(folder.path(), &["check", "a"])
    };
    assert_snapshot!(check(b"system = 'x'\nname = 'a\0b'"), @"");
    assert_snapshot!(check(b"system = 'x'\nname = '\xff'"), @"");
    assert_snapshot!(check(b"system = 'x'\nname = "), @"");
    assert_snapshot!(check(b"system = 7"), @"");
    assert_snapshot!(check(b"system = 'x'\ninstructions = 'one'"), @"");
    assert_snapshot!(check(b"system = 'x'\n[limits]\niterations = 'many'"), @"");
    assert_snapshot!(check(b"system = 'x'\ntools = []"), @"");
    assert_snapshot!(check(b"system = 'x'\nsystem = 'y'"), @"");
    let command = |rest: &str| {
        format!("system = 'x'\n[tools.command.t]\ndescription = 'T.'\n{rest}").into_bytes()
    };
    assert_snapshot!(check(&command("argv = []")), @"");
    assert_snapshot!(check(&command("argv = ['']")), @"");
    assert_snapshot!(check(&command("argv = [\"a\\u0000b\"]")), @"");
    assert_snapshot!(check(&command("argv = ['ls']\nargs.n.type = 'strng'")), @"");
    assert_snapshot!(check(&command("argv = ['ls']\nargs.n.pattern = '('")), @"");
    assert_snapshot!(check(&command("argv = ['ls']\neffect = 'none'")), @"");
    assert_snapshot!(check(&command("argv = ['ls']\napproval = ' '")), @"");
    assert_snapshot!(
        check(b"system = 'x'\n[tools.command.'not a name']\ndescription = 'T.'\nargv = ['ls']"),
        @""
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
        assert!(said.starts_with("exit 1") && said.contains("a/agent.toml:2"), "{said:.300}");
        assert!(said.len() < 2000, "{} bytes are said", said.len());
    }
}
