//! Types that can be arguments: their schema, and the way from and to JSON.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::fmt;
use std::hash::{BuildHasher, Hash};

use serde_json::Value;

use super::ArgDefinitions;
use crate::json::{JsonWriter, UnrepresentableValue, ValueRef};
use crate::schema::{Field, IntegerRules, Schema, any, array, boolean, map, number, string, tuple};
use crate::schema::{NumberRules, ObjectSchema, Shape};

/// A type that can stand in the arguments of a tool.
///
/// Derive it with `#[derive(ToolArgs)]`. Schema and decoder belong together: whatever the schema
/// accepts must decode, and encode back to an equal value.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be part of a tool's arguments",
    label = "no argument type",
    note = "derive it: `#[derive(ToolArgs)]` on a struct, a unit enum or a tagged enum",
    note = "built in are: bool, char, String, i8…i64, u8…u64, f32, f64, Option, Vec, Box, fixed arrays, tuples, HashMap and BTreeMap with String keys, HashSet, BTreeSet, serde_json::Value"
)]
pub trait ArgValue: Sized {
    /// The schema of the type.
    fn schema(definitions: &mut ArgDefinitions) -> Schema;

    /// Makes a value from JSON that the schema accepted.
    ///
    /// # Errors
    ///
    /// Only for JSON that the schema does not accept.
    fn decode(value: ValueRef<'_>) -> Result<Self, DecodeError>;

    /// Writes the value as JSON.
    ///
    /// # Errors
    ///
    /// A number that JSON cannot write, such as NaN.
    fn encode(&self, out: &mut JsonWriter) -> Result<(), UnrepresentableValue>;

    /// The schema as a field of an object: required, except for `Option`.
    fn field(definitions: &mut ArgDefinitions) -> Field {
        Field::required(Self::schema(definitions))
    }

    /// Makes a value from a field that may be absent.
    ///
    /// # Errors
    ///
    /// As [`ArgValue::decode`]; absence is an error for everything but `Option`.
    fn decode_field(name: &str, value: Option<ValueRef<'_>>) -> Result<Self, DecodeError> {
        match value {
            Some(value) => Self::decode(value).map_err(|error| error.below(name)),
            None => Err(DecodeError::new("a value, got nothing").below(name)),
        }
    }

    /// Writes the value as a member of an object; `Option` writes nothing for `None`.
    ///
    /// # Errors
    ///
    /// As [`ArgValue::encode`].
    fn encode_field(&self, name: &str, out: &mut JsonWriter) -> Result<(), UnrepresentableValue> {
        out.key(name);
        self.encode(out)
    }
}

/// A type that can be the arguments as a whole: an object with named fields.
///
/// Its fields can also stand in the object of another type; the derive macro uses that for flattened
/// fields and for tagged variants.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an object with named fields",
    label = "not an object with named fields",
    note = "the arguments of a tool, a flattened field and the struct of a tagged variant are such objects: derive `ToolArgs` on a struct with named fields"
)]
pub trait ToolArgs: ArgValue {
    /// Adds the fields of the type to an object.
    fn add_fields(object: ObjectSchema, definitions: &mut ArgDefinitions) -> ObjectSchema {
        object.fields_of(Self::schema(definitions))
    }

    /// Writes the fields as members of an object that is being written.
    ///
    /// # Errors
    ///
    /// As [`ArgValue::encode`].
    fn encode_members(&self, out: &mut JsonWriter) -> Result<(), UnrepresentableValue> {
        let mut whole = JsonWriter::new();
        self.encode(&mut whole)?;
        for (key, value) in whole.finish().root().members() {
            out.key(key).view(value);
        }
        Ok(())
    }
}

/// JSON that does not fit the type it is decoded into.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DecodeError {
    /// JSON pointer to the value.
    pub pointer: String,
    /// What the type needs.
    pub expected: String,
}

impl DecodeError {
    /// An error at the value itself.
    #[must_use]
    pub fn new(expected: impl Into<String>) -> Self {
        Self { pointer: String::new(), expected: expected.into() }
    }

    /// The same error, seen from the object or list around it.
    #[must_use]
    pub fn below(mut self, key: impl fmt::Display) -> Self {
        let key = key.to_string().replace('~', "~0").replace('/', "~1");
        self.pointer = format!("/{key}{}", self.pointer);
        self
    }
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = if self.pointer.is_empty() { "the value" } else { &self.pointer };
        write!(f, "{place}: expected {}", self.expected)
    }
}

impl std::error::Error for DecodeError {}

macro_rules! integers {
    ($($type:ty => $read:ident, $write:ident as $wide:ty);* $(;)?) => {$(
        impl ArgValue for $type {
            fn schema(_: &mut ArgDefinitions) -> Schema {
                // Lossless on every platform: no integer here is wider than 64 bits.
                let bounds = IntegerRules::range(<$type>::MIN as i64, <$type>::MAX as $wide);
                Schema::new(Shape::Integer(bounds))
            }

            fn decode(value: ValueRef<'_>) -> Result<Self, DecodeError> {
                value
                    .$read()
                    .and_then(|value| Self::try_from(value).ok())
                    .ok_or_else(|| DecodeError::new(concat!("an integer that fits ", stringify!($type))))
            }

            fn encode(&self, out: &mut JsonWriter) -> Result<(), UnrepresentableValue> {
                out.$write(*self as $wide);
                Ok(())
            }
        }
    )*};
}

integers! {
    i8 => as_i64, integer as i64;
    i16 => as_i64, integer as i64;
    i32 => as_i64, integer as i64;
    i64 => as_i64, integer as i64;
    isize => as_i64, integer as i64;
    u8 => as_u64, unsigned as u64;
    u16 => as_u64, unsigned as u64;
    u32 => as_u64, unsigned as u64;
    u64 => as_u64, unsigned as u64;
    usize => as_u64, unsigned as u64;
}

impl ArgValue for f64 {
    fn schema(_: &mut ArgDefinitions) -> Schema {
        number().into()
    }

    fn decode(value: ValueRef<'_>) -> Result<Self, DecodeError> {
        value.as_f64().ok_or_else(|| DecodeError::new("a number"))
    }

    fn encode(&self, out: &mut JsonWriter) -> Result<(), UnrepresentableValue> {
        out.float(*self).map(drop)
    }
}

impl ArgValue for f32 {
    fn schema(_: &mut ArgDefinitions) -> Schema {
        let limit = f64::from(Self::MAX);
        Schema::new(Shape::Number(NumberRules {
            min: Some(-limit),
            max: Some(limit),
            ..NumberRules::default()
        }))
    }

    #[expect(clippy::cast_possible_truncation, reason = "in range by the schema; nearest is meant")]
    fn decode(value: ValueRef<'_>) -> Result<Self, DecodeError> {
        f64::decode(value).map(|value| value as Self)
    }

    fn encode(&self, out: &mut JsonWriter) -> Result<(), UnrepresentableValue> {
        // The shortest text of the single, not of its widening: 0.1 stays 0.1.
        let shortest =
            if self.is_finite() { self.to_string().parse() } else { Ok(f64::from(*self)) };
        out.float(shortest.unwrap_or_else(|_| f64::from(*self))).map(drop)
    }
}

impl ArgValue for bool {
    fn schema(_: &mut ArgDefinitions) -> Schema {
        boolean().into()
    }

    fn decode(value: ValueRef<'_>) -> Result<Self, DecodeError> {
        value.as_bool().ok_or_else(|| DecodeError::new("true or false"))
    }

    fn encode(&self, out: &mut JsonWriter) -> Result<(), UnrepresentableValue> {
        out.boolean(*self);
        Ok(())
    }
}

impl ArgValue for String {
    fn schema(_: &mut ArgDefinitions) -> Schema {
        string().into()
    }

    fn decode(value: ValueRef<'_>) -> Result<Self, DecodeError> {
        value.as_str().map(str::to_owned).ok_or_else(|| DecodeError::new("a string"))
    }

    fn encode(&self, out: &mut JsonWriter) -> Result<(), UnrepresentableValue> {
        out.string(self);
        Ok(())
    }
}

impl ArgValue for char {
    fn schema(_: &mut ArgDefinitions) -> Schema {
        string().min_length(1).max_length(1).into()
    }

    fn decode(value: ValueRef<'_>) -> Result<Self, DecodeError> {
        let mut chars = value.as_str().unwrap_or_default().chars();
        match (chars.next(), chars.next()) {
            (Some(only), None) => Ok(only),
            _ => Err(DecodeError::new("a string of one character")),
        }
    }

    fn encode(&self, out: &mut JsonWriter) -> Result<(), UnrepresentableValue> {
        out.string(self.encode_utf8(&mut [0; 4]));
        Ok(())
    }
}

impl ArgValue for Value {
    fn schema(_: &mut ArgDefinitions) -> Schema {
        any().into()
    }

    fn decode(value: ValueRef<'_>) -> Result<Self, DecodeError> {
        Ok(value.to_value())
    }

    fn encode(&self, out: &mut JsonWriter) -> Result<(), UnrepresentableValue> {
        out.value(self);
        Ok(())
    }
}

/// As a field, absent; as an element or a map's value, `null`.
impl<T: ArgValue> ArgValue for Option<T> {
    fn schema(definitions: &mut ArgDefinitions) -> Schema {
        T::schema(definitions).or_null()
    }

    fn decode(value: ValueRef<'_>) -> Result<Self, DecodeError> {
        if value.is_null() { Ok(None) } else { T::decode(value).map(Some) }
    }

    fn encode(&self, out: &mut JsonWriter) -> Result<(), UnrepresentableValue> {
        match self {
            Some(value) => value.encode(out),
            None => {
                out.null();
                Ok(())
            }
        }
    }

    fn field(definitions: &mut ArgDefinitions) -> Field {
        Field::optional(T::schema(definitions))
    }

    fn decode_field(name: &str, value: Option<ValueRef<'_>>) -> Result<Self, DecodeError> {
        value.map(T::decode).transpose().map_err(|error| error.below(name))
    }

    fn encode_field(&self, name: &str, out: &mut JsonWriter) -> Result<(), UnrepresentableValue> {
        match self {
            Some(value) => {
                out.key(name);
                value.encode(out)
            }
            None => Ok(()),
        }
    }
}

impl<T: ArgValue> ArgValue for Box<T> {
    fn schema(definitions: &mut ArgDefinitions) -> Schema {
        T::schema(definitions)
    }

    fn decode(value: ValueRef<'_>) -> Result<Self, DecodeError> {
        T::decode(value).map(Self::new)
    }

    fn encode(&self, out: &mut JsonWriter) -> Result<(), UnrepresentableValue> {
        (**self).encode(out)
    }
}

fn decode_elements<T: ArgValue, C: FromIterator<T>>(value: ValueRef<'_>) -> Result<C, DecodeError> {
    let element = |(at, value)| T::decode(value).map_err(|error| error.below(at));
    value.elements().enumerate().map(element).collect()
}

fn encode_elements<'t, T: ArgValue + 't>(
    elements: impl IntoIterator<Item = &'t T>,
    out: &mut JsonWriter,
) -> Result<(), UnrepresentableValue> {
    out.try_array(|out| elements.into_iter().try_for_each(|it| it.encode(out))).map(drop)
}

impl<T: ArgValue> ArgValue for Vec<T> {
    fn schema(definitions: &mut ArgDefinitions) -> Schema {
        array(T::schema(definitions)).into()
    }

    fn decode(value: ValueRef<'_>) -> Result<Self, DecodeError> {
        decode_elements(value)
    }

    fn encode(&self, out: &mut JsonWriter) -> Result<(), UnrepresentableValue> {
        encode_elements(self, out)
    }
}

impl<T: ArgValue, const N: usize> ArgValue for [T; N] {
    fn schema(definitions: &mut ArgDefinitions) -> Schema {
        array(T::schema(definitions)).min_items(N).max_items(N).into()
    }

    fn decode(value: ValueRef<'_>) -> Result<Self, DecodeError> {
        decode_elements::<T, Vec<T>>(value)?
            .try_into()
            .map_err(|_| DecodeError::new(format!("a list of exactly {N} elements")))
    }

    fn encode(&self, out: &mut JsonWriter) -> Result<(), UnrepresentableValue> {
        encode_elements(self, out)
    }
}

macro_rules! sets {
    ($([$($generics:tt)*] $type:ty),*) => {$(
        impl<$($generics)*> ArgValue for $type {
            fn schema(definitions: &mut ArgDefinitions) -> Schema {
                array(T::schema(definitions)).unique().into()
            }

            fn decode(value: ValueRef<'_>) -> Result<Self, DecodeError> {
                decode_elements(value)
            }

            fn encode(&self, out: &mut JsonWriter) -> Result<(), UnrepresentableValue> {
                encode_elements(self, out)
            }
        }
    )*};
}

sets!([T: ArgValue + Ord] BTreeSet<T>, [T: ArgValue + Eq + Hash, S: BuildHasher + Default] HashSet<T, S>);

macro_rules! maps {
    ($([$($generics:tt)*] $type:ty),*) => {$(
        impl<$($generics)*> ArgValue for $type {
            fn schema(definitions: &mut ArgDefinitions) -> Schema {
                map(V::schema(definitions)).into()
            }

            fn decode(value: ValueRef<'_>) -> Result<Self, DecodeError> {
                let member = |(key, value): (&str, ValueRef<'_>)| match V::decode(value) {
                    Ok(value) => Ok((key.to_owned(), value)),
                    Err(error) => Err(error.below(key)),
                };
                value.members().map(member).collect()
            }

            fn encode(&self, out: &mut JsonWriter) -> Result<(), UnrepresentableValue> {
                let members = |out: &mut JsonWriter| {
                    self.iter().try_for_each(|(key, value)| {
                        out.key(key);
                        value.encode(out)
                    })
                };
                out.try_object(members).map(drop)
            }
        }
    )*};
}

maps!([V: ArgValue] BTreeMap<String, V>, [V: ArgValue, S: BuildHasher + Default] HashMap<String, V, S>);

macro_rules! tuples {
    ($($count:literal: $($name:ident $at:tt),+;)*) => {$(
        impl<$($name: ArgValue),+> ArgValue for ($($name,)+) {
            fn schema(definitions: &mut ArgDefinitions) -> Schema {
                tuple([$($name::schema(definitions)),+]).into()
            }

            fn decode(value: ValueRef<'_>) -> Result<Self, DecodeError> {
                if value.len() != $count {
                    return Err(DecodeError::new(concat!("a list of exactly ", $count, " elements")));
                }
                let mut elements = value.elements();
                Ok(($(
                    elements
                        .next()
                        .map_or_else(|| Err(DecodeError::new("an element")), $name::decode)
                        .map_err(|error| error.below($at))?,
                )+))
            }

            fn encode(&self, out: &mut JsonWriter) -> Result<(), UnrepresentableValue> {
                out.try_array(|out| {
                    $(self.$at.encode(out)?;)+
                    Ok(())
                })
                .map(drop)
            }
        }
    )*};
}

tuples! {
    1: A 0;
    2: A 0, B 1;
    3: A 0, B 1, C 2;
    4: A 0, B 1, C 2, D 3;
    5: A 0, B 1, C 2, D 3, E 4;
    6: A 0, B 1, C 2, D 3, E 4, F 5;
}
