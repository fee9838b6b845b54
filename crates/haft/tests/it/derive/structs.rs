use std::collections::{BTreeMap, HashSet};

use haft::ToolArgs;
use insta::assert_snapshot;

use super::{accept, check, refusal, schema};

const STEP: u64 = 5;

/// A search
/// in the catalogue.
///
/// Returns at most `limit` hits.
#[derive(Debug, PartialEq, ToolArgs)]
#[arg(rename_all = "camelCase", note = "Searches are free.")]
struct Search {
    /// Words to look for
    #[arg(alias = "q", alias = "text", min_len = 1, max_len = 80, example = "blue shoes")]
    search_words: String,
    #[arg(description = "How many hits", default = 10, min = 1, max = 100, multiple_of = STEP)]
    limit: u32,
    #[arg(default = -0.5, min = -1, max = 1.5)]
    bias: f64,
    #[arg(default)]
    exact: bool,
    #[arg(default = vec![Sort::Price], unique, note = "First counts most.", note = "No repeats.")]
    sort_by: Vec<Sort>,
    #[arg(pattern = "^[A-Z]{2}$")]
    country: Option<String>,
    #[arg(rename = "in")]
    r#where: Option<Place>,
    #[arg(max_len = 3)]
    weights: Option<BTreeMap<String, f32>>,
    #[arg(default = 'x')]
    mark: char,
    #[arg(default = 18446744073709551615, example = 5)]
    seed: u64,
}

#[derive(Debug, PartialEq, ToolArgs)]
enum Sort {
    Price,
    BestMatch,
}

/// A place on earth
#[derive(Debug, PartialEq, ToolArgs)]
struct Place {
    lat: f64,
    lon: f64,
    tags: HashSet<String>,
}

#[test]
fn a_struct_shows_everything_its_attributes_say() {
    assert_snapshot!(schema::<Search>(), @r#"
    {
      "type": "object",
      "properties": {
        "searchWords": {
          "type": "string",
          "minLength": 1,
          "maxLength": 80,
          "description": "Words to look for",
          "examples": ["blue shoes"]
        },
        "limit": {
          "type": "integer",
          "minimum": 1,
          "maximum": 100,
          "multipleOf": 5,
          "description": "How many hits",
          "default": 10
        },
        "bias": {"type":"number","minimum":-1,"maximum":1.5,"default":-0.5},
        "exact": {"type":"boolean","default":false},
        "sortBy": {
          "type": "array",
          "items": {"type":"string","enum":["price","best_match"]},
          "uniqueItems": true,
          "description": "First counts most.\nNo repeats.",
          "default": ["price"]
        },
        "country": {"type":"string","pattern":"^[A-Z]{2}$"},
        "in": {
          "type": "object",
          "properties": {
            "lat": {"type":"number"},
            "lon": {"type":"number"},
            "tags": {"type":"array","items":{"type":"string"},"uniqueItems":true}
          },
          "required": ["lat","lon","tags"],
          "additionalProperties": false,
          "description": "A place on earth"
        },
        "weights": {
          "type": "object",
          "additionalProperties": {
            "type": "number",
            "minimum": -3.4028234663852886e+38,
            "maximum": 3.4028234663852886e+38
          },
          "maxProperties": 3
        },
        "mark": {"type":"string","minLength":1,"maxLength":1,"default":"x"},
        "seed": {
          "type": "integer",
          "minimum": 0,
          "maximum": 18446744073709551615,
          "default": 18446744073709551615,
          "examples": [5]
        }
      },
      "required": ["searchWords"],
      "additionalProperties": false,
      "description": "A search in the catalogue.\nReturns at most `limit` hits.\nSearches are free."
    }
    "#);
}

#[test]
fn a_struct_is_read_and_written() {
    let value = Search {
        search_words: "shoes".into(),
        limit: 10,
        bias: -0.5,
        exact: false,
        sort_by: vec![Sort::Price],
        country: None,
        r#where: None,
        weights: None,
        mark: 'x',
        seed: u64::MAX,
    };
    check(
        r#"{"q": "shoes"}"#,
        &value,
        r#"{"searchWords":"shoes","limit":10,"bias":-0.5,"exact":false,"sortBy":["price"],"mark":"x","seed":18446744073709551615}"#,
    );
    let value = Search {
        limit: 15,
        bias: 1.0,
        sort_by: vec![Sort::BestMatch, Sort::Price],
        country: Some("FR".into()),
        r#where: Some(Place { lat: 1.5, lon: -2.0, tags: HashSet::from(["a".into()]) }),
        weights: Some(BTreeMap::from([("a".into(), 0.1)])),
        seed: 1,
        ..value
    };
    check(
        r#"{"searchWords":"shoes","limit":"15","bias":1,"exact":"FALSE","sortBy":["Best_Match","price"],"country":"FR","in":{"lat":1.5,"lon":-2,"tags":["a"]},"weights":{"a":0.1},"seed":1}"#,
        &value,
        r#"{"searchWords":"shoes","limit":15,"bias":1,"exact":false,"sortBy":["best_match","price"],"country":"FR","in":{"lat":1.5,"lon":-2,"tags":["a"]},"weights":{"a":0.1},"mark":"x","seed":1}"#,
    );
}

#[test]
fn what_the_schema_refuses_never_reaches_the_type() {
    for (text, pointer) in [
        (r#"{"searchWords":""}"#, "/searchWords"),
        (r#"{"searchWords":"a","limit":7}"#, "/limit"),
        (r#"{"searchWords":"a","limit":105}"#, "/limit"),
        (r#"{"searchWords":"a","bias":2}"#, "/bias"),
        (r#"{"searchWords":"a","sortBy":["price","price"]}"#, "/sortBy"),
        (r#"{"searchWords":"a","country":"fr"}"#, "/country"),
        (r#"{"searchWords":"a","weights":{"a":1,"b":1,"c":1,"d":1}}"#, "/weights"),
        (r#"{"searchWords":"a","mark":"xy"}"#, "/mark"),
        (r#"{"searchWords":"a","search_words":"b"}"#, "/search_words"),
        (r#"{}"#, "/searchWords"),
    ] {
        let refusal = accept::<Search>(text).unwrap_err().to_string();
        assert!(refusal.contains(pointer), "{text}: {refusal}");
    }
}

#[test]
fn a_default_stands_in_even_where_no_schema_has_put_it() {
    let value: Search = decode(r#"{"searchWords": "shoes"}"#);
    assert_eq!(value, accept(r#"{"searchWords": "shoes"}"#).unwrap());
}

fn decode<T: ToolArgs>(text: &str) -> T {
    T::decode(haft::Args::parse(text).unwrap().root()).unwrap()
}

#[test]
fn a_decoder_says_where_it_failed() {
    assert_eq!(refusal::<Search>("5"), "the value: expected an object");
    assert_eq!(refusal::<Search>("{}"), "/searchWords: expected a value, got nothing");
    let text = r#"{"searchWords":"a","sortBy":["price","size"]}"#;
    assert_eq!(refusal::<Search>(text), "/sortBy/1: expected one of price, best_match");
    let text = r#"{"searchWords":"a","in":{"lat":"x","lon":1,"tags":[]}}"#;
    assert_eq!(refusal::<Search>(text), "/in/lat: expected a number");
}

#[derive(Debug, PartialEq, ToolArgs)]
struct Nothing {}

#[test]
fn a_struct_without_fields_takes_no_arguments() {
    check("", &Nothing {}, "{}");
    assert!(accept::<Nothing>(r#"{"a": 1}"#).is_err());
}

/// A postal code
#[derive(Debug, PartialEq, ToolArgs)]
#[arg(pattern = "^[0-9]+$", example = "75001")]
struct Postcode(#[arg(min_len = 5, max_len = 5)] String);

#[derive(Debug, PartialEq, ToolArgs)]
struct Perhaps(Option<u8>);

#[derive(Debug, PartialEq, ToolArgs)]
struct Nested(Vec<Self>);

#[derive(Debug, PartialEq, ToolArgs)]
struct Newtypes {
    code: Postcode,
    other: Option<Postcode>,
    perhaps: Perhaps,
    nested: Nested,
}

#[test]
fn a_newtype_is_its_field_with_rules_of_its_own() {
    assert_snapshot!(schema::<Newtypes>(), @r##"
    {
      "type": "object",
      "properties": {
        "code": {
          "type": "string",
          "minLength": 5,
          "maxLength": 5,
          "pattern": "^[0-9]+$",
          "description": "A postal code",
          "examples": ["75001"]
        },
        "other": {
          "type": "string",
          "minLength": 5,
          "maxLength": 5,
          "pattern": "^[0-9]+$",
          "description": "A postal code",
          "examples": ["75001"]
        },
        "perhaps": {"type":"integer","minimum":0,"maximum":255},
        "nested": {"type":"array","items":{"$ref":"#/$defs/Nested"}}
      },
      "required": ["code","nested"],
      "additionalProperties": false,
      "$defs": {"Nested":{"type":"array","items":{"$ref":"#/$defs/Nested"}}}
    }
    "##);
    let value = Newtypes {
        code: Postcode("75001".into()),
        other: None,
        perhaps: Perhaps(None),
        nested: Nested(vec![Nested(vec![])]),
    };
    check(r#"{"code":"75001","nested":[[]]}"#, &value, r#"{"code":"75001","nested":[[]]}"#);
    assert!(accept::<Newtypes>(r#"{"code":"7500x","nested":[]}"#).is_err());
    assert!(accept::<Newtypes>(r#"{"code":"750011","nested":[]}"#).is_err());
}

#[derive(Debug, PartialEq, ToolArgs)]
struct Page<T, const N: usize> {
    /// Hits
    #[arg(min_len = 1)]
    items: Vec<T>,
    fixed: [u8; N],
}

#[derive(Debug, PartialEq, ToolArgs)]
struct Pages {
    numbers: Page<u8, 2>,
    places: Option<Page<Place, 0>>,
}

#[test]
fn a_generic_type_has_a_schema_per_instance() {
    assert_snapshot!(schema::<Pages>(), @r#"
    {
      "type": "object",
      "properties": {
        "numbers": {
          "type": "object",
          "properties": {
            "items": {
              "type": "array",
              "items": {"type":"integer","minimum":0,"maximum":255},
              "minItems": 1,
              "description": "Hits"
            },
            "fixed": {
              "type": "array",
              "items": {"type":"integer","minimum":0,"maximum":255},
              "minItems": 2,
              "maxItems": 2
            }
          },
          "required": ["items","fixed"],
          "additionalProperties": false
        },
        "places": {
          "type": "object",
          "properties": {
            "items": {
              "type": "array",
              "items": {
                "type": "object",
                "properties": {
                  "lat": {"type":"number"},
                  "lon": {"type":"number"},
                  "tags": {"type":"array","items":{"type":"string"},"uniqueItems":true}
                },
                "required": ["lat","lon","tags"],
                "additionalProperties": false,
                "description": "A place on earth"
              },
              "minItems": 1,
              "description": "Hits"
            },
            "fixed": {
              "type": "array",
              "items": {"type":"integer","minimum":0,"maximum":255},
              "minItems": 0,
              "maxItems": 0
            }
          },
          "required": ["items","fixed"],
          "additionalProperties": false
        }
      },
      "required": ["numbers"],
      "additionalProperties": false
    }
    "#);
    let value = Pages { numbers: Page { items: vec![1], fixed: [2, 3] }, places: None };
    let text = r#"{"numbers":{"items":[1],"fixed":[2,3]}}"#;
    check(text, &value, text);
}

/// A tree
#[derive(Debug, PartialEq, ToolArgs)]
struct Tree {
    name: String,
    #[arg(default, max_len = 8)]
    children: Vec<Self>,
    next: Option<Box<Self>>,
}

#[derive(Debug, PartialEq, ToolArgs)]
struct Forest {
    tree: Tree,
    /// Another one
    spare: Option<Tree>,
}

#[test]
fn a_type_that_contains_itself_is_defined_once() {
    assert_snapshot!(schema::<Forest>(), @r##"
    {
      "type": "object",
      "properties": {
        "tree": {"$ref":"#/$defs/Tree"},
        "spare": {"$ref":"#/$defs/Tree","description":"Another one"}
      },
      "required": ["tree"],
      "additionalProperties": false,
      "$defs": {
        "Tree": {
          "type": "object",
          "properties": {
            "name": {"type":"string"},
            "children": {"type":"array","items":{"$ref":"#/$defs/Tree"},"maxItems":8,"default":[]},
            "next": {"$ref":"#/$defs/Tree"}
          },
          "required": ["name"],
          "additionalProperties": false,
          "description": "A tree"
        }
      }
    }
    "##);
    let leaf = |name: &str| Tree { name: name.into(), children: vec![], next: None };
    let value = Forest {
        tree: Tree {
            children: vec![leaf("b"), leaf("c")],
            next: Some(Box::new(leaf("d"))),
            ..leaf("a")
        },
        spare: None,
    };
    check(
        r#"{"tree":{"name":"a","children":[{"name":"b"},{"name":"c"}],"next":{"name":"d"}}}"#,
        &value,
        r#"{"tree":{"name":"a","children":[{"name":"b","children":[]},{"name":"c","children":[]}],"next":{"name":"d","children":[]}}}"#,
    );
}

#[derive(Debug, PartialEq, ToolArgs)]
struct Paging {
    #[arg(default = 1)]
    page: u32,
    size: Option<u32>,
}

#[derive(Debug, PartialEq, ToolArgs)]
struct Listing {
    folder: String,
    #[arg(flatten)]
    paging: Paging,
    #[arg(flatten)]
    tree: Tree,
    last: bool,
}

#[test]
fn flattened_fields_stand_in_the_same_object() {
    assert_snapshot!(schema::<Listing>(), @r##"
    {
      "type": "object",
      "properties": {
        "folder": {"type":"string"},
        "page": {"type":"integer","minimum":0,"maximum":4294967295,"default":1},
        "size": {"type":"integer","minimum":0,"maximum":4294967295},
        "name": {"type":"string"},
        "children": {"type":"array","items":{"$ref":"#/$defs/Tree"},"maxItems":8,"default":[]},
        "next": {"$ref":"#/$defs/Tree"},
        "last": {"type":"boolean"}
      },
      "required": ["folder","name","last"],
      "additionalProperties": false,
      "$defs": {
        "Tree": {
          "type": "object",
          "properties": {
            "name": {"type":"string"},
            "children": {"type":"array","items":{"$ref":"#/$defs/Tree"},"maxItems":8,"default":[]},
            "next": {"$ref":"#/$defs/Tree"}
          },
          "required": ["name"],
          "additionalProperties": false,
          "description": "A tree"
        }
      }
    }
    "##);
    let value = Listing {
        folder: "/".into(),
        paging: Paging { page: 1, size: Some(20) },
        tree: Tree { name: "a".into(), children: vec![], next: None },
        last: true,
    };
    check(
        r#"{"folder":"/","size":20,"name":"a","last":true}"#,
        &value,
        r#"{"folder":"/","page":1,"size":20,"name":"a","children":[],"last":true}"#,
    );
}

/// The expansion names everything in full: nothing that a user defines can get in its way.
mod hygiene {
    #![expect(dead_code, reason = "names that could get in the way")]

    use haft::ToolArgs;

    struct String;
    struct Option;
    struct Result;
    enum Some {}
    enum Ok {}

    fn value() -> u8 {
        3
    }

    fn definitions() -> u8 {
        4
    }

    #[derive(ToolArgs)]
    pub(super) struct Odd {
        #[arg(default = value(), example = definitions(), note = "a", description = "b")]
        pub(super) out: u8,
        #[arg(default = definitions())]
        pub(super) r#match: u8,
        pub(super) field: std::option::Option<u8>,
    }
}

#[test]
fn names_of_the_user_do_not_get_in_the_way() {
    let odd: hygiene::Odd = accept("{}").unwrap();
    assert_eq!((odd.out, odd.r#match, odd.field), (3, 4, None));
}
