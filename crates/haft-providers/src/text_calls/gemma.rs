//! `<|tool_call>call:f{a:1}<tool_call|>`, `call:f{a:1}` and `f{a:1}`

mod body;
mod quoted;

use self::body::Body;
use super::TextCall;
use super::cursor::{Cursor, Stop};
use super::offered::{Offered, is_free};
use super::scan::{Grammar, Input, Placed, Reading, find, held_of};

/// The three forms, in the order in which they are tried.
pub(super) fn forms(offered: &Offered) -> Vec<Grammar> {
    [Form::Fenced, Form::Bare, Form::Named(offered.clone())]
        .map(|form| Grammar::placed(Gemma { form, endless: [None; 3] }))
        .into()
}

#[derive(Debug)]
struct Gemma {
    form: Form,
    /// From where on no string of each kind ends, if the text is whole: see [`quoted`].
    endless: [Option<usize>; 3],
}

#[derive(Debug)]
enum Form {
    /// Between markers.
    Fenced,
    /// With the word `call:` before the name.
    Bare,
    /// Only the name, which has to be offered.
    Named(Offered),
}

impl Placed for Gemma {
    fn candidate(&self, text: &str, from: usize, to: usize) -> Option<usize> {
        match &self.form {
            Form::Fenced => find(text, from, to, OPEN),
            Form::Bare => find(text, from, to, WORD),
            Form::Named(offered) => offered.find(text, from, to, b'{'),
        }
    }

    fn read(&mut self, text: &str, start: usize, input: Input) -> Reading {
        let mut at = Cursor::new(text, start);
        let before = text.get(..start).and_then(|it| it.chars().next_back());
        if matches!(self.form, Form::Bare) && !before.is_none_or(is_free) {
            return Reading::Declined(start + WORD.len());
        }
        match (self.calls(&mut at, input), input) {
            (Ok(calls), _) => Reading::Calls(at.at, calls),
            (Err(Stop::End), Input::Partial) => Reading::More,
            // What was read is no call of any kind, so that the search need not begin again before it.
            (Err(_), _) => Reading::Declined(at.at),
        }
    }

    fn held(&self, text: &str, from: usize) -> usize {
        match &self.form {
            Form::Fenced => held_of(text, from, OPEN),
            Form::Bare => held_of(text, from, WORD),
            Form::Named(offered) => offered.held(text, from),
        }
    }
}

impl Gemma {
    fn calls(&mut self, at: &mut Cursor<'_>, input: Input) -> Result<Vec<TextCall>, Stop> {
        let mut calls = Vec::new();
        match self.form {
            Form::Fenced => {
                at.expect(OPEN)?;
                at.skip_space();
                at.expect(WORD)?;
            }
            Form::Bare => at.expect(WORD)?,
            Form::Named(_) => {}
        }
        loop {
            let call = self.call(at, input)?;
            let is_cut_off = call.is_cut_off;
            calls.push(call);
            if is_cut_off {
                return Ok(calls);
            }
            let end = at.at;
            at.skip_space();
            // Several calls may share the markers.
            let is_next = matches!(self.form, Form::Fenced) && eat(at, WORD, input)?;
            if !is_next {
                if !eat(at, CLOSE, input)? {
                    at.at = end;
                }
                return Ok(calls);
            }
        }
    }

    fn call(&mut self, at: &mut Cursor<'_>, input: Input) -> Result<TextCall, Stop> {
        let name = at.name()?;
        at.skip_space();
        at.expect("{")?;
        let mut body = Body::new(at, input, &mut self.endless);
        let (arguments, is_cut_off) = body.read()?;
        Ok(TextCall { is_cut_off, ..TextCall::new(name, arguments) })
    }
}

/// As [`Cursor::eat`], but the end of a whole text is something else.
fn eat(at: &mut Cursor<'_>, token: &str, input: Input) -> Result<bool, Stop> {
    match at.eat(token) {
        Err(Stop::End) if input == Input::Whole => Ok(false),
        it => it,
    }
}

const OPEN: &str = "<|tool_call>";
const CLOSE: &str = "<tool_call|>";
const WORD: &str = "call:";
