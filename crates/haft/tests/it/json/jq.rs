//! The same questions to `jq`.

use std::io::Write as _;
use std::process::{Command, Stdio};

use haft::schema::json::Document;

use super::{run, tiny_view_of};

/// What `jq` answers, a value a line; nothing if it is not installed.
fn ask_jq(program: &str, content: &str) -> Option<String> {
    let mut jq = Command::new("jq")
        .args(["-c", program])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .ok()?;
    jq.stdin.take()?.write_all(content.as_bytes()).ok()?;
    let output = jq.wait_with_output().ok()?;
    assert!(output.status.success(), "jq refuses {program}");
    String::from_utf8(output.stdout).ok()
}

fn content() -> String {
    let row = |at: i64| {
        let name = ["älpha", "be\\\"ta", "gam\\nma", "{[,]}"][at as usize % 4];
        let nested = format!("[{at}, [{}], {{\"deep\": {{\"x\": {}}}}}]", at * 2, at * 3 % 7);
        format!(
            "{{\"id\": {at}, \"x\": {}, \"name\": \"{name}\", \"nested\": {nested}}}",
            at * 7 % 11
        )
    };
    let rows: Vec<String> = (0..300).map(row).collect();
    format!("{{\"a\": {{\"b\": [{}], \"c\": null}}, \"x\": 1}}", rows.join(", "))
}

#[test]
fn paths_answer_as_jq_does() {
    if !haft_testkit::has_program("jq") {
        return;
    }
    let content = content();
    let rows = ask_jq(".a.b[]", &content).unwrap();
    check(&content, "$.a.b[3]", ".a.b[3]");
    check(&content, "$.a.b[-1].name", ".a.b[-1].name");
    check(&content, "$.a.b[10:20].id", ".a.b[10:20][].id");
    check(&content, "$.a.b[*].nested[2].deep.x", ".a.b[].nested[2].deep.x");
    check(&content, "$.a.b[?@.x > 5]", ".a.b[] | select(.x > 5)");
    check(
        &content,
        "$.a.b[?@.x > 5 && @.name == 'älpha'].id",
        ".a.b[] | select(.x > 5 and .name == \"älpha\") | .id",
    );
    check(&content, "$..deep", ".. | objects | select(has(\"deep\")) | .deep");
    check(&content, "$.*", ".[]");
    check(&content, "$.a.*", ".a[]");
    check(&rows, "$.nested[0]", ".nested[0]");
    // The lines are a list.
    check(&rows, "$[?@.x == 5]", "select(.x == 5)");
    check(&rows, "$[*].id", ".id");
}

#[track_caller]
fn check(content: &str, path: &str, program: &str) {
    let Some(expected) = ask_jq(program, content) else { return };
    let expected: Vec<Document> =
        expected.lines().map(|line| Document::parse(line).unwrap()).collect();
    for value in [300, 5_000, 1 << 20] {
        let all = run(async {
            let view = tiny_view_of(content.as_bytes(), 1000, value).await;
            let budget = haft::artifacts::Budget::new()
                .lines(std::num::NonZeroUsize::MAX)
                .bytes(usize::MAX / 4);
            view.budget(budget).get(path, 0).await.unwrap().into_string()
        });
        if all.contains("was cut") {
            continue;
        }
        let whole: Vec<Document> = if all.starts_with("[\n") {
            let list = Document::parse(&all).unwrap();
            list.root().elements().map(haft::schema::json::ValueRef::to_document).collect()
        } else if all == "(empty list)" {
            Vec::new()
        } else {
            all.lines().map(|it| Document::from_value(&serde_json::json!(it)).unwrap()).collect()
        };
        assert_eq!(whole, expected, "{path}");
    }
}
