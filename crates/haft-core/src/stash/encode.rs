//! Typed values into nodes.
//!
//! `serde_json::to_value` silently turns NaN into null and, in its default form, sorts keys. This serialiser refuses
//! the one and keeps the order of the other.

use std::fmt::Display;
use std::sync::Arc;

use serde::ser::{self, Serialize};
use serde_json::Number;

use super::decode::PRIVATE;
use super::node::{Refusal, StashMembers, StashNode};

/// Serialises into a node that may use `depth` levels of containers.
#[derive(Clone, Copy)]
pub(super) struct StashEncoder {
    pub(super) depth: usize,
}

impl StashEncoder {
    fn nested(self) -> Result<Self, Refusal> {
        self.depth.checked_sub(1).map(|depth| Self { depth }).ok_or(Refusal::TooDeep)
    }

    /// The start of a container, inside the object `{variant: ..}` for a variant of an enum.
    fn container<T: Default>(self, tag: Option<&'static str>) -> Result<Container<T>, Refusal> {
        let outer = if tag.is_some() { self.nested()? } else { self };
        Ok(Container { tag, inner: outer.nested()?, filled: T::default(), key: None })
    }
}

impl ser::Error for Refusal {
    fn custom<T: Display>(message: T) -> Self {
        Self::NotJson(message.to_string())
    }
}

impl std::error::Error for Refusal {}

impl Display for Refusal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::TooDeep => f.write_str("nested too deep"),
            Self::NotJson(reason) => f.write_str(reason),
        }
    }
}

/// A list or an object that is being filled.
pub(super) struct Container<T> {
    tag: Option<&'static str>,
    inner: StashEncoder,
    filled: T,
    key: Option<Arc<str>>,
}

impl<T> Container<T> {
    fn finish(self, wrap: impl FnOnce(Arc<T>) -> StashNode) -> StashNode {
        let node = wrap(Arc::new(self.filled));
        match self.tag {
            Some(tag) => tagged(tag, node),
            None => node,
        }
    }
}

fn tagged(tag: &str, node: StashNode) -> StashNode {
    StashNode::Object(Arc::new(StashMembers::from_iter([(Arc::from(tag), node)])))
}

macro_rules! integers {
    ($($method:ident: $type:ty),*) => {
        $(fn $method(self, value: $type) -> Result<StashNode, Refusal> {
            Ok(StashNode::Number(value.into()))
        })*
    };
}

impl ser::Serializer for StashEncoder {
    type Ok = StashNode;
    type Error = Refusal;
    type SerializeSeq = Container<Vec<StashNode>>;
    type SerializeTuple = Container<Vec<StashNode>>;
    type SerializeTupleStruct = Container<Vec<StashNode>>;
    type SerializeTupleVariant = Container<Vec<StashNode>>;
    type SerializeMap = Container<StashMembers>;
    type SerializeStruct = Container<StashMembers>;
    type SerializeStructVariant = Container<StashMembers>;

    integers!(
        serialize_i8: i8, serialize_i16: i16, serialize_i32: i32, serialize_i64: i64,
        serialize_u8: u8, serialize_u16: u16, serialize_u32: u32, serialize_u64: u64
    );

    fn serialize_i128(self, value: i128) -> Result<StashNode, Refusal> {
        match u64::try_from(value) {
            Ok(value) => self.serialize_u64(value),
            Err(_) => self.serialize_i64(value.try_into().map_err(|_| too_large())?),
        }
    }

    fn serialize_u128(self, value: u128) -> Result<StashNode, Refusal> {
        self.serialize_u64(value.try_into().map_err(|_| too_large())?)
    }

    fn serialize_f32(self, value: f32) -> Result<StashNode, Refusal> {
        self.serialize_f64(value.into())
    }

    fn serialize_f64(self, value: f64) -> Result<StashNode, Refusal> {
        let number = Number::from_f64(value)
            .ok_or_else(|| Refusal::NotJson(format!("{value} is not a JSON number")))?;
        Ok(StashNode::Number(number))
    }

    fn serialize_bool(self, value: bool) -> Result<StashNode, Refusal> {
        Ok(StashNode::Bool(value))
    }

    fn serialize_char(self, value: char) -> Result<StashNode, Refusal> {
        self.serialize_str(value.encode_utf8(&mut [0; 4]))
    }

    fn serialize_str(self, value: &str) -> Result<StashNode, Refusal> {
        Ok(StashNode::String(value.into()))
    }

    fn serialize_bytes(self, value: &[u8]) -> Result<StashNode, Refusal> {
        self.nested()?;
        let items = value.iter().map(|byte| StashNode::Number((*byte).into()));
        Ok(StashNode::Array(Arc::new(items.collect())))
    }

    fn serialize_none(self) -> Result<StashNode, Refusal> {
        Ok(StashNode::Null)
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<StashNode, Refusal> {
        value.serialize(self)
    }

    fn serialize_unit(self) -> Result<StashNode, Refusal> {
        Ok(StashNode::Null)
    }

    fn serialize_unit_struct(self, _name: &'static str) -> Result<StashNode, Refusal> {
        Ok(StashNode::Null)
    }

    fn serialize_unit_variant(
        self,
        _name: &'static str,
        _index: u32,
        variant: &'static str,
    ) -> Result<StashNode, Refusal> {
        self.serialize_str(variant)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _name: &'static str,
        value: &T,
    ) -> Result<StashNode, Refusal> {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _name: &'static str,
        _index: u32,
        variant: &'static str,
        value: &T,
    ) -> Result<StashNode, Refusal> {
        Ok(tagged(variant, value.serialize(self.nested()?)?))
    }

    fn serialize_seq(self, _len: Option<usize>) -> Result<Self::SerializeSeq, Refusal> {
        self.container(None)
    }

    fn serialize_tuple(self, _len: usize) -> Result<Self::SerializeTuple, Refusal> {
        self.container(None)
    }

    fn serialize_tuple_struct(
        self,
        _name: &'static str,
        _len: usize,
    ) -> Result<Self::SerializeTupleStruct, Refusal> {
        self.container(None)
    }

    fn serialize_tuple_variant(
        self,
        _name: &'static str,
        _index: u32,
        variant: &'static str,
        _len: usize,
    ) -> Result<Self::SerializeTupleVariant, Refusal> {
        self.container(Some(variant))
    }

    fn serialize_map(self, _len: Option<usize>) -> Result<Self::SerializeMap, Refusal> {
        self.container(None)
    }

    fn serialize_struct(
        self,
        name: &'static str,
        _len: usize,
    ) -> Result<Self::SerializeStruct, Refusal> {
        if name.starts_with(PRIVATE) {
            // A number or a raw text in disguise: not a container, so it takes no level.
            let inner = self;
            return Ok(Container { tag: None, inner, filled: StashMembers::new(), key: None });
        }
        self.container(None)
    }

    fn serialize_struct_variant(
        self,
        _name: &'static str,
        _index: u32,
        variant: &'static str,
        _len: usize,
    ) -> Result<Self::SerializeStructVariant, Refusal> {
        self.container(Some(variant))
    }
}

macro_rules! list {
    ($($trait:ident, $add:ident;)*) => {
        $(impl ser::$trait for Container<Vec<StashNode>> {
            type Ok = StashNode;
            type Error = Refusal;

            fn $add<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Refusal> {
                self.filled.push(value.serialize(self.inner)?);
                Ok(())
            }

            fn end(self) -> Result<StashNode, Refusal> {
                Ok(self.finish(StashNode::Array))
            }
        })*
    };
}

list! {
    SerializeSeq, serialize_element;
    SerializeTuple, serialize_element;
    SerializeTupleStruct, serialize_field;
    SerializeTupleVariant, serialize_field;
}

impl Container<StashMembers> {
    fn member<T: Serialize + ?Sized>(&mut self, key: Arc<str>, value: &T) -> Result<(), Refusal> {
        self.filled.insert(key, value.serialize(self.inner)?);
        Ok(())
    }
}

impl ser::SerializeMap for Container<StashMembers> {
    type Ok = StashNode;
    type Error = Refusal;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), Refusal> {
        let key = match key.serialize(StashEncoder { depth: 0 }) {
            Ok(StashNode::String(key)) => Some(key),
            Ok(StashNode::Number(key)) => Some(key.to_string().into()),
            Ok(StashNode::Bool(key)) => Some(if key { "true" } else { "false" }.into()),
            Err(Refusal::NotJson(reason)) => return Err(Refusal::NotJson(reason)),
            Ok(StashNode::Null | StashNode::Array(_) | StashNode::Object(_))
            | Err(Refusal::TooDeep) => None,
        };
        self.key = Some(key.ok_or_else(|| Refusal::NotJson("a key is not text".to_owned()))?);
        Ok(())
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Refusal> {
        match self.key.take() {
            Some(key) => self.member(key, value),
            None => Err(Refusal::NotJson("a member has no key".to_owned())),
        }
    }

    fn end(self) -> Result<StashNode, Refusal> {
        Ok(self.finish(StashNode::Object))
    }
}

impl ser::SerializeStruct for Container<StashMembers> {
    type Ok = StashNode;
    type Error = Refusal;

    fn serialize_field<T: Serialize + ?Sized>(
        &mut self,
        key: &'static str,
        value: &T,
    ) -> Result<(), Refusal> {
        self.member(key.into(), value)
    }

    fn end(self) -> Result<StashNode, Refusal> {
        match self.filled.first() {
            Some((key, StashNode::String(text))) if key.starts_with(PRIVATE) => {
                let value = serde_json::from_str(text)
                    .map_err(|error| Refusal::NotJson(error.to_string()))?;
                StashNode::from_value(value, self.inner.depth)
            }
            _ => Ok(self.finish(StashNode::Object)),
        }
    }
}

impl ser::SerializeStructVariant for Container<StashMembers> {
    type Ok = StashNode;
    type Error = Refusal;

    fn serialize_field<T: Serialize + ?Sized>(
        &mut self,
        key: &'static str,
        value: &T,
    ) -> Result<(), Refusal> {
        self.member(key.into(), value)
    }

    fn end(self) -> Result<StashNode, Refusal> {
        Ok(self.finish(StashNode::Object))
    }
}

fn too_large() -> Refusal {
    Refusal::NotJson("an integer is outside 64 bits".to_owned())
}
