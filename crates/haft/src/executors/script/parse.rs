//! Converts a document to typed steps, and reports every problem at once.

use haft_core::error::codes;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use haft_core::Args;
use haft_core::args::{RawArgs, Strictness};
use haft_core::json::{Document, ValueKind, ValueRef};
use haft_core::schema::{Field, InputSchema, Schema, any, array, integer, object, one_of, string};
use haft_core::usage::Usage;
use regex_automata::meta::Regex;

use super::expect::{CallExpectation, ExpectedEnding, TextCheck};
use super::template::{ArgsTemplate, Placeholder, Template};
use super::{Script, ScriptCall, ScriptFault, ScriptStall, ScriptStep, StepEnd};

/// Reads scripts. The schema of the format finds wrong names and types; all other problems are found here.
#[derive(Default)]
pub(super) struct ScriptParser {
    faults: Vec<ScriptFault>,
    /// The tools that were called so far.
    called: BTreeSet<String>,
}

impl ScriptParser {
    pub(super) fn read(document: Document) -> Result<Script, Vec<ScriptFault>> {
        let raw = RawArgs::from(Args::new(document));
        let schema = script_schema().map_err(|faults| {
            let faults = faults.iter().map(|it| ScriptFault::new("", it.to_string()));
            faults.collect::<Vec<_>>()
        })?;
        let accepted = schema.accept("script", &raw, Strictness::Strict).map_err(|problems| {
            let problems = problems.list.iter().map(|problem| {
                let text = problem.to_string();
                let what = text.split_once(": ").map_or(text.as_str(), |(_, what)| what);
                ScriptFault::new(problem.pointer.clone(), what)
            });
            problems.collect::<Vec<_>>()
        })?;
        let hash = raw.call_id("script").to_string();
        Self::default().parse_script(accepted.args.root(), hash)
    }

    fn parse_script(
        mut self,
        root: ValueRef<'_>,
        hash: String,
    ) -> Result<Script, Vec<ScriptFault>> {
        let steps: Vec<ValueRef<'_>> =
            root.get("steps").map(|it| it.elements().collect()).unwrap_or_default();
        let last = steps.len().saturating_sub(1);
        let steps = (0..).zip(&steps);
        let steps: Vec<ScriptStep> =
            steps.map(|(n, step)| self.parse_step(*step, n, n == last)).collect();
        let name = root.get("name").and_then(ValueRef::as_str).map(str::to_owned);
        if self.faults.is_empty() { Ok(Script { name, hash, steps }) } else { Err(self.faults) }
    }

    fn parse_step(&mut self, step: ValueRef<'_>, n: usize, is_last: bool) -> ScriptStep {
        let at = format!("/steps/{n}");
        if step.is_empty() {
            self.add_fault(
                &at,
                "a step does something: `say`, `think`, `call`, `expect`, `stall`, `fail`",
            );
        }
        let expect = self.parse_expectations(step.get("expect"), &format!("{at}/expect"));
        let stall =
            step.get("stall").and_then(|it| self.parse_stall_key(it, &format!("{at}/stall")));
        let think = self.parse_texts(step.get("think"), &format!("{at}/think"));
        let say = self.parse_texts(step.get("say"), &format!("{at}/say"));
        let stream = step.get("stream").and_then(ValueRef::as_u64);
        let pieces = stream.and_then(|it| usize::try_from(it).ok()).unwrap_or(1);
        if stream.is_some() && think.is_empty() && say.is_empty() {
            self.add_fault(
                &format!("{at}/stream"),
                "there is nothing to stream: no `say` and no `think`",
            );
        }
        let call = self.parse_calls(step.get("call"), &format!("{at}/call"));
        let end = self.parse_end(step, &at, call.is_empty(), is_last);
        self.called.extend(call.iter().map(|call| call.tool.clone()));
        let usage = step.get("usage").map(|usage| {
            let count = |name| usage.get(name).and_then(ValueRef::as_u64).unwrap_or(0);
            Usage::new(count("prompt"), count("completion"))
        });
        ScriptStep {
            expect,
            stall,
            think,
            say,
            pieces,
            call,
            usage: usage.unwrap_or_default(),
            end,
        }
    }

    fn parse_end(
        &mut self,
        step: ValueRef<'_>,
        at: &str,
        calls_nothing: bool,
        is_last: bool,
    ) -> StepEnd {
        let ways: Vec<&str> =
            ["then", "nack", "fail"].into_iter().filter(|it| step.get(it).is_some()).collect();
        if ways.len() > 1 {
            self.add_fault(at, format!("a step ends one way, not with `{}`", ways.join("` and `")));
        }
        if let Some(reason) = step.get("nack") {
            return StepEnd::Nack(self.parse_text(reason, &format!("{at}/nack")));
        }
        if let Some(fail) = step.get("fail") {
            if !calls_nothing {
                self.add_fault(
                    at,
                    "a step that fails is not kept, so that its `call` is never made",
                );
            }
            return self.parse_failure(fail, &format!("{at}/fail"));
        }
        match step.get("then").and_then(ValueRef::as_str) {
            Some("done") => StepEnd::Done,
            Some(_) => StepEnd::Continue,
            None if !calls_nothing && is_last => {
                self.add_fault(
                    &format!("{at}/call"),
                    "nothing follows these calls; add a step that reacts to them, or `then: done`",
                );
                StepEnd::Done
            }
            None if is_last => StepEnd::Done,
            None => StepEnd::Continue,
        }
    }

    fn parse_failure(&mut self, fail: ValueRef<'_>, at: &str) -> StepEnd {
        let (reason, retryable) = match fail.kind() {
            ValueKind::Object => (fail.get("reason"), fail.get("retryable")),
            _ => (Some(fail), None),
        };
        let known = ["reason", "retryable"];
        for (key, _) in fail.members().filter(|(key, _)| !known.contains(key)) {
            self.add_fault(&format!("{at}/{key}"), "there are `reason` and `retryable`");
        }
        let retryable = match retryable.map(|it| (it, it.as_bool())) {
            None => false,
            Some((_, Some(retryable))) => retryable,
            Some((found, None)) => {
                self.add_fault(
                    &format!("{at}/retryable"),
                    format!("expected true or false, got {found}"),
                );
                false
            }
        };
        let reason = match reason {
            Some(reason) => self.parse_text(reason, at),
            None => {
                self.add_fault(at, "`reason` is missing");
                Template::empty()
            }
        };
        StepEnd::Fail { reason, retryable }
    }

    /// Calls: a mapping of tools to arguments, or a list of such mappings.
    fn parse_calls(&mut self, calls: Option<ValueRef<'_>>, at: &str) -> Vec<ScriptCall> {
        let mut all = Vec::new();
        for (tool, args, at) in self.by_tool(calls, at) {
            let mut faults = Vec::new();
            let args = ArgsTemplate::parse(args, &mut faults);
            for (below, what) in faults {
                self.add_fault(&format!("{at}{below}"), what);
            }
            let mut placeholders = BTreeSet::new();
            args.collect_placeholders(&mut placeholders);
            self.check_placeholders(&placeholders, &at);
            all.push(ScriptCall { tool, args, pointer: at, place: None });
        }
        all
    }

    fn parse_expectations(
        &mut self,
        expect: Option<ValueRef<'_>>,
        at: &str,
    ) -> Vec<CallExpectation> {
        let listed = self.by_tool(expect, at);
        let mut left: BTreeMap<&str, usize> = BTreeMap::new();
        for (tool, ..) in &listed {
            *left.entry(tool).or_default() += 1;
        }
        let mut all = Vec::new();
        for (tool, wanted, at) in &listed {
            if !self.called.contains(tool) {
                self.add_uncalled_fault(tool, at);
            }
            let (ends, checks) = self.parse_expected_result(*wanted, at);
            let back = left.get_mut(tool.as_str()).map_or(0, |left| {
                *left = left.saturating_sub(1);
                *left
            });
            all.push(CallExpectation { tool: tool.clone(), back, ends, checks });
        }
        all
    }

    fn parse_expected_result(
        &mut self,
        wanted: ValueRef<'_>,
        at: &str,
    ) -> (ExpectedEnding, Vec<TextCheck>) {
        if let Some(text) = wanted.as_str() {
            return (ExpectedEnding::Well, vec![TextCheck::Equals(text.to_owned())]);
        }
        let mut ends = ExpectedEnding::Well;
        let mut checks = Vec::new();
        if wanted.kind() != ValueKind::Object || wanted.is_empty() {
            let what = "expected a text, or `equals`, `contains`, `matches` or `error`";
            self.add_fault(at, format!("{what}, got {wanted}"));
        }
        for (key, value) in wanted.members() {
            let at = format!("{at}/{key}");
            match (key, value.as_str()) {
                ("equals", Some(text)) => checks.push(TextCheck::Equals(text.to_owned())),
                ("equals", None) => checks.push(TextCheck::EqualsJson(value.to_document())),
                ("contains", Some(text)) => checks.push(TextCheck::Contains(text.to_owned())),
                ("contains", None) => {
                    for part in self.list_of_text(value, &at) {
                        checks.push(TextCheck::Contains(part));
                    }
                }
                ("matches", Some(pattern)) => checks.extend(self.parse_pattern(pattern, &at)),
                ("error", _) => ends = self.parse_ending(value, &at),
                ("matches", None) => self.add_fault(&at, "expected a regular expression"),
                _ => self.add_fault(&at, "there are `equals`, `contains`, `matches` and `error`"),
            }
        }
        (ends, checks)
    }

    fn parse_ending(&mut self, value: ValueRef<'_>, at: &str) -> ExpectedEnding {
        match (value.as_bool(), value.as_str()) {
            (Some(true), _) => ExpectedEnding::Failing,
            (Some(false), _) => ExpectedEnding::Well,
            (_, Some(code)) if codes::ALL.iter().any(|it| it.as_str() == code) => {
                ExpectedEnding::FailingWith(code.to_owned())
            }
            _ => {
                self.add_fault(
                    at,
                    format!(
                        "expected true, false or a code such as E_INVALID_TOOL_ARGS, got {value}"
                    ),
                );
                ExpectedEnding::Failing
            }
        }
    }

    fn parse_pattern(&mut self, pattern: &str, at: &str) -> Option<TextCheck> {
        match Regex::new(pattern) {
            Ok(regex) => Some(TextCheck::Matches { pattern: pattern.to_owned(), regex }),
            Err(error) => {
                let why =
                    error.syntax_error().map_or_else(|| error.to_string(), ToString::to_string);
                self.add_fault(at, format!("not a regular expression: {why}"));
                None
            }
        }
    }

    /// The members of a mapping, or of a list of mappings with one member each, and their pointers.
    fn by_tool<'v>(
        &mut self,
        value: Option<ValueRef<'v>>,
        at: &str,
    ) -> Vec<(String, ValueRef<'v>, String)> {
        let mut all = Vec::new();
        let Some(value) = value else { return all };
        let member = |key: &str| key.replace('~', "~0").replace('/', "~1");
        let form = "expected `TOOL: …`, or a list of those";
        match value.kind() {
            ValueKind::Object => {
                for (tool, value) in value.members() {
                    all.push((tool.to_owned(), value, format!("{at}/{}", member(tool))));
                }
            }
            ValueKind::Array => {
                for (n, item) in (0..).zip(value.elements()) {
                    let n: usize = n;
                    let at = format!("{at}/{n}");
                    match (item.members().next(), item.len()) {
                        (Some((tool, value)), 1) => {
                            all.push((tool.to_owned(), value, format!("{at}/{}", member(tool))));
                        }
                        _ => self.add_fault(&at, format!("expected one `TOOL: …`, got {item}")),
                    }
                }
            }
            _ => self.add_fault(at, format!("{form}, got {value}")),
        }
        if all.is_empty() && self.faults.is_empty() {
            self.add_fault(at, format!("{form}, got nothing"));
        }
        all
    }

    /// Text, or a list of texts.
    fn parse_texts(&mut self, value: Option<ValueRef<'_>>, at: &str) -> Vec<Template> {
        match value {
            None => Vec::new(),
            Some(list) if list.kind() == ValueKind::Array => {
                let items = (0..).zip(list.elements());
                items
                    .map(|(n, item): (usize, _)| self.parse_text(item, &format!("{at}/{n}")))
                    .collect()
            }
            Some(text) => vec![self.parse_text(text, at)],
        }
    }

    fn parse_text(&mut self, value: ValueRef<'_>, at: &str) -> Template {
        let Some(text) = value.as_str().filter(|text| !text.is_empty()) else {
            self.add_fault(at, format!("expected a text, got {value}"));
            return Template::empty();
        };
        match Template::parse(text) {
            Ok(template) => {
                let mut placeholders = BTreeSet::new();
                template.collect_placeholders(&mut placeholders);
                self.check_placeholders(&placeholders, at);
                template
            }
            Err(what) => {
                self.add_fault(at, what);
                Template::empty()
            }
        }
    }

    fn list_of_text(&mut self, value: ValueRef<'_>, at: &str) -> Vec<String> {
        let texts: Option<Vec<String>> =
            value.elements().map(|it| it.as_str().map(str::to_owned)).collect();
        match texts.filter(|texts| !texts.is_empty()) {
            Some(texts) => texts,
            None => {
                self.add_fault(at, format!("expected a text or a list of texts, got {value}"));
                Vec::new()
            }
        }
    }

    fn parse_stall_key(&mut self, value: ValueRef<'_>, at: &str) -> Option<ScriptStall> {
        let stall = value.as_str().and_then(parse_stall);
        if stall.is_none() {
            let what = "expected a time such as `500ms`, `5s` or `2m`, or `forever`";
            self.add_fault(at, format!("{what}, got {value}"));
        }
        stall
    }

    fn check_placeholders(&mut self, placeholders: &BTreeSet<&Placeholder>, at: &str) {
        for placeholder in placeholders {
            if let Placeholder::Last(tool) = placeholder
                && !self.called.contains(tool)
            {
                self.add_uncalled_fault(tool, at);
            }
        }
    }

    fn add_uncalled_fault(&mut self, tool: &str, at: &str) {
        let called: Vec<String> = self.called.iter().map(|tool| format!("`{tool}`")).collect();
        let called = match called.as_slice() {
            [] => "nothing".to_owned(),
            called => called.join(", "),
        };
        self.add_fault(at, format!("no step before this one calls `{tool}`; they call {called}"));
    }

    fn add_fault(&mut self, at: &str, what: impl Into<String>) {
        self.faults.push(ScriptFault::new(at, what));
    }
}

fn parse_stall(text: &str) -> Option<ScriptStall> {
    if text == "forever" {
        return Some(ScriptStall::Forever);
    }
    let unit = text.find(|it: char| !it.is_ascii_digit())?;
    let (count, unit) = text.split_at_checked(unit)?;
    let count: u64 = count.parse().ok()?;
    let milliseconds = match unit {
        "ms" => 1,
        "s" => 1000,
        "m" => 60_000,
        "h" => 3_600_000,
        _ => return None,
    };
    Some(ScriptStall::For(Duration::from_millis(count.checked_mul(milliseconds)?)))
}

/// The names and types of the format.
fn script_schema() -> Result<InputSchema, Vec<haft_core::schema::SchemaFault>> {
    let usage = object()
        .field("prompt", integer().min(0).optional())
        .field("completion", integer().min(0).optional());
    let free = || Field::optional(Schema::from(any()));
    let step = object()
        .field("expect", free())
        .field("stall", free())
        .field("think", free())
        .field("say", free())
        .field("stream", integer().min(1).max(10_000).optional())
        .field("call", free())
        .field("usage", Field::optional(Schema::from(usage)))
        .field("then", one_of(["continue", "done"]).optional())
        .field("nack", free())
        .field("fail", free());
    let example = serde_json::json!([{"say": "Hello"}]);
    InputSchema::new(
        object()
            .field("name", string().optional())
            .field("steps", array(Schema::from(step)).min_items(1).example(example).required()),
    )
}
