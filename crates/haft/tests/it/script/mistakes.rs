//! Every mistake in a script has a place and a way out.

use haft::error::Coded as _;
use haft::executors::Script;
use serde_json::json;

#[track_caller]
fn check(script: &str, expected: &str) {
    let error = Script::parse(script).expect_err(script);
    assert_eq!(error.to_string(), format!("the script was refused{expected}"), "{script}");
}

#[test]
fn names_and_types() {
    check(
        "steps:\n  - sayy: Hello\n",
        ": line 2, column 5, `/steps/0/sayy`: this field does not exist; did you mean `say`?",
    );
    check(
        "{\n \"steps\": [\n  {\"say\": 5}\n ]\n}",
        ": line 3, column 4, `/steps/0/say`: expected a text, got 5",
    );
    check(
        "step: []",
        "\n- line 1, column 1, `/step`: this field does not exist; did you mean `steps`?\n- line 1, column 1, `/steps`: missing; expected a list of at least 1 element, each element an object with `expect`, `stall`, `think`, `say`, `stream`, `call`, `usage`, `then`, `nack`, `fail`; for example [{\"say\":\"Hello\"}]",
    );
    check(
        "steps: []",
        ": line 1, column 1, `/steps`: expected a list of at least 1 element, each element an object with `expect`, `stall`, `think`, `say`, `stream`, `call`, `usage`, `then`, `nack`, `fail`, got a list of 0; for example [{\"say\":\"Hello\"}]",
    );
    check(
        "hello",
        ": line 1, column 1: expected an object with `name`, `steps`, got the string \"hello\"; for example {\"steps\":[{\"say\":\"Hello\"}]}",
    );
    check(
        "",
        ": expected an object with `name`, `steps`, got null; for example {\"steps\":[{\"say\":\"Hello\"}]}",
    );
    check(
        "steps: [{}]",
        ": line 1, column 9, `/steps/0`: a step does something: `say`, `think`, `call`, `expect`, `stall`, `fail`",
    );
    check(
        "steps: [{say: a, say: b}]",
        ": line 1, column 18, `/steps/0/say`: this key is given twice; send each key once",
    );
}

#[test]
fn texts_that_are_neither() {
    check("{\"steps\": [}", ": line 1, column 12: not JSON: expected a value but found '}'");
    check(
        "steps: [",
        ": line 2, column 1: not YAML: while parsing a node, did not find expected node content",
    );
    check("a: &x 1\nb: *x", ": line 2, column 4: a script has no aliases; write it out");
    check(
        "a: 1\n---\nb: 2",
        ": line 2, column 1: a script is one document, and here a second one begins",
    );
    check("? {a: 1}\n: 2", ": line 1, column 3: a key is text");
}

#[test]
fn steps_that_make_no_sense() {
    check(
        "steps: [{call: {t: {}}}]",
        ": line 1, column 10, `/steps/0/call`: nothing follows these calls; add a step that reacts to \
         them, or `then: done`",
    );
    check(
        "steps: [{fail: a, then: done}]",
        ": line 1, column 9, `/steps/0`: a step ends one way, not with `then` and `fail`",
    );
    check(
        "steps: [{fail: a, call: {t: {}}}]",
        ": line 1, column 9, `/steps/0`: a step that fails is not kept, so that its `call` is never made",
    );
    check(
        "steps: [{stall: 5}]",
        ": line 1, column 10, `/steps/0/stall`: expected a time such as `500ms`, `5s` or `2m`, or `forever`, got 5",
    );
    check(
        "steps: [{fail: {why: x}}]",
        "\n- line 1, column 17, `/steps/0/fail/why`: there are `reason` and `retryable`\n- line 1, column 10, `/steps/0/fail`: `reason` is missing",
    );
    check(
        "steps: [{then: stop}]",
        ": line 1, column 10, `/steps/0/then`: expected one of \"continue\", \"done\", got the string \"stop\"; for example \"continue\"",
    );
}

#[test]
fn calls_placeholders_and_expectations() {
    check(
        "steps: [{call: [a, b]}, {say: x}]",
        "\n- line 1, column 17, `/steps/0/call/0`: expected one `TOOL: …`, got \"a\"\n- line 1, column 20, `/steps/0/call/1`: expected one `TOOL: …`, got \"b\"",
    );
    check(
        "steps: [{say: '{{ lst.t }}'}]",
        ": line 1, column 10, `/steps/0/say`: there is no placeholder `lst.t`; there are `last.TOOL` (what came of the newest call of a tool), `handle.TOOL` (the handle of its artifact) and `user` (what the user said last)",
    );
    check(
        "steps: [{say: '{{ last.t'}]",
        ": line 1, column 10, `/steps/0/say`: a `{{` has no `}}`; write `\\{{` for the characters",
    );
    check(
        "steps:\n- call: {get: {}}\n- expect: {got: x}\n  say: '{{ last.git }}'",
        "\n- line 3, column 12, `/steps/1/expect/got`: no step before this one calls `got`; they call `get`\n- line 4, column 3, `/steps/1/say`: no step before this one calls `git`; they call `get`",
    );
    check(
        "steps:\n- call:\n    t:\n      deep: ['{{ last.t }}', '{{ x }}']\n- say: x",
        "\n- line 4, column 30, `/steps/0/call/t/deep/1`: there is no placeholder `x`; there are `last.TOOL` (what came of the newest call of a tool), `handle.TOOL` (the handle of its artifact) and `user` (what the user said last)\n- line 3, column 5, `/steps/0/call/t`: no step before this one calls `t`; they call nothing",
    );
    let expect =
        |wanted: &str| format!("steps:\n- call: {{t: {{}}}}\n- expect: {{t: {wanted}}}\n  say: x");
    check(
        &expect("{is: x}"),
        ": line 3, column 16, `/steps/1/expect/t/is`: there are `equals`, `contains`, `matches` and `error`",
    );
    check(
        &expect("{error: E_OOPS}"),
        ": line 3, column 16, `/steps/1/expect/t/error`: expected true, false or a code such as E_INVALID_TOOL_ARGS, got \"E_OOPS\"",
    );
    check(
        &expect("{contains: 21}"),
        ": line 3, column 16, `/steps/1/expect/t/contains`: expected a text or a list of texts, got 21",
    );
    check(
        &expect("5"),
        ": line 3, column 12, `/steps/1/expect/t`: expected a text, or `equals`, `contains`, `matches` or `error`, got 5",
    );
    let error = Script::parse(&expect("{matches: '('}")).unwrap_err();
    assert!(error.to_string().contains("`/steps/1/expect/t/matches`: not a regular expression: "));
}

#[test]
fn a_value_has_pointers_and_no_lines() {
    let error = Script::from_value(&json!({"steps": [{"sayy": "x"}]})).unwrap_err();
    assert_eq!(error.faults[0].place, None);
    assert_eq!(error.faults[0].pointer, "/steps/0/sayy");
    assert_eq!(error.code(), "E_INVALID_TURN_RUNNER_CONFIG");
}
