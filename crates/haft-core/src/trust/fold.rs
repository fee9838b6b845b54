//! What a character looks like to a reader of tags.
//!
//! A model reads `＜ＳＹＳＴＥＭ` and `<sys\u{200B}tem` as it reads `<system`. So names of tags are compared by
//! how they look: without letter case, width, style, invisible characters, marks and the difference between letters of
//! other alphabets. The tables are those of Unicode: NFKD, and the confusable characters of UTS 39.

use unicode_normalization::char::{decompose_compatible, is_combining_mark};
use unicode_security::confusable_detection::skeleton;

/// Whether a character is shown as U+FFFD instead: controls other than tab and line ends, and the tag
/// characters U+E0000 to U+E007F, in which whole sentences can be hidden from people but not from
/// models.
pub(super) fn is_replaced(ch: char) -> bool {
    match ch {
        '\t' | '\n' | '\r' => false,
        '\u{E0000}'..='\u{E007F}' => true,
        _ => ch.is_control(),
    }
}

/// Whether a character begins a tag, or looks as if it did: all whose skeleton or decomposition begins with `<`, and angle
/// brackets. A test compares the list with the data of Unicode.
pub(super) fn is_less_than(ch: char) -> bool {
    matches!(
        ch,
        '<' | '\u{2C2}'
            | '\u{1438}'
            | '\u{1445}'
            | '\u{16B2}'
            | '\u{2039}'
            | '\u{226A}'
            | '\u{226E}'
            | '\u{22D6}'
            | '\u{22D8}'
            | '\u{2329}'
            | '\u{276C}'
            | '\u{276E}'
            | '\u{2770}'
            | '\u{27E8}'
            | '\u{27EA}'
            | '\u{29FC}'
            | '\u{2CB4}'
            | '\u{2CB5}'
            | '\u{2D66}'
            | '\u{3008}'
            | '\u{300A}'
            | '\u{FE64}'
            | '\u{FF1C}'
            | '\u{1032D}'
            | '\u{16AEC}'
            | '\u{1D236}'
    )
}

/// Whether a byte of UTF-8 can begin a character for which [`is_replaced`] or [`is_less_than`] holds.
///
/// It has no branch, so that the compiler can look at many bytes with one instruction.
pub(super) const fn may_begin_suspect(byte: u8) -> bool {
    let is_control =
        (byte < 0x20) & (byte != b'\t') & (byte != b'\n') & (byte != b'\r') | (byte == 0x7F);
    let is_lead_of_two = (byte == 0xC2) | (byte == 0xCB);
    let is_lead_of_three = (byte.wrapping_sub(0xE1) < 3) | (byte == 0xEF);
    let is_lead_of_four = (byte == 0xF0) | (byte == 0xF3);
    is_control | (byte == b'<') | is_lead_of_two | is_lead_of_three | is_lead_of_four
}

/// Whether a character takes no place of its own on a screen: zero-width characters, directions of
/// writing, selectors, fillers.
///
/// ```
/// use haft_core::trust::is_invisible;
///
/// assert!(is_invisible('\u{202e}') && is_invisible('\u{200b}'));
/// assert!(!is_invisible('a') && !is_invisible(' '));
/// ```
#[must_use]
pub fn is_invisible(ch: char) -> bool {
    matches!(
        ch,
        '\u{AD}'
            | '\u{34F}'
            | '\u{61C}'
            | '\u{115F}'..='\u{1160}'
            | '\u{17B4}'..='\u{17B5}'
            | '\u{180B}'..='\u{180F}'
            | '\u{200B}'..='\u{200F}'
            | '\u{2028}'..='\u{202E}'
            | '\u{2060}'..='\u{206F}'
            | '\u{2800}'
            | '\u{3164}'
            | '\u{FE00}'..='\u{FE0F}'
            | '\u{FEFF}'
            | '\u{FFA0}'
            | '\u{FFF0}'..='\u{FFFB}'
            | '\u{1BCA0}'..='\u{1BCA3}'
            | '\u{1D173}'..='\u{1D17A}'
            | '\u{E0000}'..='\u{E0FFF}'
    )
}

/// What a character looks like in the name of a tag, as up to four letters. A lower-case letter or a digit stands for
/// itself, [`SEPARATOR`] for what may stand between words, `/` for slashes, and zero for anything else. A character that is
/// not seen has none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Looks {
    bytes: [u8; 4],
    len: usize,
}

/// What may stand between the words of a name: `_`, `-`, `.`, `:` and spaces.
pub(super) const SEPARATOR: u8 = b' ';

impl Looks {
    const fn one(byte: u8) -> Self {
        Self { bytes: [byte, 0, 0, 0], len: 1 }
    }

    fn push(&mut self, byte: u8) {
        if let Some(to) = self.bytes.get_mut(self.len) {
            *to = byte;
            self.len += 1;
        }
    }

    pub(super) fn as_bytes(&self) -> &[u8] {
        self.bytes.get(..self.len).unwrap_or(&self.bytes)
    }
}

/// What a character looks like in the name of a tag: its compatibility decomposition (NFKD) without marks, and of what is
/// not ASCII then the skeleton of UTS 39, by which characters are confused.
pub(super) fn fold(ch: char) -> Looks {
    if let Ok(byte @ 0x20..=0x7E) = u8::try_from(ch) {
        return Looks::one(fold_ascii(byte));
    }
    if is_replaced(ch) || ch == '\u{FFFD}' || is_invisible(ch) || is_combining_mark(ch) {
        return Looks::default();
    }
    if ch.is_whitespace() {
        return Looks::one(SEPARATOR);
    }
    let mut looks = Looks::default();
    decompose_compatible(unboxed(ch), |part| fold_part(part, &mut looks));
    // Of a letter in parentheses only the letter counts.
    if looks.as_bytes().iter().any(u8::is_ascii_alphanumeric) {
        let letters = looks.as_bytes().iter().copied().filter(u8::is_ascii_alphanumeric);
        let mut kept = Looks::default();
        letters.for_each(|byte| kept.push(byte));
        return kept;
    }
    match looks.as_bytes().first() {
        Some(first) => Looks::one(*first),
        None => looks,
    }
}

fn fold_ascii(byte: u8) -> u8 {
    match byte {
        b'\\' | b'/' => b'/',
        b'-' | b'_' | b'.' | b':' | b' ' => SEPARATOR,
        _ if byte.is_ascii_alphanumeric() => byte.to_ascii_lowercase(),
        _ => 0,
    }
}

/// A part of a decomposition.
fn fold_part(part: char, looks: &mut Looks) {
    if is_combining_mark(part) || is_invisible(part) {
        return;
    }
    if let Ok(byte @ 0x20..=0x7E) = u8::try_from(part) {
        return looks.push(fold_ascii(byte));
    }
    // First: UTS 39 writes a long dash as a letter of Katakana.
    match prototype(part) {
        0 => {}
        byte => return looks.push(byte),
    }
    let mut encoded = [0; 4];
    let mut skeleton = skeleton(part.encode_utf8(&mut encoded)).peekable();
    while let Some(proto) = skeleton.next() {
        if is_combining_mark(proto) {
            continue;
        }
        // UTS 39 writes `m` as `rn`, and capital `I` as `l`, which no reserved name has.
        if proto == 'r' && skeleton.next_if_eq(&'n').is_some() {
            looks.push(b'm');
            continue;
        }
        looks.push(match u8::try_from(proto) {
            Ok(b'l') => b'i',
            Ok(byte @ 0x20..=0x7E) => fold_ascii(byte),
            _ => prototype(proto),
        });
    }
}

/// The letters of prototypes that UTS 39 keeps apart from ASCII: small capitals, letters with a stroke, and a few of similar
/// form.
fn prototype(ch: char) -> u8 {
    match ch {
        'ᴀ' | 'Ⱥ' | 'ⱥ' => b'a',
        'Ȼ' => b'c',
        'ᴅ' | '🆥' => b'd',
        'ᴇ' | 'ꞓ' | 'ɛ' => b'e',
        'ꜰ' => b'f',
        'ɢ' => b'g',
        'ʜ' => b'h',
        'ʍ' => b'm',
        'ɴ' | 'π' | 'п' => b'n',
        'ᴘ' | 'Ᵽ' => b'p',
        'ʀ' => b'r',
        'ᴛ' | 'ꞇ' => b't',
        'ʉ' | 'ц' | 'Ꞹ' | 'ꞹ' => b'u',
        '‐'..='―' | '−' | '‿' | '⁀' | '‗' | '·' => SEPARATOR,
        '⁄' | '∕' | '⧸' | '⧵' | '╱' => b'/',
        _ => 0,
    }
}

/// The letter of a negative circled or squared one, which has no decomposition.
fn unboxed(ch: char) -> char {
    let first = match ch {
        '\u{1F150}'..='\u{1F169}' => 0x1F150,
        '\u{1F170}'..='\u{1F189}' => 0x1F170,
        _ => return ch,
    };
    let letter = u32::from(ch).checked_sub(first).and_then(|n| n.checked_add(u32::from(b'a')));
    letter.and_then(char::from_u32).unwrap_or(ch)
}
