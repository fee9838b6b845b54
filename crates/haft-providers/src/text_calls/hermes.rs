//! `<tool_call>{"name": "f", "arguments": {}}</tool_call>`

use super::TextCall;
use super::cursor::{Cursor, Stop};
use super::json_call::{ARGUMENTS, call_of};
use super::scan::{Input, Placed, Reading, find, held_of, settle};

#[derive(Debug)]
pub(super) struct Hermes;

impl Placed for Hermes {
    fn candidate(&self, text: &str, from: usize, to: usize) -> Option<usize> {
        find(text, from, to, OPEN)
    }

    fn read(&mut self, text: &str, start: usize, input: Input) -> Reading {
        let inner = start + OPEN.len();
        settle(call(Cursor::new(text, inner)), inner, input)
    }

    fn held(&self, text: &str, from: usize) -> usize {
        held_of(text, from, OPEN)
    }
}

fn call(mut at: Cursor<'_>) -> Result<(usize, Vec<TextCall>), Stop> {
    at.skip_space();
    let object = at.json('{')?;
    at.skip_space();
    at.expect(CLOSE)?;
    let call = call_of(object, ARGUMENTS).ok_or(Stop::Bad)?;
    Ok((at.at, vec![call]))
}

pub(super) const OPEN: &str = "<tool_call>";
pub(super) const CLOSE: &str = "</tool_call>";
