//! Every built-in argument type, alone in a struct.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use serde_json::Value;

use haft_conformance::{ProofOptions, prove};
use haft_core::json::{JsonWriter, UnrepresentableValue, ValueRef};
use haft_core::schema::args::{ArgDefinitions, ArgValue, DecodeError, ToolArgs};
use haft_core::schema::{Schema, object};

/// Arguments with one field, as a derive would write them.
struct Only<T>(T);

impl<T: ArgValue> ArgValue for Only<T> {
    fn schema(definitions: &mut ArgDefinitions) -> Schema {
        object().field("it", T::field(definitions)).into()
    }

    fn decode(value: ValueRef<'_>) -> Result<Self, DecodeError> {
        T::decode_field("it", value.get("it")).map(Self)
    }

    fn encode(&self, out: &mut JsonWriter) -> Result<(), UnrepresentableValue> {
        out.try_object(|out| self.0.encode_field("it", out)).map(drop)
    }
}

impl<T: ArgValue> ToolArgs for Only<T> {}

/// A type that contains itself.
struct Tree {
    label: String,
    children: Vec<Self>,
    parent: Option<Box<Self>>,
}

impl ArgValue for Tree {
    fn schema(definitions: &mut ArgDefinitions) -> Schema {
        definitions.named::<Self>("Tree", |definitions| {
            object()
                .field("label", String::field(definitions))
                .field("children", Vec::<Self>::field(definitions))
                .field("parent", Option::<Box<Self>>::field(definitions))
                .into()
        })
    }

    fn decode(value: ValueRef<'_>) -> Result<Self, DecodeError> {
        Ok(Self {
            label: String::decode_field("label", value.get("label"))?,
            children: Vec::decode_field("children", value.get("children"))?,
            parent: Option::decode_field("parent", value.get("parent"))?,
        })
    }

    fn encode(&self, out: &mut JsonWriter) -> Result<(), UnrepresentableValue> {
        out.try_object(|out| {
            self.label.encode_field("label", out)?;
            self.children.encode_field("children", out)?;
            self.parent.encode_field("parent", out)
        })
        .map(drop)
    }
}

impl ToolArgs for Tree {}

#[track_caller]
fn check<T: ToolArgs>() {
    let options = ProofOptions::default().values(200);
    if let Err(disagreement) = prove::<T>(options) {
        panic!("{}\n{disagreement}", std::any::type_name::<T>());
    }
}

macro_rules! agree {
    ($($name:ident: $type:ty;)*) => {$(
        #[test]
        fn $name() {
            check::<Only<$type>>();
        }
    )*};
}

agree! {
    u8_: u8;
    u16_: u16;
    u32_: u32;
    u64_: u64;
    usize_: usize;
    i8_: i8;
    i16_: i16;
    i32_: i32;
    i64_: i64;
    isize_: isize;
    f32_: f32;
    f64_: f64;
    bool_: bool;
    string: String;
    char_: char;
    value: Value;
    boxed: Box<i64>;
    optional_integer: Option<u32>;
    optional_string: Option<String>;
    optional_value: Option<Value>;
    optional_list: Option<Vec<String>>;
    list_of_integers: Vec<i64>;
    list_of_strings: Vec<String>;
    list_of_options: Vec<Option<u8>>;
    list_of_lists: Vec<Vec<u8>>;
    list_of_singles: Vec<f32>;
    list_of_values: Vec<Value>;
    array_of_three: [u8; 3];
    array_of_none: [u8; 0];
    array_of_options: [Option<bool>; 2];
    tuple_of_one: (String,);
    tuple_of_two: (u8, bool);
    tuple_of_six: (u8, i64, f64, String, Option<bool>, Vec<u8>);
    tree_map: BTreeMap<String, u32>;
    hash_map: HashMap<String, f64>;
    map_of_options: BTreeMap<String, Option<String>>;
    map_of_maps: BTreeMap<String, BTreeMap<String, u8>>;
    tree_set: BTreeSet<i64>;
    hash_set: HashSet<String>;
    set_of_options: BTreeSet<Option<u8>>;
    set_of_lists: BTreeSet<Vec<u8>>;
    set_of_pairs: HashSet<(u8, bool)>;
    nested: Only<Option<Only<Vec<Only<u8>>>>>;
    list_of_structs: Vec<Only<Option<String>>>;
    recursive: Tree;
    list_of_recursive: Vec<Option<Tree>>;
}

#[test]
fn recursive_root() {
    check::<Tree>();
}
