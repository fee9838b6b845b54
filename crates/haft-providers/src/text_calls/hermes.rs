//! `<tool_call>{"name": "f", "arguments": {}}</tool_call>`

use super::TextCall;
use super::cursor::{Cursor, ParseStop};
use super::json_call::{ARGUMENTS, call_of};
use super::scan::{GrammarReading, InlineGrammar, Input, find, finish_reading, partial_marker_len};

#[derive(Debug)]
pub(super) struct Hermes;

impl InlineGrammar for Hermes {
    fn find_candidate(&self, text: &str, from: usize, to: usize) -> Option<usize> {
        find(text, from, to, OPEN)
    }

    fn read_candidate(&mut self, text: &str, start: usize, input: Input) -> GrammarReading {
        let inner = start + OPEN.len();
        finish_reading(call(Cursor::new(text, inner)), inner, input)
    }

    fn held_back(&self, text: &str, from: usize) -> usize {
        partial_marker_len(text, from, OPEN)
    }
}

fn call(mut at: Cursor<'_>) -> Result<(usize, Vec<TextCall>), ParseStop> {
    at.skip_space();
    let object = at.read_json('{')?;
    at.skip_space();
    at.expect(CLOSE)?;
    let call = call_of(object, ARGUMENTS).ok_or(ParseStop::Mismatch)?;
    Ok((at.at, vec![call]))
}

pub(super) const OPEN: &str = "<tool_call>";
pub(super) const CLOSE: &str = "</tool_call>";
