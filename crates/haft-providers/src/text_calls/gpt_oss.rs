//! `<|channel|>commentary to=functions.f <|constrain|>json<|message|>{}<|call|>`

use memchr::memmem;

use super::TextCall;
use super::cursor::{Cursor, ParseStop, is_name_part};
use super::json_call::arguments_from;
use super::scan::{GrammarReading, InlineGrammar, Input, finish_reading, partial_marker_len};

/// The message may begin with `<|start|>assistant`, and the recipient may stand there as well.
#[derive(Debug)]
pub(super) struct GptOss;

impl InlineGrammar for GptOss {
    fn find_candidate(&self, text: &str, from: usize, to: usize) -> Option<usize> {
        let bytes = text.as_bytes().get(from..to)?;
        let is_marker = |at: &usize| {
            bytes.get(*at..).is_some_and(|rest| {
                rest.starts_with(CHANNEL.as_bytes()) || rest.starts_with(START.as_bytes())
            })
        };
        memmem::find_iter(bytes, "<|").find(is_marker).map(|at| from + at)
    }

    fn read_candidate(&mut self, text: &str, start: usize, input: Input) -> GrammarReading {
        // Behind the first marker a second one may stand that is a call by itself.
        finish_reading(call(Cursor::new(text, start)), start + 2, input)
    }

    fn held_back(&self, text: &str, from: usize) -> usize {
        partial_marker_len(text, from, CHANNEL).max(partial_marker_len(text, from, START))
    }
}

fn call(mut at: Cursor<'_>) -> Result<(usize, Vec<TextCall>), ParseStop> {
    let mut name = None;
    if at.eat(START)? {
        name = recipient(&mut at)?;
        at.skip_space();
    }
    at.expect(CHANNEL)?;
    let name = recipient(&mut at)?.or(name);
    header(&mut at)?;
    at.skip_space();
    let object = at.read_json('{')?;
    at.skip_space();
    at.expect(CALL)?;
    let name = name.ok_or(ParseStop::Mismatch)?;
    let arguments = arguments_from(object).ok_or(ParseStop::Mismatch)?;
    Ok((at.at, vec![TextCall::new(name, arguments)]))
}

/// ` to=functions.f`
fn recipient<'t>(at: &mut Cursor<'t>) -> Result<Option<&'t str>, ParseStop> {
    let before = at.at;
    at.skip_space();
    if at.at == before || !at.eat(RECIPIENT)? {
        at.peek_required()?;
        at.at = before;
        return Ok(None);
    }
    let name = at.read_while(is_name_part)?;
    if name.is_empty() { Err(ParseStop::Mismatch) } else { Ok(Some(name)) }
}

/// Passes the rest of a header, which is short and has no other tokens than `<|constrain|>`.
fn header(at: &mut Cursor<'_>) -> Result<(), ParseStop> {
    at.read_while(|it| it != '<' && it != '\n')?;
    if at.eat(CONSTRAIN)? {
        at.read_while(|it| it != '<' && it != '\n')?;
    }
    at.expect(MESSAGE)
}

const START: &str = "<|start|>assistant";
const CHANNEL: &str = "<|channel|>commentary";
const RECIPIENT: &str = "to=functions.";
const CONSTRAIN: &str = "<|constrain|>";
const MESSAGE: &str = "<|message|>";
const CALL: &str = "<|call|>";
