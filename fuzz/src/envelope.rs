//! Envelopes around content.

use std::num::NonZeroU32;

use haft_core::RawArgs;
use haft_core::call::ToolCall;
use haft_core::clock::Timestamp;
use haft_core::media::{Media, MediaFile, MediaId, MediaKind, MediaStashEntry};
use haft_core::record::{Identity, Memory, Message, MessageRole, Thought};
use haft_core::trust::{
    EnvelopeKey, ModalityHazard, PartOrigin, PromptRenderer, PromptText, TrustTier,
};

/// No content closes its envelope or opens another, wherever it stands, and rendering twice gives
/// the same text.
///
/// The text is used as a body, a name, a source and a type at once, and with the tags of the
/// envelope that it would be in put before and behind it.
pub fn envelope(data: &[u8]) {
    let Ok(text) = str::from_utf8(data) else { return };
    if text.is_empty() {
        return;
    }
    let renderer = PromptRenderer::new(EnvelopeKey::from_bytes([1; 32]));
    for render in PARTS {
        let rendered = render(&renderer, text);
        check_envelope(&rendered);
        assert_eq!(render(&renderer, text), rendered, "the second rendering differs");
        let inner = format!("{rendered}{text}{rendered}");
        check_envelope(&render(&renderer, &inner));
    }
    let bare = renderer.spoken_text(text);
    assert_eq!(reserved_tags(bare.as_str()), 0, "a tag stands in a message:\n{bare}");
}

type Render = fn(&PromptRenderer, &str) -> PromptText;

/// Every sort of part that is one envelope.
const PARTS: [Render; 8] = [
    |it, text| it.tool_result(&call(text), 0, text),
    |it, text| it.tool_error(&call(text), text),
    |it, text| it.summary(text, TrustTier::UNTRUSTED),
    |it, text| {
        let memory = Memory::new("m", text, AT).with_confidence(0.5).with_importance(0.5);
        it.memories([&memory.with_source(text)])
    },
    |it, text| it.named_message(&message(MessageRole::User, text)),
    |it, text| it.named_message(&message(MessageRole::Assistant, text)),
    |it, text| {
        let thought = Thought::new("t", text, AT);
        it.own_thought(&thought.with_identity(Identity::named(text).unwrap()))
    },
    |it, text| {
        let file = MediaFile::new(text, text, "");
        let (tier, hazard) = (TrustTier::FirstParty, ModalityHazard::Inert);
        let media = Media::new(MediaKind::Image, tier, hazard, file).unwrap();
        let media = media
            .with_id(MediaId::new(text))
            .with_entry("text:caption", MediaStashEntry::new(text, TrustTier::FirstParty));
        it.media_fallback(PartOrigin::Call(&call(text)), 0, &media, Media::TEXT_KEYS)
    },
];

const AT: Timestamp = Timestamp::EPOCH;

fn call(tool: &str) -> ToolCall {
    ToolCall::requested(tool, RawArgs::text("{}"), NonZeroU32::MIN, AT)
}

fn message(role: MessageRole, text: &str) -> Message {
    let message = Message::new("m", role, AT).with_identity(Identity::named(text).unwrap());
    message.with_content(text)
}

/// The text is one envelope: it opens with the tag that closes it, and there is no other tag.
fn check_envelope(rendered: &PromptText) {
    let text = rendered.as_str();
    let name = text.strip_prefix('<').and_then(|rest| rest.split([' ', '>']).next());
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
