//! Judging arguments, by our own schemas and by those from elsewhere.

use std::sync::LazyLock;

use haft_core::args::{RawArgs, Strictness};
use haft_core::schema::{
    InputSchema, any, array, boolean, integer, map, number, object, one_of, string, tuple, union,
};

/// Any text is judged: accepted, mended or refused. What was mended is accepted as it is, what strict
/// mode accepts is not touched beyond its defaults, and a refusal is short and says the same twice.
pub fn schema_validation(data: &[u8]) {
    let Ok(text) = str::from_utf8(data) else { return };
    judge(&SCHEMA, text);
}

/// Any JSON is a schema from elsewhere or an error, and a schema judges any text.
///
/// The first line is the schema, what follows are the arguments.
pub fn foreign_schema(data: &[u8]) {
    let Ok(text) = str::from_utf8(data) else { return };
    let (schema, args) = text.split_once('\n').unwrap_or((text, "{}"));
    let Ok(schema) = serde_json::from_str(schema) else { return };
    if let Ok(input) = InputSchema::from_json_schema(schema) {
        judge(&input, args);
    }
}

fn judge(input: &InputSchema, text: &str) {
    let raw = RawArgs::text(text);
    let _ = raw.call_id("tool");
    let strict = input.accept("tool", &raw, Strictness::Strict);
    match input.accept("tool", &raw, Strictness::Coerce) {
        Ok(mended) => {
            let again = RawArgs::from(mended.args.clone());
            match input.accept("tool", &again, Strictness::Strict) {
                Ok(same) => {
                    assert_eq!(same.args, mended.args, "strict mode changed {}", mended.args)
                }
                Err(problems) => panic!("mended into what is refused: {}\n{problems}", mended.args),
            }
            if let Ok(strict) = strict {
                assert_eq!(strict.args, mended.args, "coercion touched what was right");
            }
        }
        Err(problems) => {
            assert!(strict.is_err(), "coercion refuses what strict mode accepts: {problems}");
            assert!(problems.to_string().len() < 16 * 1024, "a long refusal");
            let again = input.accept("tool", &raw, Strictness::Coerce);
            assert_eq!(again.err(), Some(problems), "a refusal that changes");
        }
    }
}

/// A schema with every shape in it.
static SCHEMA: LazyLock<InputSchema> = LazyLock::new(|| {
    let figure = union("kind")
        .variant("point", object())
        .variant("circle", object().field("r", number().min(0).required()));
    let schema = object()
        .field("s", string().min_length(1).max_length(8).pattern("^[a-z]*$").alias("text"))
        .field("i", integer().min(-5).max(1000).multiple_of(5).default(10))
        .field("n", number().above(-1.5).below(1e18).nullable())
        .field("b", boolean().default(false))
        .field("e", one_of(["on", "off", "Off"]))
        .field("a", array(integer()).max_items(4).unique())
        .field("t", tuple([string().into(), boolean().into()]))
        .field("m", map(array(string())).max_entries(3))
        .field("u", figure)
        .field("any", any());
    InputSchema::new(schema).unwrap_or_else(|faults| panic!("{faults:?}"))
});
