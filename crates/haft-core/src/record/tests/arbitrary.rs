//! Any valid record.

use crate::error::codes;
use std::num::NonZeroU32;
use std::sync::Arc;

use proptest::prelude::*;
use serde_json::Value;

use super::{Held, KEYS};
use crate::artifact::{ArtifactKind, SpooledArtifact};
use crate::call::{CallError, CallState, ToolCall, ToolResults};
use crate::clock::Timestamp;
use crate::json::Repair;
use crate::json::tests::properties::value;
use crate::media::{Media, MediaFile, MediaId, MediaKind, MediaStashEntry};
use crate::record::{
    Identifier, Identity, Memory, Message, MessageRole, Record as _, Retrievable,
    RetrievableContent, Thought,
};
use crate::schema::args::{Args, RawArgs};
use crate::schema::{Change, ChangeKind};
use crate::tool::context::Instruction;
use crate::trust::{ModalityHazard, TrustTier};

pub(super) fn time() -> impl Strategy<Value = Timestamp> {
    let micros = Timestamp::MIN.as_micros()..=Timestamp::MAX.as_micros();
    micros.prop_map(|it| Timestamp::from_micros(it).unwrap())
}

fn said() -> impl Strategy<Value = String> {
    let text = prop_oneof![any::<String>(), "[a-z \\n\"\\\\]{1,40}", Just("\u{0}\u{feff}".into())];
    text.prop_filter("says something", |it| !it.is_empty())
}

fn name() -> impl Strategy<Value = String> {
    prop_oneof!["[a-z0-9-]{1,12}", "\\PC{1,40}", "é{200}"]
        .prop_filter("no controls", |it| !it.chars().any(char::is_control))
}

fn unit() -> impl Strategy<Value = f64> {
    prop_oneof![0.0..=1.0, Just(0.0), Just(-0.0), Just(1.0), Just(f64::MIN_POSITIVE)]
}

fn tier() -> impl Strategy<Value = TrustTier> {
    prop::sample::select(vec![
        TrustTier::FirstParty,
        TrustTier::ThirdPartyPrivate,
        TrustTier::ThirdPartyPublic,
    ])
}

fn label() -> impl Strategy<Value = TrustTier> {
    tier()
}

fn identity() -> impl Strategy<Value = Identity> {
    let identifier =
        prop_oneof![any::<i64>().prop_map(Identifier::from), said().prop_map(Identifier::from)];
    (identifier, said()).prop_map(|(identifier, shown)| Identity::new(identifier, shown).unwrap())
}

fn payload() -> impl Strategy<Value = (Value, Option<String>)> {
    (value(), prop::option::of(said())).prop_map(|(value, tag)| match tag {
        Some(tag) => (value, Some(tag)),
        None => (Value::Null, None),
    })
}

fn medium() -> impl Strategy<Value = Media> {
    let kind = prop::sample::select(vec![
        MediaKind::Image,
        MediaKind::Audio,
        MediaKind::Video,
        MediaKind::Document,
    ]);
    let hazard = prop::sample::select(vec![
        ModalityHazard::Inert,
        ModalityHazard::ExtractableInstructions,
        ModalityHazard::OpaquePerceptual,
    ]);
    let file = (said(), said(), prop::collection::vec(any::<u8>(), 0..40));
    let stash = prop::collection::vec((said(), value(), tier()), 0..3);
    let extra = (prop::option::of(said()), prop::option::of(any::<String>()), stash);
    (kind, tier(), hazard, file, extra).prop_map(|(kind, tier, hazard, file, extra)| {
        let file = MediaFile::new(file.0, file.1, file.2);
        let mut media = Media::new(kind, tier, hazard, file).unwrap();
        let (id, source, stash) = extra;
        if let Some(id) = id {
            media = media.with_id(MediaId::new(id));
        }
        if let Some(source) = source {
            media = media.with_source(source);
        }
        for (key, value, tier) in stash {
            media.insert(key, MediaStashEntry::new(value, tier).derived_from("m0"));
        }
        media
    })
}

fn artifact() -> impl Strategy<Value = SpooledArtifact> {
    let kind = prop::sample::select(vec![ArtifactKind::TEXT, ArtifactKind::named("my-own")]);
    (kind, prop::sample::select(KEYS.to_vec()), label())
        .prop_map(|(kind, key, label)| SpooledArtifact::new(kind, Held::reader(key), label))
}

pub(super) fn message() -> impl Strategy<Value = Message> {
    let role = prop::sample::select(vec![MessageRole::User, MessageRole::Assistant]);
    let content = (prop::option::of(said()), prop::collection::vec(medium(), 0..3));
    (name(), role, content, prop::option::of(identity()), time(), time()).prop_map(
        |(id, role, (content, attachments), identity, created, updated)| {
            let silent = content.is_none() && attachments.is_empty();
            let mut message =
                Message::new(id, role, created).with_attachments(attachments).revised(updated);
            if let Some(text) = content.or_else(|| silent.then(|| "…".to_owned())) {
                message = message.with_content(text);
            }
            if let Some(identity) = identity {
                message = message.with_identity(identity);
            }
            message.checked().unwrap()
        },
    )
}

pub(super) fn memory() -> impl Strategy<Value = Memory> {
    let scores = (unit(), unit());
    (name(), said(), scores, label(), prop::option::of(said()), time(), time()).prop_map(
        |(id, content, (confidence, importance), label, source, created, updated)| {
            let mut memory = Memory::of_tier(label, id, content, created)
                .with_confidence(confidence)
                .with_importance(importance)
                .revised(updated);
            if let Some(source) = source {
                memory = memory.with_source(source);
            }
            memory.checked().unwrap()
        },
    )
}

pub(super) fn thought() -> impl Strategy<Value = Thought> {
    let who = prop::option::of(identity());
    (name(), any::<String>(), payload(), who, label(), time(), time()).prop_map(
        |(id, mut content, (payload, tag), identity, label, created, updated)| {
            if payload.is_null() && content.is_empty() {
                content.push('…');
            }
            let mut thought = Thought::of_tier(label, id, content, created)
                .with_payload(payload)
                .revised(updated);
            if let Some(tag) = tag {
                thought = thought.with_replay_compatibility(tag);
            }
            if let Some(identity) = identity {
                thought = thought.with_identity(identity);
            }
            thought.checked().unwrap()
        },
    )
}

pub(super) fn retrievable() -> impl Strategy<Value = Retrievable> {
    let content = prop_oneof![
        said().prop_map(RetrievableContent::from),
        artifact().prop_map(RetrievableContent::from)
    ];
    let facts = (prop::option::of(said()), prop::option::of(said()), prop::option::of(unit()));
    (name(), content, tier(), facts, any::<(bool, bool)>(), time(), time()).prop_map(
        |(id, content, tier, (source, kind, score), (inline, json), created, updated)| {
            let mut record = Retrievable::new(id, content, tier, created).revised(updated);
            if let Some(source) = source {
                record = record.with_source(source);
            }
            if let Some(kind) = kind {
                record = record.with_kind(kind);
            }
            if let Some(score) = score {
                record = record.with_score(score);
            }
            if inline {
                record = record.shown_inline();
            }
            if json {
                record = record.with_artifact_kind(ArtifactKind::JSON);
            }
            record.checked().unwrap()
        },
    )
}

pub(super) fn instruction() -> impl Strategy<Value = Instruction> {
    (name(), said()).prop_map(|(id, text)| Instruction::from_developer(id, text).unwrap())
}

fn raw() -> impl Strategy<Value = RawArgs> {
    let digits = "[1-9][0-9]{16,300}";
    prop_oneof![
        value().prop_map(|it| RawArgs::value(&it)),
        value().prop_map(|it| RawArgs::text(&it.to_string())),
        any::<String>().prop_map(RawArgs::from),
        digits.prop_map(|it| RawArgs::text(&format!(" {{ \"n\" : [-{it}, {it}],\"n\":{it} }} "))),
        digits.prop_map(|it| Args::parse(&format!("{{\"n\":{it}}}")).unwrap().into()),
        Just(RawArgs::text("{\"cut\": \"off")),
        Just(RawArgs::text(&"[".repeat(1000))),
        Just(RawArgs::none()),
    ]
}

fn accepted() -> impl Strategy<Value = Args> {
    let digits = "[1-9][0-9]{16,40}";
    prop_oneof![
        digits.prop_map(|it| Args::parse(&format!("{{\"n\": {it}}}")).unwrap()),
        value().prop_map(|it| Args::parse(&format!("{{\"v\":{it}}}")).unwrap()),
    ]
}

fn changes() -> impl Strategy<Value = Vec<Change>> {
    let kind = prop_oneof![
        prop::sample::select(vec![
            ChangeKind::Absent,
            ChangeKind::Default,
            ChangeKind::Number,
            ChangeKind::Boolean,
            ChangeKind::Null,
            ChangeKind::Json,
            ChangeKind::Wrapped,
            ChangeKind::Case,
            ChangeKind::Dropped,
            ChangeKind::Repaired(Repair::CodeFence),
            ChangeKind::Repaired(Repair::PythonWord),
        ]),
        any::<String>().prop_map(ChangeKind::Unwrapped),
        any::<String>().prop_map(ChangeKind::Renamed),
    ];
    let change = (any::<String>(), kind).prop_map(|(pointer, kind)| Change { pointer, kind });
    prop::collection::vec(change, 0..4)
}

fn results() -> impl Strategy<Value = ToolResults> {
    prop_oneof![
        any::<String>().prop_map(ToolResults::Text),
        prop::collection::vec(artifact(), 1..3).prop_map(ToolResults::Artifacts),
        prop::collection::vec(medium(), 1..3).prop_map(ToolResults::Media),
    ]
}

pub(crate) fn call() -> impl Strategy<Value = ToolCall> {
    let asked = (any::<String>(), raw(), 1_u32.., time());
    let place = (any::<(u32, u32)>(), prop::option::of(any::<String>()), payload());
    let judged = (prop::option::of(accepted()), changes());
    let state = prop::sample::select(vec![
        CallState::Requested,
        CallState::Approved,
        CallState::Running,
        CallState::Succeeded,
        CallState::Failed,
        CallState::Cancelled,
        CallState::Unknown,
    ]);
    let error = (prop::sample::select(codes::ALL.to_vec()), any::<String>(), any::<bool>());
    let end = (state, results(), error, label(), any::<(bool, bool)>(), time());
    (asked, place, judged, end).prop_map(|(asked, place, judged, end)| {
        let (tool, raw, occurrence, at) = asked;
        let (where_, provider_id, (payload, tag)) = place;
        let mut call = ToolCall::requested(tool, raw, NonZeroU32::new(occurrence).unwrap(), at)
            .at_place(where_.0, where_.1);
        call.provider_id = provider_id;
        if let Some(tag) = tag {
            call = call.with_payload(payload, Arc::<str>::from(tag)).unwrap();
        }
        (call.accepted, call.changes) = judged;
        let (state, results, (code, message, retryable), label, (query, inline), at) = end;
        call = call.in_state(state, label, at);
        call.inline = inline;
        call.from_artifact_tool = query;
        match state {
            CallState::Succeeded if query => call.results = Some(ToolResults::Text(message)),
            CallState::Succeeded => call.results = Some(results),
            CallState::Failed => call.error = Some(CallError { code, message, retryable }),
            CallState::Cancelled | CallState::Unknown if retryable => {
                call.error = Some(CallError { code, message, retryable });
            }
            _ => {}
        }
        // A call that is recorded has media with names.
        call.name_media();
        call
    })
}
