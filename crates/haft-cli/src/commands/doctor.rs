//! `haft doctor`

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use haft::stores::TurnQuery;
use haft::turn::{Clock as _, Limits, SystemClock, TurnOutcome};
use haft::{Agent, DispatchExecutor, Tool, TurnReport, schema};
use serde_json::Map;

use super::models::fetch_models;
use super::{count_noun, format_duration};
use crate::args::{DoctorArgs, StoreArg};
use crate::config::{UserConfig, config_path};
use crate::host::{ExecutorFinder, ExecutorUse, new_user_message};
use crate::model_providers::{PRESETS, ProviderSpec};
use crate::output::{CheckStatus, DoctorLine, to_line};
use crate::store::open_store_to_read;
use crate::store_address::show_url;
use crate::supervisor::check_sandbox;
use crate::terminal::{Terminal, TextRole, sanitize};
use crate::user_error::{FailureCode, UserError};

/// Prints checks as they end.
struct Checklist<'c> {
    terminal: &'c Terminal,
    is_json: bool,
    failures: usize,
}

impl Checklist<'_> {
    fn report(&mut self, name: &str, status: CheckStatus, text: &str) -> Result<()> {
        self.failures += usize::from(status == CheckStatus::Failed);
        if self.is_json {
            super::print_text(&to_line(&DoctorLine { check: name, status, text })?)?;
            return Ok(());
        }
        let role = match status {
            CheckStatus::Ok => TextRole::Success,
            CheckStatus::Failed => TextRole::Error,
            CheckStatus::Skipped => TextRole::Muted,
        };
        let status = self.terminal.style_stdout(role, format!("{:<7}", status.as_str()));
        super::print_text(&format!("{status} {name:<12} {}\n", sanitize(text)))?;
        Ok(())
    }

    /// Reports the result of a check, and returns its value.
    fn report_result<T>(&mut self, name: &str, result: Result<(T, String)>) -> Result<Option<T>> {
        match result {
            Ok((value, text)) => {
                self.report(name, CheckStatus::Ok, &text)?;
                Ok(Some(value))
            }
            Err(error) => {
                let mut text = format!("{error:#}");
                if let Some(hint) = error.downcast_ref::<UserError>().and_then(UserError::advice) {
                    text.push_str(&format!("; {hint}"));
                }
                self.report(name, CheckStatus::Failed, &text)?;
                Ok(None)
            }
        }
    }
}

/// Checks the configuration, the store, and whether a model responds and calls tools.
pub(super) async fn run_doctor(args: &DoctorArgs, terminal: &Terminal) -> Result<ExitCode> {
    let mut list = Checklist { terminal, is_json: args.json, failures: 0 };
    let path = config_path().map(|it| it.display().to_string()).unwrap_or_default();
    let has_file = config_path().is_some_and(|it| it.exists());
    let text = if has_file { path.clone() } else { format!("{path} does not exist; not needed") };
    let config = list.report_result("config", UserConfig::read().map(|it| (it, text)))?;
    let config = config.unwrap_or_default();
    let store = check_store(&args.store).await.map(|text| ((), text));
    list.report_result("store", store)?;
    match check_sandbox() {
        Ok(()) => list.report("sandbox", CheckStatus::Ok, "programs can be confined")?,
        // Only agents with a sandbox need it.
        Err(error) => {
            let hint = error.advice().map(|it| format!("; {it}")).unwrap_or_default();
            list.report("sandbox", CheckStatus::Skipped, &format!("{error}{hint}"))?;
        }
    }
    match args.model.as_deref().or(config.model.as_deref()) {
        Some(model) => check_model(model, &config, args.plain_http, &mut list).await?,
        None => check_providers(&config, &mut list).await?,
    }
    Ok(if list.failures == 0 { ExitCode::SUCCESS } else { FailureCode::Failed.into() })
}

async fn check_store(store: &StoreArg) -> Result<String> {
    let address = store.find_address();
    if store.selected().is_none() && address.local_dir().is_some_and(|dir| !dir.is_dir()) {
        return Ok("there is no store yet; `haft run` creates `.haft` here".to_owned());
    }
    let stores = open_store_to_read(&address).await?;
    let turns = stores.turns().turns(TurnQuery::default().limit(1000)).await?.len();
    let turns =
        if turns == 1000 { "1000 turns or more".to_owned() } else { count_noun(turns, "turn") };
    Ok(format!("{} with {turns}", show_url(&address.url)))
}

/// Without a model, checks which of the providers with a key can be reached.
async fn check_providers(config: &UserConfig, list: &mut Checklist<'_>) -> Result<()> {
    let presets = PRESETS.iter().map(|it| it.name).filter(|it| !config.providers.contains_key(*it));
    let mut found = false;
    for name in config.providers.keys().map(String::as_str).chain(presets) {
        let spec = match ProviderSpec::find(name, config) {
            Ok(spec) => spec,
            Err(error) => {
                list.report_result::<()>(name, Err(error))?;
                continue;
            }
        };
        if spec.read_key().is_none() && !config.providers.contains_key(name) {
            continue;
        }
        found = true;
        check_reachability(&spec, false, list).await?;
    }
    let text = match found {
        true => "select one to check its responses: haft doctor --model PROVIDER:MODEL",
        false => "no API key is set and no model is selected: haft doctor --model PROVIDER:MODEL",
    };
    list.report("model", CheckStatus::Skipped, text)
}

async fn check_reachability(
    spec: &ProviderSpec,
    plain_http: bool,
    list: &mut Checklist<'_>,
) -> Result<Option<Vec<String>>> {
    let begun = SystemClock::new().now();
    let listed = fetch_models(spec, plain_http).await.map(|models| {
        let (count, time) = (
            count_noun(models.len(), "model"),
            format_duration(SystemClock::new().now().duration_since(begun)),
        );
        let text = format!("{} offers {count} ({time})", spec.url());
        (models, text)
    });
    list.report_result("reachable", listed)
}

async fn check_model(
    name: &str,
    config: &UserConfig,
    plain_http: bool,
    list: &mut Checklist<'_>,
) -> Result<()> {
    let purpose = ExecutorUse::Run { plain_http };
    let new_executor = || ExecutorFinder { config, purpose }.of_name(name, Map::new());
    let described = new_executor().map(|it| ((), it.description().to_string()));
    if list.report_result("model", described)?.is_none() {
        return Ok(());
    }
    let (provider, model) = name.split_once(':').unwrap_or((name, ""));
    let spec = ProviderSpec::find(provider, config)?;
    let key = match (&spec.key_env, spec.read_key()) {
        (Some(variable), Some(_)) => format!("{variable} is set"),
        _ => "none is sent".to_owned(),
    };
    list.report("key", CheckStatus::Ok, &key)?;
    if let Some(models) = check_reachability(&spec, plain_http, list).await?
        // Azure lists models, and `model` is a deployment.
        && !spec.is_azure
        && !models.iter().any(|it| it == model)
    {
        list.report("offered", CheckStatus::Skipped, &format!("`{model}` is not in the list"))?;
    }
    let answer = check_answer(new_executor()?).await.map(|text| ((), text));
    if list.report_result("response", answer)?.is_some() {
        let call = check_call(new_executor()?).await.map(|text| ((), text));
        list.report_result("tool call", call)?;
    }
    Ok(())
}

/// How long a model may take for one check.
const MODEL_TIME: Duration = Duration::from_secs(90);

/// The system prompt of a check.
const SYSTEM: &str = "You check whether a connection works. Do exactly what is asked.";

async fn run_prompt(
    executor: Arc<dyn DispatchExecutor>,
    tools: Vec<Tool>,
    prompt: &str,
) -> Result<TurnReport> {
    let mut limits = Limits::new();
    (limits.iterations, limits.wall_time) = (3, MODEL_TIME);
    let agent = Agent::builder(executor).tools(tools).limits(limits).build()?;
    let turn = agent.turn(new_user_message("prompt", prompt.to_owned())?).system(SYSTEM);
    let report = turn.report().await?;
    match &report.error {
        Some(error) => Err(UserError::new(error.message.to_string()).into()),
        None => Ok(report),
    }
}

async fn check_answer(executor: Arc<dyn DispatchExecutor>) -> Result<String> {
    let report = run_prompt(executor, Vec::new(), "Reply with the word: ok").await?;
    let text = report.text().trim();
    if report.outcome != TurnOutcome::Completed || text.is_empty() {
        return Err(UserError::new("the model said nothing").into());
    }
    let text: String = text.chars().take(40).collect();
    let tokens = count_noun(report.usage.total.min(usize::MAX as u64) as usize, "token");
    Ok(format!("{text:?} in {}, {tokens}", format_duration(report.duration)))
}

async fn check_call(executor: Arc<dyn DispatchExecutor>) -> Result<String> {
    let input = schema::object().field("number", schema::integer().required());
    let tool = Tool::builder("report_number")
        .description("Reports a number.")
        .input(input)
        .handler(|_: haft::Args| "reported")
        .build()?;
    let prompt = "Call the tool report_number with the number 7.";
    let report = run_prompt(executor, vec![tool], prompt).await?;
    let Some(call) = report.calls.first() else {
        let error = UserError::new("the model called no tool");
        return Err(error.hint("choose a model that supports tools").into());
    };
    if let Some(error) = &call.error {
        return Err(UserError::new(error.message.clone()).into());
    }
    let args = call.accepted.as_ref().map(ToString::to_string).unwrap_or_default();
    Ok(format!("{} {args} in {}", call.tool(), format_duration(report.duration)))
}
