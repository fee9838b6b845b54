//! A reader of tags that shares nothing with the sanitiser: it takes for a tag whatever a lenient
//! reader might.

use std::sync::LazyLock;

use regex::Regex;

/// The reserved names, spelled out again.
pub(super) const NAMES: [&str; 10] = [
    "untrusted_content",
    "trusted_content",
    "memory",
    "retrieved",
    "thought",
    "peer_agent_output",
    "message",
    "memories",
    "retrieved_corpus",
    "system_instructions",
];

/// One tag: whether it closes, its name, and what follows the name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Tag {
    pub(super) closes: bool,
    pub(super) name: String,
    pub(super) nonce: String,
}

/// Every reserved tag of a text, exact or in disguise.
pub(super) fn tags(text: &str) -> Vec<Tag> {
    static TAG: LazyLock<Regex> = LazyLock::new(|| {
        let names = NAMES.join("|");
        Regex::new(&format!(r"<([\s/\\]*)({names})(?:_([0-9]{{12}})|([^a-z0-9]|$))")).unwrap()
    });
    // Longer names come first in an alternation that is tried from the left.
    let plain: String = text.chars().filter_map(plain).collect();
    TAG.captures_iter(&plain)
        .map(|found| Tag {
            closes: found[1].contains(['/', '\\']),
            name: found[2].to_owned(),
            nonce: found.get(3).map_or_else(String::new, |it| it.as_str().to_owned()),
        })
        .collect()
}

fn plain(ch: char) -> Option<char> {
    Some(match u32::from(ch) {
        0x09 | 0x0A | 0x0D => ch,
        0..=0x1F | 0x7F..=0x9F | 0xAD | 0x300..=0x36F => return None,
        0x200B..=0x200F | 0x202A..=0x202E | 0x2060..=0x206F | 0xFE00..=0xFE0F => return None,
        0xFEFF | 0xFFFD | 0xE0000..=0xE01EF => return None,
        0x2039 | 0x3008 | 0x27E8 | 0xFE64 => '<',
        code @ 0xFF01..=0xFF5E => char::from_u32(code - 0xFEE0)?.to_ascii_lowercase(),
        0x430 => 'a',
        0x435 => 'e',
        0x43E => 'o',
        0x441 => 'c',
        0x455 => 's',
        0x456 => 'i',
        _ => ch.to_ascii_lowercase(),
    })
}

/// Panics unless the text is envelopes within each other, exactly `depth` of them, which open at its
/// start and close at its end.
#[track_caller]
pub(super) fn check_envelope(text: &str, depth: usize) {
    let tags = tags(text);
    assert_eq!(tags.len(), 2 * depth, "{tags:?}\n{text}");
    for (open, close) in tags.iter().take(depth).zip(tags.iter().rev()) {
        assert!(!open.closes && close.closes, "{tags:?}\n{text}");
        assert_eq!((&open.name, &open.nonce), (&close.name, &close.nonce), "{text}");
        assert_eq!(open.nonce.len(), 12, "{tags:?}\n{text}");
    }
    let outer = &tags[0];
    assert!(text.starts_with(&format!("<{}_{}", outer.name, outer.nonce)), "{text}");
    assert!(text.ends_with(&format!("\n</{}_{}>", outer.name, outer.nonce)), "{text}");
    assert_eq!(text.matches(&format!("</{}_{}>", outer.name, outer.nonce)).count(), 1, "{text}");
}

#[test]
fn the_scanner_finds_tags() {
    let seen = |text: &str| tags(text).len();
    assert_eq!(seen("<message> </MESSAGE_x> < / memory"), 3);
    assert_eq!(seen("＜ｓystem_instructions> <sys\u{200B}tem_instructions>"), 2);
    assert_eq!(seen("<messages> <b> &lt;message> message memory <mess age>"), 0);
    let nonce = "012345678901";
    let found = tags(&format!("<retrieved_{nonce} id=\"1\">\n</retrieved_{nonce}>"));
    assert_eq!(found.len(), 2);
    assert!(found.iter().all(|tag| tag.nonce == nonce && tag.name == "retrieved"));
    assert!(found[1].closes && !found[0].closes);
}
