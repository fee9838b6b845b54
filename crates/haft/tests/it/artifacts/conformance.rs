use haft::Args;
use haft::artifacts::{ArtifactFormat, Query, QueryContext};
use haft::artifacts::{ArtifactKind, QueryOutput};
use haft::artifacts::{CsvFormat, JsonFormat, MarkdownFormat, TextFormat, XmlFormat, YamlFormat};
use haft::testing::conformance::{FormatSample, artifact_format};

#[tokio::test]
async fn every_format_of_ours_keeps_the_contract() {
    let text = FormatSample::new(ArtifactKind::TEXT, "one\ntwo\nthree\n".repeat(200))
        .ask("artifact_head", "{}")
        .ask("artifact_tail", "{\"n\": 500}")
        .ask("artifact_cat", "{}")
        .ask("artifact_cat", "{\"start\": 1, \"offset\": 0}")
        .ask("artifact_grep", "{\"pattern\": \"t\", \"context\": 2}")
        .ask("artifact_line_count", "{}")
        .ask("artifact_byte_length", "{}")
        .ask("artifact_estimate_tokens", "{\"encoding\": \"claude\"}");
    artifact_format(TextFormat::new(), &[text]).await.unwrap();

    let json = FormatSample::new(ArtifactKind::JSON, "{\"id\": 1, \"name\": \"a\"}\n".repeat(300))
        .ask("artifact_json_type", "{}")
        .ask("artifact_json_keys", "{}")
        .ask("artifact_json_length", "{}")
        .ask("artifact_json_get", "{\"path\": \"$.name\"}")
        .ask("artifact_json_filter", "{\"path\": \"$[?@.id == 1]\"}")
        .ask("artifact_json_slice", "{\"start\": 2}")
        .ask("artifact_json_pluck", "{\"path\": \"$..*\", \"skip\": 3}");
    artifact_format(JsonFormat::new(), &[json]).await.unwrap();

    let section = "# Title\n\nsome *text* and [a link](x)\n\n```rs\ncode\n```\n\n";
    let markdown = ["frontmatter", "headings", "code_blocks", "sections", "links"]
        .iter()
        .fold(FormatSample::new(ArtifactKind::MARKDOWN, section.repeat(100)), |sample, tool| {
            sample.ask(format!("artifact_md_{tool}"), "{}")
        });
    artifact_format(MarkdownFormat::new(), &[markdown]).await.unwrap();

    let yaml = FormatSample::new(ArtifactKind::YAML, "a: 1\nb: [x, y]\n---\n".repeat(50))
        .ask("artifact_yaml_type", "{}")
        .ask("artifact_yaml_keys", "{}")
        .ask("artifact_yaml_length", "{}")
        .ask("artifact_yaml_get", "{\"path\": \"$..*\"}")
        .ask("artifact_yaml_filter", "{\"path\": \"$[?@.a == 1]\"}")
        .ask("artifact_yaml_slice", "{}");
    artifact_format(YamlFormat::new(), &[yaml]).await.unwrap();

    let xml = format!("<r>{}</r>", "<i a=\"1\"><n>x</n></i>".repeat(200));
    let xml = FormatSample::new(ArtifactKind::XML, xml)
        .ask("artifact_xml_root", "{}")
        .ask("artifact_xml_keys", "{}")
        .ask("artifact_xml_tags", "{}")
        .ask("artifact_xml_length", "{}")
        .ask("artifact_xml_get", "{\"path\": \"$.r.i[*].n\"}")
        .ask("artifact_xml_filter", "{\"path\": \"$..i[?@._a == 1]\"}");
    artifact_format(XmlFormat::new(), &[xml]).await.unwrap();

    let csv = format!("name,age\n{}", "ada,36\n".repeat(300));
    let csv = FormatSample::new(ArtifactKind::CSV, csv)
        .ask("artifact_csv_columns", "{}")
        .ask("artifact_csv_length", "{}")
        .ask("artifact_csv_rows", "{}")
        .ask("artifact_csv_filter", "{\"column\": \"age\", \"above\": 10}")
        .ask("artifact_csv_pluck", "{\"column\": \"name\"}")
        .ask("artifact_csv_stats", "{\"column\": \"age\"}")
        .ask("artifact_csv_group", "{\"by\": [\"name\"], \"column\": \"age\"}");
    artifact_format(CsvFormat::new(), &[csv]).await.unwrap();
}

/// A format that breaks a promise.
#[derive(Debug)]
struct Flawed(fn(&[u8]) -> QueryOutput);

impl ArtifactFormat for Flawed {
    fn reads(&self, _: &ArtifactKind) -> bool {
        true
    }

    fn queries(&self) -> Vec<Query> {
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
