use haft::ToolArgs;
use insta::assert_snapshot;

use super::{accept, check, refusal, schema};

/// Temperature scales
#[derive(Debug, PartialEq, ToolArgs)]
enum Units {
    /// Water freezes
    /// at zero.
    Celsius,
    #[arg(description = "The American scale.")]
    Fahrenheit,
    #[arg(rename = "K")]
    AbsoluteKelvin,
}

#[derive(Debug, PartialEq, ToolArgs)]
#[arg(rename_all = "SCREAMING_SNAKE_CASE")]
enum Loud {
    VeryLoud,
    HTTPLoud,
}

#[derive(Debug, PartialEq, ToolArgs)]
struct Both {
    #[arg(default = Units::AbsoluteKelvin)]
    units: Units,
    /// How loud
    loud: Option<Loud>,
}

#[test]
fn an_enum_is_a_list_of_names() {
    assert_snapshot!(schema::<Both>(), @r#"
    {
      "type": "object",
      "properties": {
        "units": {
          "type": "string",
          "enum": ["celsius","fahrenheit","K"],
          "description": "Temperature scales\n`celsius`: Water freezes at zero.\n`fahrenheit`: The American scale.",
          "default": "K"
        },
        "loud": {"type":"string","enum":["VERY_LOUD","HTTP_LOUD"],"description":"How loud"}
      },
      "additionalProperties": false
    }
    "#);
    let value = Both { units: Units::AbsoluteKelvin, loud: Some(Loud::HTTPLoud) };
    check(r#"{"loud":"http_loud"}"#, &value, r#"{"units":"K","loud":"HTTP_LOUD"}"#);
    assert!(accept::<Both>(r#"{"units":"AbsoluteKelvin"}"#).is_err());
}

/// What to do
#[derive(Debug, PartialEq, ToolArgs)]
#[arg(tag = "kind", example = Step::Stop)]
enum Step {
    /// Walk on
    #[arg(rename_all = "camelCase", note = "Mind the gap.")]
    WalkOn {
        /// In metres
        #[arg(min = 1, alias = "far")]
        how_far: u32,
        back: Option<bool>,
    },
    Stop,
    /// Go somewhere
    #[arg(rename = "go")]
    Goto(Target),
    Twice {
        step: Box<Self>,
    },
    Many(Plan),
}

#[derive(Debug, PartialEq, ToolArgs)]
struct Target {
    #[arg(default = "home")]
    place: String,
}

/// A struct that contains the enum that it is a variant of: its fields are merged all the same.
#[derive(Debug, PartialEq, ToolArgs)]
struct Plan {
    steps: Vec<Step>,
}

#[derive(Debug, PartialEq, ToolArgs)]
struct Walk {
    first: Step,
    then: Option<Vec<Step>>,
}

#[test]
fn a_tagged_enum_has_its_fields_beside_the_tag() {
    assert_snapshot!(schema::<Walk>(), @r##"
    {
      "type": "object",
      "properties": {
        "first": {"$ref":"#/$defs/Step"},
        "then": {"type":"array","items":{"$ref":"#/$defs/Step"}}
      },
      "required": ["first"],
      "additionalProperties": false,
      "$defs": {
        "Step": {
          "anyOf": [
            {
              "type": "object",
              "properties": {
                "kind": {"type":"string","enum":["walk_on"]},
                "howFar": {"type":"integer","minimum":1,"maximum":4294967295,"description":"In metres"},
                "back": {"type":"boolean"}
              },
              "required": ["kind","howFar"],
              "additionalProperties": false,
              "description": "Walk on\nMind the gap."
            },
            {
              "type": "object",
              "properties": {"kind":{"type":"string","enum":["stop"]}},
              "required": ["kind"],
              "additionalProperties": false
            },
            {
              "type": "object",
              "properties": {
                "kind": {"type":"string","enum":["go"]},
                "place": {"type":"string","default":"home"}
              },
              "required": ["kind"],
              "additionalProperties": false,
              "description": "Go somewhere"
            },
            {
              "type": "object",
              "properties": {"kind":{"type":"string","enum":["twice"]},"step":{"$ref":"#/$defs/Step"}},
              "required": ["kind","step"],
              "additionalProperties": false
            },
            {
              "type": "object",
              "properties": {
                "kind": {"type":"string","enum":["many"]},
                "steps": {"type":"array","items":{"$ref":"#/$defs/Step"}}
              },
              "required": ["kind","steps"],
              "additionalProperties": false
            }
          ],
          "description": "What to do",
          "examples": [{"kind":"stop"}]
        }
      }
    }
    "##);
    let value = Walk {
        first: Step::WalkOn { how_far: 5, back: None },
        then: Some(vec![
            Step::Stop,
            Step::Goto(Target { place: "home".into() }),
            Step::Twice { step: Box::new(Step::Stop) },
            Step::Many(Plan { steps: vec![Step::Stop] }),
        ]),
    };
    check(
        r#"{"first":{"kind":"walk_on","far":5},"then":[{"kind":"Stop"},{"kind":"go"},{"kind":"twice","step":{"kind":"stop"}},{"kind":"many","steps":[{"kind":"stop"}]}]}"#,
        &value,
        r#"{"first":{"kind":"walk_on","howFar":5},"then":[{"kind":"stop"},{"kind":"go","place":"home"},{"kind":"twice","step":{"kind":"stop"}},{"kind":"many","steps":[{"kind":"stop"}]}]}"#,
    );
    for text in [
        r#"{"first":{"kind":"walk_on","howFar":0}}"#,
        r#"{"first":{"kind":"stop","howFar":1}}"#,
        r#"{"first":{"howFar":1}}"#,
        r#"{"first":{"kind":"run"}}"#,
    ] {
        assert!(accept::<Walk>(text).is_err(), "{text}");
    }
    assert_eq!(
        refusal::<Step>(r#"{"kind":"run"}"#),
        "/kind: expected one of walk_on, stop, go, twice, many"
    );
}

/// The same with a recursive struct at the root, whose definition is open while the enum merges it.
#[test]
fn a_recursive_struct_can_be_merged_while_it_is_being_defined() {
    let value = Plan { steps: vec![Step::Many(Plan { steps: vec![] })] };
    let text = r#"{"steps":[{"kind":"many","steps":[]}]}"#;
    check(text, &value, text);
}

#[derive(Debug, PartialEq, ToolArgs)]
#[arg(tag = "t", content = "c", rename_all = "lowercase")]
enum Value {
    Nothing,
    Number(#[arg(min = 0, description = "Not negative")] f64),
    Perhaps(Option<u8>),
    Pair(String, #[arg(max = 9)] u8),
    Point { x: f64, y: f64 },
    List(Vec<Self>),
}

#[derive(Debug, PartialEq, ToolArgs)]
struct Values {
    value: Value,
}

#[test]
fn an_adjacently_tagged_enum_has_its_data_under_a_key() {
    assert_snapshot!(schema::<Values>(), @r##"
    {
      "type": "object",
      "properties": {"value":{"$ref":"#/$defs/Value"}},
      "required": ["value"],
      "additionalProperties": false,
      "$defs": {
        "Value": {
          "anyOf": [
            {
              "type": "object",
              "properties": {"t":{"type":"string","enum":["nothing"]}},
              "required": ["t"],
              "additionalProperties": false
            },
            {
              "type": "object",
              "properties": {
                "t": {"type":"string","enum":["number"]},
                "c": {"type":"number","minimum":0,"description":"Not negative"}
              },
              "required": ["t","c"],
              "additionalProperties": false
            },
            {
              "type": "object",
              "properties": {
                "t": {"type":"string","enum":["perhaps"]},
                "c": {"type":"integer","minimum":0,"maximum":255}
              },
              "required": ["t"],
              "additionalProperties": false
            },
            {
              "type": "object",
              "properties": {
                "t": {"type":"string","enum":["pair"]},
                "c": {
                  "type": "array",
                  "prefixItems": [{"type":"string"},{"type":"integer","minimum":0,"maximum":9}],
                  "items": false,
                  "minItems": 2
                }
              },
              "required": ["t","c"],
              "additionalProperties": false
            },
            {
              "type": "object",
              "properties": {
                "t": {"type":"string","enum":["point"]},
                "c": {
                  "type": "object",
                  "properties": {"x":{"type":"number"},"y":{"type":"number"}},
                  "required": ["x","y"],
                  "additionalProperties": false
                }
              },
              "required": ["t","c"],
              "additionalProperties": false
            },
            {
              "type": "object",
              "properties": {
                "t": {"type":"string","enum":["list"]},
                "c": {"type":"array","items":{"$ref":"#/$defs/Value"}}
              },
              "required": ["t","c"],
              "additionalProperties": false
            }
          ]
        }
      }
    }
    "##);
    let pair = || Value::Pair("a".into(), 9);
    for (value, text) in [
        (Value::Nothing, r#"{"value":{"t":"nothing"}}"#),
        (Value::Number(1.5), r#"{"value":{"t":"number","c":1.5}}"#),
        (Value::Perhaps(None), r#"{"value":{"t":"perhaps"}}"#),
        (Value::Perhaps(Some(1)), r#"{"value":{"t":"perhaps","c":1}}"#),
        (pair(), r#"{"value":{"t":"pair","c":["a",9]}}"#),
        (Value::Point { x: 1.0, y: 2.0 }, r#"{"value":{"t":"point","c":{"x":1,"y":2}}}"#),
        (Value::List(vec![pair()]), r#"{"value":{"t":"list","c":[{"t":"pair","c":["a",9]}]}}"#),
    ] {
        check(text, &Values { value }, text);
    }
    for text in [
        r#"{"value":{"t":"nothing","c":1}}"#,
        r#"{"value":{"t":"number","c":-1}}"#,
        r#"{"value":{"t":"pair","c":["a"]}}"#,
        r#"{"value":{"t":"pair","c":["a",10]}}"#,
        r#"{"value":{"t":"point"}}"#,
    ] {
        assert!(accept::<Values>(text).is_err(), "{text}");
    }
}

#[test]
fn a_decoder_says_where_it_failed() {
    for (text, expect) in [
        (r#"{"t":"pair","c":["a"]}"#, "/c: expected a list of exactly 2 elements"),
        (r#"{"t":"pair","c":["a",1,2]}"#, "/c: expected a list of exactly 2 elements"),
        (r#"{"t":"pair","c":["a",-1]}"#, "/c/1: expected an integer that fits u8"),
        (r#"{"t":"point"}"#, "/c: expected a value, got nothing"),
        (r#"{"t":"point","c":{"x":1}}"#, "/c/y: expected a value, got nothing"),
        (r#"{"t":"number"}"#, "/c: expected a value, got nothing"),
    ] {
        assert_eq!(refusal::<Value>(text), expect);
    }
}
