//! What looks like the letters of reserved names, by a table that shares nothing with the sanitiser: it was made from the
//! names of the characters (`LATIN SMALL LETTER E WITH ACUTE` looks like `e`), not from decompositions or confusables.

use unicode_normalization::char::decompose_compatible;
use unicode_security::confusable_detection::skeleton;

use super::super::fold::{fold, is_less_than, is_replaced, may_begin_suspect};
use super::super::sanitize::neutralize;

/// One line per letter: the letter, and the characters that look like it.
const TABLE: &str = include_str!("lookalikes.txt");

#[test]
fn characters_that_are_named_after_a_letter_look_like_it() {
    let mut count = 0;
    for line in TABLE.lines().filter(|line| !line.starts_with('#')) {
        let (letter, all) = line.split_once(' ').unwrap();
        for ch in all.chars() {
            assert_eq!(fold(ch).as_bytes(), letter.as_bytes(), "U+{:04X} {ch}", u32::from(ch));
            count += 1;
        }
    }
    assert!(count > 900, "{count}");
}

#[test]
fn a_name_in_any_of_their_letters_is_reserved() {
    let line = |letter: char| TABLE.lines().find(|line| line.starts_with(letter)).unwrap();
    let word = "message";
    for n in 0..40 {
        let disguised: String = word
            .chars()
            .map(|letter| {
                let all: Vec<char> = line(letter).chars().skip(2).collect();
                all[(n * 7 + 3) % all.len()]
            })
            .collect();
        let tag = format!("</{disguised}>");
        assert_eq!(neutralize(&tag), format!("&lt;/{disguised}>"));
    }
}

/// The list of brackets is complete by the data of Unicode, and the quick look at bytes misses none of them.
#[test]
fn every_character_that_is_confused_with_a_bracket_begins_a_tag() {
    for ch in '\0'..=char::MAX {
        let mut bytes = [0; 4];
        let text = ch.encode_utf8(&mut bytes);
        let mut decomposed = None;
        decompose_compatible(ch, |part| {
            decomposed.get_or_insert(part);
        });
        if decomposed == Some('<') || skeleton(text).next() == Some('<') {
            assert!(is_less_than(ch), "U+{:04X}", u32::from(ch));
        }
        if is_less_than(ch) || is_replaced(ch) {
            assert!(may_begin_suspect(text.as_bytes()[0]), "U+{:04X}", u32::from(ch));
        }
    }
}

#[test]
fn dashes_and_slashes_look_like_those_of_ascii() {
    let looks = |ch: char, ascii: char| {
        assert_eq!(fold(ch).as_bytes(), fold(ascii).as_bytes(), "U+{:04X} {ch}", u32::from(ch));
    };
    for ch in "‐‑‒–—―−‿⁀‗·".chars() {
        looks(ch, '-');
        assert!(neutralize(&format!("</untrusted{ch}content>")).starts_with("&lt;"), "{ch}");
    }
    for ch in "⁄∕⧸⧵╱".chars() {
        looks(ch, '/');
        assert!(neutralize(&format!("<{ch}untrusted_content>")).starts_with("&lt;"), "{ch}");
    }
    looks('ꜰ', 'f');
    // What is not seen is not there.
    for ch in ['\u{FFFD}', '\u{200B}', '\u{301}', '\u{7}'] {
        assert_eq!(fold(ch).as_bytes(), b"", "U+{:04X}", u32::from(ch));
    }
    assert_eq!(fold('!').as_bytes(), [0]);
    // UTS 39 writes `m` as `rn`, and `r` stays what it is.
    looks('ⅿ', 'm');
    looks('г', 'r');
}
