//! `[TOOL_CALLS][{"name": "f", "arguments": {}}]`

use super::TextCall;
use super::cursor::{Cursor, ParseStop};
use super::json_call::{ARGUMENTS, calls_of};
use super::scan::{GrammarReading, InlineGrammar, Input, find, finish_reading, partial_marker_len};

#[derive(Debug)]
pub(super) struct Mistral;

impl InlineGrammar for Mistral {
    fn find_candidate(&self, text: &str, from: usize, to: usize) -> Option<usize> {
        find(text, from, to, OPEN)
    }

    fn read_candidate(&mut self, text: &str, start: usize, input: Input) -> GrammarReading {
        let inner = start + OPEN.len();
        finish_reading(read_call_list(Cursor::new(text, inner), ARGUMENTS), inner, input)
    }

    fn held_back(&self, text: &str, from: usize) -> usize {
        partial_marker_len(text, from, OPEN)
    }
}

/// Reads a list of calls. Returns the position after it, and the calls.
pub(super) fn read_call_list(
    mut at: Cursor<'_>,
    keys: &[&str],
) -> Result<(usize, Vec<TextCall>), ParseStop> {
    at.skip_space();
    let list = at.read_json('[')?;
    Ok((at.at, calls_of(list, keys).ok_or(ParseStop::Mismatch)?))
}

const OPEN: &str = "[TOOL_CALLS]";
