use haft::artifacts::ArtifactKind;

use super::Turn;

const ALICE: &str = r#"{"name":"alice","age":30,"tags":["dev","admin"]}"#;
const ROLES: &str = "{\"id\":1,\"role\":\"user\"}\r\n{\"id\":2,\"role\":\"admin\"}\n\n{\"id\":3,\"role\":\"user\"}\n";

async fn check(kind: ArtifactKind, content: &'static str, rows: &[(&str, &str, &str)]) {
    let mut turn = Turn::new();
    let id = turn.hold(kind, content).await;
    for (tool, args, expected) in rows {
        let args = args.replace("ID", &format!("\"callId\":\"{id}\""));
        let answer = turn.ask(&format!("artifact_{tool}"), &args).await;
        // What stands between the size and the advice.
        let facts: Vec<&str> =
            answer.lines().skip(1).filter(|it| !it.starts_with("artifact_query")).collect();
        let answer = if *tool == "info" { facts.join("\n") } else { answer };
        assert_eq!(answer, *expected, "{tool} {args}");
    }
}

#[tokio::test]
async fn one_object() {
    check(
        ArtifactKind::JSON,
        ALICE,
        &[
            ("info", "{ID}", "one object\nkeys: name, age, tags (list of 2)"),
            ("query", r#"{"query":"$.name",ID}"#, "alice"),
            ("query", r#"{"query":"$.age",ID}"#, "[\n  30\n]"),
            ("query", r#"{"query":"$.tags",ID}"#, "[\n  [\n    \"dev\",\n    \"admin\"\n  ]\n]"),
            ("query", r#"{"query":"$.tags[*]",ID}"#, "dev\nadmin"),
            ("query", r#"{"query":"$.tags[*]","skip":1,ID}"#, "admin"),
            ("query", r#"{"query":"$.missing",ID}"#, "(empty list)"),
            ("query", r#"{"query":"name",ID}"#, "alice"),
        ],
    )
    .await;
}

#[tokio::test]
async fn a_record_a_line() {
    let admin = "[\n  {\n    \"id\": 2,\n    \"role\": \"admin\"\n  }\n]";
    check(
        ArtifactKind::JSON,
        ROLES,
        &[
            ("info", "{ID}", "3 records, one per line\nkeys: id, role"),
            ("query", r#"{"query":"$.id",ID}"#, "[\n  1,\n  2,\n  3\n]"),
            ("query", r#"{"query":"$.role",ID}"#, "user\nadmin\nuser"),
            ("query", r#"{"query":"$[1:2]",ID}"#, admin),
            ("query", r#"{"query":"$[-2:-1]",ID}"#, admin),
            // Records are filtered by value, in either spelling.
            ("query", r#"{"query":"$[?(@.role==\"admin\")]",ID}"#, admin),
            ("query", r#"{"query":"$[?@.id == 2]",ID}"#, admin),
            ("query", r#"{"query":"$.nobody",ID}"#, "(empty list)"),
            ("query", r#"{"query":"SELECT id FROM data WHERE role = 'user'",ID}"#, "id\n1\n3"),
        ],
    )
    .await;
}

#[tokio::test]
async fn a_list_is_filtered_by_element() {
    check(
        ArtifactKind::JSON,
        "\u{feff}[1,2,3,4,5]",
        &[
            ("info", "{ID}", "a list of 5 elements"),
            ("query", r#"{"query":"$[?(@ > 3)]",ID}"#, "[\n  4,\n  5\n]"),
            (
                "query",
                r#"{"query":"SELECT sum(value) FROM data WHERE value>3",ID}"#,
                "sum(value)\n9",
            ),
        ],
    )
    .await;
}

#[tokio::test]
async fn what_is_wrong_is_said_with_its_place() {
    let mut turn = Turn::new();
    let id = turn.hold(ArtifactKind::JSON, "{\n  \"a\": 1,\n  \"b\": oops\n}").await;
    let text = turn.ask("artifact_info", &format!(r#"{{"callId":"{id}"}}"#)).await;
    assert!(text.contains("line 3") || text.contains("line 2"), "{text}");
    let bad = turn.ask("artifact_query", &format!(r#"{{"callId":"{id}","query":"$[?(@."}}"#)).await;
    assert!(bad.contains("path is wrong at byte"), "{bad}");
}
