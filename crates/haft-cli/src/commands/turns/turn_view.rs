//! `haft show`: everything that is stored about a turn, step by step.

use std::collections::HashMap;

use anyhow::Result;
use haft::events::Usage;
use haft::executors::ExecutorDescription;
use haft::providers::dialects::chat_completions::ChatCompletions;
use haft::providers::{Options, Provider};
use haft::records::ToolResults;
use haft::stores::{OpenStores, Row, RowKind, StoredTurn};
use haft::turn::{Agent, Gate, HydratedRange, StepHistory, StoredTurns, TurnHistory, TurnTime};
use serde_json::{Value, json};

use super::record_view::{CallFacts, ReadRecord, RecordView, read_records};
use super::{parse_json_or_text, status_role, stop_error, summary_now};
use crate::commands::gates::format_preview;
use crate::commands::tools::query_tool_names;
use crate::commands::{count_noun, format_count, format_duration, format_time};
use crate::config::UserConfig;
use crate::host::origin_agent;
use crate::output::{
    PrintedGate, PrintedRecord, PrintedStep, PrintedTime, PrintedTurn, whole_milliseconds,
};
use crate::prices::format_cost;
use crate::shell_word::quote_word;
use crate::store::short_gate_id;
use crate::store_address::store_option;
use crate::terminal::{Terminal, TextRole, sanitize};
use crate::text_width::wrap;

/// A stored turn and what is known about it.
pub(super) struct TurnView<'t> {
    turn: &'t StoredTurn,
    history: TurnHistory,
    records: Vec<ReadRecord<'t>>,
    config: UserConfig,
    facts: CallFacts,
    /// The option that selects the store in commands.
    store: String,
}

impl<'t> TurnView<'t> {
    /// Reads the journal of a turn, and renders its results as the model saw them.
    pub(super) async fn load(turn: &'t StoredTurn, stores: &OpenStores) -> Result<Self> {
        let history = TurnHistory::read(turn)?;
        let config = UserConfig::read()?;
        let facts = CallFacts {
            // A turn whose records cannot be rendered is shown as it is stored.
            seen: render_results(turn, &history, stores).await.unwrap_or_default(),
            handles: list_handles(turn, stores).await.unwrap_or_default(),
        };
        let records = read_records(&StoredTurns::of_stores(stores), &turn.rows).await;
        Ok(Self { turn, history, records, config, facts, store: store_option(stores.url()) })
    }

    pub(super) fn printed(&self) -> PrintedTurn<'_> {
        let turn = self.turn;
        let records = turn.rows.iter().map(|row| PrintedRecord {
            kind: row.kind.as_str(),
            id: &row.id,
            record: parse_json_or_text(&row.json),
        });
        let gates = turn.gates.iter().map(|gate| PrintedGate {
            gate: gate.id.as_str(),
            opened: parse_json_or_text(&gate.json),
            settled: gate.settlement.as_deref().map(parse_json_or_text),
        });
        PrintedTurn {
            turn: summary_now(turn.summary.clone()),
            agent: origin_agent(&self.history).map(str::to_owned),
            executor: &self.history.executor,
            usage: self.usage(),
            cost: self.config.cost_of(&self.history).amount,
            milliseconds: self.history.duration().map(whole_milliseconds),
            time: self.printed_time(),
            steps: self.history.steps.iter().map(|step| self.printed_step(step)).collect(),
            records: records.collect(),
            seen_results: &self.facts.seen,
            handles: &self.facts.handles,
            gates: gates.collect(),
            journal: turn.journal.iter().map(|it| parse_json_or_text(it)).collect(),
        }
    }

    fn printed_step<'v>(&'v self, step: &'v StepHistory) -> PrintedStep<'v> {
        PrintedStep {
            step: step.iteration + 1,
            executor: &step.executor,
            model: step.model.as_deref(),
            options: step.options.as_ref(),
            new_tools: &step.new_tools,
            usage: step.usage,
            cost: self.config.cost_of_step(step),
            started_at: step.started_at,
            milliseconds: whole_milliseconds(step.duration()),
            wait_milliseconds: whole_milliseconds(step.wait),
            storing_milliseconds: whole_milliseconds(step.storing),
            request: step.request.as_ref(),
            calls: &step.calls,
        }
    }

    fn time(&self) -> TurnTime {
        self.history.time(self.records.iter().filter_map(ReadRecord::as_call))
    }

    fn printed_time(&self) -> PrintedTime {
        let time = self.time();
        PrintedTime {
            model_wait: whole_milliseconds(time.model_wait),
            model_write: whole_milliseconds(time.model_write),
            tools: whole_milliseconds(time.tools),
            storing: whole_milliseconds(time.storing),
            people: whole_milliseconds(time.people),
        }
    }

    /// What the time of the turn was spent on; people only if one was asked.
    fn time_to_text(&self) -> String {
        let time = self.time();
        let parts = [
            ("waiting for the model", time.model_wait),
            ("model writing", time.model_write),
            ("tools", time.tools),
            ("storing", time.storing),
            ("waiting for a person", time.people),
        ];
        let parts = parts.into_iter().take(if time.people.is_zero() { 4 } else { 5 });
        let parts: Vec<String> =
            parts.map(|(words, time)| format!("{words} {}", format_duration(time))).collect();
        parts.join(", ")
    }

    pub(super) fn to_text(&self, is_full: bool, terminal: &Terminal) -> String {
        let view = RecordView { terminal, facts: &self.facts, is_full };
        let summary = summary_now(self.turn.summary.clone());
        let store = &self.store;
        let status = terminal.style_stdout(status_role(summary.status), summary.status.as_str());
        let id = terminal.style_stdout(TextRole::Key, summary.id.as_str());
        let mut text = format!("{id}  {status}  {}\n", format_time(summary.created_at));
        for (label, value) in self.facts_to_text(is_full, terminal) {
            text.push_str(&view.labelled(label, &value));
        }
        if let Some(HydratedRange { first, last, count, .. }) = &self.history.earlier_turns {
            let turns = if *count == 1 { "turn" } else { "turns" };
            let range =
                if first == last { first.to_string() } else { format!("{first} to {last}") };
            text.push_str(&view.labelled("history", &format!("{count} earlier {turns}: {range}")));
        }
        let starts = self.step_starts();
        for record in &self.records {
            if let Some(step) = starts.get(&(record.row.kind, record.row.id.as_str())) {
                text.push_str(&self.step_to_text(step, terminal));
            }
            text.push_str(&view.to_text(record));
        }
        if let Some(error) = stop_error(&summary, &self.history) {
            let label = if summary.status.is_final() { "error" } else { "stopped" };
            let label = terminal.style_stdout(TextRole::Error, format!("{label:<10}"));
            text.push_str(&format!("{label} {}\n", error.replace('\n', "\n           ")));
        }
        for gate in self.turn.gates.iter().filter(|gate| gate.settlement.is_none()) {
            match serde_json::from_str::<Gate>(&gate.json) {
                Ok(gate) => text.push_str(&self.gate_to_text(&gate, &view)),
                Err(error) => {
                    let problem = format!("{} cannot be read: {error}", gate.id);
                    text.push_str(&view.labelled("open gate", &sanitize(&problem)));
                }
            }
        }
        if let Some(handle) = self.facts.handles.values().flatten().next() {
            let hint = format!(
                "open an artifact: haft artifact read {handle} --turn {}{store}",
                summary.id
            );
            text.push_str(&format!("{}\n", terminal.style_stdout(TextRole::Muted, hint)));
        }
        if self.has_media() {
            let hint =
                format!("save an image or a document: haft media save {} 1{store}", summary.id);
            text.push_str(&format!("{}\n", terminal.style_stdout(TextRole::Muted, hint)));
        }
        text
    }

    /// The facts about the whole turn.
    fn facts_to_text(&self, is_full: bool, terminal: &Terminal) -> Vec<(&'static str, String)> {
        let mut facts = Vec::new();
        if let Some(agent) = origin_agent(&self.history) {
            let mut text = sanitize(agent);
            for time in &self.history.redefined_at {
                let time = format_time(*time);
                text.push_str(&format!("\n{time}: resumed after its file had changed"));
            }
            facts.push(("agent", text));
        }
        let executor = &self.history.executor;
        let text = match executor {
            // As `--model` takes it.
            ExecutorDescription::Model { provider, model, base_url, .. } => {
                format!("{provider}:{model} at {base_url}")
            }
            other => other.to_string(),
        };
        facts.push(("model", sanitize(&text)));
        if let ExecutorDescription::Model { options, .. } = executor
            && !options.is_empty()
        {
            let options = Value::Object(options.clone()).to_string();
            facts.push(("options", sanitize(&options)));
        }
        if let Some(tools) = self.offered_tools(is_full) {
            let room = terminal.stdout_columns().map(|it| it.saturating_sub(LABEL_COLUMNS));
            facts.push(("offered", room.map_or_else(|| tools.clone(), |it| wrap(&tools, it))));
        }
        let steps = count_noun(self.history.steps.len(), "step");
        let calls = self.turn.rows.iter().filter(|row| row.kind == RowKind::ToolCall).count();
        let mut usage = vec![steps, count_noun(calls, "call")];
        usage.extend(usage_to_text(self.usage()));
        usage.push(self.config.cost_of(&self.history).to_string());
        usage.extend(self.history.duration().map(format_duration));
        usage.retain(|it| !it.is_empty());
        facts.push(("usage", usage.join(", ")));
        facts.push(("time", self.time_to_text()));
        facts
    }

    /// The tools that the model was offered. Those that query artifacts are many and always the same, so that they are
    /// only counted.
    fn offered_tools(&self, is_full: bool) -> Option<String> {
        let tools = self.history.steps.iter().flat_map(|it| &it.new_tools).map(String::as_str);
        let folded = if is_full { None } else { query_tool_names().ok() }.unwrap_or_default();
        let (queries, others): (Vec<&str>, Vec<&str>) =
            tools.partition(|name| folded.contains(*name));
        let count = count_noun(queries.len() + others.len(), "tool");
        let others = sanitize(&others.join(", "));
        let queries = match queries.len() {
            0 => None,
            1 => Some("1 that queries artifacts".to_owned()),
            n => Some(format!("{n} that query artifacts")),
        };
        match (others.is_empty(), queries) {
            (true, None) => None,
            (true, Some(queries)) => Some(format!("{count}: {queries}")),
            (false, None) => Some(format!("{count}: {others}")),
            (false, Some(queries)) => Some(format!("{count}: {others}, and {queries}")),
        }
    }

    /// An open gate: its question, what the call would change, and the commands that decide it.
    fn gate_to_text(&self, gate: &Gate, view: &RecordView<'_>) -> String {
        let terminal = view.terminal;
        let mut text = view.labelled("open gate", &sanitize(&gate.reason));
        if let Some(preview) = &gate.preview {
            let style = |role, line: &str| terminal.style_stdout(role, line);
            text.push_str(&format_preview(preview, style));
        }
        let (id, store) = (short_gate_id(gate), &self.store);
        let id = quote_word(&id);
        let hint = format!("decide: haft approve {id}{store}, or haft deny {id} \"REASON\"{store}");
        text.push_str(&format!("{}\n", terminal.style_stdout(TextRole::Muted, hint)));
        text
    }

    /// Whether a call of the turn has returned media.
    fn has_media(&self) -> bool {
        let mut calls = self.records.iter().filter_map(ReadRecord::as_call);
        calls.any(|call| matches!(&call.results, Some(ToolResults::Media(_))))
    }

    /// The steps, by the first record of each.
    fn step_starts(&self) -> HashMap<(RowKind, &str), &StepHistory> {
        let mut starts = HashMap::new();
        for step in &self.history.steps {
            let added: Vec<(RowKind, String)> = step.records().collect();
            let is_added =
                |row: &&Row| added.iter().any(|(kind, id)| (*kind, id) == (row.kind, &row.id));
            if let Some(first) = self.turn.rows.iter().find(is_added) {
                starts.insert((first.kind, first.id.as_str()), step);
            }
        }
        starts
    }

    fn step_to_text(&self, step: &StepHistory, terminal: &Terminal) -> String {
        let mut parts = vec![format!("step {}", step.iteration + 1)];
        if step.executor != self.history.executor {
            parts.push(step.executor.to_string());
        }
        parts.extend(usage_to_text(step.usage));
        parts.extend(self.config.cost_of_step(step).map(format_cost));
        parts.push(format_duration(step.duration()));
        if step.model.is_some() {
            parts.push(format!("first word after {}", format_duration(step.wait)));
        }
        if let Some(request) = &step.request {
            let bytes = format_count(request.bytes);
            let reused = request.prefix.filter(|_| request.bytes > 0);
            let reused =
                reused.map(|prefix| format!(", {} % as before", prefix * 100 / request.bytes));
            parts.push(format!("request of {bytes} bytes{}", reused.unwrap_or_default()));
        }
        let line = format!("── {}", sanitize(&parts.join(" · ")));
        format!("{}\n", terminal.style_stdout(TextRole::Muted, line))
    }

    fn usage(&self) -> Usage {
        self.history.steps.iter().map(|step| step.usage).sum()
    }
}

/// The columns of a label, and the gap after it.
const LABEL_COLUMNS: usize = 11;

/// Tokens in words; nothing if no tokens were counted.
fn usage_to_text(usage: Usage) -> Option<String> {
    if usage.total == 0 {
        return None;
    }
    let (prompt, completion) = (format_count(usage.prompt), format_count(usage.completion));
    let cached = match usage.cached {
        0 => String::new(),
        cached => format!(" ({} cached)", format_count(cached)),
    };
    Some(format!("{prompt} prompt{cached} + {completion} completion tokens"))
}

/// Renders the last request of a turn again, and returns the results of calls as they are in it, by the id of the call.
/// A request is rendered also for a turn that a script has run.
async fn render_results(
    turn: &StoredTurn,
    history: &TurnHistory,
    stores: &OpenStores,
) -> Result<HashMap<String, String>> {
    let Some((last, before)) = history.steps.split_last() else { return Ok(HashMap::new()) };
    // A picture that no model reads must not hide the other results.
    let options = Options::from(json!({"unsupportedMediaPolicy": "synthetic-description"}));
    let executor = Provider::builder(ChatCompletions::new(), "model").options(options).build()?;
    let runner = Agent::builder(executor).stores(stores).build()?;
    let Some(rendered) = runner.render_request(&turn.summary.id, last.iteration).await? else {
        return Ok(HashMap::new());
    };
    let body: Value = serde_json::from_slice(&rendered.request.body)?;
    let messages = body.get("messages").and_then(Value::as_array);
    let results = messages.into_iter().flatten().filter(|message| message["role"] == "tool");
    let results: Vec<String> =
        results.map(|message| content_to_text(&message["content"])).collect();
    let calls: Vec<String> =
        before.iter().flat_map(|step| &step.calls).map(ToString::to_string).collect();
    // The results of earlier turns come first.
    let own = results.len().checked_sub(calls.len()).map(|start| results.into_iter().skip(start));
    Ok(calls.into_iter().zip(own.into_iter().flatten()).collect())
}

fn content_to_text(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => {
            let texts = parts.iter().map(|part| match part.get("text").and_then(Value::as_str) {
                Some(text) => text.to_owned(),
                None => format!("({})", part["type"].as_str().unwrap_or("part")),
            });
            texts.collect::<Vec<_>>().join("\n")
        }
        other => other.to_string(),
    }
}

/// The handles of the artifacts of a turn, by the id of the call that returned them.
async fn list_handles(
    turn: &StoredTurn,
    stores: &OpenStores,
) -> Result<HashMap<String, Vec<String>>> {
    let mut handles: HashMap<String, Vec<String>> = HashMap::new();
    for artifact in StoredTurns::of_stores(stores).list_artifacts(&turn.summary.id).await? {
        if let Some(call) = artifact.call {
            handles.entry(call.to_string()).or_default().push(artifact.handle);
        }
    }
    Ok(handles)
}
