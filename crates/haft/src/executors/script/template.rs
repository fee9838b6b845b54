//! Text and arguments with placeholders.

use std::collections::BTreeSet;
use std::collections::HashMap;

use haft_core::Args;
use haft_core::args::RawArgs;
use haft_core::call::ToolCall;
use haft_core::event::EventKind;
use haft_core::json::{Document, JsonWriter, ValueKind, ValueRef};
use haft_core::record::MessageRole;
use haft_core::step::{StepContext, StepError};

use super::super::results::{CallText, read_call_text};

/// Text with placeholders. Inserted text is not expanded again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Template(Vec<TemplatePart>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum TemplatePart {
    Text(String),
    Placeholder(Placeholder),
}

/// A placeholder.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Placeholder {
    /// The user's last message.
    User,
    /// The outcome of the newest call of a tool.
    Last(String),
    /// The handle of the artifact of the newest call of a tool, or of a retrieved record.
    Handle(String),
}

/// The values of the placeholders of a step.
pub(super) type PlaceholderValues = HashMap<Placeholder, String>;

impl Template {
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let mut parts = Vec::new();
        let mut rest = text;
        let mut plain = String::new();
        while let Some((before, after)) = rest.split_once("{{") {
            if let Some(before) = before.strip_suffix('\\') {
                plain.push_str(before);
                plain.push_str("{{");
                rest = after;
                continue;
            }
            plain.push_str(before);
            let Some((name, after)) = after.split_once("}}") else {
                return Err("a `{{` has no `}}`; write `\\{{` for the characters".to_owned());
            };
            if !plain.is_empty() {
                parts.push(TemplatePart::Text(std::mem::take(&mut plain)));
            }
            parts.push(TemplatePart::Placeholder(Placeholder::parse(name.trim())?));
            rest = after;
        }
        plain.push_str(rest);
        if !plain.is_empty() {
            parts.push(TemplatePart::Text(plain));
        }
        Ok(Self(parts))
    }

    pub(super) const fn empty() -> Self {
        Self(Vec::new())
    }

    pub(super) fn collect_placeholders<'t>(&'t self, all: &mut BTreeSet<&'t Placeholder>) {
        all.extend(self.0.iter().filter_map(|part| match part {
            TemplatePart::Placeholder(hole) => Some(hole),
            TemplatePart::Text(_) => None,
        }));
    }

    pub(super) fn fill(&self, filling: &PlaceholderValues) -> String {
        let texts = self.0.iter().map(|part| match part {
            TemplatePart::Text(text) => text.as_str(),
            TemplatePart::Placeholder(hole) => filling.get(hole).map_or("", String::as_str),
        });
        texts.collect()
    }
}

impl Placeholder {
    fn parse(name: &str) -> Result<Self, String> {
        let named = |prefix| name.strip_prefix(prefix).filter(|it| !it.is_empty());
        match (name, named("last."), named("handle.")) {
            ("user", ..) => Ok(Self::User),
            (_, Some(tool), _) => Ok(Self::Last(tool.to_owned())),
            (_, _, Some(tool)) => Ok(Self::Handle(tool.to_owned())),
            _ => Err(format!(
                "there is no placeholder `{name}`; there are `last.TOOL` (what came of the newest call of \
                 a tool), `handle.TOOL` (the handle of its artifact) and `user` (what the user said last)"
            )),
        }
    }

    /// Its current value.
    pub(super) async fn value(&self, ctx: &StepContext) -> Result<String, StepError> {
        match self {
            Self::User => {
                let messages = ctx.dispatch().turn().messages().all();
                let user = messages.iter().rfind(|it| it.role() == MessageRole::User);
                let text = user.and_then(|message| message.content());
                Ok(text.map_or_else(String::new, |text| text.as_str().to_owned()))
            }
            Self::Last(tool) => {
                let call = newest_call(ctx, tool)
                    .ok_or_else(|| StepError::new(format!("`{tool}` was not called yet")))?;
                let said = read_call_text(&call, LONGEST_FILLING).await?;
                let Some(mut said) = said else { return Ok(String::new()) };
                if said.left_out > 0 {
                    warn_of_cut(ctx, tool, &said);
                } else {
                    remove_last_line_end(&mut said.text);
                }
                Ok(said.text)
            }
            Self::Handle(name) => artifact_handle(ctx, name),
        }
    }
}

/// Removes the line end at the end of a text, as shells do with the output of a command.
fn remove_last_line_end(text: &mut String) {
    if text.ends_with('\n') {
        text.pop();
        if text.ends_with('\r') {
            text.pop();
        }
    }
}

/// Warns observers that a placeholder contains only a part of a result.
fn warn_of_cut(ctx: &StepContext, tool: &str, said: &CallText) {
    ctx.dispatch().emit_with(|| {
        let shown = said.text.len();
        let left_out = said.left_out;
        let advice = format!("query its artifact with `{{{{ handle.{tool} }}}}` instead");
        EventKind::Warning {
            source: "script".into(),
            topic: "placeholder-cut".into(),
            message: format!(
                "`{{{{ last.{tool} }}}}` has only the first {shown} bytes of the result; {left_out} bytes are left out; {advice}"
            )
            .into(),
            payload: None,
        }
    });
}

/// The newest call of a tool.
pub(super) fn newest_call(ctx: &StepContext, tool: &str) -> Option<std::sync::Arc<ToolCall>> {
    ctx.dispatch().turn().tool_calls().all().into_iter().rfind(|call| call.tool() == tool)
}

fn artifact_handle(ctx: &StepContext, name: &str) -> Result<String, StepError> {
    if ctx.dispatch().artifacts().get(name).is_some() {
        return Ok(name.to_owned());
    }
    let Some(call) = newest_call(ctx, name) else {
        let what = format!("`{{{{ handle.{name} }}}}`: no call of `{name}` and no such record");
        return Err(StepError::new(what));
    };
    let handle = ctx.dispatch().artifacts().handles_of(call.id()).into_iter().next();
    handle.ok_or_else(|| {
        let reason = match &call.error {
            Some(error) => format!("the call of `{name}` failed: {}", error.message),
            None => format!("what `{name}` gave is no artifact; small results are shown in full"),
        };
        StepError::new(format!("`{{{{ handle.{name} }}}}`: {reason}"))
    })
}

/// The arguments of a call.
#[derive(Clone, Debug)]
pub(super) enum ArgsTemplate {
    /// Text as a model would write it, JSON or not.
    Raw(Template),
    /// JSON.
    Json(ArgsNode),
}

#[derive(Clone, Debug)]
pub(super) enum ArgsNode {
    Plain(Document),
    Text(Template),
    List(Vec<Self>),
    Object(Vec<(String, Self)>),
}

impl ArgsTemplate {
    /// The arguments that a script gives, and what is wrong with them: a pointer and words for each.
    pub(super) fn parse(view: ValueRef<'_>, faults: &mut Vec<(String, String)>) -> Self {
        match view.as_str() {
            Some(text) => match Template::parse(text) {
                Ok(template) => Self::Raw(template),
                Err(what) => {
                    faults.push((String::new(), what));
                    Self::Raw(Template::empty())
                }
            },
            None if view.is_null() => Self::Json(ArgsNode::Plain(Document::empty_object())),
            None => Self::Json(ArgsNode::parse(view, &mut String::new(), faults)),
        }
    }

    pub(super) fn collect_placeholders<'t>(&'t self, all: &mut BTreeSet<&'t Placeholder>) {
        match self {
            Self::Raw(template) => template.collect_placeholders(all),
            Self::Json(node) => node.collect_placeholders(all),
        }
    }

    pub(super) fn fill(&self, filling: &PlaceholderValues) -> RawArgs {
        match self {
            Self::Raw(template) => RawArgs::text(&template.fill(filling)),
            Self::Json(node) => {
                let mut out = JsonWriter::new();
                node.write(filling, &mut out);
                Args::new(out.finish()).into()
            }
        }
    }
}

impl ArgsNode {
    fn parse(view: ValueRef<'_>, at: &mut String, faults: &mut Vec<(String, String)>) -> Self {
        let length = at.len();
        let mut below = |key: &str, value: ValueRef<'_>| {
            at.push('/');
            at.push_str(&key.replace('~', "~0").replace('/', "~1"));
            let node = Self::parse(value, at, faults);
            at.truncate(length);
            node
        };
        match view.kind() {
            ValueKind::Array => {
                let items = (0..).zip(view.elements());
                Self::List(items.map(|(n, item): (usize, _)| below(&n.to_string(), item)).collect())
            }
            ValueKind::Object => {
                let members =
                    view.members().map(|(key, value)| (key.to_owned(), below(key, value)));
                Self::Object(members.collect())
            }
            ValueKind::String => match Template::parse(view.as_str().unwrap_or_default()) {
                Ok(template) => Self::Text(template),
                Err(what) => {
                    faults.push((at.clone(), what));
                    Self::Plain(view.to_document())
                }
            },
            _ => Self::Plain(view.to_document()),
        }
    }

    fn collect_placeholders<'t>(&'t self, all: &mut BTreeSet<&'t Placeholder>) {
        match self {
            Self::Plain(_) => {}
            Self::Text(template) => template.collect_placeholders(all),
            Self::List(items) => items.iter().for_each(|item| item.collect_placeholders(all)),
            Self::Object(members) => {
                members.iter().for_each(|(_, value)| value.collect_placeholders(all))
            }
        }
    }

    fn write(&self, filling: &PlaceholderValues, out: &mut JsonWriter) {
        match self {
            Self::Plain(document) => {
                out.view(document.root());
            }
            Self::Text(template) => {
                out.string(&template.fill(filling));
            }
            Self::List(items) => {
                out.array(|out| items.iter().for_each(|item| item.write(filling, out)));
            }
            Self::Object(members) => {
                out.object(|out| {
                    for (key, value) in members {
                        out.key(key);
                        value.write(filling, out);
                    }
                });
            }
        }
    }
}

/// The maximum number of bytes of a result that are put into a text.
const LONGEST_FILLING: usize = 64 * 1024;
