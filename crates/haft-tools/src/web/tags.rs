//! Tags and text of HTML.

use html5gum::{DefaultEmitter, StartTag, Token, Tokenizer};

/// Splits HTML into tags and text. The content of elements such as `script` and `style` is one text.
pub(super) fn tokens(html: &str) -> impl Iterator<Item = Token> {
    let mut emitter = DefaultEmitter::<()>::default();
    emitter.naively_switch_states(true);
    // Reading from memory cannot fail.
    Tokenizer::new_with_emitter(html, emitter).map_while(Result::ok)
}

/// The value of an attribute.
pub(super) fn attribute(tag: &StartTag<()>, name: &str) -> Option<String> {
    let value = tag.attributes.get(name.as_bytes())?;
    Some(String::from_utf8_lossy(value).into_owned())
}
