//! The shapes of answers, read leniently: what is not of the expected type is as if it were not there.

use std::borrow::Cow;
use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::dialect::AnswerError;

/// A piece of a stream, or a whole answer.
#[derive(Deserialize)]
pub(super) struct Chunk<'a> {
    #[serde(default, borrow)]
    pub(super) id: Text<'a>,
    #[serde(default, borrow)]
    pub(super) model: Text<'a>,
    #[serde(default, borrow, deserialize_with = "first")]
    pub(super) choices: Option<Choice<'a>>,
    #[serde(default)]
    pub(super) usage: Option<Value>,
    #[serde(default)]
    pub(super) error: Option<Value>,
}

#[derive(Deserialize)]
pub(super) struct Choice<'a> {
    #[serde(default)]
    index: Option<u64>,
    #[serde(default, borrow, alias = "message")]
    pub(super) delta: Option<Delta<'a>>,
    #[serde(default, borrow)]
    pub(super) finish_reason: Text<'a>,
}

#[derive(Deserialize)]
pub(super) struct Delta<'a> {
    #[serde(default, borrow)]
    pub(super) content: Text<'a>,
    #[serde(default, borrow)]
    pub(super) refusal: Text<'a>,
    #[serde(default, borrow)]
    pub(super) reasoning: Text<'a>,
    #[serde(default, borrow)]
    pub(super) reasoning_content: Text<'a>,
    #[serde(default, borrow)]
    pub(super) tool_calls: Option<Vec<CallDelta<'a>>>,
    #[serde(default, borrow)]
    pub(super) function_call: Option<FunctionDelta<'a>>,
}

#[derive(Default, Deserialize)]
pub(super) struct CallDelta<'a> {
    #[serde(default)]
    pub(super) index: Option<u64>,
    #[serde(default, borrow)]
    pub(super) id: Text<'a>,
    #[serde(default, borrow)]
    function: Option<FunctionDelta<'a>>,
}

#[derive(Clone, Deserialize)]
pub(super) struct FunctionDelta<'a> {
    #[serde(default, borrow)]
    pub(super) name: Text<'a>,
    /// A string that holds JSON; from some an object.
    #[serde(default, borrow)]
    arguments: Option<&'a RawValue>,
}

impl<'a> CallDelta<'a> {
    /// The one call that answers of old could have.
    pub(super) fn legacy(function: &FunctionDelta<'a>) -> Self {
        Self { index: Some(0), id: Text::default(), function: Some(function.clone()) }
    }

    pub(super) const fn function(&self) -> Option<&FunctionDelta<'a>> {
        self.function.as_ref()
    }
}

impl<'a> FunctionDelta<'a> {
    pub(super) fn arguments(&self) -> Result<Option<Cow<'a, str>>, AnswerError> {
        let Some(raw) = self.arguments.map(RawValue::get) else { return Ok(None) };
        if !raw.starts_with('"') {
            return Ok(Some(raw.into()).filter(|_| raw != "null"));
        }
        let text: Text<'a> =
            serde_json::from_str(raw).map_err(|error| AnswerError::Malformed(error.to_string()))?;
        Ok(text.0)
    }
}

/// What a provider says about its failure.
#[derive(Default, Deserialize)]
pub(super) struct Fault {
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

/// The choice of number zero; there may be others, and there may be none.
fn first<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Choice<'de>>, D::Error> {
    struct First;
    impl<'de> Visitor<'de> for First {
        type Value = Option<Choice<'de>>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a list of choices")
        }

        fn visit_unit<E>(self) -> Result<Self::Value, E> {
            Ok(None)
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut all: A) -> Result<Self::Value, A::Error> {
            let mut found = None;
            while let Some(choice) = all.next_element::<Choice<'de>>()? {
                if found.is_none() && choice.index.unwrap_or(0) == 0 {
                    found = Some(choice);
                }
            }
            Ok(found)
        }
    }
    deserializer.deserialize_any(First)
}

/// A text that is borrowed where it can be; empty ones and other values are none.
#[derive(Clone, Default)]
pub(super) struct Text<'a>(Option<Cow<'a, str>>);

impl<'a> Text<'a> {
    fn of(text: Cow<'a, str>) -> Self {
        Self(Some(text).filter(|it| !it.is_empty()))
    }

    pub(super) fn get(&self) -> Option<&str> {
        self.0.as_deref()
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Text<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(TextVisitor)
    }
}

struct TextVisitor;

impl<'de> Visitor<'de> for TextVisitor {
    type Value = Text<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text")
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Text<'de>, E> {
        Ok(Text::of(text.into()))
    }

    fn visit_str<E>(self, text: &str) -> Result<Text<'de>, E> {
        Ok(Text::of(text.to_owned().into()))
    }

    fn visit_unit<E>(self) -> Result<Text<'de>, E> {
        Ok(Text::default())
    }

    fn visit_bool<E>(self, _: bool) -> Result<Text<'de>, E> {
        Ok(Text::default())
    }

    fn visit_i64<E>(self, _: i64) -> Result<Text<'de>, E> {
        Ok(Text::default())
    }

    fn visit_u64<E>(self, _: u64) -> Result<Text<'de>, E> {
        Ok(Text::default())
    }

    fn visit_f64<E>(self, _: f64) -> Result<Text<'de>, E> {
        Ok(Text::default())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Text<'de>, A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Text::default())
    }

    /// A list of parts, from some: those that are text, together.
    fn visit_seq<A: SeqAccess<'de>>(self, mut parts: A) -> Result<Text<'de>, A::Error> {
        let mut all = String::new();
        while let Some(part) = parts.next_element::<Value>()? {
            all.push_str(part.get("text").and_then(Value::as_str).unwrap_or_default());
        }
        Ok(Text::of(all.into()))
    }
}
