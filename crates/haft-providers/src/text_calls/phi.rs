//! `functools[{"name": "f", "arguments": {}}]`

use super::cursor::{Cursor, is_name_part};
use super::json_call::ARGUMENTS_OR_PARAMETERS;
use super::mistral::read_call_list;
use super::scan::{GrammarReading, InlineGrammar, Input, find, finish_reading, partial_marker_len};

#[derive(Debug)]
pub(super) struct Phi;

impl InlineGrammar for Phi {
    fn find_candidate(&self, text: &str, from: usize, to: usize) -> Option<usize> {
        find(text, from, to, OPEN)
    }

    fn read_candidate(&mut self, text: &str, start: usize, input: Input) -> GrammarReading {
        let inner = start + OPEN.len();
        let before = text.get(..start).and_then(|it| it.chars().next_back());
        if before.is_some_and(is_name_part) {
            return GrammarReading::Declined(inner);
        }
        finish_reading(
            read_call_list(Cursor::new(text, inner), ARGUMENTS_OR_PARAMETERS),
            inner,
            input,
        )
    }

    fn held_back(&self, text: &str, from: usize) -> usize {
        partial_marker_len(text, from, OPEN)
    }
}

const OPEN: &str = "functools";
