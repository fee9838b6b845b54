//! Typed values into nodes.
//!
//! `serde_json::to_value` turns NaN into null without a word and, in its default form, sorts keys.
//! This serialiser refuses the one and keeps the order of the other.

use std::fmt::Display;
use std::sync::Arc;

use serde::ser::{self, Serialize};
use serde_json::Number;

use super::decode::PRIVATE;
use super::node::{Members, Node, Refusal};

/// Serialises into a node that may use `depth` levels of containers.
#[derive(Clone, Copy)]
pub(super) struct Encoder {
    pub(super) depth: usize,
}

impl Encoder {
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
    inner: Encoder,
    filled: T,
    key: Option<Arc<str>>,
}

impl<T> Container<T> {
    fn finish(self, wrap: impl FnOnce(Arc<T>) -> Node) -> Node {
        let node = wrap(Arc::new(self.filled));
        match self.tag {
            Some(tag) => tagged(tag, node),
            None => node,
        }
    }
}

fn tagged(tag: &str, node: Node) -> Node {
    Node::Object(Arc::new(Members::from_iter([(Arc::from(tag), node)])))
}

macro_rules! integers {
    ($($method:ident: $type:ty),*) => {
        $(fn $method(self, value: $type) -> Result<Node, Refusal> {
            Ok(Node::Number(value.into()))
        })*
    };
}

impl ser::Serializer for Encoder {
    type Ok = Node;
    type Error = Refusal;
    type SerializeSeq = Container<Vec<Node>>;
    type SerializeTuple = Container<Vec<Node>>;
    type SerializeTupleStruct = Container<Vec<Node>>;
    type SerializeTupleVariant = Container<Vec<Node>>;
    type SerializeMap = Container<Members>;
    type SerializeStruct = Container<Members>;
    type SerializeStructVariant = Container<Members>;

    integers!(
        serialize_i8: i8, serialize_i16: i16, serialize_i32: i32, serialize_i64: i64,
        serialize_u8: u8, serialize_u16: u16, serialize_u32: u32, serialize_u64: u64
    );

    fn serialize_i128(self, value: i128) -> Result<Node, Refusal> {
        match u64::try_from(value) {
            Ok(value) => self.serialize_u64(value),
            Err(_) => self.serialize_i64(value.try_into().map_err(|_| too_large())?),
        }
    }

    fn serialize_u128(self, value: u128) -> Result<Node, Refusal> {
        self.serialize_u64(value.try_into().map_err(|_| too_large())?)
    }

    fn serialize_f32(self, value: f32) -> Result<Node, Refusal> {
        self.serialize_f64(value.into())
    }

    fn serialize_f64(self, value: f64) -> Result<Node, Refusal> {
        let number = Number::from_f64(value)
            .ok_or_else(|| Refusal::NotJson(format!("{value} is not a JSON number")))?;
        Ok(Node::Number(number))
    }

    fn serialize_bool(self, value: bool) -> Result<Node, Refusal> {
        Ok(Node::Bool(value))
    }

    fn serialize_char(self, value: char) -> Result<Node, Refusal> {
        self.serialize_str(value.encode_utf8(&mut [0; 4]))
    }

    fn serialize_str(self, value: &str) -> Result<Node, Refusal> {
        Ok(Node::String(value.into()))
    }

    fn serialize_bytes(self, value: &[u8]) -> Result<Node, Refusal> {
        self.nested()?;
        let items = value.iter().map(|byte| Node::Number((*byte).into()));
        Ok(Node::Array(Arc::new(items.collect())))
    }

    fn serialize_none(self) -> Result<Node, Refusal> {
        Ok(Node::Null)
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<Node, Refusal> {
        value.serialize(self)
    }

    fn serialize_unit(self) -> Result<Node, Refusal> {
        Ok(Node::Null)
    }

    fn serialize_unit_struct(self, _name: &'static str) -> Result<Node, Refusal> {
        Ok(Node::Null)
    }

    fn serialize_unit_variant(
        self,
        _name: &'static str,
        _index: u32,
        variant: &'static str,
    ) -> Result<Node, Refusal> {
        self.serialize_str(variant)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _name: &'static str,
        value: &T,
    ) -> Result<Node, Refusal> {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _name: &'static str,
        _index: u32,
        variant: &'static str,
        value: &T,
    ) -> Result<Node, Refusal> {
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
            return Ok(Container { tag: None, inner, filled: Members::new(), key: None });
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
        $(impl ser::$trait for Container<Vec<Node>> {
            type Ok = Node;
            type Error = Refusal;

            fn $add<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Refusal> {
                self.filled.push(value.serialize(self.inner)?);
                Ok(())
            }

            fn end(self) -> Result<Node, Refusal> {
                Ok(self.finish(Node::Array))
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

impl Container<Members> {
    fn member<T: Serialize + ?Sized>(&mut self, key: Arc<str>, value: &T) -> Result<(), Refusal> {
        self.filled.insert(key, value.serialize(self.inner)?);
        Ok(())
    }
}

impl ser::SerializeMap for Container<Members> {
    type Ok = Node;
    type Error = Refusal;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), Refusal> {
        let key = match key.serialize(Encoder { depth: 0 }) {
            Ok(Node::String(key)) => Some(key),
            Ok(Node::Number(key)) => Some(key.to_string().into()),
            Ok(Node::Bool(key)) => Some(if key { "true" } else { "false" }.into()),
            Err(Refusal::NotJson(reason)) => return Err(Refusal::NotJson(reason)),
            Ok(Node::Null | Node::Array(_) | Node::Object(_)) | Err(Refusal::TooDeep) => None,
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

    fn end(self) -> Result<Node, Refusal> {
        Ok(self.finish(Node::Object))
    }
}

impl ser::SerializeStruct for Container<Members> {
    type Ok = Node;
    type Error = Refusal;

    fn serialize_field<T: Serialize + ?Sized>(
        &mut self,
        key: &'static str,
        value: &T,
    ) -> Result<(), Refusal> {
        self.member(key.into(), value)
    }

    fn end(self) -> Result<Node, Refusal> {
        match self.filled.first() {
            Some((key, Node::String(text))) if key.starts_with(PRIVATE) => {
                let value = serde_json::from_str(text)
                    .map_err(|error| Refusal::NotJson(error.to_string()))?;
                Node::from_value(value, self.inner.depth)
            }
            _ => Ok(self.finish(Node::Object)),
        }
    }
}

impl ser::SerializeStructVariant for Container<Members> {
    type Ok = Node;
    type Error = Refusal;

    fn serialize_field<T: Serialize + ?Sized>(
        &mut self,
        key: &'static str,
        value: &T,
    ) -> Result<(), Refusal> {
        self.member(key.into(), value)
    }

    fn end(self) -> Result<Node, Refusal> {
        Ok(self.finish(Node::Object))
    }
}

fn too_large() -> Refusal {
    Refusal::NotJson("an integer is outside 64 bits".to_owned())
}
