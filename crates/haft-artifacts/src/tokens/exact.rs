//! The built-in tables.

use haft_core::tokens::{
    CounterFailed, Encoding, HeuristicCounter, TokenCount, TokenCounter, TokenError,
};
use tiktoken::CoreBpe;

use super::cut::{self, CutPoint, SplitRule};

/// Counts exactly where there is a table, and by rule of thumb elsewhere; the count says which.
///
/// Takes time in proportion to the text. Text that mixes many scripts within words is counted much more
/// slowly than prose or code: below 1 MB/s for `o200k_base`.
#[derive(Clone, Copy, Debug, Default)]
#[expect(clippy::exhaustive_structs, reason = "has no state")]
pub struct ExactCounter;

impl TokenCounter for ExactCounter {
    fn count(&self, encoding: Encoding, text: &str) -> Result<TokenCount, TokenError> {
        let Some(split_rule) = split_rule(encoding) else {
            return HeuristicCounter::default().count(encoding, text);
        };
        let table = bpe_table(encoding)
            .ok_or_else(|| CounterFailed::new(encoding.as_str(), "the table is not built in"))?;
        let mut total = TokenCount::exact(0);
        let mut rest = text;
        loop {
            let (at, safe) = match cut::first_cut(rest, split_rule, 0) {
                CutPoint::Safe(at) => (at, true),
                CutPoint::Hard(at) => (at, false),
                CutPoint::Unknown(_) => break,
            };
            let Some((piece, after)) = rest.split_at_checked(at) else { break };
            add_piece(&mut total, table, piece, safe);
            rest = after;
        }
        add_piece(&mut total, table, rest, true);
        Ok(total)
    }
}

/// How the words of an encoding are found, if there is a table for it.
pub(super) const fn split_rule(encoding: Encoding) -> Option<SplitRule> {
    match encoding {
        Encoding::Gpt2 | Encoding::R50kBase | Encoding::P50kBase | Encoding::P50kEdit => {
            Some(SplitRule::Old)
        }
        Encoding::Cl100kBase | Encoding::O200kBase => Some(SplitRule::New),
        _ => None,
    }
}

/// The table, loaded on first use and kept for the life of the process.
pub(super) fn bpe_table(encoding: Encoding) -> Option<&'static CoreBpe> {
    tiktoken::get_encoding(encoding.as_str())
}

/// Adds the tokens of a piece, and whether its end leaves the count exact.
pub(super) fn add_piece(total: &mut TokenCount, table: &CoreBpe, piece: &str, safe: bool) {
    total.tokens += table.count(piece) as u64;
    if !safe {
        *total = TokenCount::heuristic(total.tokens);
    }
}
