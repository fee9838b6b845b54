//! Definitions that make no sense are refused when the tool is built, all faults at once.

use serde_json::{Value, json};

use crate::schema::{
    Definitions, InputSchema, Schema, Shape, any, array, boolean, integer, map, number, object,
    one_of, string, tuple, union,
};

#[track_caller]
fn check(root: impl Into<Schema>, expect: &[&str]) {
    check_with(root, Definitions::new(), expect);
}

#[track_caller]
fn check_with(root: impl Into<Schema>, definitions: Definitions, expect: &[&str]) {
    let faults = match InputSchema::with_definitions(root, definitions) {
        Ok(_) => Vec::new(),
        Err(faults) => faults.iter().map(ToString::to_string).collect(),
    };
    assert_eq!(faults, expect);
}

fn reference(name: &str) -> Schema {
    Schema::new(Shape::Ref(name.to_owned()))
}

#[test]
fn the_root_is_an_object() {
    let rule = "`input`: the input schema of a tool must be an object";
    check(string(), &[rule]);
    check(array(any()), &[rule]);
    check(map(any()), &[rule]);
    check(union("k").variant("a", object()), &[rule]);
    check(object().nullable(), &[rule]);
    check(object(), &[]);
}

#[test]
fn bounds_leave_something() {
    check(
        object()
            .field("a", integer().min(3).max(2))
            .field("b", integer().min(i128::from(i64::MIN) - 1))
            .field("c", integer().max(i128::from(u64::MAX) + 1))
            .field("d", integer().multiple_of(0))
            .field("e", integer().multiple_of((1 << 53) + 1))
            .field("f", integer().min(1).max(4).multiple_of(5))
            .field("g", number().min(2).max(1))
            .field("h", number().min(f64::NAN))
            .field("i", number().max(f64::INFINITY))
            .field("j", number().above(1).max(1))
            .field("k", number().min(1).below(1))
            .field("l", number().above(2).below(1))
            .field("m", string().min_length(2).max_length(1))
            .field("n", array(any()).min_items(2).max_items(1))
            .field("o", map(any()).min_entries(2).max_entries(1)),
        &[
            "`input.a`: the lower bound 3 is above the upper bound 2",
            "`input.b`: the bound -9223372036854775809 does not fit 64 bits",
            "`input.c`: the bound 18446744073709551616 does not fit 64 bits",
            "`input.d`: nothing is a multiple of 0",
            "`input.e`: the step 9007199254740993 is above 2^53",
            "`input.f`: no multiple of 5 lies between 1 and 4",
            "`input.g`: the lower bound 2 is above the upper bound 1",
            "`input.h`: the bound NaN is not a finite number",
            "`input.i`: the bound inf is not a finite number",
            "`input.j`: no number lies between 1 and 1",
            "`input.k`: no number lies between 1 and 1",
            "`input.l`: no number lies between 2 and 1",
            "`input.m`: the lower bound 2 is above the upper bound 1",
            "`input.n`: the lower bound 2 is above the upper bound 1",
            "`input.o`: the lower bound 2 is above the upper bound 1",
        ],
    );
}

#[test]
fn patterns_compile() {
    check(
        object()
            .field("a", string().pattern("("))
            .field("b", string().pattern("(?=a)"))
            .field("c", string().pattern(r"(a)\1"))
            .field("d", string().pattern("a{1000}{1000}{1000}"))
            .field("e", string().pattern("^ok$")),
        &[
            "`input.a`: the pattern `(` cannot be used: unclosed group, at character 1",
            "`input.b`: the pattern `(?=a)` cannot be used: look-around, including look-ahead and look-behind, is not supported, at character 1",
            "`input.c`: the pattern `(a)\\1` cannot be used: backreferences are not supported, at character 4",
            "`input.d`: the pattern `a{1000}{1000}{1000}` cannot be used: it is too large when compiled",
        ],
    );
}

#[test]
fn names_are_used_once() {
    check(
        object()
            .field("a", any())
            .field("a", any())
            .field("b", any().alias("a").alias("x"))
            .field("c", any().alias("x"))
            .field("d", union("k").variant("v", object().field("k", any())).variant("v", object())),
        &[
            "`input`: the field `a` is declared twice",
            "`input.b`: the alias `a` is also a field",
            "`input.d`: the variant `v` is declared twice",
            "`input.d.v`: the field `k` is declared twice",
            "`input`: the alias `x` is used twice",
        ],
    );
}

#[test]
fn choices_are_scalars_and_differ() {
    check(
        object()
            .field("a", one_of(Vec::<Value>::new()))
            .field("b", one_of([json!([1])]))
            .field("c", one_of(["x", "x"]))
            .field("d", one_of([json!(1), json!(1.0), json!("1")]))
            .field("e", union("k")),
        &[
            "`input.a`: an enumeration needs at least one value",
            "`input.b`: [1] is not a scalar",
            "`input.c`: \"x\" is listed twice",
            "`input.d`: 1.0 is listed twice",
            "`input.e`: a union needs at least one variant",
        ],
    );
}

#[test]
fn shown_values_are_accepted() {
    check(
        object()
            .field("a", integer().max(3).default(4))
            .field("b", string().example(1).example("fine"))
            .field("c", integer().default(1).required())
            .field("d", array(object().field("x", boolean().default("true")))),
        &[
            "`input.a`: the default 4 is not accepted: expected an integer of at most 3, got 4",
            "`input.b`: the example 1 is not accepted: expected a string, got 1",
            "`input.c`: a required field cannot have a default",
            "`input.d[].x`: the default \"true\" is not accepted: expected true or false, got the string \"true\"",
        ],
    );
}

#[test]
fn references_lead_somewhere() {
    let definitions = Definitions::from_iter([
        ("bare".to_owned(), reference("fine")),
        ("fine".to_owned(), object().field("again", reference("fine")).into()),
        ("lost".to_owned(), object().field("x", reference("nowhere")).into()),
    ]);
    check_with(
        object().field("a", reference("missing")).field("b", reference("fine")),
        definitions,
        &[
            "`input.a`: there is no definition `missing`",
            "`input.$defs.bare`: a definition must not be a bare reference",
            "`input.$defs.lost.x`: there is no definition `nowhere`",
        ],
    );
}

/// Otherwise two elements could differ when they are judged and be the same when they arrive.
#[test]
fn lists_without_repeats_have_no_defaults_inside() {
    let point = object().field("x", integer().default(0));
    let rule = "elements of a list without repeats cannot have defaults inside";
    check(
        object()
            .field("a", array(point.clone()).unique())
            .field("b", array(map(tuple([point.clone().into()]))).unique())
            .field("c", array(point).default(json!([]))),
        &[&format!("`input.a`: {rule}"), &format!("`input.b`: {rule}")],
    );
    let node = object().field("next", reference("node")).field("n", integer().default(1));
    let definitions = Definitions::from_iter([("node".to_owned(), node.into())]);
    check_with(
        object().field("a", array(reference("node")).unique()),
        definitions,
        &[&format!("`input.a`: {rule}")],
    );
}

#[test]
fn nesting_ends() {
    let mut schema: Schema = any().into();
    for _ in 0..100 {
        schema = array(schema).into();
    }
    let faults = InputSchema::new(object().field("a", schema)).unwrap_err();
    assert_eq!(faults.len(), 1);
    assert_eq!(faults[0].what, "schemas nest at most 64 levels deep");
}
