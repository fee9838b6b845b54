//! Reading a document through serde, with the same bound on nesting as the parser.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};

use super::error::{ParseError, ParseErrorKind};
use super::{Document, JsonWriter, MAX_DEPTH};

/// Any format that describes itself. Numbers have 64 bits on this way; only [`Document::parse`]
/// keeps longer ones.
impl<'de> serde::Deserialize<'de> for Document {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut out = JsonWriter::new();
        Value { out: &mut out, depth: 0 }.deserialize(deserializer)?;
        Ok(out.finish())
    }
}

/// Writes the value that comes next.
struct Value<'w> {
    out: &'w mut JsonWriter,
    depth: usize,
}

impl Value<'_> {
    fn check_depth<E: Error>(&self) -> Result<(), E> {
        if self.depth < MAX_DEPTH {
            return Ok(());
        }
        Err(E::custom(ParseError::without_text(ParseErrorKind::TooDeep)))
    }
}

impl<'de> DeserializeSeed<'de> for Value<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Value<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<(), E> {
        self.out.boolean(value);
        Ok(())
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<(), E> {
        self.out.integer(value);
        Ok(())
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<(), E> {
        self.out.unsigned(value);
        Ok(())
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<(), E> {
        self.out.float(value).map(|_| ()).map_err(E::custom)
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<(), E> {
        self.out.string(value);
        Ok(())
    }

    fn visit_unit<E: Error>(self) -> Result<(), E> {
        self.out.null();
        Ok(())
    }

    fn visit_none<E: Error>(self) -> Result<(), E> {
        self.visit_unit()
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        self.deserialize(deserializer)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        self.check_depth()?;
        let depth = self.depth + 1;
        self.out.try_array(|out| {
            while seq.next_element_seed(Value { out, depth })?.is_some() {}
            Ok(())
        })?;
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        self.check_depth()?;
        let depth = self.depth + 1;
        self.out.try_object(|out| {
            while map.next_key_seed(KeyVisitor(out))?.is_some() {
                map.next_value_seed(Value { out, depth })?;
            }
            Ok(())
        })?;
        Ok(())
    }
}

/// Writes the key that comes next.
struct KeyVisitor<'w>(&'w mut JsonWriter);

impl<'de> DeserializeSeed<'de> for KeyVisitor<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl Visitor<'_> for KeyVisitor<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key")
    }

    fn visit_str<E: Error>(self, key: &str) -> Result<(), E> {
        self.0.key(key);
        Ok(())
    }
}
