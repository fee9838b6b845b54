//! Any schema at all.

use proptest::prelude::*;
use serde_json::{Value, json};

use haft_conformance::{Disagreement, ProofOptions, prove_schema};
use haft_core::schema::{
    self, Field, InputSchema, Schema, array, boolean, integer, map, number, object, one_of, string,
    tuple, union,
};

fn count() -> impl Strategy<Value = Option<usize>> {
    prop_oneof![3 => Just(None), 1 => (0..4_usize).prop_map(Some)]
}

fn ordered<N: PartialOrd>(a: Option<N>, b: Option<N>) -> (Option<N>, Option<N>) {
    match (a, b) {
        (Some(a), Some(b)) if a > b => (Some(b), Some(a)),
        other => other,
    }
}

fn scalar() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        (-50_i8..50).prop_map(|it| json!(f64::from(it) / 4.0)),
        proptest::num::f64::NORMAL.prop_map(Value::from),
        "[a-cA-C]{0,2}".prop_map(Value::from),
    ]
}

fn edge() -> impl Strategy<Value = i128> {
    prop_oneof![
        (-20_i128..20),
        any::<i64>().prop_map(i128::from),
        any::<u64>().prop_map(i128::from),
        (-2_i128..3).prop_map(|it| it + (1 << 53)),
    ]
}

fn bound() -> impl Strategy<Value = f64> {
    prop_oneof![
        (-40_i32..40).prop_map(|it| f64::from(it) / 4.0),
        proptest::num::f64::NORMAL,
        any::<i64>().prop_map(|it| it as f64),
    ]
}

fn leaf() -> impl Strategy<Value = Schema> {
    prop_oneof![
        Just(schema::any().into()),
        Just(boolean().into()),
        (
            count(),
            count(),
            prop::option::of(prop::sample::select(vec!["^a", "b$", "^[ab]*$", "."]))
        )
            .prop_map(|(a, b, pattern)| {
                let (min, max) = ordered(a, b);
                let mut schema: Schema = string().into();
                if let Some(min) = min {
                    schema = schema.with_min_length(min);
                }
                if let Some(max) = max {
                    schema = schema.with_max_length(max);
                }
                pattern.map_or(schema.clone(), |it| schema.with_pattern(it))
            }),
        (prop::option::of(edge()), prop::option::of(edge()), prop::option::of(1_u64..9)).prop_map(
            |(a, b, step)| {
                let (min, max) = ordered(a, b);
                let mut build = integer();
                if let Some(min) = min {
                    build = build.min(min);
                }
                if let Some(max) = max {
                    build = build.max(max);
                }
                step.map_or(build.clone(), |it| build.multiple_of(it)).into()
            }
        ),
        (prop::option::of(bound()), prop::option::of(bound()), any::<bool>()).prop_map(
            |(a, b, exclusive)| {
                let (min, max) = ordered(a, b);
                let mut build = number();
                if let Some(min) = min {
                    build = if exclusive { build.above(min) } else { build.min(min) };
                }
                if let Some(max) = max {
                    build = build.max(max);
                }
                build.into()
            }
        ),
        prop::collection::vec(scalar(), 1..5).prop_map(|values| one_of(values).into()),
    ]
}

fn field(schema: Schema, required: bool) -> Field {
    if required { Field::required(schema) } else { Field::optional(schema) }
}

fn tree() -> impl Strategy<Value = Schema> {
    let nullable = |inner: BoxedStrategy<Schema>| {
        (inner, any::<bool>())
            .prop_map(|(schema, null)| if null { schema.or_null() } else { schema })
            .boxed()
    };
    nullable(leaf().boxed()).prop_recursive(3, 16, 4, move |inner| {
        let fields = prop::collection::vec((inner.clone(), any::<bool>()), 0..4);
        let build = |fields: Vec<(Schema, bool)>| {
            let mut build = object();
            for (at, (schema, required)) in fields.into_iter().enumerate() {
                build = build.field(format!("f{at}"), field(schema, required));
            }
            build
        };
        nullable(
            prop_oneof![
                (inner.clone(), count(), count(), any::<bool>()).prop_map(
                    |(items, a, b, unique)| {
                        let (min, max) = ordered(a, b);
                        let mut schema: Schema = array(items).into();
                        if let Some(min) = min {
                            schema = schema.with_min_length(min);
                        }
                        if let Some(max) = max {
                            schema = schema.with_max_length(max);
                        }
                        if unique { schema.with_unique() } else { schema }
                    }
                ),
                prop::collection::vec(inner.clone(), 0..4).prop_map(|it| tuple(it).into()),
                (fields.clone(), any::<bool>()).prop_map(move |(fields, open)| {
                    let build = build(fields);
                    if open { build.allow_unknown().into() } else { build.into() }
                }),
                (inner, count()).prop_map(|(values, most)| {
                    let schema: Schema = map(values).into();
                    most.map_or(schema.clone(), |it| schema.with_max_length(it))
                }),
                (fields.clone(), fields).prop_map(move |(a, b)| {
                    union("tag").variant("one", build(a)).variant("two", build(b)).into()
                }),
            ]
            .boxed(),
        )
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(haft_testkit::cases(128)) })]

    #[test]
    fn random_schemas_agree(a in tree(), b in tree(), seed: u64) {
        let root = object().field("a", Field::required(a)).field("b", Field::optional(b));
        // Some draws are faulty, such as an enumeration with a repeat.
        let Ok(input) = InputSchema::new(root) else { return Ok(()) };
        match prove_schema(&input, ProofOptions::default().values(50).seed(seed)) {
            Ok(_) | Err(Disagreement::Vacuous { .. }) => {}
            Err(disagreement) => prop_assert!(false, "{disagreement}"),
        }
    }
}
