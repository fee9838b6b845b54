//! Decodes the bytes of a response into text.

use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE, WINDOWS_1252};

use super::tags::{attribute, tokens};

/// Decodes the bytes of a response. The encoding comes from the first of these that names a known one: a byte order
/// mark, the content type, and the declaration at the start of an HTML or XML document. Without a declaration, bytes
/// that are not UTF-8 are read as windows-1252, as browsers do. `None` means that the bytes are not text.
pub(super) fn decode_text(bytes: &[u8], content_type: Option<&str>) -> Option<String> {
    let start = bytes.get(..DECLARATION_BYTES).unwrap_or(bytes);
    let declared = Encoding::for_bom(bytes)
        .map(|(encoding, _)| encoding)
        .or_else(|| content_type.and_then(charset_parameter));
    let is_utf_16 = declared.is_some_and(|it| it == UTF_16LE || it == UTF_16BE);
    if !is_utf_16 && memchr::memchr(0, start).is_some() {
        return None;
    }
    let declared = declared.or_else(|| declared_in_document(start));
    let encoding = declared.unwrap_or(match std::str::from_utf8(bytes) {
        Ok(_) => UTF_8,
        Err(_) => WINDOWS_1252,
    });
    // It removes a byte order mark, and replaces invalid sequences by U+FFFD.
    let (text, ..) = encoding.decode(bytes);
    Some(text.into_owned())
}

/// The encoding in a content type, such as `text/html; charset=iso-8859-1`.
fn charset_parameter(content_type: &str) -> Option<&'static Encoding> {
    let parameters = content_type.split(';').skip(1);
    let charset = parameters.filter_map(|it| it.split_once('=')).find_map(|(name, value)| {
        name.trim().eq_ignore_ascii_case("charset").then(|| value.trim().trim_matches(['"', '\'']))
    });
    Encoding::for_label(charset?.as_bytes())
}

/// The encoding that a document declares for itself. A document that can be read so far is not UTF-16.
fn declared_in_document(start: &[u8]) -> Option<&'static Encoding> {
    // One character per byte, so that no declaration is lost.
    let start: String = start.iter().copied().map(char::from).collect();
    let encoding = declared_in_xml(&start).or_else(|| declared_in_html(&start))?;
    Some(if encoding == UTF_16LE || encoding == UTF_16BE { UTF_8 } else { encoding })
}

/// `<?xml version="1.0" encoding="iso-8859-1"?>`
fn declared_in_xml(start: &str) -> Option<&'static Encoding> {
    let (declaration, _) = start.trim_start().strip_prefix("<?xml")?.split_once("?>")?;
    let (_, value) = declaration.split_once("encoding")?;
    let value = value.trim_start().strip_prefix('=')?.trim_start();
    let label = value.trim_start_matches(['"', '\'']).split(['"', '\'']).next()?;
    Encoding::for_label(label.as_bytes())
}

/// `<meta charset="…">` or `<meta http-equiv="content-type" content="text/html; charset=…">`
fn declared_in_html(start: &str) -> Option<&'static Encoding> {
    tokens(start).find_map(|token| {
        let html5gum::Token::StartTag(tag) = token else { return None };
        if &**tag.name != b"meta" {
            return None;
        }
        match attribute(&tag, "charset") {
            Some(label) => Encoding::for_label(label.as_bytes()),
            None => charset_parameter(&attribute(&tag, "content")?),
        }
    })
}

/// How many bytes are searched for a declaration and for signs of binary data.
const DECLARATION_BYTES: usize = 1024;

#[cfg(test)]
mod tests {
    use super::decode_text;

    #[track_caller]
    fn check(bytes: &[u8], content_type: Option<&str>, expected: &str) {
        assert_eq!(decode_text(bytes, content_type).as_deref(), Some(expected));
    }

    #[test]
    fn the_encoding_comes_from_mark_header_and_document() {
        check("Käse".as_bytes(), None, "Käse");
        check(b"\xEF\xBB\xBFK\xC3\xA4se", Some("text/html; charset=iso-8859-1"), "Käse");
        check(b"K\xE4se", Some("text/plain; Charset=\"ISO-8859-1\""), "Käse");
        check(b"K\xE4se", None, "Käse");
        check(b"\xFF\xFEK\0\xE4\0", None, "Kä");
        check(b"\0K\0\xE4", Some("text/html; charset=utf-16be"), "Kä");
        let shift_jis = b"<html><meta charset=Shift_JIS><p>\x93\xFA\x96\x7B";
        check(shift_jis, None, "<html><meta charset=Shift_JIS><p>日本");
        let declared =
            b"<meta http-equiv=Content-Type content='text/html; charset=koi8-r'>\xC4\xC1";
        check(
            declared,
            None,
            "<meta http-equiv=Content-Type content='text/html; charset=koi8-r'>да",
        );
        let xml = b"<?xml version='1.0' encoding = \"iso-8859-2\"?><a>\xB1</a>";
        check(xml, None, "<?xml version='1.0' encoding = \"iso-8859-2\"?><a>ą</a>");
        // The header has precedence, a label that is not known does not count, and neither does UTF-16 in a document.
        check(
            b"<meta charset=koi8-r>\xE4",
            Some("text/html; charset=latin1"),
            "<meta charset=koi8-r>ä",
        );
        check(b"<meta charset=odd>\xC3\xA4", Some("text/html; charset=odd"), "<meta charset=odd>ä");
        check(b"<meta charset=utf-16>\xC3\xA4", None, "<meta charset=utf-16>ä");
    }

    #[test]
    fn invalid_sequences_become_replacement_characters() {
        check(b"a\xFFb", Some("text/html; charset=utf-8"), "a\u{FFFD}b");
    }

    #[test]
    fn bytes_with_nul_are_not_text() {
        assert_eq!(decode_text(b"PK\0\0", None), None);
        assert_eq!(decode_text(b"PK\0\0", Some("text/html; charset=utf-8")), None);
    }
}
