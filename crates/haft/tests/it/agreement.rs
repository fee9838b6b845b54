//! The proof, for every shape of type that can be derived: what the schema accepts is what the
//! `jsonschema` crate accepts on the emitted text, and it decodes and encodes back.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use haft::ToolArgs;
use haft_conformance::{ProofOptions, prove, prove_serde};
use serde_json::Value;

/// A struct with one field `it` of this type, under this name.
macro_rules! shapes {
    ($($(#[$field:meta])* $name:ident: $type:ty;)*) => {
        $(
            #[derive(ToolArgs)]
            struct $name {
                $(#[$field])*
                it: $type,
            }
        )*

        const SHAPES: &[(&str, fn(ProofOptions) -> Result<haft_conformance::Agreement, haft_conformance::Disagreement>)] =
            &[$((stringify!($name), prove::<$name>)),*];
    };
}

#[derive(ToolArgs)]
enum Units {
    Celsius,
    Fahrenheit,
    #[arg(rename = "K")]
    Kelvin,
}

#[derive(ToolArgs, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Weekday {
    Monday,
    Tuesday,
}

#[derive(ToolArgs)]
#[arg(tag = "kind")]
enum Figure {
    Point,
    Circle {
        #[arg(min = 0)]
        radius: f64,
    },
    Named(Address),
}

#[derive(ToolArgs)]
#[arg(tag = "op", content = "with")]
enum Edit {
    Clear,
    Insert(String),
    Move { from: u32, to: u32 },
    Swap(u8, u8),
}

#[derive(ToolArgs)]
#[arg(rename_all = "camelCase")]
struct Address {
    street_name: String,
    #[arg(alias = "zip", pattern = "^[0-9]{5}$")]
    postal_code: String,
    country: Option<String>,
}

#[derive(ToolArgs)]
struct Flat {
    #[arg(flatten)]
    address: Address,
    #[arg(flatten)]
    paging: Paging,
    note: Option<String>,
}

#[derive(ToolArgs)]
struct Paging {
    #[arg(default = 10, min = 1, max = 100)]
    limit: u32,
    #[arg(default)]
    offset: u64,
}

#[derive(ToolArgs)]
struct Tree {
    value: i64,
    children: Vec<Self>,
    #[arg(alias = "up")]
    parent: Option<Box<Self>>,
}

#[derive(ToolArgs)]
struct Percent(#[arg(min = 0, max = 100)] f32);

#[derive(ToolArgs)]
struct Pair<T> {
    left: T,
    right: T,
}

shapes! {
    U8: u8;
    U16: u16;
    U32: u32;
    U64: u64;
    Usize: usize;
    I8: i8;
    I16: i16;
    I32: i32;
    I64: i64;
    F32: f32;
    F64: f64;
    Bool: bool;
    Text: String;
    Char: char;
    Optional: Option<u32>;
    OptionalTwice: Option<Option<String>>;
    List: Vec<i32>;
    ListOfOptional: Vec<Option<bool>>;
    Fixed: [u8; 3];
    Tuple: (String, i64, bool);
    Map: BTreeMap<String, f64>;
    HashedMap: HashMap<String, Vec<u8>>;
    Set: BTreeSet<i16>;
    HashedSet: HashSet<String>;
    SetOfEnum: BTreeSet<Weekday>;
    Nested: Address;
    Flattened: Flat;
    Units_: Units;
    UnitsDefault: Option<Units>;
    Tagged: Figure;
    Adjacent: Edit;
    Recursive: Tree;
    Newtype: Percent;
    Generic: Pair<Vec<String>>;
    Anything: Value;
    #[arg(min = -5, max = 5)]
    Ranged: i64;
    #[arg(min = 0.5, max = 1.5)]
    RangedFloat: f64;
    #[arg(multiple_of = 15, min = 0, max = 600)]
    Stepped: u32;
    #[arg(min_len = 2, max_len = 4)]
    Sized: String;
    #[arg(pattern = "^[a-z]+-[0-9]{2,3}$")]
    Patterned: String;
    #[arg(min_len = 1, max_len = 3, unique)]
    UniqueList: Vec<u8>;
    #[arg(min_len = 1, max_len = 2)]
    SizedMap: BTreeMap<String, bool>;
    #[arg(default = "celsius")]
    Defaulted: Units;
    #[arg(default = 2.5, min = 0)]
    DefaultedFloat: f64;
    #[arg(rename = "weird name/~\"", alias = "plain")]
    Renamed: String;
}

#[test]
fn every_shape_agrees() {
    let options = ProofOptions::default().values(100).seed(2026);
    for (name, prove) in SHAPES {
        if let Err(disagreement) = prove(options) {
            panic!("{name}: {disagreement}");
        }
    }
    assert!(SHAPES.len() >= 32);
}

#[test]
fn a_whole_tool_agrees() {
    let options = ProofOptions::default().values(300);
    for proof in [prove::<Flat>, prove::<Tree>, prove::<Address>, prove::<Paging>] {
        let agreement = proof(options).unwrap_or_else(|it| panic!("{it}"));
        assert!(agreement.accepted > 30 && agreement.refused > 30, "{agreement:?}");
    }
}

/// What the proof is for: serde and schemars on their own do not agree.
#[test]
fn the_proof_finds_what_serde_and_schemars_disagree_on() {
    #[derive(serde::Deserialize, schemars::JsonSchema)]
    #[expect(dead_code, reason = "only ever decoded")]
    struct Wide {
        count: u32,
    }
    #[derive(serde::Deserialize, schemars::JsonSchema)]
    #[expect(dead_code, reason = "only ever decoded")]
    struct Words {
        words: Vec<String>,
        exact: bool,
    }
    let options = ProofOptions::default();
    let schema = |schema: schemars::Schema| schema.to_value();
    assert!(prove_serde::<Wide>(schema(schemars::schema_for!(Wide)), options).is_err());
    assert!(prove_serde::<Words>(schema(schemars::schema_for!(Words)), options).is_ok());
}
