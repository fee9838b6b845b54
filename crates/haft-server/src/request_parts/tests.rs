//! Bodies of the dialects, taken apart.

use serde_json::{Value, json};

use super::{body_parts, compare_parts};
use crate::wire::{PartChange, PartKind, PromptPart, SegmentKind, SourceTier};

const NONCE: &str = "396113668260";

fn envelope(kind: Option<&str>, body: &str) -> String {
    let kind = kind.map_or_else(String::new, |kind| format!(" kind=\"{kind}\""));
    format!("<untrusted_content_{NONCE}{kind}>\n{body}\n</untrusted_content_{NONCE}>")
}

fn parts(body: &Value) -> Vec<PromptPart> {
    compare_parts(&body_parts(body, &|_| None), None).0
}

fn chat(messages: &[Value], tools: &[&str]) -> Value {
    let tools: Vec<Value> = tools
        .iter()
        .map(|name| json!({"type": "function", "function": {"name": name, "parameters": {}}}))
        .collect();
    json!({"model": "m", "messages": messages, "tools": tools})
}

#[test]
fn every_dialect_gives_the_same_parts() {
    let result = envelope(None, "21 degrees");
    let chat = chat(
        &[
            json!({"role": "system", "content": "You help."}),
            json!({"role": "user", "content": "Weather?"}),
            json!({"role": "assistant", "content": "I look.", "tool_calls": [
                {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{\"a\":1}"}}]}),
            json!({"role": "tool", "tool_call_id": "c1", "content": result}),
        ],
        &["look"],
    );
    let responses = json!({
        "instructions": "You help.", "tools": [{"type": "function", "name": "look", "parameters": {}}],
        "input": [
            {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Weather?"}]},
            {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "I look."}]},
            {"type": "function_call", "call_id": "c1", "name": "look", "arguments": "{\"a\":1}"},
            {"type": "function_call_output", "call_id": "c1", "output": result},
        ],
    });
    let messages = json!({
        "system": [{"type": "text", "text": "You help."}], "tools": [{"name": "look", "input_schema": {}}],
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": "Weather?"}]},
            {"role": "assistant", "content": [
                {"type": "text", "text": "I look."}, {"type": "tool_use", "id": "c1", "name": "look", "input": {"a": 1}}]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": result}]},
        ],
    });
    for body in [chat, responses, messages] {
        let parts = parts(&body);
        let kinds: Vec<PartKind> = parts.iter().map(|it| it.kind).collect();
        let mut kinds = kinds;
        kinds.dedup();
        assert_eq!(
            kinds,
            [
                PartKind::Tools,
                PartKind::System,
                PartKind::User,
                PartKind::Assistant,
                PartKind::Result
            ],
            "{body}"
        );
        let last = parts.last().unwrap();
        assert_eq!(
            (last.title.as_str(), last.tier),
            ("Result of look", SourceTier::ThirdPartyPublic)
        );
        let kinds: Vec<SegmentKind> = last.segments.iter().map(|it| it.kind).collect();
        assert_eq!(kinds, [SegmentKind::Open, SegmentKind::Body, SegmentKind::Close]);
        assert_eq!(last.segments[1].text, "21 degrees");
        let texts: String =
            parts.iter().flat_map(|it| &it.segments).map(|it| it.text.as_str()).collect();
        assert!(texts.contains("→ look {\"a\":1}"), "{texts}");
    }
}

#[test]
fn an_envelope_says_who_wrote_its_content() {
    #[track_caller]
    fn check(text: &str, label: Option<SourceTier>, expect: SourceTier) {
        let body = json!({"messages": [{"role": "tool", "tool_call_id": "c", "content": text}]});
        let (parts, _) = compare_parts(&body_parts(&body, &|_| label), None);
        assert_eq!(parts[0].tier, expect, "{text}");
    }
    check(&envelope(Some("artifact-handle"), "callId: 1"), None, SourceTier::Handle);
    check(
        &envelope(Some("retrieved-third-party-private"), "mail"),
        None,
        SourceTier::ThirdPartyPrivate,
    );
    check(
        &envelope(None, "page"),
        Some(SourceTier::ThirdPartyPrivate),
        SourceTier::ThirdPartyPrivate,
    );
    // A record cannot raise what stands in an untrusted envelope.
    check(&envelope(None, "page"), Some(SourceTier::FirstParty), SourceTier::ThirdPartyPublic);
    check(
        &envelope(Some("tool-error"), "no"),
        Some(SourceTier::ThirdPartyPrivate),
        SourceTier::ThirdPartyPublic,
    );
    let trusted = envelope(None, "ours").replace("untrusted_content", "trusted_content");
    check(&trusted, None, SourceTier::FirstParty);
    // What is not closed, or has no nonce, is no envelope.
    check("<untrusted_content_abc>x</untrusted_content_abc>", None, SourceTier::ThirdPartyPublic);
}

#[test]
fn what_a_cache_can_reuse_ends_at_the_first_difference() {
    let user = json!({"role": "user", "content": "Hi"});
    let said = json!({"role": "assistant", "content": "Hello."});
    let first = body_parts(&chat(std::slice::from_ref(&user), &["a"]), &|_| None);
    let grown = body_parts(&chat(&[user.clone(), said.clone()], &["a"]), &|_| None);
    let (parts, reuse) = compare_parts(&grown, Some(&first));
    let changes: Vec<PartChange> = parts.iter().map(|it| it.change).collect();
    assert_eq!(changes, [PartChange::Same, PartChange::Same, PartChange::New]);
    assert_eq!((reuse.lost, reuse.lost_because), (0, None));
    assert_eq!(reuse.kept, parts[0].bytes + parts[1].bytes);

    let other_tools = body_parts(&chat(&[user, said], &["a", "b"]), &|_| None);
    let (parts, reuse) = compare_parts(&other_tools, Some(&grown));
    assert_eq!(parts[0].change, PartChange::Changed);
    assert_eq!((reuse.kept, parts[1].change), (0, PartChange::Same));
    assert!(reuse.lost > 0 && reuse.lost_because.unwrap().starts_with("The tools are different"));
}
