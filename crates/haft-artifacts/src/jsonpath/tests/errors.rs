use super::JsonPath;

#[track_caller]
fn check(path: &str, offset: usize, hint: &str) {
    let error = match JsonPath::parse(path) {
        Ok(parsed) => panic!("{path} is read as {parsed}"),
        Err(error) => error,
    };
    assert!(error.hint.contains(hint), "{path}: {error}");
    assert_eq!(error.offset, offset, "{path}: {error}");
    assert_eq!(error.found, path.get(error.offset..).unwrap().chars().next(), "{path}");
}

#[test]
fn an_error_says_where_and_what_to_write() {
    check("", 0, "start the path with `$`");
    check("@.a", 0, "start the path with `$`");
    check("$.", 2, "does not end with a dot");
    check("$..", 3, "does not end with a dot");
    check("$...a", 3, "`$..name`");
    check("$.items.0", 8, "write `[0]`");
    check("$. a", 2, "no white space behind a dot");
    check("$.'a'", 2, "brackets: `['name']`");
    check("$name", 1, "write `.name`");
    check("$[0]name", 4, "write `.name`");
    check("$.a/b", 3, "separate names by `.`");
    check("$.a^", 3, "`^` (the parent) is not available");
    check("$.store.*~", 9, "`~` (the names of members) is not available");
    check("$.a.keys()", 8, "methods are not available");
    check("$.a?(@.b)", 3, "filters stand in brackets");
    check("$.a b", 3, "a path goes on with");
    check("$[", 2, "close the bracket");
    check("$[]", 2, "write `[*]`");
    check("$[0,]", 4, "");
    check("$[name]", 2, "quote the name: `['name']`");
    check("$[@.price > 10]", 2, "filters start with `?`");
    check("$[(@.a)]", 2, "scripts are not available");
    check("$[(@.length-0)]", 2, "scripts are not available");
    check("$[+1]", 2, "no `+`");
    check("$[01]", 2, "no leading zeros");
    check("$[1.5]", 3, "no fraction");
    check("$[9007199254740992]", 2, "write integers");
    check("$['a]", 5, "the string that starts at byte 2 is not closed");
    check("$['\\x']", 3, "a string knows the escapes");
    check("$['\\ud800']", 3, "surrogates in pairs");
    check("$['a\nb']", 4, "write control characters");
}

#[test]
fn an_error_in_a_filter_says_what_to_write() {
    check("$[?price > 10]", 3, "filters need `@`: try `[?@.price > 10]`");
    check("$[?(price)]", 4, "filters need `@`: try `[?@.price > 10]`");
    check("$[?.price > 10]", 3, "filters need `@`");
    check("$[?@.a = 1]", 7, "compare with `==`");
    check("$[?@.a <> 1]", 8, "the operators are");
    check("$[?@.a & @.b]", 7, "`&&`");
    check("$[?@.a | @.b]", 7, "`||`");
    check("$[?@.a and @.b]", 7, "`&&`");
    check("$[?@.a == 1 or @.b == 2]", 12, "`||`");
    check("$[?not @.a]", 3, "negate with `!`");
    check("$[?@.a in ['x']]", 7, "`in` is not available");
    check("$[?'x' in @.tags]", 7, "`in` is not available");
    check("$[?@.a == True]", 10, "write `true`");
    check("$[?@.a == None]", 10, "write `null`");
    check("$[?@.a == bob]", 10, "'bob' for a string");
    check("$[?@.a == [1]]", 10, "only strings, numbers");
    check("$[?@.a - 1 > 0]", 7, "arithmetic is not available");
    check("$[?@.content-type == 'x']", 12, "`@['content-type']`");
    check("$[?1 + 1 == 2]", 5, "arithmetic is not available");
    check("$[?@.a.includes('x')]", 15, "methods are not available");
    check("$[?typeof @.a == 'x']", 3, "`typeof` is not available");
    check("$[?@property == 'x']", 4, "`@property` is not available");
    check("$[?@root.a]", 4, "write `$` for the root");
    check("$[?@number()]", 4, "write `@.number`");
    check("$[?!@.a == 1]", 8, "`!(@.price > 10)`");
    check("$[?(@.a) == 1]", 9, "parentheses hold whole conditions");
    check("$[?@.a == (1)]", 10, "only conditions stand in parentheses");
    check("$[?true]", 7, "`@.name == true`");
    check("$[?length(@.a)]", 14, "`length(@.a) > 1`");
    check("$[?@.a == 01]", 11, "");
    check("$[?@.a == .5]", 10, "");
    check("$[?@.a == 1.]", 12, "numbers as in JSON");
    check("$[?@.a == 1e999]", 10, "numbers as in JSON");
    check("$[?@.*== 1]", 3, "nest a filter");
    check("$[?length(@.*) > 1]", 10, "nest a filter");
    check("$[?match(@.a, 'x') == true]", 3, "without a comparison");
    check("$[?count('x') > 1]", 9, "count(@.a[*]) > 1");
    check("$[?size(@.a) > 1]", 3, "the functions are");
    check("$[?length (@.a) > 1]", 3, "");
    check("$[?match(@.a)]", 12, "match(@.a, 'whole.*')");
    check("$[?", 3, "close every");
    check("$[?@.a", 6, "");
    check("$[?(@.a", 7, "close every");
    check("$[?]", 3, "a condition is missing");
    check("$[?@.a && ]", 10, "a condition is missing");
    check("$[?@.a =~ 'x']", 10, "`@.name =~ /part/i`");
    check("$[?@.a =~ /x]", 13, "`@.name =~ /part/i`");
    check("$[?@.a =~ /x/s]", 13, "`@.name =~ /part/i`");
    check("$[?/x/.exec(@.a)]", 6, "`@.name =~ /part/i`");
}

#[test]
fn patterns_that_would_match_nothing_are_refused() {
    for (path, offset) in [
        ("$[?match(@, '(')]", 12),
        ("$[?search(@, '(?=x)')]", 13),
        ("$[?search(@, '(a)\\\\1')]", 13),
        ("$[?search(@, '((a{100}){100}){100}')]", 13),
    ] {
        let error = JsonPath::parse(path).unwrap_err();
        assert_eq!((error.offset, error.expected), (offset, "a regular expression"), "{path}");
    }
    check("$[?@ =~ /(/]", 8, "the pattern does not compile");
    check("$[?/(/.test(@)]", 3, "the pattern does not compile");
}

#[test]
fn paths_are_bounded() {
    let long = format!("$.{}", "a".repeat(4095));
    let error = JsonPath::parse(&long).unwrap_err();
    assert_eq!(error.expected, "a path of at most 4096 bytes");
    assert!(JsonPath::parse(long.get(..4096).unwrap()).is_ok());
    for (open, close) in [("(", ")"), ("!(", ")"), ("@[?", "]"), ("$[?", "]")] {
        let nested = |count| format!("$[?{}@{}]", open.repeat(count), close.repeat(count));
        assert!(JsonPath::parse(&nested(31)).is_ok(), "{open}");
        let error = JsonPath::parse(&nested(32)).unwrap_err();
        assert_eq!(error.expected, "at most 32 levels of nesting", "{open}");
        assert!(JsonPath::parse(&nested(600)).is_err());
    }
    let calls = format!("$[?{}@{}==1]", "length(".repeat(500), ")".repeat(500));
    assert!(JsonPath::parse(&calls).is_err());
}

#[test]
fn an_error_reads_well() {
    let message = |path: &str| JsonPath::parse(path).unwrap_err().to_string();
    assert_eq!(
        message("$.a/b"),
        "path is wrong at byte 3: expected a segment or the end of the path but found `/`; \
         separate names by `.`, not by `/`",
    );
    assert_eq!(
        message("$[?@.a = 1]"),
        "path is wrong at byte 7: expected `,` or `]` but found `=`; compare with `==`",
    );
    assert_eq!(
        message("$['a"),
        "path is wrong at byte 4: expected the closing quote but it ends; the string that starts \
         at byte 2 is not closed",
    );
}
