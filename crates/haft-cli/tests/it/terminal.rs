//! `haft` at a real terminal, with a user who types.

use std::fs::File;
use std::os::unix::net::UnixDatagram;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use haft_testkit::{Terminal, render_screen};

use super::http::{response, serve};
use super::redaction::redact_durations;
use super::support::{
    haft, json_string, run_haft, write_agent, write_asking_agent, write_script,
    write_scripted_agent,
};

/// Starts `haft` at a terminal that does not tell its size.
fn start(dir: &Path, words: &[&str]) -> Terminal {
    start_with_columns(dir, words, 0)
}

/// Starts `haft` at a terminal of this width; 0 if the terminal does not tell it.
fn start_with_columns(dir: &Path, words: &[&str], columns: u16) -> Terminal {
    let mut command = haft(dir);
    command.args(words);
    Terminal::start(command, columns, columns).unwrap()
}

/// The text of a line without its escape sequences.
fn strip_styles(line: &str) -> String {
    let pieces = line.split("\u{1b}[");
    pieces
        .enumerate()
        .map(|(n, it)| if n == 0 { it } else { it.split_once('m').unwrap().1 })
        .collect()
}

/// A question that would clear the screen.
const QUESTION: &str = r"May I \u001b[2Jmake this file?";

#[test]
fn the_user_at_the_terminal_is_asked() {
    let dir = tempfile::tempdir().unwrap();
    write_asking_agent(dir.path(), QUESTION);
    let made = dir.path().join("a/made");
    let mut no = start(dir.path(), &["run", "a"]);
    // The escape sequence is shown instead of executed.
    no.wait_for("May I \u{fffd}[2Jmake this file?");
    no.wait_for("approve? [y/N] ");
    no.type_keys("n\n").unwrap();
    no.wait_for("E_TURN_GATE_REJECTED");
    no.wait_for("completed: 2 steps, 1 call");
    assert_eq!((no.wait_for_exit().unwrap(), made.exists()), (0, false));
    let mut yes = start(dir.path(), &["run", "a"]);
    yes.wait_for("approve? [y/N] ");
    yes.type_keys("y\n").unwrap();
    yes.wait_for("over");
    assert_eq!((yes.wait_for_exit().unwrap(), made.exists()), (0, true));
}

/// Ctrl-D denies, and what follows has a line of its own.
#[test]
fn ctrl_d_at_a_question_denies() {
    let dir = tempfile::tempdir().unwrap();
    write_asking_agent(dir.path(), QUESTION);
    let mut session = start(dir.path(), &["run", "a"]);
    session.wait_for("approve? [y/N] ");
    session.type_keys("\u{4}").unwrap();
    let shown = strip_styles(&session.wait_for("was not allowed"));
    assert!(shown.lines().any(|line| line.starts_with("← touch failed")), "{shown}");
    assert_eq!((session.wait_for_exit().unwrap(), dir.path().join("a/made").exists()), (0, false));
}

/// A reply that is no choice decides nothing.
#[test]
fn a_slip_of_the_finger_is_asked_again() {
    let dir = tempfile::tempdir().unwrap();
    write_asking_agent(dir.path(), "May I?");
    let mut session = start(dir.path(), &["-q", "run", "a"]);
    session.wait_for("approve? [y/N] ");
    session.type_keys("yy\n").unwrap();
    session
        .wait_for("`yy` is not a choice: y approves the call, n denies it, ? lists more choices");
    session.wait_for("approve? [y/N] ");
    session.type_keys("?\n").unwrap();
    session.wait_for("replies:\r\n  y   approve this call\r\n  n   deny it");
    session.wait_for("approve? [y/N] ");
    session.type_keys("y\n").unwrap();
    session.wait_for("over");
    assert_eq!((session.wait_for_exit().unwrap(), dir.path().join("a/made").exists()), (0, true));
}

/// Terminals echo Ctrl-C as `^C` behind the cursor. On a full line the echo would wrap, and the spinner would stay.
#[test]
fn a_spinner_leaves_room_for_the_echo_of_ctrl_c() {
    let dir = tempfile::tempdir().unwrap();
    let tool =
        "prompt = 'Go.'\n[tools.command.wait]\ndescription = 'W.'\nargv = ['sleep', '600']\n";
    write_scripted_agent(dir.path(), tool, "steps:\n  - call: { wait: {} }\n  - say: over\n");
    let mut session = start(dir.path(), &["run", "a"]);
    session.wait_for("\r\u{1b}[2K");
    let line = session.wait_for("\r\u{1b}[2K");
    assert!(line.contains("wait ("), "{line:?}");
    assert!((20..=77).contains(&line.chars().count()), "{line:?}");
    session.interrupt().unwrap();
    session.wait_for("cancelled: the user pressed Ctrl-C");
    assert_eq!(session.wait_for_exit().unwrap(), 130);
}

/// The user approves other arguments than the proposed ones, or says what to do instead.
#[test]
fn arguments_are_edited_and_denials_have_reasons_at_the_terminal() {
    let dir = tempfile::tempdir().unwrap();
    write_asking_agent(dir.path(), "May I make {name}?");
    let mut session = start(dir.path(), &["run", "a"]);
    session.wait_for("approve? [y/N] (? lists more choices) ");
    session.type_keys("e\n").unwrap();
    session.wait_for(r#"write the arguments after it: e {"name":"made"}"#);
    session.wait_for("approve? [y/N] ");
    session.type_keys("e {\"nmae\": \"other\"}\n").unwrap();
    session.wait_for("the edited arguments do not meet the schema of the tool");
    session.wait_for("'nmae' was unexpected");
    session.wait_for("approve? [y/N] ");
    session.type_keys("e {\"name\": \"other\"}\n").unwrap();
    session.wait_for("over");
    assert_eq!(session.wait_for_exit().unwrap(), 0);
    assert!(dir.path().join("a/other").exists() && !dir.path().join("a/made").exists());
    let shown = run_haft(dir.path(), &["show", "last"]);
    assert!(
        shown.contains(r#"{"name":"made"}"#) && shown.contains(r#"{"name":"other"}"#),
        "{shown}"
    );
    let mut session = start(dir.path(), &["run", "a"]);
    session.wait_for("approve? [y/N] ");
    session.type_keys("n use the file of yesterday\n").unwrap();
    session.wait_for("over");
    assert_eq!(session.wait_for_exit().unwrap(), 0);
    let shown = run_haft(dir.path(), &["show", "last"]);
    assert!(shown.contains("use the file of yesterday"), "{shown}");
}

/// The question is asked again when the turn is resumed.
#[test]
fn ctrl_c_at_a_question_leaves_the_turn_waiting() {
    let dir = tempfile::tempdir().unwrap();
    write_asking_agent(dir.path(), QUESTION);
    let mut session = start(dir.path(), &["run", "a"]);
    session.wait_for("approve? [y/N] ");
    session.interrupt().unwrap();
    let shown = session.wait_for("the turn waits at its gate");
    let shown = strip_styles(&shown);
    assert!(shown.lines().any(|line| line.starts_with("error: stopped by Ctrl-C")), "{shown}");
    session.wait_for("haft resume ");
    assert_eq!(session.wait_for_exit().unwrap(), 130);
    assert!(!dir.path().join("a/made").exists());
    let turns = run_haft(dir.path(), &["turns", "--json"]);
    assert!(turns.contains(r#""status":"waiting""#), "{turns}");
    let id = json_string(&turns, "id").to_owned();
    let mut session = start(dir.path(), &["resume", &id]);
    session.wait_for("approve? [y/N] ");
    session.type_keys("y\n").unwrap();
    session.wait_for("over");
    assert_eq!(session.wait_for_exit().unwrap(), 0);
    assert!(dir.path().join("a/made").exists());
}

#[test]
fn another_process_may_decide_first() {
    let dir = tempfile::tempdir().unwrap();
    write_asking_agent(dir.path(), QUESTION);
    let mut session = start(dir.path(), &["run", "a"]);
    session.wait_for("approve? [y/N] ");
    let gates = run_haft(dir.path(), &["gates", "--json"]);
    let gate = json_string(&gates, "gate");
    assert!(run_haft(dir.path(), &["approve", gate]).starts_with("exit 0"));
    session.wait_for("decided elsewhere");
    session.wait_for("over");
    assert_eq!(session.wait_for_exit().unwrap(), 0);
}

/// Ctrl-C cancels a turn. The conversation continues with the earlier messages.
#[test]
fn a_conversation_outlives_its_turns() {
    let dir = tempfile::tempdir().unwrap();
    let text = r#"
        [tools.command.nap]
        description = "Sleeps until it may go on."
        argv = ["sh", "-c", "echo > napping; test -e go || exec sleep 600"]
        [tools.command.touch]
        description = "Makes a file."
        argv = ["touch", "{name}"]
        args.name.required = true
        approval = "May I?"
    "#;
    let script =
        "steps:\n  - call: { nap: {} }\n  - call: { touch: { name: made } }\n  - say: over\n";
    write_scripted_agent(dir.path(), text, script);
    let mut session = start(dir.path(), &["chat", "a"]);
    session.wait_for("--conversation ");
    session.wait_for("> ");
    session.type_keys("first\r").unwrap();
    session.wait_for("→ nap");
    while !dir.path().join("a/napping").exists() {
        std::thread::sleep(Duration::from_millis(10));
    }
    session.interrupt().unwrap();
    session.wait_for("cancelled");
    std::fs::write(dir.path().join("a/go"), "").unwrap();
    session.wait_for("> ");
    session.type_keys("second\n").unwrap();
    session.wait_for("approve? [y/N] ");
    session.type_keys("y\n").unwrap();
    session.wait_for("completed");
    session.wait_for("> ");
    // Ctrl-C without a running turn.
    session.type_keys("\u{3}").unwrap();
    session.wait_for("end the conversation");
    session.wait_for("> ");
    session.type_keys("\u{4}").unwrap();
    assert_eq!(session.wait_for_exit().unwrap(), 0);
    let turns = run_haft(dir.path(), &["turns", "--json"]);
    let conversation = json_string(&turns, "conversation");
    let said = |words: &[&str]| {
        run_haft(dir.path(), words);
        let newest = run_haft(dir.path(), &["turns", "--limit", "1", "--json"]);
        let id = json_string(&newest, "id");
        run_haft(dir.path(), &["show", id])
    };
    // The first turn is part of the second by reference.
    let shown = said(&["turns"]);
    assert!(shown.contains("1 earlier turn: ") && shown.contains("second"), "{shown}");
    assert!(!shown.contains("first"), "{shown}");
    // Another process continues it. The end of its input ends the conversation.
    let third = dir.path().join("third");
    std::fs::write(&third, "third\n").unwrap();
    let mut later = haft(dir.path());
    later.args(["chat", "a", "--yes", "--conversation", conversation]);
    assert!(later.stdin(File::open(third).unwrap()).output().unwrap().status.success());
    let shown = said(&["turns"]);
    assert!(shown.contains("2 earlier turns: ") && shown.contains("third"), "{shown}");
    let unknown = run_haft(dir.path(), &["chat", "a", "--conversation", "nope"]);
    assert!(unknown.starts_with("exit 3"), "{unknown}");
}

/// A conversation that is opened again shows its last messages, not all of them.
#[test]
fn a_conversation_shows_its_last_messages() {
    let dir = tempfile::tempdir().unwrap();
    write_scripted_agent(dir.path(), "", "steps:\n  - say: Noted.\n");
    let words: String = (1..=7).map(|n| format!("message-{n}\n")).collect();
    let input = dir.path().join("messages");
    std::fs::write(&input, words).unwrap();
    let mut first = haft(dir.path());
    let first = first.args(["chat", "a"]).stdin(File::open(input).unwrap()).output().unwrap();
    assert!(first.status.success());
    let mut session = start(dir.path(), &["chat", "a", "--continue"]);
    session.wait_for("(earlier messages: haft conversations export ");
    for n in 3..=7 {
        let before = session.wait_for(&format!("> message-{n}"));
        assert!(!before.contains("message-"), "{before}");
        session.wait_for("Noted.");
    }
    session.wait_for("> ");
    session.type_keys("\u{4}").unwrap();
    assert_eq!(session.wait_for_exit().unwrap(), 0);
}

/// A turn is one line of a terminal, however narrow: what does not fit is left out, the words of the user last.
#[test]
fn a_turn_is_one_line_of_a_narrow_terminal() {
    let dir = tempfile::tempdir().unwrap();
    write_scripted_agent(dir.path(), "", "steps:\n  - say: Noted.\n");
    let prompt = "a question that is rather long, so that it fills the line to its end";
    assert!(run_haft(dir.path(), &["run", "a", prompt]).starts_with("exit 0"));
    for (columns, shown) in [(110, "script"), (80, "  a  "), (50, "completed")] {
        let mut session = start_with_columns(dir.path(), &["turns"], columns);
        let line = session.wait_for("\r\n");
        let line = strip_styles(&line);
        assert!(line.chars().count() <= usize::from(columns), "{columns}: {line}");
        assert!(line.contains(shown) && line.contains("a question"), "{columns}: {line}");
        assert_eq!(session.wait_for_exit().unwrap(), 0);
    }
    let mut chat = start(dir.path(), &["chat", "a"]);
    chat.wait_for("> ");
    chat.type_keys(&format!("{prompt}\n")).unwrap();
    chat.wait_for("completed: 1 step");
    chat.wait_for("> ");
    chat.type_keys("\u{4}").unwrap();
    assert_eq!(chat.wait_for_exit().unwrap(), 0);
    let mut session = start_with_columns(dir.path(), &["conversations"], 60);
    let line = strip_styles(&session.wait_for("\r\n"));
    assert!(line.trim_end().chars().count() <= 60 && line.contains("a question"), "{line}");
}

/// A conversation with a model does not silently go on with the script of the agent.
#[test]
fn a_conversation_says_that_its_model_is_asked_no_more() {
    let dir = tempfile::tempdir().unwrap();
    write_scripted_agent(dir.path(), "", "steps:\n  - say: Noted.\n");
    let answer = r#"{"id":"c","model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"ok"},"finish_reason":"stop"}]}"#;
    let (port, _requests) = serve(response("200 OK\r\ncontent-type: application/json", answer));
    let input = dir.path().join("messages");
    std::fs::write(&input, "hi\n").unwrap();
    let mut first = haft(dir.path());
    first.env("OPENAI_BASE_URL", format!("http://127.0.0.1:{port}/v1"));
    first.args(["chat", "a", "--model", "openai:small"]).stdin(File::open(input).unwrap());
    assert!(first.output().unwrap().status.success());
    let mut session = start(dir.path(), &["chat", "a", "--continue"]);
    session.wait_for("script: no model is asked");
    session.wait_for("the last turn asked the model `small`; --model asks it again");
    session.wait_for("> ");
    session.type_keys("\u{4}").unwrap();
    assert_eq!(session.wait_for_exit().unwrap(), 0);
}

/// As in `haft run`. The conversation resumes the turn when it is opened again.
#[test]
fn ctrl_c_at_a_question_of_a_conversation_leaves_the_turn_waiting() {
    let dir = tempfile::tempdir().unwrap();
    write_asking_agent(dir.path(), QUESTION);
    let mut session = start(dir.path(), &["chat", "a"]);
    session.wait_for("> ");
    session.type_keys("first\r").unwrap();
    session.wait_for("approve? [y/N] ");
    session.interrupt().unwrap();
    session.wait_for("the turn waits at its gate");
    session.wait_for("haft resume ");
    assert_eq!(session.wait_for_exit().unwrap(), 130);
    let turns = run_haft(dir.path(), &["turns", "--json"]);
    assert!(turns.contains(r#""status":"waiting""#), "{turns}");
    let conversation = json_string(&turns, "conversation").to_owned();
    let words = ["chat", "a", "--conversation", &conversation];
    let mut session = start(dir.path(), &words);
    session.wait_for("resume it? [Y/n] ");
    session.type_keys("y\r").unwrap();
    session.wait_for("approve? [y/N] ");
    session.type_keys("y\n").unwrap();
    session.wait_for("over");
    session.wait_for("> ");
    session.type_keys("\u{4}").unwrap();
    assert_eq!(session.wait_for_exit().unwrap(), 0);
    assert!(dir.path().join("a/made").exists());
}

/// The same question is not asked twice, until the standing approval is revoked.
#[test]
fn a_standing_approval_is_given_at_the_terminal() {
    let dir = tempfile::tempdir().unwrap();
    write_asking_agent(dir.path(), QUESTION);
    let cli = |words: &[&str]| run_haft(dir.path(), words);
    let mut session = start(dir.path(), &["run", "a"]);
    session.wait_for("approve? [y/N] (? lists more choices) ");
    session.type_keys("?\n").unwrap();
    session.wait_for("approve every call of this tool in this turn");
    session.wait_for("approve? [y/N] ");
    session.type_keys("as\n").unwrap();
    session.wait_for("over");
    assert_eq!(session.wait_for_exit().unwrap(), 0);
    // No user is there to answer, and none is asked.
    let second = cli(&["run", "a", "--gates", "park"]);
    assert!(second.starts_with("exit 0") && second.contains("(standing approval "), "{second}");
    let listed = cli(&["grants"]);
    assert!(listed.contains(r#"`touch` with {"name":"made"} by agent "#), "{listed}");
    let json = cli(&["grants", "--json"]);
    assert!(json.contains(r#""isValid":true"#), "{json}");
    let grant = json_string(&json, "grant").to_owned();
    let shown = cli(&["turns", "--limit", "1", "--json"]);
    let shown = cli(&["show", json_string(&shown, "id")]);
    assert!(shown.contains(&format!("approved by the standing approval {grant}")), "{shown}");
    let revoked = cli(&["grants", "revoke", grant.get(..6).unwrap()]);
    assert!(revoked.starts_with("exit 0") && revoked.contains(&grant), "{revoked}");
    assert!(cli(&["grants"]).contains("no standing approvals"));
    assert!(cli(&["grants", "revoke", &grant]).starts_with("exit 3"));
    assert!(cli(&["run", "a", "--gates", "park"]).starts_with("exit 4"));
}

/// The user reads which programs an unknown agent runs first, and decides.
#[test]
fn an_unknown_agent_is_trusted_at_the_terminal() {
    let dir = tempfile::tempdir().unwrap();
    let agent = "system = 'x'\nprompt = 'Go.'\nscript = 'script.yaml'\n\
                 [[prepare]]\nfile = 'made'\nargv = ['echo', 'x']\n";
    write_agent(dir.path(), agent);
    write_script(dir.path(), "steps:\n  - say: over\n");
    let made = dir.path().join("a/made");
    for reply in ["n\n", "\n"] {
        let mut session = start(dir.path(), &["run", "a"]);
        session.wait_for("Its directory is code; it first runs:");
        session.wait_for("echo x");
        session.wait_for("trust it? [y/N] ");
        session.type_keys(reply).unwrap();
        session.wait_for("it is not trusted yet");
        assert_eq!((session.wait_for_exit().unwrap(), made.exists()), (1, false));
    }
    let mut session = start(dir.path(), &["run", "a"]);
    session.wait_for("trust it? [y/N] ");
    session.type_keys("y\n").unwrap();
    session.wait_for("over");
    assert_eq!((session.wait_for_exit().unwrap(), made.exists()), (0, true));
    // It is not asked again.
    std::fs::remove_file(&made).unwrap();
    assert!(run_haft(dir.path(), &["run", "a"]).starts_with("exit 0") && made.exists());
}

#[test]
fn a_long_line_is_cut_at_the_terminal_and_whole_in_a_pipe() {
    let dir = tempfile::tempdir().unwrap();
    let line = "x".repeat(3 << 20);
    std::fs::write(dir.path().join("long"), format!("{line}\nend\n")).unwrap();
    let mut session = start(dir.path(), &["artifact", "read", "long"]);
    session.wait_for("(3145728 bytes; redirect the output to get the whole line)");
    session.wait_for("end");
    assert_eq!(session.wait_for_exit().unwrap(), 0);
    let piped = haft(dir.path()).args(["artifact", "read", "long"]).output().unwrap();
    assert_eq!(piped.stdout.len(), line.len() + "\nend\n".len());
}

/// What a person approves is shown as it is.
#[test]
fn characters_that_deceive_are_escaped_where_a_person_decides() {
    let dir = tempfile::tempdir().unwrap();
    write_asking_agent(dir.path(), r"Pay alice\u202e\u2066 ecila 1\u200b00?");
    let mut session = start(dir.path(), &["run", "a"]);
    session.wait_for(r"Pay alice\u{202e}\u{2066} ecila 1\u{200b}00?");
    let gates = run_haft(dir.path(), &["gates"]);
    assert!(gates.contains(r"alice\u{202e}\u{2066} ecila 1\u{200b}00?"), "{gates}");
    session.wait_for("approve? [y/N] ");
    session.type_keys("n\n").unwrap();
    assert_eq!(session.wait_for_exit().unwrap(), 0);
}

/// What a person sees at the end, as a terminal of 100 columns draws it.
fn screen_after(mut session: Terminal) -> String {
    while session.read_piece(Duration::from_secs(60)) {}
    let screen = render_screen(session.printed(), 40, 100);
    assert_eq!(session.wait_for_exit().unwrap(), 0);
    let lines = screen.lines().map(|line| {
        let words = line.split(' ').map(|word| if word.len() == 36 { "TURN" } else { word });
        words.collect::<Vec<_>>().join(" ")
    });
    redact_durations(&lines.collect::<Vec<_>>().join("\n"))
}

#[test]
fn a_turn_at_a_terminal_is_pleasant_to_read() {
    let dir = tempfile::tempdir().unwrap();
    let long = "x".repeat(500);
    let text = r#"
        prompt = "Show me **everything**."
        [tools.command.echo]
        description = "Prints."
        argv = ["echo", "{text}"]
        args.text.required = true
    "#;
    let script = format!(
        "steps:\n  - call: {{ echo: {{ text: {long} }} }}\n  - call: {{ echo: {{ txet: a }} }}\n  - stream: 7\n    say: |\n      # Result\n\n      - **one** and `two`\n      - snake_case\n"
    );
    write_scripted_agent(dir.path(), text, &script);
    // The colors are off, and with them the styles of Markdown.
    let plain = screen_after(start(dir.path(), &["run", "a"]));
    insta::assert_snapshot!(plain, @r#"
    > Show me **everything**.
    script: no model is asked; --model PROVIDER:MODEL asks one
    → echo {"text":"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx… (311 more bytes)
    ← echo, 501 bytes
    → echo {"txet":"a"}
    ← echo failed: E_INVALID_TOOL_ARGS: the arguments of `echo` were refused:
      - `/txet`: this field does not exist; did you mean `text`?
      - `/text`: missing; expected a string; for example "text"
      correct them and call `echo` again
    # Result

    - **one** and `two`
    - snake_case
    turn TURN completed: 3 steps, 2 calls, DURATION
    "#);
    let mut command = start(dir.path(), &["run", "a", "--color", "always"]);
    command.wait_for("\u{1b}[1m\u{1b}[4mResult\u{1b}[0m");
    command.wait_for("• \u{1b}[0m\u{1b}[1mone\u{1b}[0m and \u{1b}[0m\u{1b}[36mtwo\u{1b}[0m");
    command.wait_for("• snake_case");
    assert_eq!(command.wait_for_exit().unwrap(), 0);
    let quiet = screen_after(start(dir.path(), &["run", "a", "-q"]));
    insta::assert_snapshot!(quiet, @r"
    # Result

    - **one** and `two`
    - snake_case
    ");
    let verbose = run_haft(dir.path(), &["run", "a", "-v"]);
    assert!(verbose.contains(&long), "{verbose}");
    // A pipe gets the text as it is, and nothing else on standard output.
    let piped = haft(dir.path()).args(["run", "a"]).output().unwrap();
    let piped = String::from_utf8(piped.stdout).unwrap();
    assert_eq!(piped, "# Result\n\n- **one** and `two`\n- snake_case\n");
    let logged =
        haft(dir.path()).args(["run", "a", "-q"]).env("HAFT_LOG", "info").output().unwrap();
    let logged = String::from_utf8(logged.stderr).unwrap();
    assert!(logged.contains("execute_tool"), "{logged}");
    let refused = haft(dir.path()).args(["turns"]).env("HAFT_LOG", "haft=loud").output().unwrap();
    assert!(
        String::from_utf8(refused.stderr).unwrap().contains("HAFT_LOG is not a valid log filter")
    );
}

/// Standard error is not buffered. A line in several pieces would be torn by the lines of standard output, or of another
/// process.
#[test]
fn a_line_is_written_at_once() {
    let dir = tempfile::tempdir().unwrap();
    write_scripted_agent(dir.path(), "", "steps:\n  - say: Noted.\n");
    let (ours, theirs) = UnixDatagram::pair().unwrap();
    let mut command = haft(dir.path());
    command.args(["run", "a", "--model", "nope:m", "x"]).stdin(Stdio::null());
    command.stderr(std::os::fd::OwnedFd::from(theirs));
    assert_eq!(command.status().unwrap().code(), Some(1));
    drop(command);
    ours.set_nonblocking(true).unwrap();
    let mut buffer = [0; 4096];
    let mut lines = Vec::new();
    while let Ok(n @ 1..) = ours.recv(&mut buffer) {
        lines.push(String::from_utf8(buffer[..n].to_vec()).unwrap());
    }
    assert_eq!(lines.len(), 2, "{lines:?}");
    assert!(lines.iter().all(|line| line.ends_with('\n')), "{lines:?}");
}
