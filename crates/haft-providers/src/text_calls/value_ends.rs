//! Values that are text up to a closing tag.

use super::cursor::{Cursor, ParseStop};
use super::scan::{CallReading, Input};

/// Finds the ends of values, which are text up to the first closing tag, whatever is in them.
///
/// Three things are remembered so that many candidates in one text do not read the same over and over.
#[derive(Debug)]
pub(super) struct ValueEnds {
    /// The tag behind a value.
    close: &'static str,
    /// A candidate failed after a value that ends here. Behind a value all candidates read the same, so
    /// every other one with a value that ends here or before fails as well.
    dead: usize,
    /// Between these two places there is no end of a value but at the second.
    known: (usize, usize),
    /// From here on no value ends, if the text is whole.
    endless: Option<usize>,
    /// The end of the last value of the current candidate.
    last: usize,
}

impl ValueEnds {
    pub(super) const fn new(close: &'static str) -> Self {
        Self { close, dead: 0, known: (0, 0), endless: None, last: 0 }
    }

    /// Reads a candidate whose values are found here.
    pub(super) fn read(
        &mut self,
        input: Input,
        read: impl FnOnce(&mut Self) -> CallReading,
    ) -> CallReading {
        self.last = 0;
        let reading = read(self);
        match reading {
            Err(ParseStop::Incomplete) if input == Input::Partial => {}
            Err(_) => self.dead = self.dead.max(self.last),
            Ok(_) => {}
        }
        reading
    }

    /// Reads a value and the tag behind it.
    pub(super) fn read_value<'t>(
        &mut self,
        at: &mut Cursor<'t>,
        input: Input,
    ) -> Result<&'t str, ParseStop> {
        let start = at.at;
        self.last = self.end_of_value(at, input)?;
        at.at = self.last;
        let value = at.text_since(start);
        at.at += self.close.len();
        Ok(value)
    }

    fn end_of_value(&mut self, at: &Cursor<'_>, input: Input) -> Result<usize, ParseStop> {
        if self.endless.is_some_and(|it| at.at >= it) {
            return Err(ParseStop::Incomplete);
        }
        if !(self.known.0..=self.known.1).contains(&at.at) {
            let found = memchr::memmem::find(at.rest().as_bytes(), self.close.as_bytes());
            let Some(end) = found.map(|it| at.at + it) else {
                self.endless = (input == Input::Whole).then_some(at.at);
                return Err(ParseStop::Incomplete);
            };
            self.known = (at.at, end);
        }
        if self.known.1 <= self.dead { Err(ParseStop::Mismatch) } else { Ok(self.known.1) }
    }
}
