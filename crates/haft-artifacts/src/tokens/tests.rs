mod differential;

use proptest::prelude::{Just, ProptestConfig, Strategy, any, prop_oneof, proptest};

use super::cut::{self, CAP, CutPoint, SplitRule, WINDOW};
use super::exact::bpe_table;
use haft_core::tokens::{Encoding, HeuristicCounter, TokenCount, TokenCounter as _};

use super::{ExactCounter, StreamCounter};

const TABLES: [Encoding; 6] = [
    Encoding::Gpt2,
    Encoding::R50kBase,
    Encoding::P50kBase,
    Encoding::P50kEdit,
    Encoding::Cl100kBase,
    Encoding::O200kBase,
];

fn count(encoding: Encoding, text: &str) -> TokenCount {
    ExactCounter.count(encoding, text).unwrap()
}

/// The count without cuts.
fn whole(encoding: Encoding, text: &str) -> u64 {
    bpe_table(encoding).unwrap().count(text) as u64
}

fn streamed(encoding: Encoding, bytes: &[u8], sizes: &[usize]) -> TokenCount {
    let mut counter = StreamCounter::new(encoding);
    let mut rest = bytes;
    let mut sizes = sizes.iter().copied().cycle();
    while !rest.is_empty() {
        let size = sizes.next().unwrap_or(usize::MAX).clamp(1, rest.len());
        let (chunk, after) = rest.split_at(size);
        counter.push(chunk);
        rest = after;
    }
    counter.finish()
}

/// Text of what splitters treat differently, in long and short runs.
fn text() -> impl Strategy<Value = String> {
    let part = prop_oneof![
        4 => "[a-zA-Z]{1,9}",
        2 => "[0-9]{1,5}",
        3 => "[ \t\r\n]{1,3}",
        2 => "[!-/:-@\\[-`{-~]{1,3}",
        1 => "['][a-zA-Z]{1,2}",
        1 => "[一-龥ぁ-ゖァ-ヺ가-힣、。，]{1,6}",
        1 => "[à-ÿА-я\u{300}-\u{36f}\u{900}-\u{97f}٠-٩²½Ⅷ]{1,5}",
        1 => "[\u{85}\u{a0}\u{1680}\u{2000}-\u{200d}\u{2028}\u{3000}\u{feff}]{1,3}",
        1 => "\\PC{1,4}",
        1 => Just("<|endoftext|>".to_owned()),
        1 => Just("\n/".to_owned()),
    ];
    proptest::collection::vec(part, 0..40).prop_map(|parts| parts.concat())
}

#[test]
fn known_counts() {
    #[track_caller]
    fn check(encoding: Encoding, expect: [(&str, u64); 5]) {
        for (text, tokens) in expect {
            assert_eq!(count(encoding, text), TokenCount::exact(tokens), "{encoding}: {text:?}");
        }
    }
    let table = |long, sum, birthday| {
        [
            ("", 0),
            ("hello world", 2),
            ("antidisestablishmentarianism", long),
            ("2 + 2 = 4", sum),
            ("お誕生日おめでとう", birthday),
        ]
    };
    check(Encoding::Gpt2, table(5, 5, 14));
    check(Encoding::R50kBase, table(5, 5, 14));
    check(Encoding::P50kBase, table(5, 5, 14));
    check(Encoding::P50kEdit, table(5, 5, 14));
    check(Encoding::Cl100kBase, table(6, 7, 9));
    check(Encoding::O200kBase, table(6, 7, 8));
}

#[test]
fn special_tokens_are_text() {
    for encoding in TABLES {
        for text in ["<|endoftext|>", "<|fim_prefix|>", "<|endofprompt|>", "a<|endoftext|>b"] {
            assert!(count(encoding, text).tokens > 1, "{encoding}: {text}");
        }
    }
}

#[test]
fn encodings_without_a_table_are_guessed() {
    for encoding in Encoding::ALL.iter().filter(|encoding| !TABLES.contains(encoding)) {
        let text = "some text, 中文";
        let expect = HeuristicCounter::default().count(*encoding, text).unwrap();
        assert!(!expect.is_exact());
        assert_eq!(count(*encoding, text), expect);
        assert_eq!(streamed(*encoding, text.as_bytes(), &[1]), expect);
    }
}

#[test]
fn a_table_is_loaded_once() {
    for encoding in TABLES {
        assert!(std::ptr::eq(bpe_table(encoding).unwrap(), bpe_table(encoding).unwrap()));
    }
}

#[test]
fn naughty_texts_count_as_a_whole_and_in_chunks() {
    for text in [
        "\0",
        "\u{feff}",
        "\u{202e}abc",
        "\r\n\r\n",
        "'s't're",
        "e\u{301}\u{302}\u{303}",
        "👩‍👩‍👧‍👦🏳️‍🌈",
        "Ω≈ç√∫˜µ≤≥÷",
        "ﷺ ﷽",
        "<script>alert('x')</script>",
        " \u{a0}\u{3000} ",
        "\u{10ffff}",
    ] {
        let long = text.repeat(10_000 / text.len());
        for encoding in TABLES {
            assert_eq!(count(encoding, text), TokenCount::exact(whole(encoding, text)));
            let expect = count(encoding, &long);
            assert_eq!(expect, TokenCount::exact(whole(encoding, &long)), "{encoding}: {text:?}");
            assert_eq!(streamed(encoding, long.as_bytes(), &[1, 4096, 3]), expect);
        }
    }
}

#[test]
fn a_long_run_is_counted_and_says_that_it_was_cut() {
    for run in ["a", "=", "🙂"] {
        let long = run.repeat((CAP + WINDOW) / run.len());
        let counted = count(Encoding::O200kBase, &long);
        assert!(!counted.is_exact(), "{run:?}");
        assert!(counted.tokens.abs_diff(whole(Encoding::O200kBase, &long)) <= 2, "{run:?}");
        assert_eq!(streamed(Encoding::O200kBase, long.as_bytes(), &[40_001]), counted);
    }
}

#[test]
fn a_run_below_the_cap_is_exact() {
    let long = format!("{} and more", "a".repeat(CAP - 100));
    assert_eq!(
        count(Encoding::O200kBase, &long),
        TokenCount::exact(whole(Encoding::O200kBase, &long))
    );
}

#[test]
fn cuts_wait_for_text_that_decides() {
    #[track_caller]
    fn check(text: &str, searched: usize, expect: CutPoint) {
        assert_eq!(cut::first_cut(text, SplitRule::New, searched), expect);
    }
    check("", 0, CutPoint::Unknown(0));
    check(&"a ".repeat(100), 0, CutPoint::Unknown(0));
    let run = "a".repeat(2 * WINDOW);
    check(&run, 0, CutPoint::Unknown(run.len() - 1));
    check(&format!("{run} b"), run.len() - 1, CutPoint::Safe(run.len()));
    check(&format!("{run} b"), 0, CutPoint::Safe(run.len()));
    check(&"a ".repeat(WINDOW), 0, CutPoint::Safe(WINDOW - 1));
    check(&"a".repeat(CAP + 4), 0, CutPoint::Hard(CAP));
    check(&"é".repeat(CAP), WINDOW, CutPoint::Hard(CAP));
}

#[test]
fn bytes_that_are_not_text_count_as_replacements() {
    #[track_caller]
    fn check(bytes: &[u8]) {
        let expect = count(Encoding::O200kBase, &String::from_utf8_lossy(bytes));
        for size in 1..=bytes.len().max(1) {
            assert_eq!(streamed(Encoding::O200kBase, bytes, &[size]), expect, "{size}");
        }
    }
    check(b"\xff");
    check(b"abc\xe4\xb8");
    check(b"\xe4\xb8abc\xf0\x9f\x99");
    check(b"\xf0\x9f\xff\x80\x80 \xc3\xa9\xed\xa0\x80");
    check("中🙂é".as_bytes());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(haft_testkit::cases(100)))]

    #[test]
    fn a_safe_cut_changes_no_count(text in text()) {
        for (encodings, split_rule) in
            [(&TABLES[1..3], SplitRule::Old), (&TABLES[4..], SplitRule::New)]
        {
            for at in cut::all_safe(&text, split_rule) {
                let (left, right) = text.split_at(at);
                for &encoding in encodings {
                    let parts = whole(encoding, left) + whole(encoding, right);
                    assert_eq!(parts, whole(encoding, &text), "{encoding}: {left:?} | {right:?}");
                }
            }
        }
    }

    #[test]
    fn chunks_do_not_change_the_count(
        text in text(),
        times in 1..20_usize,
        sizes in proptest::collection::vec(1..9000_usize, 1..5),
    ) {
        let text = text.repeat(times);
        for encoding in [Encoding::P50kBase, Encoding::Cl100kBase, Encoding::O200kBase] {
            let expect = TokenCount::exact(whole(encoding, &text));
            assert_eq!(count(encoding, &text), expect);
            assert_eq!(streamed(encoding, text.as_bytes(), &sizes), expect);
        }
    }

    #[test]
    fn chunks_of_any_bytes_count_as_the_lossy_text(
        bytes in proptest::collection::vec(any::<u8>(), 0..200),
        sizes in proptest::collection::vec(1..9_usize, 1..5),
    ) {
        let expect = count(Encoding::O200kBase, &String::from_utf8_lossy(&bytes));
        assert_eq!(streamed(Encoding::O200kBase, &bytes, &sizes), expect);
    }
}
