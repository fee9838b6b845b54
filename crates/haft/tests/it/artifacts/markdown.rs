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
        ("artifact_query", r#"{"query":"frontmatter",ID}"#, "{\n  \"title\": \"Guide\"\n}"),
        ("artifact_query", r#"{"query":"headings",ID}"#, "4: # Title\n8: ## Part"),
        ("artifact_query", r#"{"query":"code rust",ID}"#, "10-12: rust"),
        ("artifact_query", r#"{"query":"code",ID}"#, "10-12: rust\n14-16: (no language)"),
        ("artifact_query", r#"{"query":"links",ID}"#, "6: [a link](https://example.org \"T\")"),
        (
            "artifact_read",
            r#"{"section":"part",ID}"#,
            "## Part\n\n```rust\nfn a() {}\n```\n\n```\nplain\n```\n\n[l]: https://example.org \"T\"",
        ),
        ("artifact_read", r#"{"start":8,"end":8,ID}"#, "## Part"),
        (
            "artifact_read",
            r#"{"section":"Parts",ID}"#,
            "`artifact_read` failed: no heading is called so; the headings are: Title; Part",
        ),
        (
            "artifact_query",
            r#"{"query":"part",ID}"#,
            "`artifact_query` failed: a Markdown text takes `headings`, `links`, `code` (or `code rust` for one language) or `frontmatter`; \
             artifact_read with a heading as `section` reads a section; for the section, call artifact_read with \
             section \"Part\"",
        ),
    ] {
        assert_eq!(ask(&mut turn, tool, args).await, expected, "{tool} {args}");
    }
}
