//! What `#[derive(ToolArgs)]` makes of a type: the schema as the model sees it, and the way from and to
//! JSON.

mod enums;
mod faults;
mod structs;

use haft::schema::InputSchema;
use haft::schema::json::{Document, ValueKind, ValueRef};
use haft::schema::{ArgValue, Args, RawArgs, Strictness};
use haft::{ToolArgs, ToolFailure};

/// The JSON Schema in the order the model sees it, what fits a line on one.
#[track_caller]
fn schema<T: ToolArgs>() -> String {
    let schema = InputSchema::of::<T>().unwrap();
    let document = Document::parse(schema.json_schema_text()).unwrap();
    let mut text = String::new();
    indented(document.root(), 0, &mut text);
    text
}

fn indented(view: ValueRef<'_>, depth: usize, out: &mut String) {
    let line = view.to_string();
    let (open, close, keyed) = match view.kind() {
        ValueKind::Object if line.len() > 80 => ('{', '}', true),
        ValueKind::Array if line.len() > 80 => ('[', ']', false),
        _ => return out.push_str(&line),
    };
    let new_line = |depth: usize| format!("\n{:1$}", "", depth * 2);
    let members: Vec<(&str, ValueRef<'_>)> = match keyed {
        true => view.members().collect(),
        false => view.elements().map(|it| ("", it)).collect(),
    };
    out.push(open);
    for (at, (key, value)) in members.iter().enumerate() {
        out.push_str(if at > 0 { "," } else { "" });
        out.push_str(&new_line(depth + 1));
        if keyed {
            out.push_str(&format!("{key:?}: "));
        }
        indented(*value, depth + 1, out);
    }
    out.push_str(&new_line(depth));
    out.push(close);
}

/// What is wrong with the schema.
#[track_caller]
fn faults<T: ToolArgs>() -> Vec<String> {
    let faults = InputSchema::of::<T>().unwrap_err();
    faults.iter().map(ToString::to_string).collect()
}

/// What the handler gets for arguments that a model sent.
fn accept<T: ToolArgs>(text: &str) -> Result<T, ToolFailure> {
    let schema = InputSchema::of::<T>().unwrap();
    let accepted = schema
        .accept("tool", &RawArgs::text(text), Strictness::Coerce)
        .map_err(|problems| ToolFailure::new(problems.to_string()))?;
    Ok(T::decode(accepted.args.root())?)
}

/// Reads and writes: `text` is accepted, becomes `value`, and `value` is written as `written`, which
/// becomes `value` again.
#[track_caller]
fn check<T: ToolArgs + PartialEq + std::fmt::Debug>(text: &str, value: &T, written: &str) {
    assert_eq!(&accept::<T>(text).unwrap(), value);
    let raw = RawArgs::typed(value).unwrap();
    assert_eq!(raw.parsed().unwrap().to_string(), written);
    assert_eq!(&accept::<T>(written).unwrap(), value);
}

/// Why a type that was made without a schema's judgement is refused.
#[track_caller]
fn refusal<T: ArgValue + std::fmt::Debug>(text: &str) -> String {
    T::decode(Args::parse(text).unwrap().root()).unwrap_err().to_string()
}
