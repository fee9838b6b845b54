//! `functools[{"name": "f", "arguments": {}}]`

use super::cursor::{Cursor, is_name_part};
use super::json_call::ARGUMENTS_OR_PARAMETERS;
use super::mistral::list;
use super::scan::{Input, Placed, Reading, find, held_of, settle};

#[derive(Debug)]
pub(super) struct Phi;

impl Placed for Phi {
    fn candidate(&self, text: &str, from: usize, to: usize) -> Option<usize> {
        find(text, from, to, OPEN)
    }

    fn read(&mut self, text: &str, start: usize, input: Input) -> Reading {
        let inner = start + OPEN.len();
        let before = text.get(..start).and_then(|it| it.chars().next_back());
        if before.is_some_and(is_name_part) {
            return Reading::Declined(inner);
        }
        settle(list(Cursor::new(text, inner), ARGUMENTS_OR_PARAMETERS), inner, input)
    }

    fn held(&self, text: &str, from: usize) -> usize {
        held_of(text, from, OPEN)
    }
}

const OPEN: &str = "functools";
