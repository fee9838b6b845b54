//! Types that contain themselves.

use haft_conformance::{ProofOptions, prove};
use haft_core::args::{ArgDefinitions, ArgValue, DecodeError, ToolArgs};
use haft_core::json::{JsonWriter, UnrepresentableValue, ValueRef};
use haft_core::schema::{InputSchema, Schema, Shape, object};

struct Chain {
    next: Option<Box<Self>>,
    twin: Option<Box<inner::Chain>>,
}

/// Another type of the same name.
mod inner {
    pub(super) struct Chain(pub(super) Vec<Self>);
}

impl ArgValue for Chain {
    fn schema(definitions: &mut ArgDefinitions) -> Schema {
        definitions.named::<Self>("Chain", |definitions| {
            object()
                .field("next", Option::<Box<Self>>::field(definitions))
                .field("twin", Option::<Box<inner::Chain>>::field(definitions))
                .into()
        })
    }

    fn decode(value: ValueRef<'_>) -> Result<Self, DecodeError> {
        Ok(Self {
            next: Option::decode_field("next", value.get("next"))?,
            twin: Option::decode_field("twin", value.get("twin"))?,
        })
    }

    fn encode(&self, out: &mut JsonWriter) -> Result<(), UnrepresentableValue> {
        out.try_object(|out| {
            self.next.encode_field("next", out)?;
            self.twin.encode_field("twin", out)
        })
        .map(drop)
    }
}

impl ToolArgs for Chain {}

impl ArgValue for inner::Chain {
    fn schema(definitions: &mut ArgDefinitions) -> Schema {
        definitions.named::<Self>("Chain", |definitions| {
            object().field("list", Vec::<Self>::field(definitions)).into()
        })
    }

    fn decode(value: ValueRef<'_>) -> Result<Self, DecodeError> {
        Vec::decode_field("list", value.get("list")).map(Self)
    }

    fn encode(&self, out: &mut JsonWriter) -> Result<(), UnrepresentableValue> {
        out.try_object(|out| self.0.encode_field("list", out)).map(drop)
    }
}

#[test]
fn recursive_types_of_one_name_agree_with_their_schemas() {
    let input = InputSchema::of::<Chain>().unwrap();
    let (root, definitions) = input.tree().unwrap();
    assert!(matches!(root.shape, Shape::Object(_)));
    assert_eq!(definitions.keys().collect::<Vec<_>>(), ["Chain2", "Chain"]);
    prove::<Chain>(ProofOptions::default()).unwrap();
}
