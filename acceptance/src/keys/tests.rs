use super::{key, plain_text};

#[test]
fn keys_are_what_a_terminal_sends() {
    assert_eq!(key("^C").unwrap(), "\u{3}");
    assert_eq!(key("^D").unwrap(), "\u{4}");
    assert_eq!(key("Enter").unwrap(), "\r");
    assert_eq!(key("Up").unwrap(), "\u{1b}[A");
    assert_eq!((key("^c"), key("enter"), key("^CC")), (None, None, None));
}

#[test]
fn escape_sequences_are_no_text() {
    assert_eq!(plain_text(b"\x1b[1mone\x1b[0m\r\n\x1b[?2004htwo\x1b[2"), "one\ntwo");
    assert_eq!(plain_text(b"\x1b]0;title\x07three"), "three");
}
