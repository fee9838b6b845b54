use haft::artifacts::ArtifactKind;

use super::Turn;

const SAMPLE: &str = "alpha\nbeta\ngamma\ndelta\nepsilon";

#[track_caller]
fn check(rows: &[(&str, &str, &str)], content: &'static str) {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(async {
        let mut turn = Turn::new();
        let id = turn.hold(ArtifactKind::TEXT, content).await;
        for (tool, args, expected) in rows {
            let args = args.replace("ID", &format!("\"callId\":\"{id}\""));
            let expected = expected.replace("HANDLE", &id);
            assert_eq!(turn.ask(tool, &args).await, expected, "{tool} {args}");
        }
    });
}

#[test]
fn the_five_lines_of_the_reference() {
    check(
        &[
            ("artifact_read", r#"{"end":1,ID}"#, "alpha"),
            ("artifact_read", r"{ID}", "alpha\nbeta\ngamma\ndelta\nepsilon"),
            ("artifact_read", r#"{"start":-2,ID}"#, "delta\nepsilon"),
            ("artifact_read", r#"{"start":2,"end":4,ID}"#, "beta\ngamma\ndelta"),
            ("artifact_read", r#"{"start":4,"end":100,ID}"#, "delta\nepsilon"),
            ("artifact_read", r#"{"start":3,"end":3,ID}"#, "gamma"),
            ("artifact_read", r#"{"start":3,"end":2,ID}"#, "(there are 5 lines)"),
            ("artifact_read", r#"{"start":9,ID}"#, "(there are 5 lines)"),
            // Line numbers are ours, on purpose, and start at 1.
            ("artifact_grep", r#"{"pattern":"a$",ID}"#, "1:alpha\n2:beta\n3:gamma\n4:delta"),
            ("artifact_grep", r#"{"pattern":"ALPHA","ignoreCase":true,ID}"#, "1:alpha"),
            ("artifact_grep", r#"{"pattern":"ALPHA",ID}"#, "(empty list)"),
            ("artifact_grep", r#"{"pattern":"^zzzzz$",ID}"#, "(empty list)"),
            ("artifact_grep", r#"{"pattern":"gam","context":1,ID}"#, "2-beta\n3:gamma\n4-delta"),
            (
                "artifact_grep",
                r#"{"pattern":"a","limit":2,ID}"#,
                "1:alpha\n2:beta\n[there may be more (as many matches as were asked for); go on with start 3]",
            ),
            ("artifact_grep", r#"{"pattern":"a","start":3,ID}"#, "3:gamma\n4:delta"),
        ],
        SAMPLE,
    );
}

#[test]
fn empty_lines_are_not_mistaken_for_nothing() {
    check(
        &[
            ("artifact_read", r#"{"end":1,ID}"#, "(1 empty line)"),
            ("artifact_read", r"{ID}", "(3 empty lines)"),
            ("artifact_grep", r#"{"pattern":"x",ID}"#, "(empty list)"),
        ],
        "\n\n",
    );
}

#[test]
fn arguments_that_cannot_be_right_are_refused_in_words() {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(async {
        let mut turn = Turn::new();
        let id = turn.hold(ArtifactKind::TEXT, SAMPLE).await;
        let rows = [
            (
                "artifact_grep",
                r#"{"pattern":"(a",ID}"#,
                "the pattern cannot be used: unclosed group",
            ),
            ("artifact_grep", r#"{"pattern":"a(?=b)",ID}"#, "look-around does not exist here"),
            ("artifact_grep", r#"{"pattern":"",ID}"#, "/pattern"),
            ("artifact_grep", r#"{"pattern":"a","flags":"g",ID}"#, "/flags"),
            ("artifact_read", r#"{"callId":"deadbeef"}"#, "/callId"),
            ("artifact_read", r#"{"section":"a",ID}"#, "only a Markdown text has sections"),
            (
                "artifact_query",
                r#"{"query":"$.a",ID}"#,
                "plain text has no structure to query; artifact_grep",
            ),
        ];
        for (tool, args, says) in rows {
            let args = args.replace("ID", &format!("\"callId\":\"{id}\""));
            let text = turn.ask(tool, &args).await;
            assert!(text.contains(says), "{tool} {args}: {text}");
        }
    });
}

#[tokio::test]
async fn an_answer_has_a_bound_and_says_how_to_go_on() {
    let mut turn = Turn::new();
    let lines: String = (0..1000).map(|n| format!("line {n}\n")).collect::<String>() + "end";
    let id = turn.hold(ArtifactKind::TEXT, lines.leak()).await;
    let mut start = 1;
    let mut seen = Vec::new();
    loop {
        let args = format!(r#"{{"callId":"{id}","start":{start}}}"#);
        let text = turn.ask("artifact_read", &args).await;
        assert!(text.len() < 17 * 1024 && text.lines().count() <= 202);
        let (body, note) = match text.split_once("\n[") {
            Some((body, note)) => (body, Some(note)),
            None => (text.as_str(), None),
        };
        seen.extend(body.lines().map(str::to_owned));
        let Some(note) = note else { break };
        let after = note.split("start ").nth(1).unwrap();
        start = after.split([' ', ']']).next().unwrap().parse().unwrap();
    }
    let expected = (0..1000).map(|n| format!("line {n}")).chain(["end".to_owned()]);
    assert!(seen.into_iter().eq(expected));
}

#[tokio::test]
async fn a_line_that_is_too_long_is_read_in_parts() {
    let mut turn = Turn::new();
    let line: String = (0..20_000).map(|n| char::from(b'a' + (n % 26) as u8)).collect();
    let content: &'static str = format!("short\n{line}\nend").leak();
    let id = turn.hold(ArtifactKind::TEXT, content).await;
    let head = turn.ask("artifact_read", &format!(r#"{{"callId":"{id}"}}"#)).await;
    assert!(head.contains("line 2 has 20000 bytes and was cut"), "{}", head.len());
    let (mut read, mut offset) = (String::new(), 0);
    loop {
        let args = format!(r#"{{"callId":"{id}","start":2,"offset":{offset}}}"#);
        let text = turn.ask("artifact_read", &args).await;
        let Some((part, note)) = text.split_once("\n[") else {
            read.push_str(&text);
            break;
        };
        read.push_str(part);
        offset = note.trim_end_matches(']').rsplit(' ').next().unwrap().parse::<u64>().unwrap();
    }
    assert!(read == line, "{} of {}", read.len(), line.len());
}

#[test]
fn information_says_what_there_is_and_how_to_ask() {
    check(
        &[(
            "artifact_info",
            r"{ID}",
            "HANDLE: text, 30 bytes (about 8 tokens), 5 lines\nplain lines\nartifact_grep takes a regular expression, \
             artifact_read takes line numbers",
        )],
        SAMPLE,
    );
    // A tool that declares nothing may return anything.
    check(
        &[
            ("artifact_query", r#"{"query":"$.items[1].name",ID}"#, "b"),
            ("artifact_query", r#"{"query":"SELECT name FROM $.items WHERE n > 1",ID}"#, "name\nb"),
        ],
        r#"{"items": [{"name": "a", "n": 1}, {"name": "b", "n": 2}]}"#,
    );
    check(
        &[("artifact_query", r#"{"query":"SELECT sum(n) FROM t",ID}"#, "sum(n)\n6")],
        "name,n\na,1\nb,2\nc,3\n",
    );
    check(&[("artifact_query", r#"{"query":"$.a.b",ID}"#, "x")], "<a><b>x</b></a>");
}
