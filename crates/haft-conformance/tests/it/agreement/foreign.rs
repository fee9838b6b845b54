//! Schemas from elsewhere.

use haft_conformance::{Disagreement, ProofOptions, prove_schema, prove_serde};
use haft_core::schema::InputSchema;
use serde_json::{Value, json};

#[test]
fn the_adapter_proof_finds_what_serde_refuses() {
    #[derive(serde::Deserialize)]
    struct Query {
        #[expect(dead_code, reason = "only decoding matters")]
        limit: u32,
    }

    let schema = |limit: Value| json!({ "type": "object", "properties": { "limit": limit }, "required": ["limit"] });
    let bounded = schema(json!({ "type": "integer", "minimum": 0, "maximum": u32::MAX }));
    let agreement = prove_serde::<Query>(bounded, ProofOptions::default()).unwrap();
    assert!(agreement.accepted > 100 && agreement.refused > 100);

    let unbounded = schema(json!({ "type": "integer", "minimum": 0 }));
    let disagreement = prove_serde::<Query>(unbounded, ProofOptions::default()).unwrap_err();
    assert!(matches!(disagreement, Disagreement::Decode { .. }), "{disagreement}");
}

#[test]
fn a_recursive_schema_is_validated_as_it_says() {
    let input =
        InputSchema::from_json_schema(json!({ "type": "object", "required": ["v"], "properties": {
        "v": { "type": "integer" }, "next": { "$ref": "#" },
        "children": { "type": "array", "items": { "$ref": "#" } } } }));
    prove_schema(&input.unwrap(), ProofOptions::default()).unwrap();
}
