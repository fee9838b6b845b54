//! Reads XML in windows and hands its elements and texts to a visitor.

use std::ops::ControlFlow;

use quick_xml::events::{BytesStart, Event};
use quick_xml::{Error, Reader};

use super::character_data::{is_space, resolve_reference, with_line_ends};
use super::error::{Position, XmlError, XmlFault};
use super::tags::{ElementStack, READ_AS_TEXT_HINT, read_attributes, shorten_name};
use crate::byte_order_mark;
use crate::error::ContentError;
use crate::invariant;
use crate::scan::{ContentScan, ReadRequest, saturating_len};

/// Receives elements.
pub(super) trait ElementVisitor: Send + 'static {
    /// Visits the start of an element; `depth` is 0 for the root.
    fn open(&mut self, name: &str, attributes: &[(&str, &str)], depth: usize) -> VisitFlow;

    /// Visits the end of the element that was opened last.
    fn close(&mut self) -> VisitFlow {
        ControlFlow::Continue(())
    }

    /// Visits text inside the root. `exact` says that its white space is significant.
    fn visit_text(&mut self, _text: &str, _exact: bool) -> VisitFlow {
        ControlFlow::Continue(())
    }
}

/// Whether to continue. `Break(VisitStop::Full)` is an error.
pub(super) type VisitFlow = ControlFlow<VisitStop>;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum VisitStop {
    /// The visitor needs no more.
    Done,
    /// There is more than the visitor can store.
    Full {
        /// The maximum number of bytes that it can store.
        limit: usize,
    },
}

/// One pass over the content.
pub(super) struct XmlScan<V> {
    window: usize,
    position: u64,
    length: u64,
    /// Bytes at the end of what was read that may be the start of a character.
    partial: Vec<u8>,
    /// Text that was read and not processed.
    text: String,
    /// Where that begins.
    text_position: Position,
    elements: ElementStack,
    done: bool,
    error: Option<XmlError>,
    visitor: V,
}

/// The outcome of processing one token.
enum TokenStep {
    Next,
    /// The token is not complete.
    Wait,
}

impl<V: ElementVisitor> XmlScan<V> {
    pub(super) fn new(length: u64, window: usize, visitor: V) -> Self {
        Self {
            window: window.max(4),
            position: 0,
            length,
            partial: Vec::new(),
            text: String::new(),
            text_position: Position::START,
            elements: ElementStack::default(),
            done: false,
            error: None,
            visitor,
        }
    }

    /// The visitor, after the scan has ended, and the end of the content if it has no element.
    pub(super) fn finish(self) -> Result<(V, Option<Position>), XmlError> {
        match self.error {
            Some(error) => Err(error),
            None => Ok((self.visitor, (!self.elements.has_root()).then_some(self.text_position))),
        }
    }

    /// Processes all tokens that are complete.
    fn process_text(&mut self, last: bool) -> Result<(), XmlError> {
        let text = std::mem::take(&mut self.text);
        let mut consumed = 0;
        while !self.done && consumed < text.len() {
            let rest = invariant::text(&text, consumed..);
            // The parser treats this as a byte order mark at the start of every text.
            if let Some(mark) = rest.get(..3).filter(|it| *it == "\u{FEFF}") {
                self.notify_visitor(
                    |visitor, inside| visit_text(visitor, mark, false, inside),
                    rest,
                    0,
                )?;
                self.text_position = self.text_position.after(mark);
                consumed += mark.len();
                continue;
            }
            let used = self.process_tokens(rest, last)?;
            if used == 0 {
                break;
            }
            self.text_position = self.text_position.after(invariant::text(rest, ..used));
            consumed += used;
        }
        self.text = text;
        self.text.drain(..consumed);
        if self.text.len() > TOKEN_BYTES {
            let reason = format!("a tag, comment or reference is longer than {TOKEN_BYTES} bytes");
            return Err(self
                .text_position
                .syntax_error(XmlFault::new(reason, "is it never closed?")));
        }
        if last && !self.done {
            self.check_closed()?;
        }
        Ok(())
    }

    /// Processes tokens from the start of a text, and returns how many bytes they have.
    fn process_tokens(&mut self, text: &str, last: bool) -> Result<usize, XmlError> {
        let mut reader = Reader::from_str(text);
        let config = reader.config_mut();
        // Checked here, because the reader only sees a part.
        config.check_end_names = false;
        config.allow_unmatched_ends = true;
        config.allow_dangling_amp = true;
        loop {
            let start = saturating_len(reader.buffer_position());
            let event = match reader.read_event() {
                Ok(Event::Eof) => return Ok(start),
                Ok(event) => event,
                Err(Error::Syntax(_))
                    if !last && !cannot_become_token(invariant::text(text, start..)) =>
                {
                    return Ok(start);
                }
                Err(error) => {
                    let at = saturating_len(reader.error_position());
                    let reason = match error {
                        Error::Syntax(error) => error.to_string(),
                        Error::IllFormed(error) => error.to_string(),
                        other => other.to_string(),
                    };
                    return Err(self
                        .position_at(text, at)
                        .syntax_error(XmlFault::new(reason, READ_AS_TEXT_HINT)));
                }
            };
            let end = saturating_len(reader.buffer_position());
            match self.process_token(&event, text, (start, end), last)? {
                TokenStep::Wait => return Ok(start),
                TokenStep::Next if self.done => return Ok(end),
                TokenStep::Next => {}
            }
        }
    }

    fn process_token(
        &mut self,
        event: &Event<'_>,
        text: &str,
        (start, end): (usize, usize),
        last: bool,
    ) -> Result<TokenStep, XmlError> {
        match event {
            Event::Start(tag) => self.open_element(tag, text, start)?,
            Event::Empty(tag) => {
                self.open_element(tag, text, start)?;
                if !self.done {
                    self.close_element(tag.name().as_ref(), text, start)?;
                }
            }
            Event::End(tag) => self.close_element(tag.name().as_ref(), text, start)?,
            Event::Text(raw) => {
                // A reference may be incomplete, or the LF after a CR not read yet.
                if !last && end == text.len() && (raw.starts_with('&') || raw.ends_with('\r')) {
                    return Ok(TokenStep::Wait);
                }
                let outside = self.elements.depth() == 0;
                let blanks = if outside { raw.find(|it| !is_space(it)) } else { None };
                let plain = with_line_ends(raw);
                self.notify_visitor(
                    |visitor, inside| visit_text(visitor, &plain, false, inside),
                    text,
                    start + blanks.unwrap_or(0),
                )?;
            }
            Event::CData(raw) => {
                let plain = with_line_ends(raw);
                self.notify_visitor(
                    |visitor, inside| visit_text(visitor, &plain, true, inside),
                    text,
                    start,
                )?;
            }
            Event::GeneralRef(name) => {
                let mut buffer = [0; 4];
                let (shown, exact) = match resolve_reference(name) {
                    Some(character) => (&*character.encode_utf8(&mut buffer), true),
                    None => (invariant::text(text, start..end), false),
                };
                self.notify_visitor(
                    |visitor, inside| visit_text(visitor, shown, exact, inside),
                    text,
                    start,
                )?;
            }
            Event::Comment(_) | Event::Decl(_) | Event::PI(_) | Event::DocType(_) | Event::Eof => {}
        }
        Ok(TokenStep::Next)
    }

    fn open_element(
        &mut self,
        tag: &BytesStart<'_>,
        text: &str,
        start: usize,
    ) -> Result<(), XmlError> {
        let name = tag.name();
        let name: &str = name.as_ref();
        let depth = self.elements.depth();
        let opened = self.elements.open(name).map_err(|fault| (fault, 0));
        let found = opened.and_then(|()| read_attributes(tag));
        let attributes = found.map_err(|(fault, inside)| {
            self.position_at(text, start + inside).syntax_error(fault)
        })?;
        let shown: Vec<(&str, &str)> =
            attributes.iter().map(|(name, value)| (*name, value.as_ref())).collect();
        self.notify_visitor(|visitor, _| Ok(visitor.open(name, &shown, depth)), text, start)
    }

    fn close_element(&mut self, name: &str, text: &str, start: usize) -> Result<(), XmlError> {
        let closed = self.elements.close(name);
        closed.map_err(|fault| self.position_at(text, start).syntax_error(fault))?;
        self.notify_visitor(|visitor, _| Ok(visitor.close()), text, start)
    }

    /// Calls the visitor with whether an element is open.
    fn notify_visitor(
        &mut self,
        ask: impl FnOnce(&mut V, bool) -> Result<VisitFlow, XmlFault>,
        text: &str,
        start: usize,
    ) -> Result<(), XmlError> {
        let inside = self.elements.depth() > 0;
        match ask(&mut self.visitor, inside) {
            Ok(ControlFlow::Continue(())) => Ok(()),
            Ok(ControlFlow::Break(VisitStop::Done)) => {
                self.done = true;
                Ok(())
            }
            Ok(ControlFlow::Break(VisitStop::Full { limit })) => {
                let Position { line, column } = self.position_at(text, start);
                Err(XmlError::TooLarge { line, column, limit })
            }
            Err(fault) => Err(self.position_at(text, start).syntax_error(fault)),
        }
    }

    fn check_closed(&self) -> Result<(), XmlError> {
        match self.elements.innermost() {
            Some(name) => {
                let reason = format!("the content ends before `</{}>`", shorten_name(name));
                Err(self
                    .text_position
                    .syntax_error(XmlFault::new(reason, "it may have been cut off")))
            }
            None => Ok(()),
        }
    }

    fn position_at(&self, text: &str, start: usize) -> Position {
        self.text_position.after(invariant::text(text, ..start))
    }

    /// Appends what can be read as text.
    fn append_decoded(&mut self, data: &[u8], last: bool) {
        let mut bytes = std::mem::take(&mut self.partial);
        bytes.extend_from_slice(data);
        let whole = if last { bytes.len() } else { bytes.len() - incomplete_char_len(&bytes) };
        let (whole, partial) = invariant::split(&bytes, whole);
        self.text.push_str(&String::from_utf8_lossy(whole));
        self.partial = partial.to_vec();
    }
}

impl<V: ElementVisitor> ContentScan for XmlScan<V> {
    fn next_read(&self) -> Option<ReadRequest> {
        if self.done || self.error.is_some() {
            return None;
        }
        // A long token is parsed again after every read, so reads grow with it.
        let window = self.window.max(self.text.len());
        ReadRequest::next_window(self.position, self.length, window)
    }

    fn process(&mut self, mut data: &[u8]) -> usize {
        let first = self.position == 0;
        self.position += data.len() as u64;
        let last = self.position == self.length;
        if first {
            if byte_order_mark::is_utf16(data) {
                self.error = Some(ContentError::Encoding.into());
                return 0;
            }
            data = byte_order_mark::strip_utf8(data);
        }
        self.append_decoded(data, last);
        if let Err(error) = self.process_text(last) {
            self.error = Some(error);
        }
        0
    }
}

fn visit_text<V: ElementVisitor>(
    visitor: &mut V,
    text: &str,
    exact: bool,
    inside: bool,
) -> Result<VisitFlow, XmlFault> {
    if inside {
        return Ok(visitor.visit_text(text, exact));
    }
    if text.chars().all(is_space) {
        return Ok(ControlFlow::Continue(()));
    }
    Err(XmlFault::new("text stands outside of the root element", "is this XML at all?"))
}

/// Whether this text cannot become a token, whatever follows.
fn cannot_become_token(rest: &str) -> bool {
    let rest = rest.as_bytes();
    let begins =
        |mark: &[u8]| rest.iter().zip(mark).all(|(byte, mark)| byte.eq_ignore_ascii_case(mark));
    rest.starts_with(b"<!") && !begins(b"<!--") && !begins(b"<![CDATA[") && !begins(b"<!DOCTYPE")
}

/// How many of the last bytes are the start of a character whose end is not there.
fn incomplete_char_len(bytes: &[u8]) -> usize {
    let tail = invariant::slice(bytes, bytes.len().saturating_sub(3)..);
    let lead = tail.iter().rposition(|byte| byte & 0xC0 != 0x80);
    let Some((at, lead)) = lead.and_then(|at| Some((at, *tail.get(at)?))) else { return 0 };
    let wanted = match lead {
        0xC2..=0xDF => 2,
        0xE0..=0xEF => 3,
        0xF0..=0xF4 => 4,
        _ => 1,
    };
    let there = tail.len() - at;
    if there < wanted { there } else { 0 }
}

/// The longest tag, comment, section or declaration.
const TOKEN_BYTES: usize = 16 * 1024 * 1024;
