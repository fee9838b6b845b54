//! `haft test`

mod agent_copy;
mod case;
mod junit;

use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context as _, Result};
use haft::TurnReport;
use haft::executors::ScriptExecutor;
use haft::stores::{OpenStores, TurnDir};
use haft::turn::{
    AgentBuilder, Clock as _, Gate, GateDecision, GatePolicy, SystemClock, TurnOutcome,
};

use self::agent_copy::AgentCopy;
use self::case::PromptCase;
use self::junit::write_junit;
use super::format_duration;
use super::run::{expects_approval, replay_text};
use crate::agent::AgentDir;
use crate::args::TestArgs;
use crate::config::UserConfig;
use crate::host::{
    AgentHost, ExecutorFinder, ExecutorUse, HostSettings, builder_of, new_user_message,
    prepare_turn,
};
use crate::output::{TestLine, to_line, whole_milliseconds};
use crate::temp_dir::new_temp_dir;
use crate::terminal::{Terminal, TextRole, print_line, sanitize};
use crate::text_file::{MAX_TEXT_BYTES, read_regular_text};
use crate::user_error::{FailureCode, UserError, describe_report};

/// A test of an agent.
struct AgentTest {
    name: String,
    kind: TestKind,
}

/// What a test runs.
enum TestKind {
    /// A script with its expectations. The tools run for real.
    Script(PathBuf),
    /// A recorded turn. Neither a model nor a tool runs.
    Recording(PathBuf),
    /// A prompt for a model, and what is expected of the turn.
    Prompt { case: Box<PromptCase>, model: String },
}

/// The result of a test.
struct TestResult {
    name: String,
    duration: Duration,
    /// Why it failed.
    failure: Option<String>,
}

pub(super) async fn run_tests(args: &TestArgs, terminal: &Terminal) -> Result<ExitCode> {
    let mut agent = AgentDir::load(&args.agent.agent)?;
    let tests = find_tests(&agent, args)?;
    if tests.is_empty() {
        if let Some(filter) = args.filter.as_deref() {
            let message = format!("`{}` has no test whose name contains `{filter}`", agent.name());
            let hint = "tests are named as files of the agent; prompts need --model";
            return Err(UserError::new(message).hint(hint).code(FailureCode::NotFound).into());
        }
        let error = UserError::new(format!("`{}` has no tests", agent.name()));
        let hint =
            "put scripts (.yaml), recordings (.json) or prompts (.toml) into its directory `tests`";
        return Err(error.hint(hint).code(FailureCode::NotFound).into());
    }
    match args.in_place {
        true => agent.prepare(args.trust, terminal).await?,
        false => agent.prepare_files(args.trust, terminal).await?,
    }
    let run = TestRun { args, config: UserConfig::read()?, terminal };
    let mut results = Vec::new();
    for test in &tests {
        let begun = SystemClock::new().now();
        let failure = match run.run_isolated(test, &agent).await {
            Ok(failure) => failure,
            Err(error) => Some(format!("{error:#}")),
        };
        let duration = SystemClock::new().now().duration_since(begun);
        let result = TestResult { name: test.name.clone(), duration, failure };
        print_result(&result, args.json, terminal)?;
        results.push(result);
    }
    if let Some(path) = &args.junit {
        let text = write_junit(&agent.name(), &results);
        std::fs::write(path, text).with_context(|| format!("cannot write `{}`", path.display()))?;
    }
    let failed = results.iter().filter(|it| it.failure.is_some()).count();
    print_line(format_args!("{} passed, {failed} failed", results.len() - failed));
    if failed > 0 && !args.in_place {
        let hint = "the tests ran on copies of the directory; --in-place runs them on the directory itself";
        print_line(format_args!("{}", terminal.style_stderr(TextRole::Muted, hint)));
    }
    Ok(if failed == 0 { ExitCode::SUCCESS } else { FailureCode::Failed.into() })
}

fn print_result(result: &TestResult, as_json: bool, terminal: &Terminal) -> Result<()> {
    if as_json {
        let failure = result.failure.as_deref();
        let milliseconds = whole_milliseconds(result.duration);
        let line = TestLine { test: &result.name, ok: failure.is_none(), failure, milliseconds };
        super::print_text(&to_line(&line)?)?;
        return Ok(());
    }
    let (role, word) = match result.failure {
        None => (TextRole::Success, "ok"),
        Some(_) => (TextRole::Error, "failed"),
    };
    let word = terminal.style_stdout(role, format!("{word:<6}"));
    let time = terminal.style_stdout(TextRole::Muted, format_duration(result.duration));
    let mut text = format!("{word} {}  {time}\n", sanitize(&result.name));
    if let Some(failure) = &result.failure {
        text.push_str(&format!("  {}\n", sanitize(failure).replace('\n', "\n  ")));
    }
    super::print_text(&text)?;
    Ok(())
}

/// Finds the tests of an agent: its own script, and the files of its directory `tests`, in the order of their names.
fn find_tests(agent: &AgentDir, args: &TestArgs) -> Result<Vec<AgentTest>> {
    let mut tests = Vec::new();
    if let Some(script) = &agent.file.script {
        let kind = TestKind::Script(agent.dir.join(script));
        tests.push(AgentTest { name: script.display().to_string(), kind });
    }
    let dir = agent.dir.join("tests");
    let files = std::fs::read_dir(&dir)
        .and_then(|entries| entries.map(|it| Ok(it?.path())).collect::<io::Result<Vec<_>>>());
    let mut files = match files {
        Ok(files) => files,
        Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
        Err(error) => {
            return Err(error).with_context(|| format!("cannot read `{}`", dir.display()));
        }
    };
    files.sort();
    for file in files {
        let name = format!("tests/{}", file.file_name().unwrap_or_default().to_string_lossy());
        match file.extension().and_then(|it| it.to_str()) {
            Some("yaml" | "yml") => tests.push(AgentTest { name, kind: TestKind::Script(file) }),
            Some("json") => tests.push(AgentTest { name, kind: TestKind::Recording(file) }),
            Some("toml") => tests.extend(prompt_tests(&name, &file, agent, args)?),
            _ => {}
        }
    }
    let is_wanted = |test: &AgentTest| args.filter.as_ref().is_none_or(|it| test.name.contains(it));
    tests.retain(is_wanted);
    Ok(tests)
}

/// The tests of a prompt, one for each model. Without a model it is not run, and that is said.
fn prompt_tests(
    name: &str,
    file: &Path,
    agent: &AgentDir,
    args: &TestArgs,
) -> Result<Vec<AgentTest>> {
    let case = PromptCase::read(file)?;
    let models = match args.models.as_slice() {
        [] => agent.file.model.clone().into_iter().collect(),
        models => models.to_vec(),
    };
    let is_wanted = args.filter.as_ref().is_none_or(|it| name.contains(it));
    if models.is_empty() && is_wanted {
        print_line(format_args!("skipped {}: it needs --model", sanitize(name)));
    }
    let tests = models.into_iter().map(|model| AgentTest {
        name: format!("{name} with {model}"),
        kind: TestKind::Prompt { case: Box::new(case.clone()), model },
    });
    Ok(tests.collect())
}

/// Maximum size of a recording, in bytes.
const MAX_RECORDING_BYTES: u64 = 64 * 1024 * 1024;

/// Says why a test failed.
fn find_failure(test: &AgentTest, report: &TurnReport) -> Option<String> {
    find_error(report).or_else(|| match &test.kind {
        TestKind::Prompt { case, .. } => case.find_failure(report),
        _ => None,
    })
}

/// Says why a turn has not completed.
fn find_error(report: &TurnReport) -> Option<String> {
    match &report.error {
        Some(error) => Some(describe_report(error)),
        None if report.outcome == TurnOutcome::Completed => None,
        None => Some(format!("the turn ended otherwise: {}", report.outcome)),
    }
}

/// What the tests of a run have in common.
struct TestRun<'r> {
    args: &'r TestArgs,
    config: UserConfig,
    terminal: &'r Terminal,
}

impl TestRun<'_> {
    /// Runs a test, and returns why it failed: on a copy of the agent's directory, or on the directory itself if the user wants that.
    async fn run_isolated(&self, test: &AgentTest, agent: &AgentDir) -> Result<Option<String>> {
        let report = if self.args.in_place {
            self.run_test(test, agent).await?
        } else {
            let mut copy = AgentCopy::create(agent)?;
            copy.agent.prepare_servers(self.terminal).await?;
            self.run_test(test, &copy.agent).await?
        };
        Ok(find_failure(test, &report))
    }

    async fn run_test(&self, test: &AgentTest, agent: &AgentDir) -> Result<TurnReport> {
        let builder = match &test.kind {
            TestKind::Script(file) => {
                let text = read_regular_text(file, MAX_TEXT_BYTES)?;
                builder_of(agent, ScriptExecutor::parse(&text)?)
            }
            TestKind::Recording(file) => {
                replay_text(agent, file, &read_regular_text(file, MAX_RECORDING_BYTES)?)?
            }
            TestKind::Prompt { model, .. } => {
                let purpose = ExecutorUse::Run { plain_http: false };
                builder_of(
                    agent,
                    ExecutorFinder { config: &self.config, purpose }
                        .of_agent(agent, Some(model))?,
                )
            }
        };
        let prompt = match &test.kind {
            TestKind::Prompt { case, .. } => Some(case.prompt.clone()),
            _ => agent.file.prompt.clone(),
        };
        self.run_builder(builder, agent, prompt).await
    }

    async fn run_builder(
        &self,
        builder: AgentBuilder,
        agent: &AgentDir,
        prompt: Option<String>,
    ) -> Result<TurnReport> {
        let dir = new_temp_dir()?;
        let stores = OpenStores::of_dir(&TurnDir::open(dir.path().join("store"))?);
        let settings = HostSettings {
            // Nobody decides a gate that the approver could not.
            gates: GatePolicy::Suspend,
            ..HostSettings::new(self.terminal)
        };
        let host = AgentHost::new(stores, self.config.clone(), settings);
        let builder = host.runner(agent, builder)?;
        let builder = match self.args.yes {
            true => builder.approver(async |gate: Gate| match expects_approval(&gate) {
                true => GateDecision::Resolved { value: true.into() },
                false => {
                    GateDecision::Rejected { reason: "tests reply to no questions".to_owned() }
                }
            }),
            false => builder.approver(async |_: Gate| GateDecision::Rejected {
                reason: "tests approve nothing without --yes".to_owned(),
            }),
        };
        let mut turn = prepare_turn(builder.build()?.turn([]), agent, &agent.dir)?;
        if let Some(prompt) = prompt {
            turn = turn.message(new_user_message("prompt", prompt)?);
        }
        let report = turn.report().await;
        host.stores().close().await;
        Ok(report?)
    }
}
