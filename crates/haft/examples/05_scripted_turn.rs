//! A whole turn without a model: a script calls tools, queries an artifact, and the program approves a call.
#![expect(clippy::print_stdout, reason = "an example prints")]

use haft::executors::ScriptExecutor;
use haft::tool;
use haft::turn::{Agent, Gate};
use haft::{Tool, ToolArgs};

const SCRIPT: &str = r#"
steps:
  - say: I look at the log.
    call:
      get_log: {}
  - think: It is long, so I search it.
    call:
      artifact_grep: {callId: "{{ handle.get_log }}", pattern: "ERROR"}
  - expect:
      artifact_grep: {contains: disk full}
    call:
      delete_file: {path: /tmp/old}
  - expect:
      delete_file: {contains: deleted}
    say: "The log says {{ last.artifact_grep }}. I made room: {{ last.delete_file }}."
"#;

/// Returns the log of today.
#[tool(read_only)]
async fn get_log() -> String {
    let line =
        |n| if n == 4711 { "ERROR disk full\n".into() } else { format!("INFO request {n}\n") };
    (0..10_000).map(line).collect()
}

#[derive(ToolArgs)]
struct File {
    /// Where it is
    path: String,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let delete_file = Tool::builder("delete_file")
        .description("Deletes a file.")
        .requires_approval("May this file be deleted?")
        .handler(|file: File| format!("deleted {}", file.path));
    // Any process can decide a gate; here it is the same program.
    let agent = Agent::builder(ScriptExecutor::parse(SCRIPT)?)
        .tools([get_log(), delete_file])
        .approver(async |gate: Gate| {
            println!("{} {}", gate.reason, gate.payload);
            true
        })
        .build()?;
    let answer = agent.turn("Why is the disk full?").await?;
    for call in &answer.report.calls {
        println!("{} {}: {}", call.tool(), call.raw().to_text(), call.state());
    }
    println!("{answer}");
    Ok(())
}
