//! Where two JSON values differ.

use haft_core::json::{Document, ValueKind, ValueRef, canonical_text};

/// The first place where a document differs from the recorded one, and how; nothing if they are the same value.
pub(super) fn first(recorded: &Document, sent: &Document) -> Option<String> {
    if canonical_text(recorded.root()) == canonical_text(sent.root()) {
        return None;
    }
    let mut pointer = String::new();
    descend(recorded.root(), sent.root(), &mut pointer)
}

fn descend(recorded: ValueRef<'_>, sent: ValueRef<'_>, pointer: &mut String) -> Option<String> {
    let length = pointer.len();
    match (recorded.kind(), sent.kind()) {
        (ValueKind::Object, ValueKind::Object) => {
            let added = sent.members().filter(|(key, _)| recorded.get(key).is_none());
            let keys = recorded.members().map(|(key, _)| key).chain(added.map(|(key, _)| key));
            for key in keys {
                push(pointer, key);
                let difference = either(recorded.get(key), sent.get(key), pointer);
                if difference.is_some() {
                    return difference;
                }
                pointer.truncate(length);
            }
            None
        }
        (ValueKind::Array, ValueKind::Array) => {
            for at in 0..recorded.len().max(sent.len()) {
                push(pointer, &at.to_string());
                let difference = either(recorded.item(at), sent.item(at), pointer);
                if difference.is_some() {
                    return difference;
                }
                pointer.truncate(length);
            }
            None
        }
        _ => either(Some(recorded), Some(sent), pointer),
    }
}

fn either(
    recorded: Option<ValueRef<'_>>,
    sent: Option<ValueRef<'_>>,
    at: &mut String,
) -> Option<String> {
    let texts = (recorded.map(canonical_text), sent.map(canonical_text));
    if texts.0 == texts.1 {
        return None;
    }
    if let (Some(recorded), Some(sent)) = (recorded, sent)
        && recorded.kind() == sent.kind()
        && matches!(recorded.kind(), ValueKind::Object | ValueKind::Array)
    {
        return descend(recorded, sent, at);
    }
    Some(format!("at `{at}` recorded {}, sent {}", shown(texts.0), shown(texts.1)))
}

fn push(pointer: &mut String, key: &str) {
    pointer.push('/');
    pointer.push_str(&key.replace('~', "~0").replace('/', "~1"));
}

fn shown(text: Option<String>) -> String {
    let Some(text) = text else { return "nothing".to_owned() };
    let cut = text.char_indices().nth(SHOWN).map(|(at, _)| at);
    match cut.and_then(|at| text.get(..at)) {
        Some(beginning) => format!("`{beginning}…`"),
        None => format!("`{text}`"),
    }
}

const SHOWN: usize = 80;
