//! Turns per second with one, two and four worker processes.

use std::io::{BufRead as _, BufReader, Read as _};
use std::process::{Child, Command, Stdio};

use haft::executors::ScriptExecutor;
use haft::stores::OpenStores;
use haft::turn::Cancellation;
use haft::worker::Worker;
use haft::{Agent, Tool};

use super::{await_ends, entry, now, open, plain_queue, text};
use crate::report::{FLOOR, Row};

/// The word that starts a worker instead of a benchmark. The address and the schema of the store follow.
pub(crate) const COMMAND: &str = "worker-process";

/// A script of two calls and an answer: four steps are too many for a figure about stores.
const SCRIPT: &str =
    r#"{"steps": [{"call": {"look": {}}}, {"call": {"look": {}}}, {"say": "done"}]}"#;

fn build_agent(stores: &OpenStores) -> Result<Agent, String> {
    let look = Tool::builder("look").description("Looks.").handler(|| "nothing");
    let script = ScriptExecutor::parse(SCRIPT).map_err(text)?;
    let builder = Agent::builder(script).stores(stores);
    builder.tool(look.build().map_err(text)?).build().map_err(text)
}

/// A worker that ends with its value.
struct WorkerProcess(Child);

impl WorkerProcess {
    /// Starts a worker, and waits until it is connected.
    fn start(url: &str, schema: &str) -> Result<Self, String> {
        let mut command = Command::new(std::env::current_exe().map_err(text)?);
        command.args([COMMAND, &format!("{url}&schema={schema}")]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().map_err(text)?;
        let output = child.stdout.take().ok_or("the worker has no output")?;
        let process = Self(child);
        let mut line = String::new();
        BufReader::new(output).read_line(&mut line).map_err(text)?;
        if line.trim() == "connected" { Ok(process) } else { Err(format!("a worker: {line}")) }
    }
}

impl Drop for WorkerProcess {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Runs turns with ever more processes.
///
/// # Errors
///
/// When a worker cannot be started, or the store fails.
pub(super) async fn measure_throughput(url: &str, turns: usize) -> Result<Row, String> {
    let mut rates = Vec::new();
    for (count, name) in [(1, "haft, 1 worker"), (2, "haft, 2 workers"), (4, "haft, 4 workers")] {
        let schema = format!("throughput_{count}");
        let stores = open(url, &schema).await?;
        let agent = build_agent(&stores)?;
        for _ in 0..turns {
            agent.turn([]).system("Look.").submit().await.map_err(text)?;
        }
        let began = now();
        let started: Result<Vec<_>, String> =
            (0..count).map(|_| WorkerProcess::start(url, &schema)).collect();
        let workers = started?;
        await_ends(&stores).await?;
        rates.push((name, turns as f64 / began.elapsed().as_secs_f64()));
        drop(workers);
    }
    let first = rates.first().map_or(1.0, |(_, rate)| *rate);
    let plain = plain_queue::measure(url, turns).await?;
    let entries = rates.into_iter().map(|(name, rate)| entry(name, rate, Some(rate / first)));
    let entries = entries.chain([entry(FLOOR, plain, None)]);
    Ok(Row {
        name: format!("workers/{turns} turns of three steps, start of the processes included"),
        unit: "turns/s",
        entries: entries.collect(),
    })
}

/// Runs a worker until its input ends.
///
/// # Errors
///
/// When the store cannot be opened.
#[expect(clippy::print_stdout, reason = "the parent waits for the line")]
pub(crate) fn run_job(url: Option<&str>) -> Result<(), String> {
    let runtime = tokio::runtime::Runtime::new().map_err(text)?;
    let (server, schema) = url.and_then(|it| it.rsplit_once("&schema=")).ok_or("no address")?;
    let stores = runtime.block_on(open(server, schema))?;
    let worker = Worker::builder(std::sync::Arc::clone(stores.turns()), build_agent(&stores)?);
    let worker = worker.concurrency(16).build();
    println!("connected");
    let stop = Cancellation::new();
    let until = stop.clone();
    let task = runtime.spawn(async move { worker.run_until(until.cancelled()).await });
    let mut rest = Vec::new();
    std::io::stdin().read_to_end(&mut rest).map_err(text)?;
    stop.cancel("the benchmark has ended");
    runtime.block_on(task).map_err(text)?.map(|_| ()).map_err(text)
}
