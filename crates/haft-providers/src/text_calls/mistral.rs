//! `[TOOL_CALLS][{"name": "f", "arguments": {}}]`

use super::TextCall;
use super::cursor::{Cursor, Stop};
use super::json_call::{ARGUMENTS, calls_of};
use super::scan::{Input, Placed, Reading, find, held_of, settle};

#[derive(Debug)]
pub(super) struct Mistral;

impl Placed for Mistral {
    fn candidate(&self, text: &str, from: usize, to: usize) -> Option<usize> {
        find(text, from, to, OPEN)
    }

    fn read(&mut self, text: &str, start: usize, input: Input) -> Reading {
        let inner = start + OPEN.len();
        settle(list(Cursor::new(text, inner), ARGUMENTS), inner, input)
    }

    fn held(&self, text: &str, from: usize) -> usize {
        held_of(text, from, OPEN)
    }
}

/// A list of calls.
pub(super) fn list(mut at: Cursor<'_>, keys: &[&str]) -> Result<(usize, Vec<TextCall>), Stop> {
    at.skip_space();
    let list = at.json('[')?;
    Ok((at.at, calls_of(list, keys).ok_or(Stop::Bad)?))
}

const OPEN: &str = "[TOOL_CALLS]";
