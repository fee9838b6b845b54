use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use proptest::prelude::{any, proptest};

use crate::error::Coded as _;
use crate::record::Text;

use super::{
    Certainty, CounterFailed, Encoding, Estimators, HeuristicCounter, HeuristicTally, TokenCount,
    TokenCounter, TokenError,
};

/// Counts how often it counts, and fails on the word `fail`.
#[derive(Clone, Default)]
struct Counting(Arc<AtomicUsize>);

impl Counting {
    fn calls(&self) -> usize {
        self.0.load(Ordering::SeqCst)
    }
}

impl TokenCounter for Counting {
    fn count(&self, encoding: Encoding, text: &str) -> Result<TokenCount, TokenError> {
        self.0.fetch_add(1, Ordering::SeqCst);
        match text {
            "fail" => Err(CounterFailed::new(encoding.as_str(), "torn table").into()),
            "panic" => panic!("broken counter"),
            _ => Ok(TokenCount::exact(text.len() as u64)),
        }
    }
}

#[test]
fn encodings_have_names() {
    let names =
        "gpt2 r50k_base p50k_base p50k_edit cl100k_base o200k_base gemini gemma llama2 claude";
    let listed: Vec<String> = Encoding::ALL.iter().map(ToString::to_string).collect();
    assert_eq!(listed.join(" "), names);
    for encoding in Encoding::ALL {
        assert_eq!(encoding.as_str().parse(), Ok(*encoding));
    }
    for name in ["", "GPT2", " gpt2", "cl100k"] {
        let error = name.parse::<Encoding>().unwrap_err();
        assert_eq!(error.name, name);
        assert!(error.to_string().ends_with("`gemma`, `llama2`, `claude`"), "{error}");
    }
}

#[test]
fn rules_of_thumb() {
    #[track_caller]
    fn check(encoding: Encoding, text: &str, tokens: u64) {
        let count = HeuristicCounter.count(encoding, text).unwrap();
        assert_eq!(count, TokenCount::heuristic(tokens));
    }
    for encoding in Encoding::ALL {
        check(*encoding, "", 0);
        check(*encoding, "a", 1);
    }
    check(Encoding::Claude, &"x".repeat(35), 10);
    check(Encoding::Claude, &"x".repeat(36), 11);
    check(Encoding::Claude, "🙂🙂🙂🙂", 3);
    check(Encoding::Claude, &"中".repeat(7), 2);
    check(Encoding::O200kBase, "four", 1);
    check(Encoding::O200kBase, "fours", 2);
    check(Encoding::Gpt2, "é中🙂", 6);
    check(Encoding::Llama2, &"x".repeat(10), 3);
    assert!(Certainty::Heuristic < Certainty::Exact);
}

proptest! {
    #[test]
    fn a_tally_does_not_mind_cuts(pieces in proptest::collection::vec(any::<String>(), 0..8)) {
        for &encoding in Encoding::ALL {
            let mut tally = HeuristicTally::new(encoding);
            pieces.iter().for_each(|piece| tally.push(piece));
            assert_eq!(tally.finish(), HeuristicCounter.count(encoding, &pieces.concat()).unwrap());
        }
    }

    #[test]
    fn claude_is_utf16_by_three_and_a_half(text: String) {
        let units = text.encode_utf16().count();
        let expect = (units as f64 / 3.5).ceil() as u64;
        assert_eq!(HeuristicCounter.count(Encoding::Claude, &text).unwrap().tokens, expect);
    }
}

#[test]
fn builtin_names_are_taken() {
    let mut estimators = Estimators::default();
    for encoding in Encoding::ALL {
        let error =
            estimators.register(encoding.as_str(), |_| Ok(TokenCount::exact(1))).unwrap_err();
        assert_eq!(error.code(), "E_TOKEN_ESTIMATOR_SHADOWS_BUILTIN");
        assert_eq!(error.encoding, *encoding);
    }
    assert_eq!(estimators.names().count(), Encoding::ALL.len());
}

#[test]
fn own_estimators_are_found_and_replaced() {
    let mut estimators = Estimators::default();
    estimators.register("mine", |_| Ok(TokenCount::exact(1))).unwrap();
    estimators.register("mine", |text| Ok(TokenCount::heuristic(text.len() as u64))).unwrap();
    assert_eq!(estimators.count("mine", "abc").unwrap(), TokenCount::heuristic(3));
    let error = estimators.count("other", "abc").unwrap_err();
    assert!(error.to_string().ends_with("`claude`, `mine`"), "{error}");
    assert!(matches!(error, TokenError::Unknown(_)));
}

#[test]
fn a_counter_that_fails_says_so() {
    let mut estimators = Estimators::new(Counting::default());
    estimators.register("torn", |_| Err("no table".into())).unwrap();
    estimators.register("broken", |_| panic!("index {}", 7)).unwrap();
    #[track_caller]
    fn check(estimators: &Estimators, name: &str, text: &str, cause: &str) {
        let Err(TokenError::Counter(error)) = estimators.count(name, text) else {
            panic!("`{name}` counts `{text}`");
        };
        assert_eq!((error.encoding.as_str(), error.source.to_string().as_str()), (name, cause));
        let mut warned = None;
        let count = estimators.count_or_estimate(name, text, |warning| {
            warned = Some((warning.encoding.to_owned(), warning.preview.to_owned()));
        });
        assert_eq!(count.unwrap(), HeuristicCounter.count(Encoding::Claude, text).unwrap());
        assert_eq!(warned, Some((name.to_owned(), text.chars().take(80).collect())));
    }
    check(&estimators, "gpt2", "fail", "torn table");
    check(&estimators, "gpt2", "panic", "panicked: broken counter");
    check(&estimators, "torn", "abc", "no table");
    check(&estimators, "broken", &"x".repeat(200), "panicked: index 7");
    let unknown = estimators.count_or_estimate("other", "x", |_| panic!("no counter failed"));
    assert!(matches!(unknown, Err(TokenError::Unknown(_))));
}

#[test]
fn a_preview_does_not_split_characters() {
    let mut estimators = Estimators::default();
    estimators.register("torn", |_| Err("no table".into())).unwrap();
    let text = format!("x{}", "🙂".repeat(60));
    let mut preview = 0;
    estimators
        .count_or_estimate("torn", &text, |warning| {
            preview = warning.preview.encode_utf16().count()
        })
        .unwrap();
    assert_eq!(preview, 79);
}

#[test]
fn a_text_is_counted_once_per_name_and_counters() {
    let counter = Counting::default();
    let estimators = Estimators::new(counter.clone());
    let text = Text::from("hello");
    for _ in 0..3 {
        assert_eq!(text.count(&estimators, "gpt2").unwrap(), TokenCount::exact(5));
        assert_eq!(text.clone().count(&estimators.clone(), "gpt2").unwrap(), TokenCount::exact(5));
    }
    assert_eq!(counter.calls(), 1);
    assert_eq!(text.count(&Estimators::default(), "gpt2").unwrap(), TokenCount::heuristic(2));
    assert_eq!(text.count(&estimators, "o200k_base").unwrap(), TokenCount::exact(5));
    assert_eq!(counter.calls(), 2);
    assert!(matches!(text.count(&estimators, "gpt3"), Err(TokenError::Unknown(_))));
}

#[test]
fn registering_anew_counts_anew() {
    let mut estimators = Estimators::default();
    estimators.register("mine", |_| Ok(TokenCount::exact(1))).unwrap();
    let text = Text::from("abc");
    assert_eq!(text.count(&estimators, "mine").unwrap(), TokenCount::exact(1));
    estimators.register("mine", |_| Ok(TokenCount::exact(2))).unwrap();
    assert_eq!(text.count(&estimators, "mine").unwrap(), TokenCount::exact(2));
}

#[test]
fn the_cache_of_counts_is_bounded() {
    let text = Text::from("abc");
    for _ in 0..100 {
        text.count(&Estimators::default(), "gpt2").unwrap();
    }
    assert_eq!(text.cached_counts(), 16);
}

#[test]
fn a_text_can_be_counted_by_many_threads() {
    let estimators = Estimators::default();
    let text = Text::from("hello world");
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for encoding in Encoding::ALL {
                    assert!(text.count(&estimators, encoding.as_str()).unwrap().tokens > 0);
                }
            });
        }
    });
    assert!(text.cached_counts() >= Encoding::ALL.len());
}
