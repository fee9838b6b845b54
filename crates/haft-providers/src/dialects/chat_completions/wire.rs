//! The shapes of the wire: messages of a request, and the chunks of a response.
//!
//! Responses are read leniently: a value that is not of the expected type counts as absent.

use std::borrow::Cow;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::dialect::DecodeError;

#[derive(Serialize)]
#[serde(tag = "role", rename_all = "lowercase")]
pub(super) enum Message<'a> {
    System {
        content: String,
    },
    User {
        content: MessageContent<'a>,
        #[serde(skip_serializing_if = "Option::is_none")]
        name: Option<&'a str>,
    },
    Assistant {
        content: Option<Cow<'a, str>>,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        tool_calls: Vec<CallItem<'a>>,
    },
    Tool {
        tool_call_id: &'a str,
        content: Cow<'a, str>,
    },
}

#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum MessageContent<'a> {
    Text(Cow<'a, str>),
    Parts(Vec<Part<'a>>),
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum Part<'a> {
    Text { text: &'a str },
    ImageUrl { image_url: ImageUrl },
    InputAudio { input_audio: InputAudio<'a> },
    File { file: File<'a> },
}

#[derive(Serialize)]
pub(super) struct ImageUrl {
    pub(super) url: String,
}

#[derive(Serialize)]
pub(super) struct InputAudio<'a> {
    pub(super) data: &'a str,
    pub(super) format: &'static str,
}

#[derive(Serialize)]
pub(super) struct File<'a> {
    pub(super) filename: &'a str,
    pub(super) file_data: String,
}

#[derive(Serialize)]
pub(super) struct CallItem<'a> {
    pub(super) id: &'a str,
    pub(super) r#type: &'static str,
    pub(super) function: CalledFunction<'a>,
    /// A value that a compatible server wants back unchanged with the call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) extra_content: Option<&'a Value>,
}

#[derive(Serialize)]
pub(super) struct CalledFunction<'a> {
    pub(super) name: &'a str,
    pub(super) arguments: Cow<'a, str>,
}

#[derive(Serialize)]
pub(super) struct Tool<'a> {
    pub(super) r#type: &'static str,
    pub(super) function: Function<'a>,
}

#[derive(Serialize)]
pub(super) struct Function<'a> {
    pub(super) name: &'a str,
    pub(super) description: Cow<'a, str>,
    pub(super) parameters: Box<RawValue>,
    #[serde(skip_serializing_if = "is_false")]
    pub(super) strict: bool,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature is serde's")]
const fn is_false(flag: &bool) -> bool {
    !*flag
}

/// A chunk of a stream, or a whole response.
#[derive(Default)]
pub(super) struct Chunk<'a> {
    pub(super) id: LenientText<'a>,
    pub(super) model: LenientText<'a>,
    pub(super) choice: Option<Choice<'a>>,
    pub(super) usage: Option<Box<Value>>,
    pub(super) error: Option<Box<Value>>,
}

/// The choice of number zero.
#[derive(Default)]
pub(super) struct Choice<'a> {
    index: Option<u64>,
    pub(super) delta: Delta<'a>,
    pub(super) finish_reason: LenientText<'a>,
}

/// What a chunk adds to the message; of a whole response the message.
#[derive(Default)]
pub(super) struct Delta<'a> {
    pub(super) content: LenientText<'a>,
    pub(super) refusal: LenientText<'a>,
    pub(super) reasoning: LenientText<'a>,
    pub(super) reasoning_content: LenientText<'a>,
    pub(super) tool_calls: Option<Vec<CallDelta<'a>>>,
}

impl<'a> Chunk<'a> {
    /// Reads the JSON of a chunk into a chunk that is empty.
    pub(super) fn read_json<R>(&mut self, json: R) -> Result<(), serde_json::Error>
    where
        R: serde_json::de::Read<'a>,
    {
        let mut deserializer = serde_json::Deserializer::new(json);
        (&mut deserializer).deserialize_map(InPlace(self))?;
        deserializer.end()
    }
}

/// An object of a chunk, deserialized in place.
///
/// The derived `Deserialize` moves each object several times before it is in its place. These objects are large and
/// mostly empty, so moving them takes longer than reading them.
struct InPlace<'p, T>(&'p mut T);

trait ReadField<'de> {
    /// Reads the value of a key.
    fn read_field<A: MapAccess<'de>>(&mut self, key: Key, map: &mut A) -> Result<(), A::Error>;
}

/// The keys of all objects that are read in place.
#[derive(Deserialize)]
#[serde(field_identifier, rename_all = "snake_case")]
enum Key {
    Id,
    Model,
    Choices,
    Usage,
    Error,
    Index,
    #[serde(alias = "message")]
    Delta,
    FinishReason,
    Content,
    Refusal,
    Reasoning,
    ReasoningContent,
    ToolCalls,
    #[serde(other)]
    Other,
}

impl<'de, T: ReadField<'de>> DeserializeSeed<'de> for InPlace<'_, T> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_option(self)
    }
}

impl<'de, T: ReadField<'de>> Visitor<'de> for InPlace<'_, T> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_none<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(key) = map.next_key()? {
            self.0.read_field(key, &mut map)?;
        }
        Ok(())
    }
}

impl<'de> ReadField<'de> for Chunk<'de> {
    fn read_field<A: MapAccess<'de>>(&mut self, key: Key, map: &mut A) -> Result<(), A::Error> {
        match key {
            Key::Id => self.id = map.next_value()?,
            Key::Model => self.model = map.next_value()?,
            Key::Choices => map.next_value_seed(FirstChoice(&mut self.choice))?,
            Key::Usage => self.usage = map.next_value()?,
            Key::Error => self.error = map.next_value()?,
            _ => skip_value(map)?,
        }
        Ok(())
    }
}

impl<'de> ReadField<'de> for Choice<'de> {
    fn read_field<A: MapAccess<'de>>(&mut self, key: Key, map: &mut A) -> Result<(), A::Error> {
        match key {
            Key::Index => self.index = map.next_value()?,
            Key::Delta => map.next_value_seed(InPlace(&mut self.delta))?,
            Key::FinishReason => self.finish_reason = map.next_value()?,
            _ => skip_value(map)?,
        }
        Ok(())
    }
}

impl<'de> ReadField<'de> for Delta<'de> {
    fn read_field<A: MapAccess<'de>>(&mut self, key: Key, map: &mut A) -> Result<(), A::Error> {
        match key {
            Key::Content => self.content = map.next_value()?,
            Key::Refusal => self.refusal = map.next_value()?,
            Key::Reasoning => self.reasoning = map.next_value()?,
            Key::ReasoningContent => self.reasoning_content = map.next_value()?,
            Key::ToolCalls => self.tool_calls = map.next_value()?,
            _ => skip_value(map)?,
        }
        Ok(())
    }
}

fn skip_value<'de, A: MapAccess<'de>>(map: &mut A) -> Result<(), A::Error> {
    map.next_value::<IgnoredAny>().map(|_| ())
}

/// The list of choices, of which only number zero is kept; there may be others, and there may be none.
struct FirstChoice<'p, 'a>(&'p mut Option<Choice<'a>>);

impl<'de> DeserializeSeed<'de> for FirstChoice<'_, 'de> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for FirstChoice<'_, 'de> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of choices")
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut all: A) -> Result<(), A::Error> {
        while self.0.is_none() {
            let choice = self.0.insert(Choice::default());
            let is_read = all.next_element_seed(InPlace(choice))?.is_some();
            if !is_read || choice.index.unwrap_or(0) != 0 {
                *self.0 = None;
            }
            if !is_read {
                return Ok(());
            }
        }
        while all.next_element::<IgnoredAny>()?.is_some() {}
        Ok(())
    }
}

#[derive(Default, Deserialize)]
pub(super) struct CallDelta<'a> {
    #[serde(default)]
    pub(super) index: Option<u64>,
    #[serde(default, borrow)]
    pub(super) id: LenientText<'a>,
    #[serde(default, borrow)]
    function: Option<FunctionDelta<'a>>,
    /// What a compatible server wants back with the call: thought signatures of Gemini.
    #[serde(default)]
    pub(super) extra_content: Option<Value>,
}

#[derive(Deserialize)]
pub(super) struct FunctionDelta<'a> {
    #[serde(default, borrow)]
    pub(super) name: LenientText<'a>,
    /// A string that holds JSON; from some an object.
    #[serde(default, borrow)]
    arguments: Option<&'a RawValue>,
}

impl<'a> CallDelta<'a> {
    pub(super) const fn function(&self) -> Option<&FunctionDelta<'a>> {
        self.function.as_ref()
    }
}

impl<'a> FunctionDelta<'a> {
    pub(super) fn arguments(&self) -> Result<Option<Cow<'a, str>>, DecodeError> {
        let Some(raw) = self.arguments.map(RawValue::get) else { return Ok(None) };
        if !raw.starts_with('"') {
            return Ok(Some(raw.into()).filter(|_| raw != "null"));
        }
        let text: LenientText<'a> =
            serde_json::from_str(raw).map_err(|error| DecodeError::Malformed(error.to_string()))?;
        Ok(text.0)
    }
}

/// The error that a provider reports.
#[derive(Default, Deserialize)]
pub(super) struct ProviderFault {
    #[serde(default)]
    pub(super) message: Option<String>,
    #[serde(default, rename = "type")]
    pub(super) kind: Option<String>,
    #[serde(default, deserialize_with = "text_or_number")]
    pub(super) code: Option<String>,
}

fn text_or_number<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    Ok(match Value::deserialize(deserializer)? {
        Value::String(text) => Some(text),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    })
}

/// A text that is borrowed where it can be; empty ones and other values are none.
#[derive(Clone, Default)]
pub(super) struct LenientText<'a>(Option<Cow<'a, str>>);

impl<'a> LenientText<'a> {
    fn of(text: Cow<'a, str>) -> Self {
        Self(Some(text).filter(|it| !it.is_empty()))
    }

    pub(super) fn get(&self) -> Option<&str> {
        self.0.as_deref()
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for LenientText<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(LenientTextVisitor)
    }
}

struct LenientTextVisitor;

impl<'de> Visitor<'de> for LenientTextVisitor {
    type Value = LenientText<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text")
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<LenientText<'de>, E> {
        Ok(LenientText::of(text.into()))
    }

    fn visit_str<E>(self, text: &str) -> Result<LenientText<'de>, E> {
        Ok(LenientText::of(text.to_owned().into()))
    }

    fn visit_unit<E>(self) -> Result<LenientText<'de>, E> {
        Ok(LenientText::default())
    }

    fn visit_bool<E>(self, _: bool) -> Result<LenientText<'de>, E> {
        Ok(LenientText::default())
    }

    fn visit_i64<E>(self, _: i64) -> Result<LenientText<'de>, E> {
        Ok(LenientText::default())
    }

    fn visit_u64<E>(self, _: u64) -> Result<LenientText<'de>, E> {
        Ok(LenientText::default())
    }

    fn visit_f64<E>(self, _: f64) -> Result<LenientText<'de>, E> {
        Ok(LenientText::default())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<LenientText<'de>, A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(LenientText::default())
    }

    /// A list of parts, as some servers send it: the text of all of them.
    fn visit_seq<A: SeqAccess<'de>>(self, mut parts: A) -> Result<LenientText<'de>, A::Error> {
        let mut all = String::new();
        while let Some(part) = parts.next_element::<Value>()? {
            all.push_str(part.get("text").and_then(Value::as_str).unwrap_or_default());
        }
        Ok(LenientText::of(all.into()))
    }
}
