use haft::artifacts::ArtifactKind;

use super::Turn;

async fn check(kind: ArtifactKind, content: &'static str, rows: &[(&str, &str, &str)]) {
    let mut turn = Turn::new();
    let id = turn.hold(kind, content).await;
    for (tool, args, expected) in rows {
        let args = args.replace("ID", &format!("\"callId\":\"{id}\""));
        let answer = turn.ask(tool, &args).await;
        // What stands between the size and the advice.
        let facts: Vec<&str> =
            answer.lines().skip(1).filter(|it| !it.starts_with("artifact_query")).collect();
        let answer = if *tool == "artifact_info" { facts.join("\n") } else { answer };
        assert_eq!(answer, *expected, "{tool} {args}");
    }
}

#[tokio::test]
async fn yaml_is_asked_by_document() {
    check(
        ArtifactKind::YAML,
        "role: user\nage: 17\n---\nrole: admin\nage: 42\n",
        &[
            ("artifact_info", "{ID}", "a stream of 2 documents\nkeys: role, age"),
            ("artifact_query", r#"{"query":"$.role",ID}"#, "user\nadmin"),
            (
                "artifact_query",
                r#"{"query":"$[?@.age > 17]",ID}"#,
                "[\n  {\n    \"role\": \"admin\",\n    \"age\": 42\n  }\n]",
            ),
            ("artifact_query", r#"{"query":"$[1].role",ID}"#, "admin"),
            ("artifact_query", r#"{"query":"SELECT sum(age) FROM data",ID}"#, "sum(age)\n59"),
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
            (
                "artifact_info",
                "{ID}",
                "root element `shop` with 2 child elements\nits members: _id, book\nelements: book, p, shop, t",
            ),
            ("artifact_query", r#"{"query":"$.shop.book[*].p",ID}"#, "007\n15"),
            (
                "artifact_query",
                r#"{"query":"$..book[?@.p > 10]",ID}"#,
                "[\n  {\n    \"t\": \"B\",\n    \"p\": \"15\"\n  }\n]",
            ),
            ("artifact_query", r#"{"query":"SELECT t FROM $.shop.book WHERE p > 10",ID}"#, "t\nB"),
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
            (
                "artifact_info",
                "{ID}",
                "2 rows and a header\ncolumns: name, age\n[2 columns, parted by `,`]",
            ),
            ("artifact_query", r#"{"query":"SELECT name FROM t",ID}"#, "name\nada\n\"bob, jr\""),
            (
                "artifact_query",
                r#"{"query":"SELECT * FROM t WHERE age > 10",ID}"#,
                "name,age\nada,36",
            ),
            ("artifact_query", r#"{"query":"SELECT age FROM t OFFSET 1",ID}"#, "age\n7"),
            (
                "artifact_query",
                r#"{"query":"SELECT price FROM t",ID}"#,
                "`artifact_query` failed: there is no column `price`; the columns are `name`, `age`",
            ),
        ],
    )
    .await;
    let mut turn = Turn::new();
    let id = turn.hold(ArtifactKind::CSV, "a,b\n1,2\n").await;
    let path = turn.ask("artifact_query", &format!(r#"{{"callId":"{id}","query":"$.a"}}"#)).await;
    assert!(
        path.contains("SQL such as `SELECT") && path.contains("its columns are a, b"),
        "{path}"
    );
    let id = turn.hold(ArtifactKind::CSV, "region,rows\nnorth,2\nsouth,5\nnorth,3.5\n").await;
    let sql = "SELECT region, sum(rows), avg(rows) FROM t GROUP BY region ORDER BY sum(rows) DESC";
    let groups =
        turn.ask("artifact_query", &format!(r#"{{"callId":"{id}","query":"{sql}"}}"#)).await;
    assert_eq!(groups, "region,sum(rows),avg(rows)\nnorth,5.5,2.75\nsouth,5,5");
    let many: String = (0..10_001).map(|n| format!("{n}\n")).collect();
    let id = turn.hold(ArtifactKind::CSV, format!("a\n{many}").leak()).await;
    let sql = "SELECT a FROM t GROUP BY a";
    let none = turn.ask("artifact_query", &format!(r#"{{"callId":"{id}","query":"{sql}"}}"#)).await;
    assert!(none.contains("more than 10000 groups"), "{none}");
}
