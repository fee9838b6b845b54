//! Envelopes around content.

use haft_core::call::{CallId, RecordId};
use haft_core::media::{Media, MediaFile, MediaId, MediaKind, MediaStashEntry};
use haft_core::trust::{
    EnvelopeKey, HandlePart, MediaFallbackPart, MemoryPart, MessagePart, PartOrigin, PeerPart,
    PromptRenderer, PromptText, ThoughtPart, ToolResultPart, TrustLabel, TrustTier,
};

/// No content closes its envelope or opens another, wherever it stands, and rendering twice gives
/// the same text.
///
/// The text is used as a body, a name, an id, a source and a type at once, and with the tags of the
/// envelope that it would be in put before and behind it.
pub fn envelope(data: &[u8]) {
    let Ok(text) = str::from_utf8(data) else { return };
    let renderer = PromptRenderer::new(EnvelopeKey::from_bytes([1; 32]));
    for render in PARTS {
        let rendered = render(&renderer, text);
        check_envelope(&rendered);
        assert_eq!(render(&renderer, text), rendered, "the second rendering differs");
        let inner = format!("{rendered}{text}{rendered}");
        check_envelope(&render(&renderer, &inner));
    }
    let bare = renderer.message(&MessagePart::new(text, text));
    assert_eq!(reserved_tags(bare.as_str()), 0, "a tag stands in a message:\n{bare}");
}

type Render = fn(&PromptRenderer, &str) -> PromptText;

/// Every sort of part that is one envelope.
const PARTS: [Render; 7] = [
    |it, text| it.tool_result(&ToolResultPart::new(text, call(), TrustLabel::UNTRUSTED, text)),
    |it, text| {
        let label = TrustLabel::declared(TrustTier::FirstParty);
        it.tool_result(&ToolResultPart::new(text, call(), label, text))
    },
    |it, text| it.handle(&HandlePart::new(PartOrigin::Retrieved(text), text, text)),
    |it, text| {
        it.memories(&[MemoryPart::new(text, TrustLabel::UNTRUSTED, text).source(text).kind(text)])
    },
    |it, text| it.peer(&PeerPart::new(text, text, text)),
    |it, text| it.thought(&ThoughtPart::own(text, text, text)),
    |it, text| {
        let file = MediaFile::new(text, text, "");
        let media = Media::user_attachment(MediaKind::Image, file)
            .with_id(MediaId::new(text))
            .with_entry("text:caption", MediaStashEntry::new(text, TrustTier::FirstParty));
        it.media_fallback(&MediaFallbackPart::new(PartOrigin::Message(text), 0, &media))
    },
];

fn call() -> RecordId {
    RecordId::first(CallId::of_text("fetch", "https://example.com/"))
}

/// The text is one envelope: it opens with the tag that closes it, and there is no other tag.
fn check_envelope(rendered: &PromptText) {
    let text = rendered.as_str();
    let name = text.strip_prefix('<').and_then(|rest| rest.split(' ').next());
    let Some(name) = name else { panic!("no tag at the start:\n{text}") };
    assert!(text.ends_with(&format!("\n</{name}>")), "another tag at the end:\n{text}");
    assert_eq!(reserved_tags(text), 2, "not one envelope:\n{text}");
}

/// How many tags of envelopes a lenient reader finds.
fn reserved_tags(text: &str) -> usize {
    const NAMES: [&str; 8] = [
        "untrusted_content",
        "trusted_content",
        "memor",
        "retrieved",
        "thought",
        "peer_agent_output",
        "message",
        "system_instructions",
    ];
    let seen = |ch: &char| !matches!(ch, '\u{200B}'..='\u{200F}' | '\u{202A}'..='\u{202E}');
    let text: String = text.chars().filter(seen).collect::<String>().to_ascii_lowercase();
    let is_tag = |rest: &&str| {
        let rest = rest.trim_start_matches(|ch: char| ch.is_ascii_whitespace() || ch == '/');
        NAMES.iter().any(|name| {
            let next = rest.strip_prefix(name).map(|rest| match *name {
                "memor" => rest.strip_prefix('y').or(rest.strip_prefix("ies")).unwrap_or("x"),
                _ => rest,
            });
            next.is_some_and(|rest| !rest.starts_with(|ch: char| ch.is_ascii_alphanumeric()))
        })
    };
    text.split('<').skip(1).filter(is_tag).count()
}
