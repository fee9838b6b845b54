//! Where a text can be cut without changing its count.
//!
//! A byte-pair encoder first splits the text into words by a regular expression and then encodes each
//! word for itself. A cut is safe if a word begins there whatever else the text says, and if the words
//! before it are found without looking past it. It follows from the expressions, for characters `a` before and
//! `b` after the cut:
//!
//! - No word goes from a character that is not white space to one that is, except that in the newer
//!   expressions punctuation takes the line ends that follow it.
//! - The only look ahead is at the end of white space, and in the newer expressions never after a line
//!   end. There, a word that ends a line ends with it, unless `/` follows, which `o200k_base` adds.
//! - Letters and digits never share a word. Punctuation may begin a word of letters but not go on
//!   with one, except for an apostrophe, and it neither begins nor continues one of digits.

use crate::invariant;

/// Pieces are at most this long where the text allows it. They are short because the splitter reads all of
/// the rest of a piece after some white space, which is quadratic.
pub(super) const WINDOW: usize = 4 * 1024;
/// Pieces are never longer.
pub(super) const CAP: usize = 256 * 1024;
/// The room that a cut in the middle of a text needs to be found: the character after it.
const LOOK: usize = 4;

/// The splitting expressions, grouped by what matters for cuts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SplitRule {
    /// `gpt2`, `r50k_base`, `p50k_base`, `p50k_edit`.
    Old,
    /// `cl100k_base`, `o200k_base`.
    New,
}

/// The end of the first piece of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CutPoint {
    /// Here, and the count is the same.
    Safe(usize),
    /// Here, because there is no safe place.
    Hard(usize),
    /// Unknown until there is more text. This much was searched without success.
    Unknown(usize),
}

/// Where to cut the first piece off a text that may go on. `searched` is what an earlier
/// [`CutPoint::Unknown`] for the same text said, or 0.
///
/// A result other than unknown does not depend on how much text follows.
pub(super) fn first_cut(text: &str, split_rule: SplitRule, searched: usize) -> CutPoint {
    if text.len() < WINDOW + LOOK {
        return CutPoint::Unknown(0);
    }
    if searched == 0 {
        let window = text.get(..floor(text, WINDOW + 1)).unwrap_or(text);
        let mut after = None;
        for (at, before) in window.char_indices().rev() {
            if let Some((end, after)) = after
                && end <= WINDOW
                && is_safe(before, after, split_rule)
            {
                return CutPoint::Safe(end);
            }
            after = Some((at, before));
        }
    }
    let from = searched.max(floor(text, WINDOW - 1));
    let rest = invariant::text(text, from..);
    let mut pairs = rest.char_indices().zip(rest.chars().skip(1));
    let found = pairs.find(|((_, before), after)| is_safe(*before, *after, split_rule));
    let found = found.map(|((at, before), _)| from + at + before.len_utf8());
    match found.filter(|at| *at <= CAP) {
        Some(at) => CutPoint::Safe(at),
        None if text.len() >= CAP + LOOK => CutPoint::Hard(floor(text, CAP)),
        // The last character has not been seen as the one before a cut.
        None => CutPoint::Unknown(floor(text, text.len() - 1)),
    }
}

/// The last place at or before `at` where a character begins or the text ends.
fn floor(text: &str, at: usize) -> usize {
    let back = (0..=at).rev().take(LOOK);
    back.into_iter().find(|at| text.is_char_boundary(*at)).unwrap_or(0)
}

fn is_safe(before: char, after: char, split_rule: SplitRule) -> bool {
    if !before.is_whitespace() && after.is_whitespace() {
        return split_rule == SplitRule::Old
            || !matches!(after, '\r' | '\n')
            || is_letter(before)
            || before.is_ascii_digit();
    }
    if before == '\n' {
        return split_rule == SplitRule::New && !after.is_whitespace() && after != '/';
    }
    if is_letter(before) {
        return after.is_ascii_digit() || (is_punctuation(after) && after != '\'');
    }
    before.is_ascii_digit() && (is_letter(after) || is_punctuation(after))
}

/// Letters of which every version of Unicode says so: ASCII, Han, Kana and Hangul.
const fn is_letter(char: char) -> bool {
    char.is_ascii_alphabetic()
        || matches!(char, '一'..='龥' | 'ぁ'..='ゖ' | 'ァ'..='ヺ' | '가'..='힣')
}

/// Punctuation and symbols, likewise.
const fn is_punctuation(char: char) -> bool {
    char.is_ascii_punctuation() || matches!(char, '、' | '。' | '，')
}

/// Every safe cut of a text.
#[cfg(test)]
pub(super) fn all_safe(text: &str, split_rule: SplitRule) -> Vec<usize> {
    let pairs = text.chars().zip(text.char_indices().skip(1));
    let safe = pairs.filter(|(before, (_, after))| is_safe(*before, *after, split_rule));
    safe.map(|(_, (at, _))| at).collect()
}
