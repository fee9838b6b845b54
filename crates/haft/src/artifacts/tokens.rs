//! Token counts: encodings, estimators, and (feature `tokens`) exact counters.

#[cfg(feature = "tokens")]
#[doc(inline)]
pub use haft_artifacts::tokens::{ExactCounter, StreamCounter};
#[doc(inline)]
pub use haft_core::tokens::{
    BoxError, Certainty, CountWarning, CounterFailed, Encoding, Estimators, HeuristicCounter,
    HeuristicTally, ShadowsBuiltin, TokenCount, TokenCounter, TokenError, UnknownEncoding,
};
