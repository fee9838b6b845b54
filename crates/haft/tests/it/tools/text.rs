use haft::tools;
use proptest::prelude::*;
use serde_json::json;

use super::Bench;

#[tokio::test]
async fn counts() {
    let text = Bench::new(tools::text());
    let args = json!({"text": "To be, or not to be.\n\nThat's é!", "top_words": 2});
    insta::assert_snapshot!(text.text("text_analyze", args).await, @r#"{"characters":31,"characters_without_spaces":23,"bytes":32,"words":8,"unique_words":6,"lines":3,"empty_lines":1,"sentences":2,"paragraphs":2,"longest_line":20,"mean_word_length":2.5,"ascii_only":false,"top_words":[{"word":"be","count":2},{"word":"to","count":2}]}"#);
    assert_eq!(text.json("text_analyze", json!({"text": ""})).await["words"], 0);
}

#[tokio::test]
async fn steps() {
    let text = Bench::new(tools::text());
    for (input, steps, expect) in [
        ("Héllo, World", json!([{"do": "slug"}]), "héllo-world"),
        ("parseHTTPResponse2 ok", json!([{"do": "snake_case"}]), "parse_http_response2_ok"),
        ("some-file_name", json!([{"do": "camel_case"}]), "someFileName"),
        ("some file", json!([{"do": "pascal_case"}]), "SomeFile"),
        ("someFile", json!([{"do": "constant_case"}]), "SOME_FILE"),
        ("it's a dog's life", json!([{"do": "title_case"}]), "It's A Dog's Life"),
        ("  a \t b\n", json!([{"do": "normalize_whitespace"}]), "a b"),
        ("b\na\nb\n", json!([{"do": "unique_lines"}, {"do": "sort_lines"}]), "a\nb"),
        ("a\nb", json!([{"do": "sort_lines", "descending": true}]), "b\na"),
        ("a\n\nb", json!([{"do": "remove_empty_lines"}, {"do": "number_lines"}]), "1: a\n2: b"),
        ("  a\n    b", json!([{"do": "dedent"}]), "a\n  b"),
        ("a,b", json!([{"do": "split", "separator": ","}]), "a\nb"),
        ("a\nb", json!([{"do": "join_lines", "separator": "+"}]), "a+b"),
        (
            "12-34",
            json!([{"do": "regex_replace", "pattern": "(\\d+)-(\\d+)", "with": "$2-$1"}]),
            "34-12",
        ),
        (
            "aXbx",
            json!([{"do": "regex_replace", "pattern": "x", "with": "", "ignore_case": true}]),
            "ab",
        ),
        ("aaa", json!([{"do": "replace", "find": "a", "with": "bb"}]), "bbbbbb"),
        ("häuser", json!([{"do": "slice", "start": 1, "end": -1}]), "äuse"),
        ("häuser", json!([{"do": "slice", "start": -99, "end": 99}]), "häuser"),
        ("häuser", json!([{"do": "truncate", "characters": 3}]), "hä…"),
        ("abc", json!([{"do": "reverse"}, {"do": "uppercase"}]), "CBA"),
    ] {
        let args = json!({"text": input, "steps": steps});
        assert_eq!(text.text("string_transform", args).await, expect, "{input} {steps}");
    }
    let args = json!({"text": "a", "steps": [{"do": "trim"}, {"do": "regex_replace", "pattern": "(", "with": ""}]});
    text.fails("string_transform", args, "step 2: the pattern cannot be used: unclosed group")
        .await;
    let args = json!({"text": "a", "steps": [{"do": "replace", "with": "b"}]});
    text.fails("string_transform", args, "step 1: `find` is missing or empty").await;
    let grow = json!({"do": "replace", "find": "a", "with": "a".repeat(1000)});
    let args = json!({"text": "aaaaaaaaaa", "steps": [grow, grow, grow]});
    text.fails("string_transform", args, "step 2: the text gets longer than 4 MiB").await;
}

#[tokio::test]
async fn differences() {
    let text = Bench::new(tools::text());
    let args = json!({"before": "one\ntwo\nthree\n", "after": "one\n2\nthree\n", "context": 1});
    insta::assert_snapshot!(text.text("text_diff", args).await, @r"
    1 lines added, 1 removed
    @@ -1,3 +1,3 @@
     one
    -two
    +2
     three
    ");
    let args =
        json!({"before": "the old dog sleeps", "after": "the dog sleeps well", "by": "words"});
    let found = text.text("text_diff", args).await;
    assert!(found.contains("the [-old -]dog sleeps{+ well+}"), "{found}");
    let args = json!({"before": "a", "after": "a"});
    assert_eq!(text.text("text_diff", args).await, "the texts are equal");
    let args = json!({"before": "a\n".repeat(6000), "after": ""});
    text.fails("text_diff", args, "compare parts of it").await;
}

#[tokio::test]
async fn patterns() {
    let text = Bench::new(tools::text());
    let mails = "ann@example.com\nbob@example.com, eve@example.org";
    let args = json!({"text": mails, "pattern": r"(\w+)@example\.com", "group": 1});
    insta::assert_snapshot!(text.text("string_extract", args).await, @r#"{"matches":[{"text":"ann","line":1},{"text":"bob","line":2}],"truncated":false}"#);
    let args = json!({"text": mails, "pattern": r"\w+@", "limit": 2});
    assert_eq!(text.json("string_extract", args).await["truncated"], true);
    let args = json!({"text": mails, "pattern": "a(?=b)"});
    text.fails("string_extract", args, "look-around does not exist here").await;
    let args = json!({"text": mails, "pattern": "a", "group": 3});
    text.fails("string_extract", args, "the pattern has 0 groups").await;
    let args = json!({"text": mails, "pattern": "(a{100}){100}{100}"});
    text.fails("string_extract", args, "smaller counts").await;
}

/// Patterns that make backtracking engines, and naive loops over matches, take forever.
#[tokio::test]
async fn patterns_cannot_run_away() {
    let text = Bench::new(tools::text());
    let args = json!({"text": "a".repeat(100_000), "pattern": "(a*)*b"});
    assert_eq!(text.json("string_extract", args).await["matches"], json!([]));
    let args = json!({"text": "A".repeat(50_000), "pattern": ".*[^A-Z]|[A-Z]"});
    assert_eq!(text.json("string_extract", args).await["truncated"], true);
}

#[tokio::test]
async fn encodings() {
    let text = Bench::new(tools::text());
    for (scheme, plain, encoded) in [
        ("base64", "Käse?>", "S8Okc2U/Pg=="),
        ("base64_url", "Käse?>", "S8Okc2U_Pg"),
        ("hex", "Kä", "4bc3a4"),
        ("url", "a b/ä~", "a%20b%2F%C3%A4~"),
        ("html", "<a href=\"x\">'&'</a>", "&lt;a href=&quot;x&quot;&gt;&#39;&amp;&#39;&lt;/a&gt;"),
        ("json", "a\"b\n", "a\\\"b\\n"),
    ] {
        let args = json!({"text": plain, "scheme": scheme});
        assert_eq!(text.text("encode_text", args).await, encoded, "{scheme}");
        let args = json!({"text": encoded, "scheme": scheme, "direction": "decode"});
        assert_eq!(text.text("encode_text", args).await, plain, "{scheme}");
    }
    for (scheme, wrong, words) in [
        ("base64", "a*", "not base64"),
        ("base64", "/w==", "not UTF-8"),
        ("hex", "4g", "not hex"),
        ("url", "%4", "not percent-encoding"),
        ("json", "\\x", "not the inside of a JSON string"),
        ("regex", "a", "only encodes"),
    ] {
        let args = json!({"text": wrong, "scheme": scheme, "direction": "decode"});
        text.fails("encode_text", args, words).await;
    }
    let args = json!({"text": "a.b*", "scheme": "regex"});
    assert_eq!(text.text("encode_text", args).await, r"a\.b\*");
}

#[tokio::test]
async fn hashes() {
    let text = Bench::new(tools::text());
    for (algorithm, expect) in [
        ("sha256", "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"),
        ("crc32", "3610a686"),
    ] {
        let args = json!({"text": "hello", "algorithm": algorithm});
        assert_eq!(text.text("text_hash", args).await, expect);
    }
    let args = json!({"text": "", "algorithm": "sha512"});
    assert!(text.text("text_hash", args).await.starts_with("cf83e1357eefb8bdf1542850d66d8007"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(haft_testkit::cases(64)))]

    #[test]
    fn what_is_encoded_is_decoded(plain in any::<String>()) {
        let text = Bench::new(tools::text());
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        for scheme in ["base64", "base64_url", "hex", "url", "html", "json"] {
            let args = json!({"text": plain, "scheme": scheme});
            let encoded = runtime.block_on(text.text("encode_text", args));
            let args = json!({"text": encoded, "scheme": scheme, "direction": "decode"});
            prop_assert_eq!(&runtime.block_on(text.text("encode_text", args)), &plain);
        }
    }

    #[test]
    fn patterns_never_panic(input in any::<String>(), pattern in r"[a-z.*+?()\[\]{}|^$\\,0-9]{1,20}") {
        let text = Bench::new(tools::text());
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let args = json!({"text": input, "pattern": pattern});
        let found = runtime.block_on(text.text("string_extract", args));
        prop_assert!(!found.contains("unexpectedly"), "{found}");
        let step = json!({"do": "regex_replace", "pattern": pattern, "with": "$1x$$"});
        let args = json!({"text": input, "steps": [step]});
        let found = runtime.block_on(text.text("string_transform", args));
        prop_assert!(!found.contains("unexpectedly"), "{found}");
    }
}
