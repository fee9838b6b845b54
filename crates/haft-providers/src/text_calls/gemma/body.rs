//! Reads the arguments between the braces, and repairs them.

use haft_core::args::RawArgs;
use haft_core::json::{Document, MAX_DEPTH};

use super::quoted::{Quotes, StringRole, string};
use super::{CLOSE, Cursor, Input, ParseStop};
use crate::text_calls::cursor::is_name_part;
use crate::text_calls::loose_keyed::push_string;

/// Reads members and writes them as JSON.
#[derive(Debug)]
pub(super) struct ArgumentsReader<'a, 't> {
    pub(super) at: &'a mut Cursor<'t>,
    pub(super) input: Input,
    /// See [`Gemma`](super::Gemma).
    endless: &'a mut [Option<usize>; 3],
    out: String,
    /// The whole text ended before the braces did.
    pub(super) is_cut_off: bool,
}

impl<'a, 't> ArgumentsReader<'a, 't> {
    /// A reader that is after the opening brace.
    pub(super) fn new(
        at: &'a mut Cursor<'t>,
        input: Input,
        endless: &'a mut [Option<usize>; 3],
    ) -> Self {
        Self { at, input, endless, out: String::new(), is_cut_off: false }
    }

    /// The arguments, and whether they were truncated. A call that was truncated before its first value is not a call:
    /// only its name is known.
    pub(super) fn read(&mut self) -> Result<(RawArgs, bool), ParseStop> {
        self.rewrite_object(0)?;
        if self.is_cut_off && self.out == "{}" {
            return Err(ParseStop::Mismatch);
        }
        Ok((RawArgs::text(&self.out), self.is_cut_off))
    }

    /// The next character; nothing at the end of a whole text.
    pub(super) fn peek(&mut self) -> Result<Option<char>, ParseStop> {
        match (self.at.peek(), self.input) {
            (None, Input::Partial) => Err(ParseStop::Incomplete),
            (None, Input::Whole) => {
                self.is_cut_off = true;
                Ok(None)
            }
            (it, _) => Ok(it),
        }
    }

    /// True at the marker that ends the call. Braces before it may be missing.
    pub(super) fn is_at_close(&self) -> Result<bool, ParseStop> {
        super::eat(&mut self.at.clone(), CLOSE, self.input)
    }

    /// True when it is known that no string of this kind ends behind `at`.
    pub(super) fn is_endless(&self, kind: usize, at: usize) -> bool {
        self.endless.get(kind).copied().flatten().is_some_and(|it| at >= it)
    }

    pub(super) fn note_endless(&mut self, kind: usize, at: usize) {
        if let Some(it) = self.endless.get_mut(kind)
            && it.is_none()
        {
            *it = Some(at);
        }
    }

    fn skip_separators(&mut self) {
        let rest = self.at.rest();
        let after = rest.trim_start_matches(|it: char| it.is_whitespace() || it == ',');
        self.at.at += rest.len() - after.len();
    }

    fn rewrite_object(&mut self, depth: usize) -> Result<(), ParseStop> {
        self.out.push('{');
        let empty = self.out.len();
        loop {
            self.skip_separators();
            match self.peek()? {
                Some('}') => {
                    self.at.bump('}');
                    break;
                }
                // The brace is missing.
                None => break,
                Some(']') if depth > 0 => break,
                Some('<') if self.is_at_close()? => break,
                Some(_) => {}
            }
            if self.out.len() > empty {
                self.out.push(',');
            }
            let start = self.out.len();
            if !self.rewrite_member(depth)? {
                // Nothing but a key was there when the text ended.
                self.out.truncate(start - usize::from(start > empty));
                break;
            }
        }
        self.out.push('}');
        Ok(())
    }

    /// False when the text ended before the value.
    fn rewrite_member(&mut self, depth: usize) -> Result<bool, ParseStop> {
        let key = match Quotes::opening(self)? {
            Some(quotes) => string(self, quotes, StringRole::Key)?,
            None => {
                let rest = self.at.rest();
                let len = rest.find(|it| !is_name_part(it) && it != '$').unwrap_or(rest.len());
                self.at.take(len).to_owned()
            }
        };
        if key.is_empty() {
            return Err(ParseStop::Mismatch);
        }
        self.at.skip_space();
        match self.peek()? {
            None => return Ok(false),
            Some(':' | '=') => {
                let rest = self.at.rest();
                self.at.at += rest.len() - rest.trim_start_matches([':', '=']).len();
            }
            Some('{' | '[') => {}
            Some(_) => return Err(ParseStop::Mismatch),
        }
        push_string(&mut self.out, &key);
        self.out.push(':');
        self.at.skip_space();
        if self.peek()?.is_none() {
            return Ok(false);
        }
        self.rewrite_value(depth, ValueContext::Object)?;
        Ok(true)
    }

    fn rewrite_value(&mut self, depth: usize, inside: ValueContext) -> Result<(), ParseStop> {
        if let Some(quotes) = Quotes::opening(self)? {
            let text = string(self, quotes, StringRole::Value)?;
            push_string(&mut self.out, &text);
            return Ok(());
        }
        match self.peek()? {
            Some('{' | '[') if depth + 1 >= MAX_DEPTH => Err(ParseStop::Mismatch),
            Some('{') => {
                self.at.bump('{');
                self.rewrite_object(depth + 1)
            }
            Some('[') => {
                self.at.bump('[');
                self.rewrite_list(depth + 1)
            }
            _ => self.rewrite_scalar(inside),
        }
    }

    fn rewrite_list(&mut self, depth: usize) -> Result<(), ParseStop> {
        self.out.push('[');
        let empty = self.out.len();
        loop {
            self.skip_separators();
            match self.peek()? {
                Some(']') => {
                    self.at.bump(']');
                    break;
                }
                // The bracket is missing.
                None | Some('}') => break,
                Some('<') if self.is_at_close()? => break,
                Some(_) => {}
            }
            if self.out.len() > empty {
                self.out.push(',');
            }
            self.rewrite_value(depth, ValueContext::List)?;
        }
        self.out.push(']');
        Ok(())
    }

    /// A value without quotes. In an object it may have commas and line breaks in it: it ends where the
    /// next key begins.
    fn rewrite_scalar(&mut self, inside: ValueContext) -> Result<(), ParseStop> {
        let start = self.at.at;
        loop {
            let rest = self.at.rest();
            let len = rest.find([',', '\n', '}', ']', '<']).unwrap_or(rest.len());
            self.at.at += len;
            match self.peek()? {
                None | Some('}' | ']') => break,
                Some('<') if self.is_at_close()? => break,
                Some(',' | '\n') if inside == ValueContext::List || self.is_before_key()? => break,
                Some(it) => self.at.bump(it),
            }
        }
        let text = self.at.text_since(start).trim();
        self.push_scalar(text);
        Ok(())
    }

    /// Words and numbers stand for themselves, if that is all there is: the first digits of a UUID are no
    /// number.
    fn push_scalar(&mut self, text: &str) {
        match text {
            "True" => self.out.push_str("true"),
            "False" => self.out.push_str("false"),
            "None" => self.out.push_str("null"),
            _ if Document::parse(text).is_ok() => self.out.push_str(text),
            _ => push_string(&mut self.out, text),
        }
    }

    /// At a comma or a line break: true when a key, a closer or an empty line follows.
    fn is_before_key(&self) -> Result<bool, ParseStop> {
        let mut ahead = *self.at;
        let rest = ahead.rest();
        ahead.at += rest.len() - rest.trim_start_matches([',', '\n']).len();
        let is_gap = rest.starts_with("\n\n");
        ahead.skip_space();
        self.is_key_at(ahead).map(|it| it || is_gap)
    }

    /// True when a key with its separator, a quoted key or a closer stands at this place.
    pub(super) fn is_key_at(&self, mut ahead: Cursor<'t>) -> Result<bool, ParseStop> {
        let at_end = || match self.input {
            Input::Partial => Err(ParseStop::Incomplete),
            Input::Whole => Ok(true),
        };
        match ahead.peek() {
            None => return at_end(),
            Some('}' | ']' | '"' | '“' | '”') => return Ok(true),
            Some('<') => return super::eat(&mut ahead, CLOSE, self.input),
            Some(_) => {}
        }
        match ahead.read_while(|it| is_name_part(it) || it == '$') {
            Ok("") | Err(ParseStop::Mismatch) => return Ok(false),
            Ok(_) => {}
            Err(ParseStop::Incomplete) => return at_end(),
        }
        ahead.skip_space();
        match ahead.peek() {
            None => at_end(),
            Some(it) => Ok(matches!(it, ':' | '=' | '{')),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ValueContext {
    Object,
    List,
}
