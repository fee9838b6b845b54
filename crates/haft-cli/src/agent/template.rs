//! Text templates with placeholders for the arguments of a call.

use serde_json::Value;

use super::arguments::Arguments;
use super::source::AgentFileError;

/// A piece of a template.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Piece {
    /// Fixed text.
    Text(String),
    /// `{name}`, which stands for a value.
    Placeholder(String),
}

impl Piece {
    /// The name of the placeholder.
    pub(super) fn argument_name(&self) -> Option<&str> {
        match self {
            Self::Placeholder(name) => Some(name),
            Self::Text(_) => None,
        }
    }
}

/// Splits a template into fixed text and placeholders.
pub(super) fn parse_pieces(text: &str) -> Result<Vec<Piece>, String> {
    let mut all = Vec::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('{') {
        let Some((name, after)) = after.split_once('}') else {
            return Err(format!("`{text}` has a `{{` without a matching `}}`"));
        };
        if !before.is_empty() {
            all.push(Piece::Text(before.to_owned()));
        }
        all.push(Piece::Placeholder(name.to_owned()));
        rest = after;
    }
    if !rest.is_empty() {
        all.push(Piece::Text(rest.to_owned()));
    }
    Ok(all)
}

/// Parses the template at a key, and checks that its placeholders are arguments.
pub(super) fn parse_template(
    text: &str,
    args: &Arguments,
    key: &[&str],
) -> Result<Vec<Piece>, AgentFileError> {
    let error_at_key = |message: String| AgentFileError::at(key.iter().copied(), message);
    let pieces = parse_pieces(text).map_err(error_at_key)?;
    for piece in &pieces {
        if let Piece::Placeholder(name) = piece
            && !args.contains_key(name)
        {
            let error = error_at_key(format!("`{text}` uses `{name}`, which is not in `args`"));
            return Err(error.suggest(name, args.keys().map(String::as_str)));
        }
    }
    Ok(pieces)
}

/// Expands a template: no value if an argument is absent, several values if its only piece is a list.
pub(super) fn expand_template(template: &[Piece], args: &Value) -> Vec<String> {
    if let [Piece::Placeholder(name)] = template
        && let Some(Value::Array(items)) = args.get(name)
    {
        return items.iter().map(value_to_text).collect();
    }
    let pieces = template.iter().map(|piece| match piece {
        Piece::Text(text) => Some(text.clone()),
        Piece::Placeholder(name) => args.get(name).filter(|it| !it.is_null()).map(value_to_text),
    });
    pieces.collect::<Option<String>>().into_iter().collect()
}

/// Converts a value to text: a string without quotes, any other value as JSON.
pub(super) fn value_to_text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}
