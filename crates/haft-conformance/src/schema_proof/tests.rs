//! The proof finds what is wrong, and its draws repeat.

use serde_json::{Value, json};

use super::prove::agreement;
use super::random::Random;
use super::spell::spell_json;
use super::{Agreement, Disagreement, Generator, ProofOptions, prove, prove_schema};
use haft_core::json::{Document, JsonWriter, UnrepresentableValue, ValueRef};
use haft_core::schema::args::{ArgDefinitions, ArgValue, DecodeError, ToolArgs};
use haft_core::schema::{Definitions, InputSchema, Schema, array, integer, object, string};

/// A type whose parts can be made to disagree.
struct Lax<const FAULT: u8>(u64);

const WIDE: u8 = 0;
const LOSSY: u8 = 1;
const RENAMED: u8 = 2;
const FAULTY: u8 = 3;
const FINE: u8 = 4;

impl<const FAULT: u8> ArgValue for Lax<FAULT> {
    fn schema(_: &mut ArgDefinitions) -> Schema {
        let n = integer().min(0).required();
        let n = match FAULT {
            FAULTY => n.max(-1),
            WIDE => n,
            _ => n.max(1_000_000),
        };
        object().field("n", n).into()
    }

    fn decode(value: ValueRef<'_>) -> Result<Self, DecodeError> {
        let n = u64::decode_field("n", value.get("n"))?;
        Ok(Self(if FAULT == LOSSY { n / 2 * 2 } else { n }))
    }

    fn encode(&self, out: &mut JsonWriter) -> Result<(), UnrepresentableValue> {
        let key = if FAULT == RENAMED { "N" } else { "n" };
        out.try_object(|out| self.0.encode_field(key, out)).map(drop)
    }
}

impl<const FAULT: u8> ToolArgs for Lax<FAULT> {}

#[test]
fn wrong_types_are_found() {
    let options = ProofOptions::default();
    let agreement = prove::<Lax<FINE>>(options).unwrap();
    assert_eq!(agreement.values, agreement.accepted + agreement.refused);
    assert!(matches!(prove::<Lax<WIDE>>(options), Err(Disagreement::Decode { .. })));
    assert!(matches!(prove::<Lax<LOSSY>>(options), Err(Disagreement::RoundTrip { .. })));
    assert!(matches!(prove::<Lax<RENAMED>>(options), Err(Disagreement::RoundTrip { .. })));
    assert!(matches!(prove::<Lax<FAULTY>>(options), Err(Disagreement::Faulty { .. })));
}

#[test]
fn a_failure_shows_what_it_takes_to_repeat_it() {
    let disagreement = prove::<Lax<RENAMED>>(ProofOptions::default()).unwrap_err();
    let text = disagreement.to_string();
    assert!(text.starts_with("decoding changed the value\naccepted: {\"n\":"), "{text}");
    assert!(text.contains("\nencoded: {\"N\":") && text.contains("\nschema: {\"type\":"), "{text}");
}

#[test]
fn a_proof_without_valid_values_is_none() {
    let hard = string().pattern("^(?:[a-z]{70})$").required();
    let input = InputSchema::new(object().field("it", hard.clone())).unwrap();
    let disagreement = prove_schema(&input, ProofOptions::default()).unwrap_err();
    assert!(matches!(disagreement, Disagreement::Vacuous { accepted: 0, .. }), "{disagreement}");
    let helped = InputSchema::new(object().field("it", hard.example("q".repeat(70)))).unwrap();
    assert!(prove_schema(&helped, ProofOptions::default()).is_ok());
}

#[test]
fn a_decoder_of_ones_own() {
    let input = InputSchema::new(object().field("n", integer().min(0).max(9).required())).unwrap();
    let refuse = |_: &haft_core::schema::args::Args| Err(DecodeError::new("nothing"));
    let found = agreement(&input, Some(&refuse), ProofOptions::default());
    assert!(matches!(found, Err(Disagreement::Decode { .. })));
}

#[test]
fn the_same_seed_draws_the_same() {
    let schema: Schema =
        object().field("a", array(string()).required()).field("b", integer().required()).into();
    let draw = |seed| {
        let mut generator = Generator::new(seed);
        let draws = (0..50).map(|_| generator.near_miss(&schema, &Definitions::new()));
        draws.collect::<Vec<Value>>()
    };
    assert_eq!(draw(1), draw(1));
    assert_ne!(draw(1), draw(2));
    let input = InputSchema::new(schema.clone()).unwrap();
    let run = |seed| prove_schema(&input, ProofOptions::default().seed(seed)).unwrap();
    assert_eq!(run(5), run(5));
    assert_ne!(run(5), Agreement::default());
}

/// Every spelling says the value that it spells.
#[test]
fn spellings_are_exact() {
    let mut generator = Generator::new(9);
    for _ in 0..5000 {
        let value = generator.draw_any(3);
        let text = spell_json(&value, &mut generator.random);
        let read = Document::parse(&text).unwrap();
        assert_eq!(read, Document::from_value(&value).unwrap(), "{text}");
    }
    let members = json!({ "a": 1, "b": 2, "c": 3 });
    let mut random = Random::new(3);
    let texts: std::collections::BTreeSet<_> = (0..200)
        .map(|_| Document::parse(&spell_json(&members, &mut random)).unwrap().root().to_string())
        .collect();
    assert_eq!(texts.len(), 6, "members come in every order");
}
