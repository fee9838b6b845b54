use haft::Args;
use haft::artifacts::{ArtifactFormat, Query, QueryAnswer, QueryContext, Question};
use haft::artifacts::{ArtifactKind, QueryOutput};
use haft::artifacts::{CsvFormat, JsonFormat, MarkdownFormat, TextFormat, XmlFormat, YamlFormat};
use haft_conformance::{FormatSample, artifact_format};

#[tokio::test]
async fn every_format_of_ours_keeps_the_contract() {
    let text = FormatSample::new(ArtifactKind::TEXT, "one\ntwo\nthree\n".repeat(200))
        .ask("artifact_info", "{}")
        .ask("artifact_read", "{}")
        .ask("artifact_read", "{\"start\": -500}")
        .ask("artifact_read", "{\"start\": 1, \"offset\": 0}")
        .ask("artifact_grep", "{\"pattern\": \"t\", \"context\": 2}");
    artifact_format(TextFormat::new(), &[text]).await.unwrap();

    let json = FormatSample::new(ArtifactKind::JSON, "{\"id\": 1, \"name\": \"a\"}\n".repeat(300));
    artifact_format(
        JsonFormat::new(),
        &[queried(json, &["$.name", "$[?@.id == 1]", "$[2:]", "$..*", SQL])],
    )
    .await
    .unwrap();

    let section = "# Title\n\nsome *text* and [a link](x)\n\n```rs\ncode\n```\n\n";
    let markdown = FormatSample::new(ArtifactKind::MARKDOWN, section.repeat(100));
    let markdown = queried(markdown, &["headings", "code rs", "links", "frontmatter"])
        .ask("artifact_read", "{\"section\": \"title\"}");
    artifact_format(MarkdownFormat::new(), &[markdown]).await.unwrap();

    let yaml = FormatSample::new(ArtifactKind::YAML, "id: 1\nb: [x, y]\n---\n".repeat(50));
    artifact_format(YamlFormat::new(), &[queried(yaml, &["$..*", "$[?@.id == 1]", "$[3]", SQL])])
        .await
        .unwrap();

    let xml = format!("<r>{}</r>", "<i id=\"1\"><n>x</n></i>".repeat(200));
    let xml = FormatSample::new(ArtifactKind::XML, xml);
    artifact_format(XmlFormat::new(), &[queried(xml, &["$.r.i[*].n", "$..i[?@._id == 1]", SQL])])
        .await
        .unwrap();

    let csv = format!("id,age\n{}", "ada,36\n".repeat(300));
    let csv = FormatSample::new(ArtifactKind::CSV, csv);
    artifact_format(CsvFormat::new(), &[queried(csv, &[SQL, "SELECT * FROM t ORDER BY age"])])
        .await
        .unwrap();
}

const SQL: &str = "SELECT id, count(*) FROM t GROUP BY id";

/// A sample with these questions.
fn queried(sample: FormatSample, queries: &[&str]) -> FormatSample {
    let sample = sample.ask("artifact_info", "{}").ask("artifact_info", "{\"skip\": 1}");
    queries.iter().fold(sample, |sample, query| {
        let args = serde_json::json!({"query": query}).to_string();
        sample.ask("artifact_query", args)
    })
}

/// A format that breaks a promise.
#[derive(Debug)]
struct Flawed(fn(&[u8]) -> QueryOutput);

impl ArtifactFormat for Flawed {
    fn reads(&self, _: &ArtifactKind) -> bool {
        true
    }

    fn answer(&self, _: &Question, _: &QueryContext) -> Option<QueryAnswer> {
        None
    }

    fn tools(&self) -> Vec<Query> {
        let answer = self.0;
        let run = move |_: Args, asked: QueryContext| async move {
            let bytes = asked.artifact.reader().read_at(0, usize::MAX >> 40).await?;
            Ok(answer(&bytes))
        };
        vec![Query::new("artifact_flawed", "Is flawed.", run)]
    }
}

#[tokio::test]
async fn formats_that_break_it_are_caught() {
    let sample = || FormatSample::new(ArtifactKind::TEXT, "abc").ask("artifact_flawed", "{}");
    for (answer, promise) in [
        ((|_| QueryOutput::whole("x".repeat(100_000))) as fn(&[u8]) -> QueryOutput, "budget"),
        (|bytes| QueryOutput::number(u64::from(bytes[0])), "panic"),
    ] {
        let violation = artifact_format(Flawed(answer), &[sample()]).await.unwrap_err();
        assert!(violation.promise.contains(promise), "{violation}");
    }
    let unasked = sample().ask("artifact_nobody", "{}");
    assert!(artifact_format(Flawed(|_| QueryOutput::number(1)), &[unasked]).await.is_err());
}
