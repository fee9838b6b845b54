//! The rarest literal of a pattern, wherever it stands in it.

use memchr::{memchr, memrchr};
use regex_automata::util::prefilter::Prefilter;
use regex_automata::{MatchKind, Span};
use regex_syntax::hir::{Hir, HirKind};

/// Literals of which every match contains at least one, and that are rarer than those that matches begin with. The engine
/// looks for the latter itself: for `id=[0-9a-f]*dead` it would stop in every line that has an `id=`.
#[derive(Clone, Debug)]
pub(super) struct InnerLiterals(Prefilter);

impl InnerLiterals {
    /// The literals of a pattern whose matches are within lines, if looking for them pays.
    pub(super) fn of(hir: &Hir) -> Option<Self> {
        let HirKind::Concat(parts) = hir.kind() else { return None };
        let mut parts = parts.iter().filter(|part| !matches!(part.kind(), HirKind::Look(_)));
        let first = required_literals(parts.next()?)?;
        let best = parts.filter_map(required_literals).max_by_key(|literals| rarity(literals))?;
        if rarity(&best) <= rarity(&first) {
            return None;
        }
        Prefilter::new(MatchKind::LeftmostFirst, &best).map(Self)
    }

    /// Calls `search` with the part of each line that may match, until it finds something. `Err` has the place from which
    /// on nothing is known, because too many lines have the literals.
    pub(super) fn find_end(
        &self,
        lines: &[u8],
        (mut start, end): (usize, usize),
        search: impl Fn(usize, usize) -> Option<usize>,
    ) -> Result<Option<usize>, usize> {
        let searched_from = start;
        let mut in_vain: usize = 0;
        while start <= end {
            let Some(found) = self.0.find(lines, Span { start, end }) else { return Ok(None) };
            let before = lines.get(start..found.start).unwrap_or_default();
            let line = memrchr(b'\n', before).map_or(start, |newline| start + newline + 1);
            let after = lines.get(found.start..end).unwrap_or_default();
            let stop = memchr(b'\n', after).map_or(end, |newline| found.start + newline);
            if let Some(hit) = search(line, stop) {
                return Ok(Some(hit));
            }
            start = stop + 1;
            in_vain += 1;
            if in_vain * BYTES_PER_FIND > start - searched_from + PATIENCE {
                return Err(start);
            }
        }
        Ok(None)
    }
}

/// A literal that is found in vain more often than once in so many bytes costs more than it saves.
const BYTES_PER_FIND: usize = 1_024;

/// How many bytes are searched before that is judged.
const PATIENCE: usize = 16 * 1_024;

/// Literals of which every match contains at least one; the rarest if there are several such sets.
fn required_literals(hir: &Hir) -> Option<Vec<Box<[u8]>>> {
    match hir.kind() {
        HirKind::Literal(literal) => Some(vec![literal.0.clone()]),
        HirKind::Capture(capture) => required_literals(&capture.sub),
        HirKind::Repetition(repetition) if repetition.min > 0 => required_literals(&repetition.sub),
        HirKind::Concat(parts) => {
            parts.iter().filter_map(required_literals).max_by_key(|literals| rarity(literals))
        }
        HirKind::Alternation(parts) => {
            let all: Option<Vec<_>> = parts.iter().map(required_literals).collect();
            let all: Vec<_> = all?.into_iter().flatten().collect();
            (all.len() <= MAX_LITERALS).then_some(all)
        }
        _ => None,
    }
}

/// More literals than these are found by no fast search.
const MAX_LITERALS: usize = 16;

/// How rare the most frequent of the literals is.
fn rarity(literals: &[Box<[u8]>]) -> usize {
    literals.iter().map(|literal| literal.iter().map(byte_rarity).sum()).min().unwrap_or_default()
}

/// How rare a byte is in logs, prose and code, roughly.
fn byte_rarity(byte: &u8) -> usize {
    match byte {
        b' ' | b'e' | b't' | b'a' | b'o' | b'i' | b'n' | b's' | b'r' | b'0' | b'1' | b'=' => 2,
        b'a'..=b'z' | b'0'..=b'9' | b':' | b'.' | b',' | b'-' | b'_' | b'/' | b'"' => 3,
        _ => 5,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use regex_syntax::parse;

    use super::super::GrepOptions;
    use super::super::pattern::Pattern;
    use super::{InnerLiterals, required_literals};

    #[track_caller]
    fn check(pattern: &str, expected: &[&str], is_used: bool) {
        let hir = parse(pattern).unwrap();
        let found = required_literals(&hir).unwrap_or_default();
        let found: Vec<_> =
            found.iter().map(|it| String::from_utf8_lossy(it).into_owned()).collect();
        assert_eq!(found, expected, "{pattern}");
        assert_eq!(InnerLiterals::of(&hir).is_some(), is_used, "{pattern}");
    }

    #[test]
    fn the_rarest_literal_is_taken() {
        check("id=[0-9a-f]*dead", &["dead"], true);
        check("user.*(FATAL|PANIC).*done", &["FATAL", "PANIC"], true);
        check(r"\bin +(KERNEL)+", &["KERNEL"], true);
        check("ERROR.*done", &["ERROR"], false);
        check("[0-9]+dead", &["dead"], false);
        check("dead", &["dead"], false);
        check("in (x|[0-9]*)", &["in "], false);
        check("(DEAD)?in", &["in"], false);
    }

    proptest! {
        #[test]
        fn lines_are_found_as_without_literals(
            content in "([ab]|id=|DEAD|\\n|\\r\\n){0,200}",
            pattern in prop::sample::select(vec![
                "id=[ab]*DEAD", "^id=.*DEAD$", "a.*(DEAD|id=)", "b+DEAD\\b", "aDEAD|bDEAD", "a(DEAD)+",
            ]),
            start in 0_usize..20,
        ) {
            let content = content.as_bytes();
            let start = start.min(content.len());
            let pattern = Pattern::new(pattern, &GrepOptions::new()).unwrap();
            let found = pattern.find_end(content, start, content.len());
            let line = |at: usize| content[..at].iter().filter(|byte| **byte == b'\n').count();
            let plain = pattern.find_end_plainly(content, start, content.len());
            prop_assert_eq!(found.map(line), plain.map(line));
        }
    }

    /// Long enough for the literal to be given up.
    #[test]
    fn a_literal_in_every_line_is_given_up() {
        let content = "id=a DEAD x\n".repeat(10_000) + "id=DEAD\n";
        let pattern = Pattern::new("id=[ab]*DEAD", &GrepOptions::new()).unwrap();
        let found = pattern.find_end(content.as_bytes(), 0, content.len()).unwrap();
        assert_eq!(found, content.trim_end().len());
    }
}
