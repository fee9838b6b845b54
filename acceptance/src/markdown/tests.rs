use std::path::Path;

use super::{Command, Item, replace_outputs};

fn read(text: &str) -> Result<Vec<Item>, String> {
    super::read(&crate::includes::expand(Path::new("page.md"), text).unwrap())
}

fn commands(text: &str) -> Vec<Command> {
    let items = read(text).unwrap().into_iter();
    items.filter_map(|it| if let Item::Command(it) = it { Some(it) } else { None }).collect()
}

#[test]
fn a_file_is_the_fence_below_its_comment() {
    let text = "Prose.\n<!-- file: a/agent.toml -->\n```toml\nsystem = 'x'\n\n```\n";
    let content = "system = 'x'\n\n".to_owned();
    let file = Item::File { path: "a/agent.toml".to_owned(), content, line: 3 };
    assert_eq!(read(text).unwrap(), [file]);
}

#[test]
fn commands_have_output_status_and_continuations() {
    let text = "```console\n$ one \\\n> two\n? 4\nout\n> no more\n\n$ three\n```\n";
    let found = commands(text);
    assert_eq!(found.len(), 2);
    assert_eq!(found[0].text, "one \\\ntwo");
    assert_eq!((found[0].status, found[0].line), (4, 2));
    assert_eq!(found[0].expected, "out\n> no more\n\n");
    assert_eq!(found[0].output_lines, (5, 7));
    assert_eq!((found[1].text.as_str(), found[1].status), ("three", 0));
}

#[test]
fn a_hidden_fence_is_a_comment() {
    let found = commands("<!-- console\n$ mkdir a\n-->\n");
    assert_eq!(found[0].text, "mkdir a");
}

#[test]
fn agents_and_scripts_are_checked() {
    let text = "```toml\nsystem = 'x'\n```\n```toml\n[dependencies]\n```\n```yaml\nsteps:\n- say: x\n```\n";
    let kinds: Vec<bool> =
        read(text).unwrap().iter().map(|it| matches!(it, Item::Agent { .. })).collect();
    assert_eq!(kinds, [true, false]);
}

#[test]
fn a_fence_that_is_left_out_says_why() {
    read("```sh\nls\n```\n").unwrap_err();
    read("<!-- norun: -->\n```sh\nls\n```\n").unwrap_err();
    read("```rust\nfn main() {}\n```\n").unwrap_err();
    assert_eq!(read("<!-- norun: it needs a key -->\n\n```sh\nls\n```\n").unwrap(), []);
}

#[test]
fn mistakes_are_errors() {
    for wrong in [
        "```console\nout\n```\n",
        "```console\n$ ls\n? x\n```\n",
        "```console\n$ ls\n",
        "<!-- file: a -->\nprose\n```\nx\n```\n",
    ] {
        read(wrong).unwrap_err();
    }
}

#[test]
fn outputs_are_replaced_in_their_place() {
    #[track_caller]
    fn check(text: &str, output: &str, expect: &str) {
        let found = commands(text);
        let outputs = [(found[0].output_lines, output.to_owned())];
        assert_eq!(replace_outputs(text, &outputs), expect);
    }
    check("```console\n$ a\nold\n$ b\n```\n", "new\n", "```console\n$ a\nnew\n$ b\n```\n");
    check("```console\n$ a\n$ b\n```\n", "new\n", "```console\n$ a\nnew\n$ b\n```\n");
    check("```console\n$ a\nold\n```\n", "", "```console\n$ a\n```\n");
    check("```console\n$ a\nold\n\n$ b\n```\n", "1\n2\n", "```console\n$ a\n1\n2\n\n$ b\n```\n");
}

#[test]
fn programs_come_from_other_files() {
    let fence = |is_included| {
        let line =
            |text: &str, is_included| super::Line { text: text.to_owned(), number: 1, is_included };
        super::read(&[line("```rust", false), line("fn a() {}", is_included), line("```", false)])
    };
    assert_eq!(fence(true).unwrap(), []);
    fence(false).unwrap_err();
}

#[test]
fn all_problems_are_named() {
    let problems = read("```sh\nls\n```\n\n```rust\nfn a() {}\n```\n").unwrap_err();
    assert_eq!(problems.lines().count(), 2, "{problems}");
}
