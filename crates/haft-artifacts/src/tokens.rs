//! Exact token counts.
//!
//! The byte-pair tables of `gpt2`, `r50k_base`, `p50k_base`, `p50k_edit`, `cl100k_base` and `o200k_base`
//! are built in. Each is loaded when it is first needed, once per process. The other encodings have no
//! table here and are counted by [`HeuristicCounter`](haft_core::tokens::HeuristicCounter).
//!
//! ```
//! use haft_artifacts::tokens::{ExactCounter, StreamCounter};
//! use haft_core::tokens::{TokenCount, Encoding, Estimators, TokenCounter as _};
//!
//! assert_eq!(ExactCounter.count(Encoding::O200kBase, "hello world")?, TokenCount::exact(2));
//! let estimators = Estimators::new(ExactCounter);
//! assert_eq!(estimators.count("cl100k_base", "hello world")?, TokenCount::exact(2));
//!
//! // A text of any length, in bounded memory.
//! let mut counter = StreamCounter::new(Encoding::O200kBase);
//! counter.push(b"hel");
//! counter.push(b"lo world");
//! assert_eq!(counter.finish(), TokenCount::exact(2));
//! # Ok::<(), haft_core::tokens::TokenError>(())
//! ```
//!
//! Text is counted in pieces of at most 4 KiB, cut where a cut cannot change the count. A run that has
//! no such place, for example a megabyte of one letter, is counted in one piece of up to 256 KiB and cut
//! anywhere beyond, which makes the count a heuristic that is off by about one token per cut.

mod cut;
mod exact;
mod stream;

#[cfg(test)]
mod tests;

pub use self::exact::ExactCounter;
pub use self::stream::StreamCounter;
