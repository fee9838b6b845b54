//! The built-in tables.

use haft_core::tokens::{
    Count, CounterFailed, Encoding, HeuristicCounter, TokenCounter, TokenError,
};
use tiktoken::CoreBpe;

use super::cut::{self, Cut, Splitter};

/// Counts exactly where there is a table, and by rule of thumb elsewhere; the count says which.
///
/// Takes time in proportion to the text. Text that mixes many scripts within words is counted much more
/// slowly than prose or code: below 1 MB/s for `o200k_base`.
#[derive(Clone, Copy, Debug, Default)]
#[expect(clippy::exhaustive_structs, reason = "has no state")]
pub struct ExactCounter;

impl TokenCounter for ExactCounter {
    fn count(&self, encoding: Encoding, text: &str) -> Result<Count, TokenError> {
        let Some(splitter) = splitter(encoding) else {
            return HeuristicCounter::default().count(encoding, text);
        };
        let table = table(encoding)
            .ok_or_else(|| CounterFailed::new(encoding.as_str(), "the table is not built in"))?;
        let mut total = Count::exact(0);
        let mut rest = text;
        loop {
            let (at, safe) = match cut::first(rest, splitter, 0) {
                Cut::Safe(at) => (at, true),
                Cut::Hard(at) => (at, false),
                Cut::Unknown(_) => break,
            };
            let Some((piece, after)) = rest.split_at_checked(at) else { break };
            add(&mut total, table, piece, safe);
            rest = after;
        }
        add(&mut total, table, rest, true);
        Ok(total)
    }
}

/// How the words of an encoding are found, if there is a table for it.
pub(super) const fn splitter(encoding: Encoding) -> Option<Splitter> {
    match encoding {
        Encoding::Gpt2 | Encoding::R50kBase | Encoding::P50kBase | Encoding::P50kEdit => {
            Some(Splitter::Old)
        }
        Encoding::Cl100kBase | Encoding::O200kBase => Some(Splitter::New),
        _ => None,
    }
}

/// The table, loaded by whoever comes first and kept for the life of the process.
pub(super) fn table(encoding: Encoding) -> Option<&'static CoreBpe> {
    tiktoken::get_encoding(encoding.as_str())
}

/// Adds the tokens of a piece, and whether its end leaves the count exact.
pub(super) fn add(total: &mut Count, table: &CoreBpe, piece: &str, safe: bool) {
    total.tokens += table.count(piece) as u64;
    if !safe {
        *total = Count::heuristic(total.tokens);
    }
}
