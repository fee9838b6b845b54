//! The same, for texts that nobody thought of.

use proptest::prelude::{ProptestConfig, Strategy, any, prop_oneof, proptest};

use super::super::sanitize::neutralize;
use super::hostile::check_everywhere;
use super::scanner::{NAMES, tags};

/// Texts of arbitrary characters and of pieces of tags.
fn text() -> impl Strategy<Value = String> {
    let pieces = [
        "<",
        "</",
        "＜",
        "／",
        "‹",
        ">",
        "\"",
        "&lt;",
        "_",
        " ",
        "\n",
        "\0",
        "\u{200B}",
        "\u{202E}",
        "\u{FEFF}",
        "\u{FFFD}",
        "\u{85}",
        "\u{301}",
        "\u{E0041}",
        "kind=",
        "<!--",
        "]]>",
    ];
    let piece = prop_oneof![
        proptest::sample::select(pieces.to_vec()).prop_map(str::to_owned),
        proptest::sample::select(NAMES.to_vec()).prop_map(str::to_owned),
        proptest::sample::select(NAMES.to_vec()).prop_map(str::to_uppercase),
        (proptest::sample::select(NAMES.to_vec()), 1_usize..5)
            .prop_map(|(name, n)| name.chars().take(n).collect()),
        any::<char>().prop_map(String::from),
        any::<String>(),
    ];
    proptest::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(haft_testkit::cases(400)))]

    #[test]
    fn nothing_leaves_its_envelope(text in text()) {
        check_everywhere(&text);
    }
}

proptest! {
    #[test]
    fn cleaning_leaves_no_tag_and_is_final(text in text()) {
        let clean = neutralize(&text);
        assert_eq!(tags(&clean), []);
        assert_eq!(neutralize(&clean), clean);
    }

    #[test]
    fn cleaning_changes_nothing_but_tags_and_controls(text in "[a-zA-Z0-9 &;/>\"'<=\n\t{}()é日]{0,80}") {
        let clean = neutralize(&text);
        assert_eq!(clean.replace("&lt;", "<"), text.replace("&lt;", "<"));
        if tags(&text).is_empty() {
            assert_eq!(clean, text);
        }
    }
}
