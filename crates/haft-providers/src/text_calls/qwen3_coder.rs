//! `<tool_call><function=f><parameter=a>1</parameter></function></tool_call>`

use haft_core::args::RawArgs;
use haft_core::json::JsonWriter;

use super::TextCall;
use super::cursor::{Cursor, ParseStop};
use super::hermes::{CLOSE, OPEN};
use super::scan::{GrammarReading, InlineGrammar, Input, find, finish_reading, partial_marker_len};

/// Values are text up to the first `</parameter>`, whatever is in them.
///
/// Three things are remembered so that many candidates in one text do not read the same over and over.
#[derive(Debug, Default)]
pub(super) struct Qwen3Coder {
    /// A candidate failed after a value that ends here. Behind a value all candidates read the same, so
    /// every other one with a value that ends here or before fails as well.
    dead: usize,
    /// Between these two places there is no end of a value but at the second.
    known: (usize, usize),
    /// From here on no value ends, if the text is whole.
    endless: Option<usize>,
}

impl InlineGrammar for Qwen3Coder {
    fn find_candidate(&self, text: &str, from: usize, to: usize) -> Option<usize> {
        find(text, from, to, OPEN)
    }

    fn read_candidate(&mut self, text: &str, start: usize, input: Input) -> GrammarReading {
        let inner = start + OPEN.len();
        let mut last = 0;
        let reading =
            finish_reading(self.call(Cursor::new(text, inner), input, &mut last), inner, input);
        if matches!(reading, GrammarReading::Declined(_)) {
            self.dead = self.dead.max(last);
        }
        reading
    }

    fn held_back(&self, text: &str, from: usize) -> usize {
        partial_marker_len(text, from, OPEN)
    }
}

impl Qwen3Coder {
    /// `last` becomes the end of the last value.
    fn call(
        &mut self,
        mut at: Cursor<'_>,
        input: Input,
        last: &mut usize,
    ) -> Result<(usize, Vec<TextCall>), ParseStop> {
        at.skip_space();
        let name = tag(&mut at, FUNCTION)?;
        let mut members = Vec::new();
        loop {
            at.skip_space();
            if at.eat(FUNCTION_END)? {
                break;
            }
            let key = tag(&mut at, PARAMETER)?;
            let start = at.at;
            *last = self.end_of_value(at, input)?;
            at.at = *last;
            members.push((key, at.text_since(start).trim()));
            at.at += PARAMETER_END.len();
        }
        at.skip_space();
        at.expect(CLOSE)?;
        let mut out = JsonWriter::new();
        out.object(|out| {
            for (key, value) in members {
                out.key(key).string(value);
            }
        });
        let arguments = RawArgs::text(&out.finish().root().to_string());
        Ok((at.at, vec![TextCall::new(name, arguments)]))
    }

    fn end_of_value(&mut self, at: Cursor<'_>, input: Input) -> Result<usize, ParseStop> {
        if self.endless.is_some_and(|it| at.at >= it) {
            return Err(ParseStop::Incomplete);
        }
        if !(self.known.0..=self.known.1).contains(&at.at) {
            let Some(end) = find(at.text, at.at, at.text.len(), PARAMETER_END) else {
                self.endless = (input == Input::Whole).then_some(at.at);
                return Err(ParseStop::Incomplete);
            };
            self.known = (at.at, end);
        }
        if self.known.1 <= self.dead { Err(ParseStop::Mismatch) } else { Ok(self.known.1) }
    }
}

/// The name in `<function=name>` or `<parameter=name>`.
fn tag<'t>(at: &mut Cursor<'t>, open: &str) -> Result<&'t str, ParseStop> {
    at.expect(open)?;
    let name = at.read_while(|it| !matches!(it, '<' | '>' | '\n'))?.trim();
    at.expect(">")?;
    if name.is_empty() { Err(ParseStop::Mismatch) } else { Ok(name) }
}

const FUNCTION: &str = "<function=";
const FUNCTION_END: &str = "</function>";
const PARAMETER: &str = "<parameter=";
const PARAMETER_END: &str = "</parameter>";
