//! Reading a text from left to right.

use haft_core::invariant::OrReport as _;

use super::json_call::end_of_object;

/// Why reading stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ParseStop {
    /// The text does not match.
    Mismatch,
    /// The text ended too early. More of it could still make a call.
    Incomplete,
}

/// A place in a text.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cursor<'t> {
    pub(super) text: &'t str,
    pub(super) at: usize,
}

impl<'t> Cursor<'t> {
    pub(super) fn new(text: &'t str, at: usize) -> Self {
        Self { text, at }
    }

    pub(super) fn rest(&self) -> &'t str {
        self.text.get(self.at..).or_report_default(AT_BOUNDARY)
    }

    /// The text from `start` to here; `start` is a place where the cursor has been.
    pub(super) fn text_since(&self, start: usize) -> &'t str {
        self.text.get(start..self.at).or_report_default(AT_BOUNDARY)
    }

    /// Passes `len` bytes of the rest, which end at the boundary of a character, and returns them.
    pub(super) fn take(&mut self, len: usize) -> &'t str {
        let start = self.at;
        self.at += len;
        self.text_since(start)
    }

    /// The next character.
    pub(super) fn peek_required(&self) -> Result<char, ParseStop> {
        self.rest().chars().next().ok_or(ParseStop::Incomplete)
    }

    pub(super) fn skip_space(&mut self) {
        self.at = self.text.len() - self.rest().trim_start().len();
    }

    /// True when `token` stood here; it is then passed. The text may not end inside of it.
    pub(super) fn eat(&mut self, token: &str) -> Result<bool, ParseStop> {
        let rest = self.rest();
        if rest.starts_with(token) {
            self.at += token.len();
            Ok(true)
        } else if token.starts_with(rest) {
            Err(ParseStop::Incomplete)
        } else {
            Ok(false)
        }
    }

    /// Passes `token`, which has to stand here.
    pub(super) fn expect(&mut self, token: &str) -> Result<(), ParseStop> {
        if self.eat(token)? { Ok(()) } else { Err(ParseStop::Mismatch) }
    }

    /// The longest text of such characters, which has to end before the text does and within
    /// [`MAX_NAME`]; may be empty.
    pub(super) fn read_while(
        &mut self,
        is_part: impl Fn(char) -> bool,
    ) -> Result<&'t str, ParseStop> {
        let rest = self.rest();
        let len = rest.char_indices().take(MAX_NAME + 1).find(|(_, it)| !is_part(*it));
        let Some((len, _)) = len else {
            return Err(if rest.len() > MAX_NAME {
                ParseStop::Mismatch
            } else {
                ParseStop::Incomplete
            });
        };
        Ok(self.take(len))
    }

    /// The text of a JSON object.
    pub(super) fn read_object(&mut self) -> Result<&'t str, ParseStop> {
        if self.peek_required()? != '{' {
            return Err(ParseStop::Mismatch);
        }
        let start = self.at;
        self.at = end_of_object(self.text, start)?;
        Ok(self.text_since(start))
    }
}

/// A cursor passes whole characters that it has seen.
const AT_BOUNDARY: &str = "a cursor stands at the boundary of a character";

/// The longest name of a tool or a key that is read, in characters.
const MAX_NAME: usize = 256;
