//! The floor: split by hand, read into types that borrow, appended to strings.

use std::borrow::Cow;
use std::fmt;

use bytes::Bytes;
use serde::Deserialize;
use serde::de::{Deserializer, Visitor};

use super::data::Answer;

/// Reads a stream in chunks.
pub(crate) fn read(chunks: &[Bytes]) -> Result<Answer, String> {
    let mut reader = Reader::default();
    for chunk in chunks {
        reader.feed(chunk)?;
    }
    Ok(reader.answer)
}

/// Reads lines of data and knows nothing else of the format.
#[derive(Debug, Default)]
pub(crate) struct Reader {
    /// A line that the last chunk cut off.
    cut: Vec<u8>,
    pub(crate) answer: Answer,
}

impl Reader {
    pub(crate) fn feed(&mut self, chunk: &[u8]) -> Result<(), String> {
        let mut rest = chunk;
        while let Some((line, behind)) =
            memchr::memchr(b'\n', rest).and_then(|at| rest.split_at_checked(at))
        {
            if self.cut.is_empty() {
                take(line, &mut self.answer)?;
            } else {
                self.cut.extend_from_slice(line);
                take(&self.cut, &mut self.answer)?;
                self.cut.clear();
            }
            rest = behind.get(1..).unwrap_or_default();
        }
        self.cut.extend_from_slice(rest);
        Ok(())
    }
}

fn take(line: &[u8], answer: &mut Answer) -> Result<(), String> {
    match line.strip_prefix(b"data: ") {
        None | Some(b"[DONE]") => Ok(()),
        Some(data) => add(data, answer),
    }
}

/// Reads one event and adds it to the answer.
pub(crate) fn add(data: &[u8], answer: &mut Answer) -> Result<(), String> {
    let chunk: Chunk<'_> = serde_json::from_slice(data).map_err(|error| error.to_string())?;
    if let Some(usage) = chunk.usage {
        answer.tokens = usage.total_tokens;
    }
    for choice in chunk.choices {
        if let Some(text) = choice.delta.content {
            answer.text.push_str(&text.0);
        }
        for call in choice.delta.tool_calls.unwrap_or_default() {
            let function = call.function;
            let name = function.name.as_ref().map(|it| &*it.0);
            let arguments = function.arguments.as_ref().map_or("", |it| &*it.0);
            answer.add(call.index, name, arguments);
        }
    }
    Ok(())
}

#[derive(Deserialize)]
struct Chunk<'a> {
    #[serde(borrow)]
    choices: Vec<Choice<'a>>,
    usage: Option<Usage>,
}

#[derive(Deserialize)]
struct Usage {
    total_tokens: u64,
}

#[derive(Deserialize)]
struct Choice<'a> {
    #[serde(borrow)]
    delta: Delta<'a>,
}

#[derive(Deserialize)]
struct Delta<'a> {
    #[serde(borrow)]
    content: Option<Text<'a>>,
    #[serde(borrow)]
    tool_calls: Option<Vec<Call<'a>>>,
}

#[derive(Deserialize)]
struct Call<'a> {
    index: usize,
    #[serde(borrow)]
    function: Function<'a>,
}

#[derive(Deserialize)]
struct Function<'a> {
    #[serde(borrow)]
    name: Option<Text<'a>>,
    #[serde(borrow)]
    arguments: Option<Text<'a>>,
}

/// Borrowed unless it has escapes.
struct Text<'a>(Cow<'a, str>);

impl<'de: 'a, 'a> Deserialize<'de> for Text<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Read;
        impl<'de> Visitor<'de> for Read {
            type Value = Text<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a text")
            }

            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Text<'de>, E> {
                Ok(Text(Cow::Borrowed(text)))
            }

            fn visit_str<E>(self, text: &str) -> Result<Text<'de>, E> {
                Ok(Text(Cow::Owned(text.to_owned())))
            }
        }
        deserializer.deserialize_str(Read)
    }
}
