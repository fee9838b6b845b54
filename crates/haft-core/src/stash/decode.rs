//! Nodes to and from any serde format, in insertion order.

use std::fmt;
use std::sync::Arc;

use serde::de::{self, DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde::ser::{Serialize, Serializer};
use serde_json::Number;

use super::node::{StashMembers, StashNode};

/// How `serde_json` marks the one-member structs in which it passes numbers (with its feature
/// `arbitrary_precision`, which any crate of a build can turn on) and raw texts through serde.
pub(super) const PRIVATE: &str = "$serde_json::private::";

impl Serialize for StashNode {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Null => serializer.serialize_unit(),
            Self::Bool(it) => serializer.serialize_bool(*it),
            Self::Number(it) => it.serialize(serializer),
            Self::String(it) => serializer.serialize_str(it),
            Self::Array(items) => serializer.collect_seq(items.iter()),
            Self::Object(members) => {
                serializer.collect_map(members.iter().map(|(key, it)| (key.as_ref(), it)))
            }
        }
    }
}

/// Deserialises a node that may use `depth` levels of containers.
#[derive(Clone, Copy)]
pub(super) struct Decoder {
    pub(super) depth: usize,
}

impl Decoder {
    fn nested<E: de::Error>(self) -> Result<Self, E> {
        let depth = self.depth.checked_sub(1).ok_or_else(|| E::custom("nested too deep"))?;
        Ok(Self { depth })
    }
}

impl<'de> DeserializeSeed<'de> for Decoder {
    type Value = StashNode;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<StashNode, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Decoder {
    type Value = StashNode;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<StashNode, E> {
        Ok(StashNode::Null)
    }

    fn visit_none<E>(self) -> Result<StashNode, E> {
        Ok(StashNode::Null)
    }

    fn visit_some<D: Deserializer<'de>>(self, inner: D) -> Result<StashNode, D::Error> {
        inner.deserialize_any(self)
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(self, inner: D) -> Result<StashNode, D::Error> {
        inner.deserialize_any(self)
    }

    fn visit_bool<E>(self, value: bool) -> Result<StashNode, E> {
        Ok(StashNode::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<StashNode, E> {
        Ok(StashNode::Number(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<StashNode, E> {
        Ok(StashNode::Number(value.into()))
    }

    fn visit_f64<E: de::Error>(self, value: f64) -> Result<StashNode, E> {
        let number = Number::from_f64(value);
        number
            .map(StashNode::Number)
            .ok_or_else(|| E::custom(format_args!("{value} is not a JSON number")))
    }

    fn visit_str<E>(self, value: &str) -> Result<StashNode, E> {
        Ok(StashNode::String(value.into()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<StashNode, A::Error> {
        let element = self.nested()?;
        let mut items = Vec::new();
        while let Some(item) = access.next_element_seed(element)? {
            items.push(item);
        }
        Ok(StashNode::Array(Arc::new(items)))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<StashNode, A::Error> {
        let mut members = StashMembers::new();
        while let Some(key) = access.next_key::<String>()? {
            if members.is_empty() && key.starts_with(PRIVATE) && numbers_are_disguised() {
                let number = access.next_value::<String>()?.parse().map_err(de::Error::custom)?;
                return Ok(StashNode::Number(number));
            }
            let value = access.next_value_seed(self.nested()?)?;
            members.insert(key.into(), value);
        }
        // An empty object takes a level, too.
        self.nested()?;
        Ok(StashNode::Object(Arc::new(members)))
    }
}

/// Whether `serde_json` was built to keep numbers as text. Only then can it read this one.
fn numbers_are_disguised() -> bool {
    "1e400".parse::<Number>().is_ok()
}
