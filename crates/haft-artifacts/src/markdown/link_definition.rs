//! Link reference definitions at the start of a paragraph.

use super::cursor::is_blank;

/// What the start of a paragraph holds.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Start<'a> {
    /// A definition, and the bytes it takes with its line end.
    Definition { found: Source<'a>, length: usize },
    /// Something else.
    Other,
    /// It depends on lines that are not here yet.
    NeedsMore,
}

/// A definition as it is written.
#[derive(Debug, PartialEq, Eq, Clone, Copy)]
pub(super) struct Source<'a> {
    pub(super) label: &'a [u8],
    pub(super) url: &'a [u8],
    pub(super) title: Option<&'a [u8]>,
}

/// Reads one definition. `text` is a paragraph: its lines begin without white space, none is blank.
pub(super) fn parse(text: &[u8], so_far: Extent) -> Start<'_> {
    match read(text, so_far) {
        Ok((found, rest)) => Start::Definition { found, length: text.len() - rest.len() },
        Err(Miss::Other) => Start::Other,
        Err(Miss::Short) => Start::NeedsMore,
    }
}

/// Whether a paragraph is complete.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Extent {
    Whole,
    /// More lines may follow.
    Beginning,
}

/// Why there is no definition.
#[derive(Debug, PartialEq, Eq)]
enum Miss {
    Other,
    /// The text ended too early. At the end of the paragraph this is the same as `Other`.
    Short,
}

fn read(text: &[u8], so_far: Extent) -> Result<(Source<'_>, &[u8]), Miss> {
    let (label, rest) = label(text)?;
    let rest = rest.strip_prefix(b":").ok_or(Miss::Other)?;
    let (rest, _) = skip_space(rest);
    let (url, after_url) = destination(rest)?;
    let bare = Source { label, url, title: None };
    let (rest, lines) = skip_space(after_url);
    if rest.is_empty() {
        // The title may be on the next line.
        return if so_far == Extent::Whole { Ok((bare, rest)) } else { Err(Miss::Short) };
    }
    if lines == 0 && rest.len() == after_url.len() {
        return Err(Miss::Other);
    }
    let miss = match title(rest) {
        Ok((title, after)) => {
            let (line, next) = split_line(after);
            if is_blank(line) {
                return Ok((Source { title: Some(title), ..bare }, next));
            }
            Miss::Other
        }
        Err(miss) => miss,
    };
    // On a line of its own a bad title is the text after the definition.
    let decided = so_far == Extent::Whole || miss == Miss::Other;
    if lines == 1 && decided { Ok((bare, rest)) } else { Err(miss) }
}

fn label(text: &[u8]) -> Result<(&[u8], &[u8]), Miss> {
    let inner = text.strip_prefix(b"[").ok_or(Miss::Other)?;
    let mut at = 0;
    loop {
        if at > LABEL_LIMIT {
            return Err(Miss::Other);
        }
        match inner.get(at).ok_or(Miss::Short)? {
            b'[' => return Err(Miss::Other),
            b']' => break,
            b'\\' if inner.get(at + 1).is_some_and(u8::is_ascii_punctuation) => at += 2,
            _ => at += 1,
        }
    }
    let label = inner.get(..at).unwrap_or_default();
    if label.iter().all(u8::is_ascii_whitespace) {
        return Err(Miss::Other);
    }
    Ok((label, inner.get(at + 1..).unwrap_or_default()))
}

fn destination(text: &[u8]) -> Result<(&[u8], &[u8]), Miss> {
    if let Some(inner) = text.strip_prefix(b"<") {
        let mut at = 0;
        loop {
            match inner.get(at) {
                None | Some(b'\n' | b'<') => return Err(Miss::Other),
                Some(b'>') => break,
                Some(b'\\') if inner.get(at + 1).is_some_and(u8::is_ascii_punctuation) => at += 2,
                Some(_) => at += 1,
            }
        }
        return Ok((inner.get(..at).unwrap_or_default(), inner.get(at + 1..).unwrap_or_default()));
    }
    let (mut at, mut open) = (0, 0_usize);
    while let Some(&byte) = text.get(at) {
        match byte {
            0..=b' ' => break,
            b'(' => open += 1,
            b')' if open == 0 => break,
            b')' => open -= 1,
            b'\\' if text.get(at + 1).is_some_and(u8::is_ascii_punctuation) => at += 1,
            _ => {}
        }
        at += 1;
    }
    if at == 0 && text.is_empty() {
        return Err(Miss::Short);
    }
    if at == 0 || open > 0 {
        return Err(Miss::Other);
    }
    Ok((text.get(..at).unwrap_or_default(), text.get(at..).unwrap_or_default()))
}

fn title(text: &[u8]) -> Result<(&[u8], &[u8]), Miss> {
    let (&open, inner) = text.split_first().ok_or(Miss::Short)?;
    let close = match open {
        b'"' | b'\'' => open,
        b'(' => b')',
        _ => return Err(Miss::Other),
    };
    let mut at = 0;
    loop {
        match inner.get(at) {
            None => return Err(Miss::Short),
            Some(b'(') if close == b')' => return Err(Miss::Other),
            Some(&byte) if byte == close => break,
            Some(b'\\') if inner.get(at + 1).is_some_and(|&it| it != b'\n') => at += 2,
            Some(_) => at += 1,
        }
    }
    Ok((inner.get(..at).unwrap_or_default(), inner.get(at + 1..).unwrap_or_default()))
}

/// Skips white space with at most one line end, and says how many there were.
fn skip_space(text: &[u8]) -> (&[u8], usize) {
    let mut lines = 0;
    let mut rest = text;
    while let Some((byte, after)) = rest.split_first() {
        match byte {
            b' ' | b'\t' => {}
            b'\n' if lines == 0 => lines = 1,
            _ => break,
        }
        rest = after;
    }
    (rest, lines)
}

fn split_line(text: &[u8]) -> (&[u8], &[u8]) {
    let end = memchr::memchr(b'\n', text).unwrap_or(text.len());
    (text.get(..end).unwrap_or_default(), text.get(end + 1..).unwrap_or_default())
}

/// A label has at most 999 characters.
const LABEL_LIMIT: usize = 999;
