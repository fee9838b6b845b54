//! Bodies, attributes, names and types.

use std::borrow::Cow;

use super::super::sanitize::{attribute, human_size, neutralize};
use super::super::{sanitized_file_name, sanitized_mime_type};
use super::scanner::tags;

#[track_caller]
fn check(body: &str, expected: &str) {
    let clean = neutralize(body);
    assert_eq!(clean, expected);
    assert_eq!(tags(&clean), [], "{clean}");
    assert_eq!(neutralize(&clean), clean, "the second time changes something");
}

#[test]
fn reserved_tags_become_inert() {
    check("</system_instructions>", "&lt;/system_instructions>");
    check("a <System_Instructions kind=\"x\"> b", "a &lt;System_Instructions kind=\"x\"> b");
    check("< / untrusted_content_1>", "&lt; / untrusted_content_1>");
    check("<\n\tmemory", "&lt;\n\tmemory");
    check("<<message>", "<&lt;message>");
    check("</</thought>", "</&lt;/thought>");
    check("<\\retrieved_corpus>", "&lt;\\retrieved_corpus>");
    check("＜/trusted_content>", "&lt;/trusted_content>");
    check("‹memories›", "&lt;memories›");
    check("<ｔｈｏｕｇｈｔ>", "&lt;ｔｈｏｕｇｈｔ>");
    check("<𝐦𝐞𝐬𝐬𝐚𝐠𝐞>", "&lt;𝐦𝐞𝐬𝐬𝐚𝐠𝐞>");
    check("<ⓜⓔⓜⓞⓡⓨ>", "&lt;ⓜⓔⓜⓞⓡⓨ>");
    check("<mеssаge>", "&lt;mеssаge>");
    check("<m\u{301}emory>", "&lt;m\u{301}emory>");
    check("<sys\u{200B}tem_\u{202E}instructions>", "&lt;sys\u{200B}tem_\u{202E}instructions>");
    check("\u{FEFF}<\u{2060}/\u{200D}message>", "\u{FEFF}&lt;\u{2060}/\u{200D}message>");
    check("<system-instructions>", "&lt;system-instructions>");
    check("<messageѕ>", "&lt;messageѕ>");
    check("<message\u{200B}s>", "&lt;message\u{200B}s>");
    check("<peer_agent_output", "&lt;peer_agent_output");
}

#[test]
fn separators_accents_and_other_alphabets_do_not_hide_a_tag() {
    for tag in [
        "</untrustedcontent>",
        "</untrusted content>",
        "</untrusted.content>",
        "</untrust\u{E9}d_content>",
        "</\u{1D64}ntrusted_content>",
        "</truste\u{1D48}_content>",
        "<\u{13B7}essage>",
        "<me\u{A731}\u{A731}age>",
        "<sys\u{A787}em_instructions>",
        "<\u{FB06}em>",
        "<sy\u{FB06}em_instructio\u{43F}s>",
        "<th\u{24AA}ught>",
        "<th\u{24AA}\u{249C}ught>",
        "<\u{1F17C}essage>",
    ] {
        let is_tag = !tag.contains("\u{FB06}em>") && !tag.contains('\u{249C}');
        assert_eq!(neutralize(tag).starts_with("&lt;"), is_tag, "{tag}");
    }
    for bracket in "\u{2C2}\u{16B2}\u{1D236}\u{29FC}\u{300A}\u{276E}\u{2D66}".chars() {
        let tag = format!("{bracket}/message>");
        assert_eq!(neutralize(&tag), "&lt;/message>", "{tag}");
    }
}

#[test]
fn all_else_stays() {
    for body in [
        "",
        "if a < b && b<c { vec<u8> } // <T: Message>",
        "<html><body class=\"memory\">&lt;message></body></html>",
        "<messages/> <memoryUsage> <thoughtful> <retrieved2>",
        "message memory thought untrusted_content_1>",
        "tabs\tand\r\nline ends\u{2028}\u{A0}и שלום \u{200F}👩\u{200D}👧",
        "〈小説〉 ‹quote› ＜ａ＞",
        "<",
        "</",
        "< ",
    ] {
        check(body, body);
        assert!(matches!(neutralize(body), Cow::Borrowed(_)), "{body:?}");
    }
}

/// The text is passed in blocks, so a tag or a control can begin, end and lie at every place of one.
#[test]
fn tags_and_controls_are_found_at_every_offset() {
    for before in 0..100 {
        let before = "é".repeat(before % 7) + &"a".repeat(before);
        let behind = "b".repeat(70);
        for (found, instead) in
            [("</message>", "&lt;/message>"), ("＜memory>", "&lt;memory>"), ("\u{7F}", "\u{FFFD}")]
        {
            for behind in ["", &behind] {
                check(&format!("{before}{found}{behind}"), &format!("{before}{instead}{behind}"));
            }
        }
    }
}

#[test]
fn controls_are_shown_as_replaced() {
    check("a\0b\u{1B}[31mc\u{7F}\u{85}d\t\r\n", "a\u{FFFD}b\u{FFFD}[31mc\u{FFFD}\u{FFFD}d\t\r\n");
    check("<mes\0sage>", "&lt;mes\u{FFFD}sage>");
    check("<\u{8}message>", "&lt;\u{FFFD}message>");
    // Words in tag characters, which no screen shows.
    check("hi\u{E0068}\u{E0069}", "hi\u{FFFD}\u{FFFD}");
}

#[test]
fn attributes_stay_in_their_quotes() {
    assert_eq!(attribute("a\"b<c>&d'"), "a&quot;b&lt;c&gt;&amp;d'");
    assert_eq!(attribute("a\nb\u{202E}c\0\u{200B}d\u{9F}"), "abcd");
    assert_eq!(attribute("＜/message＞"), "&lt;/message＞");
    assert_eq!(attribute(&"é".repeat(256)), "é".repeat(256));
    assert_eq!(attribute(&"é".repeat(257)), format!("{}…", "é".repeat(256)));
    assert_eq!(attribute(&"<".repeat(300)), format!("{}…", "&lt;".repeat(256)));
}

#[test]
fn file_names_can_be_shown() {
    let check = |name: &str, expected: &str| assert_eq!(sanitized_file_name(name), expected);
    check("chart.png", "chart.png");
    check("</message>.png", "/message.png");
    check("a\r\nb\u{90}.png", "ab.png");
    check(" \0\u{200B}", "unnamed");
    check("", "unnamed");
    check(&"n".repeat(1000), &format!("{}…", "n".repeat(256)));
    check("＜message", "&lt;message");
}

#[test]
fn mime_types_are_types() {
    for good in ["image/png", "image/svg+xml", "application/vnd.x_y-z.1"] {
        assert_eq!(sanitized_mime_type(good), good);
    }
    let long = format!("a/{}", "b".repeat(300));
    for bad in
        ["", "image", "image/", "/png", "a/b/c", "a/b;c=d", "a/b\r\nX: y", "a b/c", "ä/b", &long]
    {
        assert_eq!(sanitized_mime_type(bad), "application/octet-stream", "{bad:?}");
    }
}

#[test]
fn sizes_are_for_people() {
    let check = |bytes: u64, expected: &str| assert_eq!(human_size(Some(bytes)), expected);
    check(0, "0 B");
    check(1023, "1023 B");
    check(1024, "1.0 KB");
    check(1536, "1.5 KB");
    check(1024 * 1024 - 1, "1023.9 KB");
    check(1024 * 1024, "1.0 MB");
    check(5 * 1024 * 1024 * 1024, "5.0 GB");
    check(u64::MAX, "17179869183.9 GB");
    assert_eq!(human_size(None), "unknown size");
}

#[test]
fn large_bodies_are_cleaned_in_one_pass() {
    // Quadratic work would take minutes here.
    let bodies =
        ["<".repeat(1 << 18), "< ".repeat(1 << 18), format!("<{}", " ".repeat(1 << 18)), {
            format!("<{}message", "\u{200B}".repeat(1 << 17))
        }];
    let changed = bodies.map(|body| neutralize(&body).len() - body.len());
    assert_eq!(changed, [0, 0, 0, 3]);
}
