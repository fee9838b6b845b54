//! Tools, and the choice among them.

use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use super::wire::Tool;
use crate::dialect::{CannotEncode, Note};
use crate::down_schema::{self, Lowered};
use crate::prompt::OfferedTool;

pub(super) fn tools<'b>(
    offered: &'b [OfferedTool],
    strict: bool,
    notes: &mut Vec<Note>,
) -> Result<Vec<Tool<'b>>, CannotEncode> {
    let mut tools = Vec::new();
    for it in offered {
        let (lowered, strict) = lowered(it, strict, notes);
        let of_tool =
            |note: Note| Note::new(note.topic, format!("`{}`: {}", it.tool.name(), note.message));
        notes.extend(lowered.notes.into_iter().map(of_tool));
        let parameters = RawValue::from_string(lowered.text).map_err(|_| {
            CannotEncode::new(format!("the schema of `{}` is not JSON", it.tool.name()))
        })?;
        let description = it.tool.description();
        tools.push(Tool { name: &it.wire_name, description, strict, parameters });
    }
    Ok(tools)
}

/// The schema, and whether it is a strict one.
fn lowered(it: &OfferedTool, strict: bool, notes: &mut Vec<Note>) -> (Lowered, bool) {
    if strict {
        match down_schema::strict(it.tool.input_schema(), it.tool.strictness()) {
            Ok(lowered) => return (lowered, true),
            Err(error) => {
                let what = format!("`{}` is offered without strict mode: {error}", it.tool.name());
                notes.push(Note::new("tool-not-strict", what));
            }
        }
    }
    (down_schema::full(it.tool.input_schema()), false)
}

/// The tools that a choice names.
pub(super) fn forced(options: &Map<String, Value>) -> Vec<String> {
    let Some(choice) = options.get("tool_choice") else { return Vec::new() };
    let listed = choice.get("tools").and_then(Value::as_array).into_iter().flatten();
    let names = std::iter::once(choice).chain(listed).filter_map(|it| it.get("name")?.as_str());
    names.map(str::to_owned).collect()
}

/// The choice of tools, with their names as the wire has them. Tools that are not offered cannot be chosen.
pub(super) fn choice(
    options: &Map<String, Value>,
    offered: &[OfferedTool],
    notes: &mut Vec<Note>,
) -> Option<Value> {
    let mut choice = options.get("tool_choice")?.clone();
    if offered.is_empty() {
        notes.push(Note::new("tool-choice-left-out", "there are no tools to choose from"));
        return None;
    }
    let mut unknown = |it: &Value| {
        let name = it.get("name").and_then(Value::as_str).unwrap_or_default();
        let what = format!("the tool `{name}` that is to be called is not offered");
        notes.push(Note::new("tool-choice-left-out", what));
    };
    if choice.get("name").is_some() && !rename(&mut choice, offered) {
        unknown(&choice);
        return None;
    }
    if let Some(listed) = choice.get_mut("tools").and_then(Value::as_array_mut) {
        listed.retain_mut(|it| {
            let known = rename(it, offered);
            if !known {
                unknown(it);
            }
            known
        });
        if listed.is_empty() {
            return None;
        }
    }
    Some(choice)
}

/// Puts the name on the wire in place of the name of a tool, if it is offered.
fn rename(choice: &mut Value, offered: &[OfferedTool]) -> bool {
    let Some(name) = choice.get_mut("name") else { return false };
    match offered.iter().find(|it| name.as_str() == Some(it.tool.name().as_str())) {
        Some(tool) => {
            *name = json!(&*tool.wire_name);
            true
        }
        None => false,
    }
}
