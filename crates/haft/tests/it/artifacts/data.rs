use haft::artifacts::ArtifactKind;

use super::Turn;

async fn check(kind: ArtifactKind, content: &'static str, rows: &[(&str, &str, &str)]) {
    let mut turn = Turn::new();
    let id = turn.hold(kind, content).await;
    for (tool, args, expected) in rows {
        let args = args.replace("ID", &format!("\"callId\":\"{id}\""));
        assert_eq!(turn.ask(tool, &args).await, *expected, "{tool} {args}");
    }
}

#[tokio::test]
async fn yaml_is_asked_by_document() {
    check(
        ArtifactKind::YAML,
        "role: user\nage: 17\n---\nrole: admin\nage: 42\n",
        &[
            ("artifact_yaml_type", "{ID}", "multi-document"),
            ("artifact_yaml_keys", "{ID}", "role\nage"),
            ("artifact_yaml_length", "{ID}", "2"),
            ("artifact_yaml_pluck", r#"{"path":"$.role",ID}"#, "user\nadmin"),
            (
                "artifact_yaml_filter",
                r#"{"path":"$[?@.age > 17]",ID}"#,
                "[\n  {\n    \"role\": \"admin\",\n    \"age\": 42\n  }\n]",
            ),
            (
                "artifact_yaml_slice",
                r#"{"start":1,ID}"#,
                "[\n  {\n    \"role\": \"admin\",\n    \"age\": 42\n  }\n]",
            ),
        ],
    )
    .await;
}

#[tokio::test]
async fn xml_is_asked_by_path() {
    check(
        ArtifactKind::XML,
        "<?xml version=\"1.0\"?><shop id=\"7\"><book><t>A</t><p>007</p></book><book><t>B</t><p>15</p></book></shop>",
        &[
            ("artifact_xml_root", "{ID}", "shop"),
            ("artifact_xml_keys", "{ID}", "_id\nbook"),
            ("artifact_xml_tags", "{ID}", "book\np\nshop\nt"),
            ("artifact_xml_get", r#"{"path":"$.shop.book[*].p",ID}"#, "007\n15"),
            (
                "artifact_xml_filter",
                r#"{"path":"$..book[?@.p > 10]",ID}"#,
                "[\n  {\n    \"t\": \"B\",\n    \"p\": \"15\"\n  }\n]",
            ),
        ],
    )
    .await;
}

#[tokio::test]
async fn csv_is_asked_by_column() {
    check(
        ArtifactKind::CSV,
        "name,age\nada,36\n\"bob, jr\",7\n",
        &[
            ("artifact_csv_length", "{ID}", "2"),
            ("artifact_csv_pluck", r#"{"column":"name",ID}"#, "ada\nbob, jr"),
            (
                "artifact_csv_filter",
                r#"{"column":"age","above":10,ID}"#,
                "[\n  {\n    \"name\": \"ada\",\n    \"age\": \"36\"\n  }\n]",
            ),
            (
                "artifact_csv_rows",
                r#"{"start":1,"columns":["age"],ID}"#,
                "[\n  {\n    \"age\": \"7\"\n  }\n]",
            ),
        ],
    )
    .await;
    let mut turn = Turn::new();
    let id = turn.hold(ArtifactKind::CSV, "a\n1\n").await;
    let all =
        turn.ask("artifact_csv_filter", &format!(r#"{{"callId":"{id}","column":"a"}}"#)).await;
    assert!(all.contains("refused") && all.contains("equals"), "{all}");
    let none =
        turn.ask("artifact_csv_stats", &format!(r#"{{"callId":"{id}","column":"b"}}"#)).await;
    assert!(none.contains('b'), "{none}");
    let id = turn.hold(ArtifactKind::CSV, "region,rows\nnorth,2\nsouth,5\nnorth,3.5\n").await;
    let args = format!(r#"{{"callId":"{id}","by":["region"],"column":"rows"}}"#);
    let groups = turn.ask("artifact_csv_group", &args).await;
    let first = groups.find("north").unwrap();
    assert!(first < groups.find("south").unwrap(), "{groups}");
    assert!(groups.contains("\"sum\": 5.5") && groups.contains("\"mean\": 2.75"), "{groups}");
    let many: String = (0..10_001).map(|n| format!("{n}\n")).collect();
    let id = turn.hold(ArtifactKind::CSV, format!("a\n{many}").leak()).await;
    let none = turn.ask("artifact_csv_group", &format!(r#"{{"callId":"{id}","by":["a"]}}"#)).await;
    assert!(none.contains("more than 10000 groups"), "{none}");
}
