//! What every command prints: in a pipe, and at a terminal of 120 columns.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use insta::assert_snapshot;
use rustix::termios::{Winsize, tcsetwinsize};

use super::support::{attach_terminal, haft, run_haft, write_scripted_agent};

const COLUMNS: u16 = 120;
const ROWS: u16 = 200;

/// What a person sees of a command.
fn screen(dir: &Path, words: &[&str]) -> String {
    let mut command = haft(dir);
    command.args(words).env("TERM", "xterm");
    let mut terminal: File = attach_terminal(&mut command);
    let size = Winsize { ws_row: ROWS, ws_col: COLUMNS, ws_xpixel: 0, ws_ypixel: 0 };
    tcsetwinsize(&terminal, size).unwrap();
    let mut child = command.spawn().unwrap();
    drop(command);
    let (rows, columns) = (ROWS.try_into().unwrap(), COLUMNS.try_into().unwrap());
    let mut parser = vt100::Parser::new(rows, columns, 0);
    let mut buffer = [0; 4096];
    while let Ok(n @ 1..) = terminal.read(&mut buffer) {
        parser.process(buffer.get(..n).unwrap());
    }
    let code = child.wait().unwrap().code().unwrap();
    let lines = parser.screen().contents();
    let lines: Vec<&str> = lines.lines().map(str::trim_end).collect();
    format!("exit {code}\n{}", lines.join("\n").trim_end())
}

/// Replaces what differs from run to run: ids, hashes, times, durations and the directory of the test.
fn redact(text: &str, dir: &Path) -> String {
    let text = text.replace(dir.to_str().unwrap(), "DIR");
    let mut out = String::new();
    let mut rest = text.as_str();
    while let Some(first) = rest.chars().next() {
        let token: String = rest.chars().take_while(|it| is_word(*it) == is_word(first)).collect();
        rest = rest.get(token.len()..).unwrap();
        match token.as_str() {
            it if is_time(it) => out.push_str("AT"),
            it if is_random(it) => out.push_str("ID"),
            it if it.starts_with("chat-") => out.push_str("CHAT"),
            it if it.trim_start_matches(' ').is_empty() && it.len() > 2 && !out.ends_with('\n') => {
                out.push_str("  ");
            }
            it => out.push_str(it),
        }
    }
    let lines = out.lines().map(redact_durations);
    lines.collect::<Vec<_>>().join("\n")
}

fn is_word(character: char) -> bool {
    character.is_ascii_alphanumeric() || matches!(character, '-' | '.' | ':')
}

/// A time such as `2026-11-17T23:40:40.801077Z`.
fn is_time(token: &str) -> bool {
    token.len() > 19 && token.starts_with("20") && token.ends_with('Z')
}

/// Eight or more hexadecimal digits, with groups or without.
fn is_random(token: &str) -> bool {
    let digits = token.chars().filter(|it| *it != '-');
    token.len() >= 8
        && digits.clone().all(|it| it.is_ascii_hexdigit())
        && digits.clone().any(|it| it.is_ascii_digit())
}

/// Replaces the numbers before `ms` and `s`.
fn redact_durations(line: &str) -> String {
    let mut words: Vec<String> = line.split(' ').map(str::to_owned).collect();
    for at in 1..words.len() {
        let is_unit = matches!(words[at].trim_end_matches([',', ')']), "ms" | "s");
        if is_unit && words[at - 1].trim_start_matches('(').parse::<f64>().is_ok() {
            words[at - 1] = "N".to_owned();
            words[at] = words[at].replace("ms", "s");
        }
    }
    words.join(" ")
}

/// An agent with a call of every kind: one that needs approval, one with a large result, one with a picture, one that is
/// coerced, one that is refused.
fn write_agent(dir: &Path) {
    let text = r#"
        prompt = "Do everything."
        [tools.math]
        [tools.command.list]
        description = "Lists many numbers."
        argv = ["seq", "1", "2000"]
        effect = "read-only"
        [tools.command.draw]
        description = "Draws a dot."
        argv = ["printf", "%s", "<svg xmlns='http://www.w3.org/2000/svg'/>"]
        effect = "read-only"
        media = "image/svg+xml"
        [tools.command.touch]
        description = "Makes a file."
        argv = ["touch", "{name}"]
        args.name.required = true
        approval = "May I make {name}?"
    "#;
    let script = r#"
steps:
  - think: I begin.
    call: { list: {} }
    usage: { prompt: 1200, completion: 30 }
  - call: { draw: {} }
  - call: { convert_unit: { value: "3", from: km, to: m } }
  - call: { calculate: { expresion: "1+1" } }
  - call: { touch: { name: made } }
  - say: "All is **done**."
"#;
    write_scripted_agent(dir, text, script);
}

/// Compares the output of commands that change nothing, in a pipe and at a terminal.
#[track_caller]
fn check(dir: &Path, name: &str, words: &[&str]) {
    let piped = redact(&run_haft(dir, words), dir);
    let shown = redact(&screen(dir, words), dir);
    let command = words.join(" ");
    assert_snapshot!(name, format!("$ haft {command} | cat\n{piped}\n\n$ haft {command}\n{shown}"));
}

#[test]
fn commands_print_the_same_as_before() {
    let dir = tempfile::tempdir().unwrap();
    let dir = std::fs::canonicalize(dir.path()).unwrap();
    let dir = dir.as_path();
    write_agent(dir);
    std::fs::write(dir.join("sales.csv"), "region,sold\nnorth,1\nsouth,2\nnorth,3\n").unwrap();
    let parked = run_haft(dir, &["run", "a", "--gates", "park"]);
    assert_snapshot!("run_parked", redact(&parked, dir));
    check(dir, "gates", &["gates"]);
    check(dir, "turns_waiting", &["turns"]);
    check(dir, "show_waiting", &["show", "last"]);
    let gate = run_haft(dir, &["gates", "--json"]);
    let gate = super::support::json_string(&gate, "gate");
    assert_snapshot!("approve", redact(&run_haft(dir, &["approve", gate, "--by", "ada"]), dir));
    assert_snapshot!("resume", redact(&run_haft(dir, &["resume", "last"]), dir));
    for (name, words) in [
        ("turns", &["turns"][..]),
        ("show", &["show", "last"]),
        ("response", &["show", "last", "--response", "1"]),
        ("resume_ended", &["resume", "last"]),
        ("watch_ended", &["watch", "last"]),
        ("tools", &["tools", "a", "--all"]),
        ("describe", &["describe", "a", "touch"]),
        ("check", &["check", "a"]),
        ("artifact_list", &["artifact", "list", "--turn", "last"]),
        (
            "artifact_csv_group",
            &["artifact", "csv", "group", "sales.csv", "region", "--sum", "sold"],
        ),
        ("media_list", &["media", "list", "last"]),
        ("grants", &["grants"]),
        ("conversations", &["conversations"]),
        ("models", &["models"]),
        ("config", &["config"]),
        ("call", &["call", "a", "calculate", r#"{"expression": "1+1"}"#]),
        ("mcp_list", &["mcp", "list", "a"]),
        ("no_such_turn", &["show", "ffffffff"]),
    ] {
        check(dir, name, words);
    }
    assert_snapshot!("submit", redact(&run_haft(dir, &["submit", "a"]), dir));
    assert_snapshot!("cancel", redact(&run_haft(dir, &["cancel", "last"]), dir));
    assert_snapshot!("rm", redact(&run_haft(dir, &["rm", "last"]), dir));
    assert_snapshot!("gc", redact(&run_haft(dir, &["gc"]), dir));
}
