//! Constraints and combinations that the builder offers.

use serde_json::{Value, json};

use haft_conformance::{ProofOptions, prove_schema};
use haft_core::schema::{
    Definitions, Field, InputSchema, Schema, Shape, any, array, boolean, integer, map, number,
    object, one_of, string, tuple, union,
};

#[track_caller]
fn check(field: impl Into<Field>) {
    check_root(object().field("it", field).field("other", boolean()), Definitions::new());
}

#[track_caller]
fn check_root(root: impl Into<Schema>, definitions: Definitions) {
    let input = InputSchema::with_definitions(root, definitions).unwrap();
    if let Err(disagreement) = prove_schema(&input, ProofOptions::default().values(300)) {
        panic!("{disagreement}");
    }
}

#[test]
fn integers() {
    check(integer());
    check(integer().required());
    check(integer().min(1).max(14).required());
    check(integer().min(i64::MIN).max(u64::MAX));
    check(integer().max(9_007_199_254_740_993_i64));
    check(integer().min(9_007_199_254_740_993_i64));
    check(integer().min(u64::MAX));
    check(integer().max(-1).nullable());
    check(integer().multiple_of(5).min(-20).max(20));
    check(integer().multiple_of(7));
    check(integer().multiple_of(1 << 53));
    check(integer().min(3).max(3));
}

#[test]
fn numbers() {
    check(number());
    check(number().min(0).max(1).required());
    check(number().above(0).below(1));
    check(number().above(-0.1).max(0.3));
    check(number().min(1e18).max(1.234_567_890_123_456_7e18));
    check(number().max(9_007_199_254_740_993.0));
    check(number().min(-9_223_372_036_854_775_808.0));
    check(number().max(18_446_744_073_709_551_616.0).min(1e19));
    check(number().min(5e-324).max(1e-300));
    check(number().above(1e300).nullable());
    check(number().min(0.5).integer());
}

#[test]
fn strings() {
    check(string());
    check(string().non_empty().required());
    check(string().max_length(0));
    check(string().min_length(2).max_length(3).nullable());
    check(string().min_length(40));
}

#[test]
fn patterns() {
    let patterns = [
        "^a",
        "a$",
        "^abc$",
        "^(red|green)$",
        r"^\S*$",
        r"^\d{3}-\d{4}$",
        r"\w+@\w+\.\w{2,}",
        "^[a-z]+-[0-9]+$",
        "",
        ".",
        "^.$",
        "^[^x]*$",
        r"^\w*$",
        r"\s",
        r"\D",
        r"\bfoo\b",
        "^(?:a|b)+$",
        "^[A-Fa-f0-9]{8}$",
        r"^\u0061+$",
        r"^\p{L}+$",
        r"[\u4e00-\u9fff]",
        "a{2,3}",
        "^$",
        r"^\/api\/",
        r"\.json$",
        "^(a*)*$",
        r"^[\w.-]+$",
        "é",
        "^😀$",
        r"^[^\n]+$",
        r"\t",
        "(?i:abc)",
        r"^\cA$",
        "[]",
        "[^]",
        r"\0",
        r"^-?\d+(\.\d+)?$",
        "^#[0-9a-f]{6}$",
    ];
    for pattern in patterns {
        let field = string().pattern(pattern);
        let input = InputSchema::new(object().field("it", field.required()));
        // What cannot be compiled is refused at construction; nothing to compare then.
        let Ok(input) = input else { continue };
        match prove_schema(&input, ProofOptions::default().values(200)) {
            Ok(_) | Err(haft_conformance::Disagreement::Vacuous { .. }) => {}
            Err(disagreement) => panic!("{pattern}: {disagreement}"),
        }
    }
}

#[test]
fn patterns_with_lengths() {
    check(string().pattern("^a+$").min_length(3).max_length(5));
    check(string().pattern(r"^\d+$").max_length(4).required());
    check(string().pattern("^(?:[a-z]{70})$").example("z".repeat(70)).required());
}

#[test]
fn choices() {
    check(one_of(["celsius", "fahrenheit"]).required());
    check(one_of(["A", "a", "b"]));
    check(one_of(["x"]).nullable());
    let mixed = [json!(1), json!(1.5), json!("1"), json!(true), json!(null), json!(2.0)];
    check(one_of(mixed.clone()));
    check(one_of(mixed).nullable());
    check(one_of([json!(9_007_199_254_740_992.0)]));
    check(one_of([json!(9_007_199_254_740_992.0), json!(9_007_199_254_740_993_i64)]));
    check(one_of([json!(1.234_567_890_123_456_7e18), json!(u64::MAX), json!(i64::MIN)]));
    check(one_of([json!(1e30), json!(-0.0), json!(0.1)]));
    check(one_of([Value::Null]));
    check(one_of((0..40).map(|it| format!("value {it}"))));
}

#[test]
fn lists() {
    check(array(string()));
    check(array(integer()).min_items(2).max_items(4).required());
    check(array(integer().min(0).max(3)).unique());
    check(array(number()).unique().min_items(2));
    check(array(any()).unique());
    check(array(array(integer())).unique());
    check(array(map(number())).unique().nullable());
    check(array(integer()).unique().min_items(17));
    check(array(one_of(["a", "b", "c"]).nullable()).unique().max_items(2));
    check(array(object().field("a", integer()).field("b", string())).unique());
    check(array(boolean()).max_items(0));
}

#[test]
fn tuples() {
    check(tuple([]));
    check(tuple([string().into(), integer().nullable().into()]));
    check(tuple([tuple([boolean().into()]).into(), any().into()]).nullable().required());
}

#[test]
fn objects() {
    check(object());
    check(object().allow_unknown());
    check(object().field("a", integer().required()).field("b", string()).allow_unknown());
    check(object().field("a", object().field("a", object().field("a", integer()))));
    check(object().field("a", any().required()).nullable());
    check(map(integer()).min_entries(1).max_entries(2));
    check(map(any()));
    check(map(array(string()).nullable()).required());
}

#[test]
fn awkward_names() {
    let names = [
        "$ref",
        "$id",
        "$defs",
        "$schema",
        "type",
        "properties",
        "required",
        "enum",
        "",
        " ",
        "a/b",
        "m~n",
        "a%20b",
        "#",
        "\"",
        "\\",
        "__proto__",
        "constructor",
        "ünï",
        "😀",
        "\u{0}",
        "it",
        "$dynamicRef",
        "$anchor",
        "not",
        "anyOf",
        "const",
        "items",
        "if",
    ];
    let mut root = object();
    for (at, name) in names.into_iter().enumerate() {
        let field = integer().max(100);
        root = root.field(name, if at % 2 == 0 { field.required() } else { field });
    }
    check_root(root, Definitions::new());
}

#[test]
fn wide_objects() {
    let mut root = object();
    for at in 0..200 {
        let field = integer().min(at);
        root = root.field(format!("field{at}"), if at % 7 == 0 { field.required() } else { field });
    }
    check_root(root, Definitions::new());
}

#[test]
fn defaults_and_aliases() {
    let root = object()
        .field("units", one_of(["celsius", "fahrenheit"]).default("celsius").alias("unit"))
        .field("days", integer().min(1).default(3).alias("n").alias("count"))
        .field("city", string().non_empty().required().alias("place"))
        .field("inner", object().field("deep", boolean().default(false)))
        .field("list", array(object().field("x", integer().default(0))));
    check_root(root, Definitions::new());
    let open = object()
        .field("a", integer().alias("b"))
        .field("c", integer().required().alias("key"))
        .allow_unknown();
    check_root(open, Definitions::new());
}

#[test]
fn unions() {
    let shape = union("kind")
        .variant("circle", object().field("r", number().above(0).required()))
        .variant("square", object().field("a", integer()).field("r", string()))
        .variant("Point", object())
        .variant("loose", object().allow_unknown());
    check(shape.clone());
    check(shape.clone().nullable().required());
    check(array(shape.clone()).unique().max_items(3));
    check(union("a/b").variant("", object()).variant("x", object().field("kind", shape)));
}

#[test]
fn recursion() {
    let reference = |name: &str| Schema::new(Shape::Ref(name.to_owned()));
    let node = object()
        .field("value", integer().required())
        .field("next", reference("node").or_null())
        .field("children", array(reference("node")));
    let nest: Schema = array(reference("nest")).max_items(2).into();
    let named: Schema = map(reference("a/b~c %41 \"ü")).max_entries(2).into();
    let expression: Schema = union("op")
        .variant("lit", object().field("value", number().required()))
        .variant("neg", object().field("of", Field::required(reference("expression"))))
        .into();
    let definitions = Definitions::from_iter([
        ("node".to_owned(), node.into()),
        ("nest".to_owned(), nest),
        ("a/b~c %41 \"ü".to_owned(), named),
        ("expression".to_owned(), expression),
    ]);
    let root = object()
        .field("node", reference("node"))
        .field("nest", reference("nest"))
        .field("named", reference("a/b~c %41 \"ü"))
        .field("expression", Field::required(reference("expression")))
        .field("maybe", array(reference("node").or_null()).unique());
    check_root(root, definitions);
}
