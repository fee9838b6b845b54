//! Character references of HTML.

/// Replaces numeric references and the most common named references by their characters. Everything else stays as it
/// is.
pub(super) fn decode_entities(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('&') {
        out.push_str(before);
        match split_reference(after) {
            Some((character, behind)) => {
                out.push(character);
                rest = behind;
            }
            None => {
                out.push('&');
                rest = after;
            }
        }
    }
    out + rest
}

/// The character of the reference that a text begins with, and the text behind its `;`.
fn split_reference(text: &str) -> Option<(char, &str)> {
    let end = text.bytes().take(MAX_REFERENCE_LENGTH).position(|it| it == b';')?;
    let (name, rest) = text.split_at_checked(end)?;
    Some((referenced_character(name)?, rest.strip_prefix(';')?))
}

fn referenced_character(name: &str) -> Option<char> {
    if let Some(number) = name.strip_prefix('#') {
        let code = match number.strip_prefix(['x', 'X']) {
            Some(hex) => u32::from_str_radix(hex, 16).ok()?,
            None => number.parse().ok()?,
        };
        return char::from_u32(code).filter(|it| *it != '\0');
    }
    Some(match name {
        "amp" => '&',
        "lt" => '<',
        "gt" => '>',
        "quot" => '"',
        "apos" => '\'',
        "nbsp" => '\u{a0}',
        "copy" => '©',
        "reg" => '®',
        "trade" => '™',
        "hellip" => '…',
        "mdash" => '—',
        "ndash" => '–',
        "lsquo" => '‘',
        "rsquo" => '’',
        "ldquo" => '“',
        "rdquo" => '”',
        "laquo" => '«',
        "raquo" => '»',
        "bull" => '•',
        "middot" => '·',
        "times" => '×',
        "deg" => '°',
        "euro" => '€',
        "pound" => '£',
        "sect" => '§',
        _ => return None,
    })
}

/// No reference in the table or by number is longer.
const MAX_REFERENCE_LENGTH: usize = 12;
