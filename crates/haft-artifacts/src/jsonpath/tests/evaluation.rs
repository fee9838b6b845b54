use super::{doc, found, parse_path};
use crate::jsonpath::{JsonPath, PathStep, SelectionLimits, Truncation};

#[track_caller]
fn check(path: &str, document: &str, expected: &str) {
    assert_eq!(found(&parse_path(path), &doc(document)), expected, "{path}");
}

#[test]
fn numbers_compare_exactly() {
    let list = "[9007199254740993, 9007199254740992, 9007199254740992.5, 0.5, -1]";
    check("$[?@ == 9007199254740993]", list, "[9007199254740993]");
    check("$[?@ > 9007199254740992]", list, "[9007199254740993]");
    check("$[?@ < 0.75]", list, "[0.5,-1]");
    check("$[?@ <= -1]", list, "[-1]");
    let big = "[18446744073709551617, 18446744073709551616, 18446744073709551615, 1e300, -18446744073709551617]";
    check("$[?@ == 18446744073709551617]", big, "[18446744073709551617]");
    check("$[?@ > 18446744073709551616]", big, "[18446744073709551617,1e+300]");
    check("$[?@ < -18446744073709551616]", big, "[-18446744073709551617]");
    check(
        "$[?@ >= 18446744073709551615]",
        big,
        "[18446744073709551617,18446744073709551616,18446744073709551615,1e+300]",
    );
    check("$[?@ < 1e299 && @ > 0.5]", "[1, 2.5, 1e300]", "[1,2.5]");
    check("$[?@ == 1]", "[1.0, 1e0, 10e-1, 1.5]", "[1,1,1]");
    check("$[?@ == -0]", "[0, -0.0, 0.1]", "[0,0]");
}

#[test]
fn numbers_beyond_64_bits_have_an_order() {
    let ascending = [
        "-1e40",
        "-1e23",
        "-99999999999999991611393",
        "-36893488147419103233",
        "-36893488147419103232",
        "-9223372036854775809",
        "-9223372036854775808",
        "-0.5",
        "0",
        "9223372036854775808.5",
        "18446744073709551615",
        "18446744073709551616",
        "36893488147419103232",
        "36893488147419103233",
        "99999999999999991611393",
        "1e23",
        "1e40",
    ];
    for (i, left) in ascending.iter().enumerate() {
        for (j, right) in ascending.iter().enumerate() {
            let document = doc(&format!("[[{left},{right}]]"));
            let less = parse_path("$[?@[0] < @[1]]").matches(document.root());
            let greater = parse_path("$[?@[0] > @[1]]").matches(document.root());
            assert_eq!((less, greater), (i < j, i > j), "{left} {right}");
        }
    }
}

#[test]
fn strings_compare_by_code_point() {
    // UTF-16 would put the second one first.
    check("$[?@ < '\u{10000}']", "[\"\u{ffff}\", \"\u{10001}\", \"a\"]", "[\"\u{ffff}\",\"a\"]");
}

#[test]
fn of_members_with_the_same_name_the_last_one_counts() {
    let twice = r#"{"a": {"x": 1}, "b": 2, "a": {"x": 3}}"#;
    check("$.a.x", twice, "[3]");
    check("$.*", twice, r#"[2,{"x":3}]"#);
    check("$..x", twice, "[3]");
    check("$..[?@ > 0]", twice, "[2,3]");
    check("$[?@.x]", twice, r#"[{"x":3}]"#);
    check("$[?length(@) == 2]", &format!("[{twice}]"), &format!("[{}]", doc(twice).root()));
    check("$[?@ == $[1]]", r#"[{"a":1,"a":2},{"a":2},{"a":1}]"#, r#"[{"a":1,"a":2},{"a":2}]"#);
    let many: String = (0..40).map(|at| format!(r#""k{}":{at},"#, at % 30)).collect();
    let many = doc(&format!("{{{many}\"z\":0}}"));
    let kept = parse_path("$.*").select(many.root());
    assert_eq!(kept.len(), 31);
    assert_eq!(kept.paths().next().unwrap(), "$['k10']");
    assert_eq!(kept.paths().nth(20).unwrap(), "$['k0']");
}

#[test]
fn paths_are_found_for_values_in_any_order() {
    let document = doc(r#"{"a": [[0, 1], {"it's": [2]}], "\u0001\n": 3, "b": {}}"#);
    let found = parse_path("$['b','a','\\u0001\\n'][?@[1] == 1, 1, 0]").select(document.root());
    assert_eq!(found.paths().collect::<Vec<_>>(), ["$['a'][0]", "$['a'][1]", "$['a'][0]"]);
    let found = parse_path("$.a[1,0][*]").select(document.root());
    assert_eq!(
        found.paths().collect::<Vec<_>>(),
        ["$['a'][1]['it\\'s']", "$['a'][0][0]", "$['a'][0][1]"],
    );
    let found = parse_path("$..[2,1,0]").select(document.root());
    for (path, view) in found.located() {
        assert_eq!(parse_path(&path).select(document.root()).views(), [view], "{path}");
    }
    assert_eq!(
        parse_path("$.*").select(document.root()).paths().nth(1).unwrap(),
        "$['\\u0001\\n']"
    );
    // A path starts at the value that was asked.
    let part = document.root().get("a").unwrap();
    assert_eq!(
        parse_path("$[1]..[0]").select(part).paths().collect::<Vec<_>>(),
        ["$[1]['it\\'s'][0]"]
    );
    assert_eq!(parse_path("$").select(part).paths().collect::<Vec<_>>(), ["$"]);
}

#[test]
fn slices_reach_everywhere() {
    let list = "[0,1,2,3,4]";
    check("$[-2:]", list, "[3,4]");
    check("$[::-2]", list, "[4,2,0]");
    check("$[3:0:-2]", list, "[3,1]");
    check("$[9007199254740991:-9007199254740991:-9007199254740991]", list, "[4]");
    check("$[-9007199254740991:9007199254740991:9007199254740991]", list, "[0]");
    check("$[1:3:0]", list, "[]");
    check("$[::-1]", "[]", "[]");
    check("$[::-1]", r#"{"a":1}"#, "[]");
}

#[test]
fn patterns_are_linear_and_bounded() {
    check(
        "$[?match(@, '(a+)+b')]",
        r#"["aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaac", "aab"]"#,
        r#"["aab"]"#,
    );
    // A pattern of the document that does not compile matches nothing; one in the path is refused.
    check("$[?search(@.s, @.p)]", r#"[{"s":"a","p":"(?=a)"}]"#, "[]");
    check("$[?search(@.s, @.p)]", r#"[{"s":"aa","p":"(a)\\1"}]"#, "[]");
    check("$[?match(@.s, @.p)]", r#"[{"s":"a","p":"a)|(b"},{"s":"b","p":"a)|(b"}]"#, "[]");
    check("$[?search(@.s, @.p)]", r#"[{"s":"a","p":"((a{100}){100}){100}"}]"#, "[]");
    check("$[?match(@, '[a&&b]+')]", r#"["a&b", "c"]"#, r#"["a&b"]"#);
    check("$[?match(@, '[].]')]", r#"["]", ".", "x"]"#, r#"["]","."]"#);
    check("$[?match(@, '[[:alpha:].]+')]", r#"["a.", "1"]"#, r#"["a."]"#);
    check(
        "$[?search(@.s, @.p)]",
        r#"[{"s":"ab","p":"b"},{"s":"ab","p":"("},{"s":"ab","p":"^a"}]"#,
        r#"[{"s":"ab","p":"b"},{"s":"ab","p":"^a"}]"#,
    );
}

#[test]
fn limits_hold_and_say_so() {
    let document = doc(&format!("[{}]", vec!["[1,2,3]"; 100].join(",")));
    let select = |path: &str, limits: SelectionLimits| {
        let found = parse_path(path).select_with(document.root(), &limits);
        (found.len(), found.truncated())
    };
    let limits = SelectionLimits::default();
    assert_eq!(select("$..*", limits.clone()), (400, None));
    assert_eq!(select("$..*", limits.clone().max_matches(400)), (400, None));
    assert_eq!(select("$..*", limits.clone().max_matches(399)), (399, Some(Truncation::Matches)));
    assert_eq!(select("$..*", limits.clone().max_matches(0)), (0, Some(Truncation::Matches)));
    let (some, truncated) = select("$..*", limits.clone().max_nodes_visited(300));
    assert_eq!(truncated, Some(Truncation::Visits));
    assert!((100..300).contains(&some), "{some}");
    // Within a filter, a negation does not turn running out into a match.
    assert_eq!(select("$[?!@[?@ == 9]]", limits.clone().max_nodes_visited(104)).0, 1);
    // Work that multiplies stops.
    let bomb = format!("${}", "..[*,*,*,*,*,*,*,*]".repeat(20));
    let deep = doc(&format!("{}1{}", "[".repeat(100), "]".repeat(100)));
    let found =
        parse_path(&bomb).select_with(deep.root(), &limits.clone().max_nodes_visited(100_000));
    assert_eq!((found.len() < 100_000, found.truncated()), (true, Some(Truncation::Visits)));
    let nested = "$[?count($..[?count($..[?count($..*) < 0]) > 0]) > 0]";
    let found = parse_path(nested).select_with(document.root(), &limits.max_nodes_visited(100_000));
    assert_eq!((found.len(), found.truncated()), (0, Some(Truncation::Visits)));
}

#[test]
fn comparing_and_matching_is_charged() {
    let long = "x".repeat(64_000);
    let document = doc(&format!(r#"["{long}", "{long}", [{}]]"#, vec!["1"; 1000].join(",")));
    for path in [
        "$[?@ == $[0]]",
        "$[?@ <= $[0]]",
        "$[?length(@) > 1]",
        "$[?match(@, 'x*')]",
        "$[?@ == $[2]]",
        "$[?search('x', @)]",
    ] {
        let limits = SelectionLimits::default().max_nodes_visited(900);
        let found = parse_path(path).select_with(document.root(), &limits);
        assert_eq!(found.truncated(), Some(Truncation::Visits), "{path}");
    }
}

#[test]
fn deep_documents_and_long_paths_end() {
    let deep = doc(&format!("{}1{}", "[".repeat(128), "]".repeat(128)));
    assert_eq!(parse_path("$..*").select(deep.root()).len(), 128);
    assert_eq!(
        parse_path(&format!("${}", "[0]".repeat(128))).select(deep.root()).views()[0].as_i64(),
        Some(1)
    );
    assert!(parse_path(&format!("${}", "[*]".repeat(128))).matches(deep.root()));
    assert!(!parse_path(&format!("${}", ".a".repeat(2000))).matches(deep.root()));
    assert_eq!(parse_path("$[?@ == $[0]]").select(deep.root()).len(), 1);
    for (open, close) in [("(", ")"), ("!(", ")"), ("@[?", "]"), ("$[?", "]"), ("@..[?", "]")] {
        let path = parse_path(&format!("$[?{}@{}]", open.repeat(31), close.repeat(31)));
        // Thirty-one negations are one.
        assert_eq!(path.matches(deep.root()), open != "!(", "{path}");
    }
}

#[test]
fn the_prefix_ends_where_the_text_cannot_be_followed() {
    #[track_caller]
    fn check(path: &str, steps: &[PathStep], rest: &str) {
        let path = parse_path(path);
        assert_eq!(path.prefix().cloned().collect::<Vec<_>>(), steps, "{path}");
        assert_eq!(path.after_prefix().to_string(), rest, "{path}");
        assert_eq!(path.after_prefix(), parse_path(rest));
        assert_eq!(path.after_prefix().prefix().count(), 0);
    }
    let name = |name: &str| PathStep::Name(name.into());
    check("$", &[], "$");
    check(
        "$.a['b c'][0][*].*",
        &[name("a"), name("b c"), PathStep::Index(0), PathStep::Wildcard, PathStep::Wildcard],
        "$",
    );
    check("$.a..b.c", &[name("a")], "$..b.c");
    check("$.a[-1].b", &[name("a")], "$[-1].b");
    check("$.a[0,1]", &[name("a")], "$[0,1]");
    check("$.a[0:1]", &[name("a")], "$[:1]".replace(":1", "0:1").as_str());
    check("$.a[?@.b].c", &[name("a")], "$[?@.b].c");
    // The rest would take the wrong value for the root.
    for path in
        ["$.a[?@.b == $.c]", "$.a[?@[?search(@, value($..p))]]", "$.a[?count($.*) > length($.b)]"]
    {
        let path = parse_path(path);
        assert_eq!((path.prefix().count(), path.after_prefix()), (0, path.clone()));
    }
}

#[test]
fn singular_paths_are_known() {
    for (path, singular) in [
        ("$", true),
        ("$.a[0]['b'][-1]", true),
        ("$[*]", false),
        ("$..a", false),
        ("$[0,1]", false),
        ("$[0:1]", false),
    ] {
        assert_eq!(parse_path(path).is_singular(), singular, "{path}");
    }
}

#[test]
fn texts_are_normalised() {
    for (path, text) in [
        ("$ [ 'a' ] [ \"b c\" ]", "$.a['b c']"),
        ("$.*..*", "$[*]..[*]"),
        ("$..['a']", "$..a"),
        ("$[ 1 : 2 : 1 , ::-1, -3 ]", "$[1:2,::-1,-3]"),
        ("$[?(((@.a)))]", "$[?@.a]"),
        (
            "$[?(@.a&&@.b)&&(@.c||!(@.d)) || (@.e||@.f)]",
            "$[?@.a && @.b && (@.c || !@.d) || @.e || @.f]",
        ),
        ("$[?!(@.a==1.0)]", "$[?!(@.a == 1)]"),
        ("$[?'\\u0027\\u000b'==\"'\"]", "$[?'\\'\\u000b' == '\\'']"),
        ("$[?count( $..a )<=length( @ )]", "$[?count($..a) <= length(@)]"),
        ("$[?match(@.a,'x\\\\d')||search( @ , @.p)]", "$[?match(@.a, 'x\\\\d') || search(@, @.p)]"),
        ("$[?value(@..a)!=1e400]", ""),
        ("$[?@==1e30]", "$[?@ == 1e+30]"),
        ("$[?@==123456789012345678901]", "$[?@ == 123456789012345678901]"),
        ("$.☺", "$.☺"),
    ] {
        match JsonPath::parse(path) {
            Ok(parsed) => {
                assert_eq!(parsed.to_string(), text, "{path}");
                assert_eq!(parse_path(text), parsed);
            }
            Err(error) => assert_eq!(text, "", "{path}: {error}"),
        }
    }
}
