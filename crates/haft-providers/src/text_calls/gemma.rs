//! `<|tool_call>call:f{a:1}<tool_call|>`, `call:f{a:1}` and `f{a:1}`

mod body;
mod quoted;

use self::body::ArgumentsReader;
use super::TextCall;
use super::cursor::{Cursor, ParseStop};
use super::offered::{OfferedNames, is_free};
use super::scan::{Grammar, GrammarReading, InlineGrammar, Input, find, partial_marker_len};

/// The three forms, in the order in which they are tried.
pub(super) fn grammars(offered: &OfferedNames) -> Vec<Grammar> {
    [GemmaForm::Fenced, GemmaForm::Bare, GemmaForm::Named(offered.clone())]
        .map(|form| Grammar::inline(Gemma { form, endless: [None; 3] }))
        .into()
}

#[derive(Debug)]
struct Gemma {
    form: GemmaForm,
    /// From where on no string of each kind ends, if the text is whole: see [`quoted`].
    endless: [Option<usize>; 3],
}

#[derive(Debug)]
enum GemmaForm {
    /// Between markers.
    Fenced,
    /// With the word `call:` before the name.
    Bare,
    /// Only the name, which has to be offered.
    Named(OfferedNames),
}

impl InlineGrammar for Gemma {
    fn find_candidate(&self, text: &str, from: usize, to: usize) -> Option<usize> {
        match &self.form {
            GemmaForm::Fenced => find(text, from, to, OPEN),
            GemmaForm::Bare => find(text, from, to, WORD),
            GemmaForm::Named(offered) => offered.find(text, from, to, b'{'),
        }
    }

    fn read_candidate(&mut self, text: &str, start: usize, input: Input) -> GrammarReading {
        let mut at = Cursor::new(text, start);
        let before = text.get(..start).and_then(|it| it.chars().next_back());
        if matches!(self.form, GemmaForm::Bare) && !before.is_none_or(is_free) {
            return GrammarReading::Declined(start + WORD.len());
        }
        match (self.parse_calls(&mut at, input), input) {
            (Ok(calls), _) => GrammarReading::Calls(at.at, calls),
            (Err(ParseStop::Incomplete), Input::Partial) => GrammarReading::More,
            // What was read is no call of any kind, so that the search need not begin again before it.
            (Err(_), _) => GrammarReading::Declined(at.at),
        }
    }

    fn held_back(&self, text: &str, from: usize) -> usize {
        match &self.form {
            GemmaForm::Fenced => partial_marker_len(text, from, OPEN),
            GemmaForm::Bare => partial_marker_len(text, from, WORD),
            GemmaForm::Named(offered) => offered.held_back(text, from),
        }
    }
}

impl Gemma {
    fn parse_calls(
        &mut self,
        at: &mut Cursor<'_>,
        input: Input,
    ) -> Result<Vec<TextCall>, ParseStop> {
        let mut calls = Vec::new();
        match self.form {
            GemmaForm::Fenced => {
                at.expect(OPEN)?;
                at.skip_space();
                at.expect(WORD)?;
            }
            GemmaForm::Bare => at.expect(WORD)?,
            GemmaForm::Named(_) => {}
        }
        loop {
            let call = self.parse_call(at, input)?;
            let is_cut_off = call.is_cut_off;
            calls.push(call);
            if is_cut_off {
                return Ok(calls);
            }
            let end = at.at;
            at.skip_space();
            // Several calls may share the markers.
            let is_next = matches!(self.form, GemmaForm::Fenced) && eat(at, WORD, input)?;
            if !is_next {
                if !eat(at, CLOSE, input)? {
                    at.at = end;
                }
                return Ok(calls);
            }
        }
    }

    fn parse_call(&mut self, at: &mut Cursor<'_>, input: Input) -> Result<TextCall, ParseStop> {
        let name = at.read_name()?;
        at.skip_space();
        at.expect("{")?;
        let mut body = ArgumentsReader::new(at, input, &mut self.endless);
        let (arguments, is_cut_off) = body.read()?;
        Ok(TextCall { is_cut_off, ..TextCall::new(name, arguments) })
    }
}

/// As [`Cursor::eat`], but the end of a whole text is something else.
fn eat(at: &mut Cursor<'_>, token: &str, input: Input) -> Result<bool, ParseStop> {
    match at.eat(token) {
        Err(ParseStop::Incomplete) if input == Input::Whole => Ok(false),
        it => it,
    }
}

const OPEN: &str = "<|tool_call>";
const CLOSE: &str = "<tool_call|>";
const WORD: &str = "call:";
