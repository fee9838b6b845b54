//! The ids of our tables are those of another implementation with tables of its own.

use haft_core::tokens::{Encoding, TokenCounter as _};
use proptest::prelude::{ProptestConfig, proptest};

use super::{TABLES, text};
use crate::tokens::ExactCounter;
use crate::tokens::exact::bpe_table;

/// The other implementation. The encodings `gpt2` and `r50k_base` differ only in their special tokens.
fn other(encoding: Encoding) -> &'static tiktoken_rs::CoreBPE {
    match encoding {
        Encoding::Gpt2 | Encoding::R50kBase => tiktoken_rs::r50k_base_singleton(),
        Encoding::P50kBase => tiktoken_rs::p50k_base_singleton(),
        Encoding::P50kEdit => tiktoken_rs::p50k_edit_singleton(),
        Encoding::Cl100kBase => tiktoken_rs::cl100k_base_singleton(),
        Encoding::O200kBase => tiktoken_rs::o200k_base_singleton(),
        other => panic!("there is no table for {other:?}"),
    }
}

#[track_caller]
fn check(encoding: Encoding, text: &str) {
    let expected = other(encoding).encode_ordinary(text);
    let ids = bpe_table(encoding).unwrap().encode(text);
    assert_eq!(ids, expected, "{encoding:?} of {text:?}");
    let count = ExactCounter.count(encoding, text).unwrap();
    assert_eq!(count.tokens, expected.len() as u64, "{encoding:?} of {text:?}");
}

const CORPUS: &[&str] = &[
    "",
    "The quick brown fox jumps over the lazy dog. It's 12:30, isn't it? They'LL see; we'd've known!",
    "fn main() {\n    let x: Vec<u8> = vec![0; 4096];\n\tprintln!(\"{x:?}\"); // a comment\n}\n",
    "def f(a, *, b=None):\n    return {k: v for k, v in a.items() if v is not None}\n\n\n\nclass A: pass\n",
    "{\"id\": 1234567890123, \"ratio\": -0.000123e-7, \"tags\": [\"a\", \"b\\u00e9\"], \"ok\": true}",
    "SELECT * FROM t WHERE a >= 10 AND b LIKE '%x%' ORDER BY c DESC; -- done",
    "https://example.org/a/b?c=d&e=%20f#g user@example.org C:\\Windows\\System32 ../../etc/passwd",
    "Größe, Öl, façade, naïve, Ærø, Żółć, İstanbul, ﬁne, Straße",
    "Съешь же ещё этих мягких французских булок, да выпей чаю.",
    "敏捷的棕色狐狸跳过了懒狗。吾輩は猫である。名前はまだ無い。키스의 고유조건은 입술끼리",
    "नमस्ते दुनिया العربية תורה ไทยไม่มีวรรค ქართული Ελληνικά",
    "👩‍👩‍👧‍👦 🇩🇪 👍🏽 ❤️ ✊🏿 é (e\u{301}) \u{200b}\u{feff} \u{2028}",
    "   leading and trailing   \t\t \r\n\r\n  \n \n\n\n\n   x",
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
    "0123456789 1,234,567.89 3.14159265358979323846 0xDEADBEEF 1e-10 ٣٤٥ ½ Ⅷ",
    "!!!???...---___===+++***///\\\\\\|||<<<>>>[[[]]]{{{}}}((()))",
    "<|endoftext|><|im_start|>user<|im_end|><|fim_prefix|>",
    "| a | b |\n|---|---|\n| 1 | 2 |\n\n# Heading\n\n- item\n  - nested\n\n> quote\n\n```rust\ncode\n```\n",
    "CamelCaseIdentifier snake_case_identifier SCREAMING_CASE kebab-case HTTPServerError2XX",
    "\u{0}\u{1}\u{7f}\u{85}\u{a0}\u{1680}\u{3000}end",
];

#[test]
fn a_varied_corpus_has_the_same_token_ids() {
    for encoding in TABLES {
        for text in CORPUS {
            check(encoding, text);
        }
        check(encoding, &CORPUS.join("\n\n"));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(haft_testkit::cases(100)))]

    #[test]
    fn random_texts_have_the_same_token_ids(text in text()) {
        for encoding in TABLES {
            check(encoding, &text);
        }
    }
}
