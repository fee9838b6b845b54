use haft::schema::json::{JsonWriter, UnrepresentableValue, ValueRef};
use haft::schema::{ArgDefinitions, ArgValue, DecodeError, Schema};

use super::*;

#[track_caller]
fn check(values: usize, expected: &[usize]) {
    assert_eq!(chunks(values).collect::<Vec<_>>(), expected);
}

#[test]
fn chunks_add_up() {
    check(100, &[100]);
    check(2_000, &[2_000]);
    check(3_999, &[3_999]);
    check(6_500, &[2_000, 2_000, 2_500]);
}

#[test]
fn every_shape_is_proved() {
    let proofs: Vec<_> = proofs(1).collect();
    assert_eq!(proofs.len(), SHAPES.len() + CALLS.len());
    for proof in proofs {
        assert_eq!(proof.first, None, "{}", proof.shape);
        assert_eq!(proof.values, FEWEST);
        assert_eq!(proof.accepted + proof.refused, FEWEST);
    }
}

#[derive(ToolArgs)]
struct Honest {
    share: u8,
}

/// Shows the schema of [`Honest`] and refuses some of what that accepts.
struct Liar(Honest);

impl ArgValue for Liar {
    fn schema(definitions: &mut ArgDefinitions) -> Schema {
        Honest::schema(definitions)
    }

    fn decode(value: ValueRef<'_>) -> Result<Self, DecodeError> {
        match Honest::decode(value)? {
            it if it.share <= 100 => Ok(Self(it)),
            _ => Err(DecodeError::new("a share of at most 100")),
        }
    }

    fn encode(&self, out: &mut JsonWriter) -> Result<(), UnrepresentableValue> {
        self.0.encode(out)
    }
}

impl ToolArgs for Liar {}

#[test]
fn a_decoder_that_refuses_more_than_its_schema_is_found() {
    let found = run(&Shape::of::<Liar>("Liar"), 0, 6_500);
    assert_eq!((found.values, found.disagreements), (0, 3));
    assert!(found.first.is_some_and(|it| it.starts_with("seed 0: ")));
    let held = run(&Shape::of::<Honest>("Honest"), 0, 6_500);
    assert_eq!((held.values, held.disagreements, held.first), (6_500, 0, None));
}
