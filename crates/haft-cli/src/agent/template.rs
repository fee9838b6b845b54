//! Texts with places for the arguments of a call.

use std::collections::BTreeMap;

use serde_json::Value;

use super::place::Fault;
use super::schema::Argument;

/// The arguments of a tool, by their names.
pub(super) type Arguments = BTreeMap<String, Argument>;

/// A piece of a template: text as it is, or the place of an argument.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Piece {
    Text(String),
    Hole(String),
}

/// The pieces of a text. `{name}` is a hole.
pub(super) fn pieces(text: &str) -> Result<Vec<Piece>, String> {
    let (mut all, mut rest) = (Vec::new(), text);
    while let Some((before, after)) = rest.split_once('{') {
        let Some((name, after)) = after.split_once('}') else {
            return Err(format!("`{text}` has a `{{` without its `}}`"));
        };
        if !before.is_empty() {
            all.push(Piece::Text(before.to_owned()));
        }
        all.push(Piece::Hole(name.to_owned()));
        rest = after;
    }
    if !rest.is_empty() {
        all.push(Piece::Text(rest.to_owned()));
    }
    Ok(all)
}

/// The pieces of a text at a key, whose holes are arguments.
pub(super) fn parsed(text: &str, args: &Arguments, key: &[&str]) -> Result<Vec<Piece>, Fault> {
    let all = pieces(text).map_err(|what| Fault::at(key.iter().copied(), what))?;
    for piece in &all {
        if let Piece::Hole(name) = piece
            && !args.contains_key(name)
        {
            let what = format!("`{text}` names `{name}`, which is none of its `args`");
            let fault = Fault::at(key.iter().copied(), what);
            return Err(fault.known(name, args.keys().map(String::as_str)));
        }
    }
    Ok(all)
}

/// What a template becomes: nothing if an argument is absent, several values for a list.
pub(super) fn values(template: &[Piece], args: &Value) -> Vec<String> {
    if let [Piece::Hole(name)] = template
        && let Some(Value::Array(items)) = args.get(name)
    {
        return items.iter().map(text_of).collect();
    }
    let pieces = template.iter().map(|piece| match piece {
        Piece::Text(text) => Some(text.clone()),
        Piece::Hole(name) => args.get(name).filter(|it| !it.is_null()).map(text_of),
    });
    pieces.collect::<Option<String>>().into_iter().collect()
}

/// A value as text: a text without its quotes, anything else as JSON.
pub(super) fn text_of(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}
