//! Splits a stream of server-sent events in pieces of any size.

/// A piece of a stream of events.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum SsePiece<'b> {
    /// Bytes of the data.
    Data(&'b [u8]),
    /// The end of a line of the data.
    DataLineEnd,
    /// The end of the event, with its other fields.
    EventEnd(SseFields),
}

/// The fields of an event besides its data.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct SseFields {
    pub(crate) event: Option<String>,
    pub(crate) id: Option<String>,
    pub(crate) retry: Option<u64>,
    /// Whether the event has data.
    pub(crate) has_data: bool,
}

/// The state between two pieces of a stream of events.
#[derive(Debug, Default)]
pub(crate) struct SseReader {
    line: LineState,
    /// Whether the last byte was a carriage return, so that a newline belongs to it.
    is_after_return: bool,
    fields: SseFields,
    has_fields: bool,
    name: Vec<u8>,
    value: Vec<u8>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum LineState {
    /// The name of a field; a line without bytes ends the event.
    #[default]
    Name,
    /// Right behind the colon, where one space is left out.
    Colon,
    Data,
    Value,
    /// A comment, or a field that is not known.
    Skipped,
}

impl SseReader {
    /// Reads bytes and passes on what they say.
    pub(crate) fn read<'b>(&mut self, bytes: &'b [u8], mut piece: impl FnMut(SsePiece<'b>)) {
        let mut rest = bytes;
        if self.is_after_return
            && let Some((first, after)) = rest.split_first()
        {
            self.is_after_return = false;
            rest = if *first == b'\n' { after } else { rest };
        }
        while !rest.is_empty() {
            let end = memchr::memchr2(b'\n', b'\r', rest);
            let (run, after) = rest.split_at(end.unwrap_or(rest.len()));
            self.read_line_part(run, &mut piece);
            let Some((sign, mut after)) = after.split_first() else { return };
            if *sign == b'\r' {
                match after.split_first() {
                    Some((b'\n', behind)) => after = behind,
                    Some(_) => {}
                    None => self.is_after_return = true,
                }
            }
            self.end_line(&mut piece);
            rest = after;
        }
    }

    /// Reads bytes of a line.
    fn read_line_part<'b>(&mut self, run: &'b [u8], piece: &mut impl FnMut(SsePiece<'b>)) {
        let mut run = run;
        if self.line == LineState::Name && !run.is_empty() {
            let colon = memchr::memchr(b':', run);
            let (name, after) = run.split_at(colon.unwrap_or(run.len()));
            push_bounded(&mut self.name, name);
            let Some((_, after)) = after.split_first() else { return };
            self.line = LineState::Colon;
            run = after;
        }
        if self.line == LineState::Colon
            && let Some((first, after)) = run.split_first()
        {
            run = if *first == b' ' { after } else { run };
            self.begin_value();
        }
        match self.line {
            LineState::Data if !run.is_empty() => piece(SsePiece::Data(run)),
            LineState::Value => push_bounded(&mut self.value, run),
            _ => {}
        }
    }

    fn begin_value(&mut self) {
        self.line = match self.name.as_slice() {
            b"data" => LineState::Data,
            b"event" | b"id" | b"retry" => LineState::Value,
            _ => LineState::Skipped,
        };
    }

    fn end_line<'b>(&mut self, piece: &mut impl FnMut(SsePiece<'b>)) {
        if self.line == LineState::Name && self.name.is_empty() {
            if std::mem::take(&mut self.has_fields) {
                piece(SsePiece::EventEnd(std::mem::take(&mut self.fields)));
            }
            return;
        }
        if matches!(self.line, LineState::Name | LineState::Colon) {
            self.begin_value();
        }
        let name = std::mem::take(&mut self.name);
        let value = String::from_utf8_lossy(&std::mem::take(&mut self.value)).into_owned();
        match name.as_slice() {
            b"data" => {
                self.fields.has_data = true;
                piece(SsePiece::DataLineEnd);
            }
            b"event" => self.fields.event = Some(value),
            b"id" if !value.contains('\0') => self.fields.id = Some(value),
            b"retry" => self.fields.retry = value.parse().ok().or(self.fields.retry),
            _ => {
                self.line = LineState::Name;
                return;
            }
        }
        self.has_fields = true;
        self.line = LineState::Name;
    }
}

/// Adds bytes of a name or value, which are cut if they are unreasonably long.
fn push_bounded(buffer: &mut Vec<u8>, bytes: &[u8]) {
    let room = MAX_FIELD.saturating_sub(buffer.len());
    buffer.extend(bytes.iter().take(room));
}

/// The maximum number of bytes of a name or a value besides data.
const MAX_FIELD: usize = 4 * 1024;
