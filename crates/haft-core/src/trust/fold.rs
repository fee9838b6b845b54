//! What a character looks like to a reader of tags.
//!
//! A model reads `＜ＳＹＳＴＥＭ` and `<sys\u{200B}tem` as it reads `<system`. So names of tags are compared by
//! how they look: without letter case, width, style, invisible characters and marks above letters.

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

/// Whether a character begins a tag, or looks as if it did.
pub(super) fn is_less_than(ch: char) -> bool {
    matches!(ch, '<' | '＜' | '﹤' | '‹' | '〈' | '\u{2329}' | '⟨' | '❮' | 'ᐸ')
}

/// Whether a byte of UTF-8 can begin a character for which [`is_replaced`] or [`is_less_than`] holds.
pub(super) const fn may_begin_suspect(byte: u8) -> bool {
    matches!(
        byte,
        0..=0x08 | 0x0B | 0x0C | 0x0E..=0x1F | b'<' | 0x7F | 0xC2 | 0xE1..=0xE3 | 0xEF | 0xF3
    )
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

/// Whether a character is a mark on the one before it.
fn is_mark(ch: char) -> bool {
    matches!(
        ch,
        '\u{300}'..='\u{36F}'
            | '\u{483}'..='\u{489}'
            | '\u{1AB0}'..='\u{1AFF}'
            | '\u{1DC0}'..='\u{1DFF}'
            | '\u{20D0}'..='\u{20FF}'
            | '\u{FE20}'..='\u{FE2F}'
    )
}

/// What a character looks like in the name of a tag: a lower-case letter, a digit, `_`, `/`, a space,
/// zero for anything else, and nothing if it is not seen at all.
pub(super) fn fold(ch: char) -> Option<u8> {
    if let Ok(byte @ 0x20..=0x7E) = u8::try_from(ch) {
        return Some(match byte {
            b'\\' => b'/',
            b'-' => b'_',
            _ if byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'/' | b' ') => {
                byte.to_ascii_lowercase()
            }
            _ => 0,
        });
    }
    if is_replaced(ch) || ch == '\u{FFFD}' || is_invisible(ch) || is_mark(ch) {
        return None;
    }
    if ch.is_whitespace() {
        return Some(b' ');
    }
    match ch {
        // Full-width forms stand in the order of ASCII.
        '！'..='～' => fold(shifted(ch, 0xFF01, u32::from(b'!'))?),
        // Bold, italic, script and the like: thirteen alphabets of 52 letters, then digits.
        '\u{1D400}'..='\u{1D6A3}' => Some(letter((u32::from(ch) - 0x1D400) % 26)),
        '\u{1D7CE}'..='\u{1D7FF}' => fold(shifted(ch, 0x1D7CE, u32::from(b'0')).map(digit)?),
        // Circled, squared and parenthesised letters.
        'Ⓐ'..='ⓩ' => Some(letter((u32::from(ch) - 0x24B6) % 26)),
        '⒜'..='⒵' => Some(letter(u32::from(ch) - 0x249C)),
        '\u{1F130}'..='\u{1F149}' => Some(letter(u32::from(ch) - 0x1F130)),
        '\u{1F150}'..='\u{1F169}' => Some(letter(u32::from(ch) - 0x1F150)),
        '\u{1F170}'..='\u{1F189}' => Some(letter(u32::from(ch) - 0x1F170)),
        '‐'..='―' | '−' | '‿' | '⁀' | '︳' | '︴' | '﹍'..='﹏' | '‗' => Some(b'_'),
        '⁄' | '∕' | '⧸' | '⧵' | '╱' => Some(b'/'),
        _ => Some(lookalike(ch)),
    }
}

/// Letters of other alphabets that look like the ones in our names, and Latin ones in disguise.
fn lookalike(ch: char) -> u8 {
    match ch {
        'а' | 'А' | 'α' | 'Α' | 'ɑ' | 'ᴀ' => b'a',
        'с' | 'С' | 'ϲ' | 'Ϲ' | 'ᴄ' | 'ⅽ' | 'Ⅽ' => b'c',
        'ԁ' | 'ᴅ' | 'ⅾ' | 'Ⅾ' => b'd',
        'е' | 'Е' | 'Ε' | 'ε' | 'ᴇ' | 'ℯ' => b'e',
        'ғ' | 'ꜰ' | 'ſ' | 'ƒ' => b'f',
        'ɡ' | 'ɢ' | 'ց' => b'g',
        'һ' | 'Н' | 'Η' | 'ʜ' | 'ℎ' => b'h',
        'і' | 'І' | 'ι' | 'Ι' | 'ı' | 'ɪ' | 'ⅰ' | 'Ⅰ' => b'i',
        'ӏ' | 'Ӏ' | 'ʟ' | 'ⅼ' | 'Ⅼ' | 'ℓ' => b'l',
        'м' | 'М' | 'Μ' | 'ᴍ' | 'ⅿ' | 'Ⅿ' => b'm',
        'ո' | 'Ν' | 'ɴ' => b'n',
        'о' | 'О' | 'ο' | 'Ο' | 'ᴏ' | 'օ' | 'ℴ' => b'o',
        'р' | 'Р' | 'ρ' | 'Ρ' | 'ᴘ' => b'p',
        'г' | 'ʀ' => b'r',
        'ѕ' | 'Ѕ' | 'ꜱ' => b's',
        'т' | 'Т' | 'τ' | 'Τ' | 'ᴛ' => b't',
        'υ' | 'ս' | 'ᴜ' | 'ц' => b'u',
        'ν' | 'ѵ' | 'Ѵ' | 'ᴠ' | 'ⅴ' | 'Ⅴ' => b'v',
        'у' | 'У' | 'γ' | 'Υ' | 'ʏ' => b'y',
        _ => 0,
    }
}

/// The character as far from `to` as `ch` is from `from`.
fn shifted(ch: char, from: u32, to: u32) -> Option<char> {
    char::from_u32(u32::from(ch).checked_sub(from)?.checked_add(to)?)
}

/// One of the five alphabets of digits that follow each other.
fn digit(ch: char) -> char {
    char::from_digit((u32::from(ch) - u32::from('0')) % 10, 10).unwrap_or('0')
}

/// The n-th lower-case letter.
fn letter(n: u32) -> u8 {
    u8::try_from(n).map_or(0, |n| b'a'.saturating_add(n.min(25)))
}
