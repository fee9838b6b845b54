//! A format of your own: it says what its content consists of, and brings a query that nobody else has.
#![expect(clippy::print_stdout, reason = "an example prints")]

use std::sync::Arc;

use haft::artifacts::text::TextView;
use haft::artifacts::{ArtifactFormat, Query, QueryAnswer, QueryContext, Question};
use haft::artifacts::{ArtifactKind, QueryOutput};
use haft::executors::ScriptExecutor;
use haft::turn::Agent;
use haft::{Tool, ToolArgs, ToolFailure, artifacts};

/// Settings as `[section]` and `key = value`.
#[derive(Debug)]
struct Ini;

impl Ini {
    const KIND: ArtifactKind = ArtifactKind::named("ini");
}

#[derive(ToolArgs)]
struct Setting {
    /// The section it stands in
    section: String,
    /// Its key
    key: String,
}

impl ArtifactFormat for Ini {
    fn reads(&self, kind: &ArtifactKind) -> bool {
        *kind == Self::KIND
    }

    fn answer(&self, question: &Question, ctx: &QueryContext) -> Option<QueryAnswer> {
        match question {
            Question::Info { .. } => Some(Box::pin(sections(ctx.clone()))),
            // Lines and searches are left to the format of text.
            _ => None,
        }
    }

    fn tools(&self) -> Vec<Query> {
        vec![Query::new("artifact_ini_get", "Returns one setting of an INI file.", get)]
    }
}

async fn sections(asked: QueryContext) -> Result<QueryOutput, ToolFailure> {
    let view = TextView::new(Arc::clone(asked.artifact.reader())).budget(asked.budget);
    let page = view.grep(r"^\[.*\]$", Default::default()).await?;
    Ok(QueryOutput::text(page.text(), asked.budget))
}

async fn get(wanted: Setting, asked: QueryContext) -> Result<QueryOutput, ToolFailure> {
    // One section at a time: files of any size are fine.
    let view = TextView::new(Arc::clone(asked.artifact.reader())).budget(asked.budget);
    let heads = view.grep(r"^\[.*\]$", Default::default()).await?.lines;
    let at = heads.iter().position(|line| line.text.trim_matches(['[', ']']) == wanted.section);
    let Some(at) = at else {
        let there: Vec<&str> = heads.iter().map(|line| line.text.as_str()).collect();
        return Err(ToolFailure::new(format!("no such section; there are {}", there.join(" "))));
    };
    let start = heads.get(at).map_or(0, |line| line.number + 1);
    let end = heads.get(at + 1).map_or(u64::MAX, |line| line.number);
    let lines = view.cat(start..end).await?.lines;
    let settings = lines.iter().filter_map(|line| line.text.split_once('='));
    match settings
        .map(|(key, value)| (key.trim(), value.trim()))
        .find(|(key, _)| *key == wanted.key)
    {
        Some((_, value)) => Ok(QueryOutput::text(value, asked.budget)),
        None => Ok(QueryOutput::undefined()),
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let config = Tool::builder("get_config")
        .description("Returns the configuration.")
        .artifact(Ini::KIND)
        .handler(|| "[server]\nhost = localhost\nport = 8080\n[log]\nlevel = info\n")
        .build()?;
    let script = r#"
steps:
  - call: {get_config: {}}
  - call:
      - artifact_info: {callId: "{{ handle.get_config }}"}
      - artifact_ini_get: {callId: "{{ handle.get_config }}", section: sever, key: port}
      - artifact_ini_get: {callId: "{{ handle.get_config }}", section: server, key: port}
  - say: "The port is {{ last.artifact_ini_get }}."
"#;
    let agent = Agent::builder(ScriptExecutor::parse(script)?)
        .tool(config)
        .formats(artifacts::standard_formats().with(Ini)?)
        .inline_below(0)
        .build()?;
    let answer = agent.turn("Which port is it?").await?;
    for call in answer.report.calls.iter().skip(1) {
        let error = call.error.as_ref().map(|it| it.message.as_str());
        println!("{}: {}", call.tool(), call.text().or(error).unwrap_or_default());
    }
    println!("{answer}");
    Ok(())
}
