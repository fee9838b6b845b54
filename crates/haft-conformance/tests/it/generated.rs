//! Validation and coercion of generated values.

use haft_conformance::Generator;
use haft_core::RawArgs;
use haft_core::args::Strictness;
use haft_core::schema::{
    ChangeKind, Definitions, InputSchema, Schema, any, array, boolean, integer, map, number,
    object, one_of, string, tuple, union,
};
use proptest::prelude::*;

/// The generator is a third reading of a schema: what it calls valid is accepted.
#[test]
fn generated_values_are_accepted() {
    let schema: Schema = object()
        .field("s", string().min_length(2).max_length(4).required())
        .field("p", string().pattern("^[a-c]+-\\d{2}$").required())
        .field("i", integer().min(-3).max(40).multiple_of(4))
        .field("n", number().above(0).max(0.5))
        .field("u", array(integer().min(0).max(9)).unique().min_items(3))
        .field("t", tuple([boolean().into(), any().into()]))
        .field("m", map(one_of(["a", "b"])).min_entries(1))
        .into();
    let input = InputSchema::new(schema.clone()).unwrap();
    let mut generator = Generator::new(1);
    for _ in 0..500 {
        let value = generator.valid(&schema, &Definitions::new()).unwrap();
        let verdict = input.accept("t", &RawArgs::value(&value), Strictness::Strict);
        assert!(verdict.is_ok(), "{value}: {}", verdict.unwrap_err());
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(haft_testkit::cases(256)) })]

    /// What strict mode accepts is left alone; what is mended is right; a refusal repeats itself.
    #[test]
    fn coercion_is_sound(seed: u64) {
        let schema = object()
            .field("path", string().non_empty().required())
            .field("limit", integer().min(0).max(100).default(10).alias("n"))
            .field("flags", array(boolean()).unique())
            .field("mode", one_of(["fast", "slow"]).nullable())
            .field("inner", object().field("x", number().required()).field("y", any()))
            .field("shape", union("kind").variant("a", object()).variant("b", object().field("v", map(integer()))))
            .into();
        let mut generator = Generator::new(seed);
        let value = generator.near_miss(&schema, &Definitions::new());
        let input = InputSchema::new(schema).unwrap();
        let raw = RawArgs::value(&value);
        let strict = input.accept("t", &raw, Strictness::Strict);
        let coerced = input.accept("t", &raw, Strictness::Coerce);
        match (strict, coerced) {
            (Ok(strict), Ok(coerced)) => {
                prop_assert_eq!(strict.args, coerced.args);
                prop_assert!(coerced.changes.iter().all(|it| it.kind == ChangeKind::Default));
            }
            (Ok(_), Err(problems)) => prop_assert!(false, "{value}: {problems}"),
            (Err(_), Ok(coerced)) => {
                let raw = RawArgs::from(coerced.args.clone());
                let again = input.accept("t", &raw, Strictness::Strict).unwrap();
                prop_assert_eq!(again.args, coerced.args);
                prop_assert!(again.changes.is_empty() && !coerced.changes.is_empty());
            }
            (Err(_), Err(problems)) => {
                prop_assert_eq!(problems, input.accept("t", &raw, Strictness::Coerce).unwrap_err());
            }
        }
    }
}
