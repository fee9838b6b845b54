use haft::artifacts::ArtifactKind;

use super::Turn;

const GUIDE: &str = "---\ntitle: Guide\n---\n# Title\r\n\ntext with [a link][l] and ![alt](i.png)\n\n\
## Part\n\n```rust\nfn a() {}\n```\n\n```\nplain\n```\n\n[l]: https://example.org \"T\"\n";

async fn ask(turn: &mut Turn, tool: &str, args: &str) -> String {
    let id = turn.hold(ArtifactKind::MARKDOWN, GUIDE).await;
    turn.ask(tool, &args.replace("ID", &format!("\"callId\":\"{id}\""))).await
}

#[tokio::test]
async fn a_guide_answers_every_question() {
    let mut turn = Turn::new();
    for (tool, args, expected) in [
        ("artifact_md_frontmatter", "{ID}", "{\n  \"title\": \"Guide\"\n}"),
        (
            "artifact_md_headings",
            r#"{"depth":2,ID}"#,
            "[\n  {\n    \"depth\": 2,\n    \"text\": \"Part\",\n    \"startLine\": 8,\n    \"endLine\": 18\n  }\n]",
        ),
        (
            "artifact_md_sections",
            r#"{"depth":2,ID}"#,
            "[\n  {\n    \"depth\": 2,\n    \"heading\": \"Part\",\n    \"headingLine\": 8,\n    \"bodyStartLine\": 9,\n    \"bodyEndLine\": 18\n  }\n]",
        ),
        (
            "artifact_md_code_blocks",
            r#"{"lang":"rust",ID}"#,
            "[\n  {\n    \"lang\": \"rust\",\n    \"startLine\": 10,\n    \"endLine\": 12\n  }\n]",
        ),
        (
            "artifact_md_code_blocks",
            r#"{"lang":"",ID}"#,
            "[\n  {\n    \"lang\": null,\n    \"startLine\": 14,\n    \"endLine\": 16\n  }\n]",
        ),
        (
            "artifact_md_links",
            "{ID}",
            "[\n  {\n    \"text\": \"a link\",\n    \"url\": \"https://example.org\",\n    \"title\": \"T\",\n    \"line\": 6\n  }\n]",
        ),
        ("artifact_md_links", r#"{"startLine":7,ID}"#, "(empty list)"),
    ] {
        assert_eq!(ask(&mut turn, tool, args).await, expected, "{tool} {args}");
    }
}
