use haft::artifacts::ArtifactKind;

use super::Turn;

const ALICE: &str = r#"{"name":"alice","age":30,"tags":["dev","admin"]}"#;
const ROLES: &str = "{\"id\":1,\"role\":\"user\"}\r\n{\"id\":2,\"role\":\"admin\"}\n\n{\"id\":3,\"role\":\"user\"}\n";

async fn check(kind: ArtifactKind, content: &'static str, rows: &[(&str, &str, &str)]) {
    let mut turn = Turn::new();
    let id = turn.hold(kind, content).await;
    for (tool, args, expected) in rows {
        let args = args.replace("ID", &format!("\"callId\":\"{id}\""));
        let answer = turn.ask(&format!("artifact_json_{tool}"), &args).await;
        assert_eq!(answer, *expected, "{tool} {args}");
    }
}

#[tokio::test]
async fn one_object() {
    check(
        ArtifactKind::JSON,
        ALICE,
        &[
            ("type", "{ID}", "json"),
            ("keys", "{ID}", "name\nage\ntags"),
            ("length", "{ID}", "1"),
            ("get", r#"{"path":"$.name",ID}"#, "alice"),
            ("get", r#"{"path":"$.age",ID}"#, "[\n  30\n]"),
            ("get", r#"{"path":"$.tags",ID}"#, "[\n  [\n    \"dev\",\n    \"admin\"\n  ]\n]"),
            ("get", r#"{"path":"$.tags[*]",ID}"#, "dev\nadmin"),
            ("get", r#"{"path":"$.tags[*]","skip":1,ID}"#, "admin"),
            ("get", r#"{"path":"$.missing",ID}"#, "(empty list)"),
            ("pluck", r#"{"path":"name",ID}"#, "alice"),
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
            ("type", "{ID}", "jsonl"),
            ("keys", "{ID}", "id\nrole"),
            ("length", "{ID}", "3"),
            ("get", r#"{"path":"$.id",ID}"#, "[\n  1,\n  2,\n  3\n]"),
            ("pluck", r#"{"path":"$.role",ID}"#, "user\nadmin\nuser"),
            ("slice", r#"{"start":1,"end":2,ID}"#, admin),
            ("slice", r#"{"start":-2,"end":-1,ID}"#, admin),
            // Records are filtered by value, in either spelling.
            ("filter", r#"{"path":"$[?(@.role==\"admin\")]",ID}"#, admin),
            ("filter", r#"{"path":"$[?@.id == 2]",ID}"#, admin),
            ("filter", r#"{"path":"$.nobody",ID}"#, "(empty list)"),
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
            ("keys", "{ID}", "(undefined)"),
            ("get", r#"{"path":"$[?(@ > 3)]",ID}"#, "[\n  4,\n  5\n]"),
            ("filter", r#"{"path":"$[?(@>3)]",ID}"#, "[\n  4,\n  5\n]"),
            ("slice", r#"{"start":1,"end":2,ID}"#, "[\n  2\n]"),
        ],
    )
    .await;
    let mut turn = Turn::new();
    let id = turn.hold(ArtifactKind::JSON, "[1,2,3]").await;
    let length = turn.ask("artifact_json_length", &format!(r#"{{"callId":"{id}"}}"#)).await;
    assert!(length.contains('1') && length.contains('3'), "{length}");
}

#[tokio::test]
async fn what_is_wrong_is_said_with_its_place() {
    let mut turn = Turn::new();
    let id = turn.hold(ArtifactKind::JSON, "{\n  \"a\": 1,\n  \"b\": oops\n}").await;
    let text = turn.ask("artifact_json_keys", &format!(r#"{{"callId":"{id}"}}"#)).await;
    assert!(text.contains("line 3") || text.contains("line 2"), "{text}");
    let bad =
        turn.ask("artifact_json_get", &format!(r#"{{"callId":"{id}","path":"$[?(@."}}"#)).await;
    assert!(bad.contains("refused") && bad.contains("/path"), "{bad}");
}
