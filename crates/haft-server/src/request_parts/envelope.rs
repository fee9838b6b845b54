//! Finds the envelopes of the trust funnel in a text.

use crate::wire::{Segment, SegmentKind, SourceTier};

/// The families of envelopes, which a nonce follows.
const FAMILIES: [(&str, SourceTier); 7] = [
    ("untrusted_content", SourceTier::ThirdPartyPublic),
    ("trusted_content", SourceTier::FirstParty),
    ("memory", SourceTier::FirstParty),
    ("retrieved", SourceTier::FirstParty),
    ("thought", SourceTier::Model),
    ("peer_agent_output", SourceTier::ThirdPartyPublic),
    ("message", SourceTier::User),
];

/// How many decimal digits a nonce has.
const NONCE_DIGITS: usize = 12;

/// Splits a text into its envelopes and what stands between them. `label` is the tier of a result, as its record says.
pub(super) fn split_envelopes(
    text: &str,
    base: SourceTier,
    label: Option<SourceTier>,
) -> Vec<Segment> {
    let mut segments = Vec::new();
    let mut rest = text;
    while let Some(envelope) = find_envelope(rest, label) {
        push(&mut segments, SegmentKind::Text, base, envelope.before);
        push(&mut segments, SegmentKind::Open, envelope.tier, envelope.open);
        push(&mut segments, SegmentKind::Body, envelope.tier, envelope.body);
        push(&mut segments, SegmentKind::Close, envelope.tier, envelope.close);
        rest = envelope.after;
    }
    push(&mut segments, SegmentKind::Text, base, rest);
    segments
}

fn push(segments: &mut Vec<Segment>, kind: SegmentKind, tier: SourceTier, text: &str) {
    let text = text.trim_matches('\n');
    if !text.is_empty() {
        segments.push(Segment { kind, tier, text: text.to_owned() });
    }
}

struct Envelope<'t> {
    before: &'t str,
    open: &'t str,
    body: &'t str,
    close: &'t str,
    after: &'t str,
    tier: SourceTier,
}

/// The first envelope of a text that is closed.
fn find_envelope(text: &str, label: Option<SourceTier>) -> Option<Envelope<'_>> {
    let mut from = 0;
    loop {
        let start = from + text.get(from..)?.find('<')?;
        from = start + 1;
        let Some((name, family_tier)) = envelope_name(text.get(from..)?) else { continue };
        let Some(open_end) = text.get(start..)?.find('>').map(|at| start + at + 1) else {
            continue;
        };
        let closing = format!("</{name}>");
        let Some(body_end) = text.get(open_end..)?.find(&closing).map(|at| open_end + at) else {
            continue;
        };
        let open = text.get(start..open_end)?;
        let after = body_end + closing.len();
        return Some(Envelope {
            before: text.get(..start)?,
            open,
            body: text.get(open_end..body_end)?,
            close: text.get(body_end..after)?,
            after: text.get(after..)?,
            tier: envelope_tier(open, family_tier, label),
        });
    }
}

/// The name of an element that is an envelope: a family, `_` and a nonce.
fn envelope_name(text: &str) -> Option<(&str, SourceTier)> {
    FAMILIES.iter().find_map(|(family, tier)| {
        let nonce = text.strip_prefix(family)?.strip_prefix('_')?.get(..NONCE_DIGITS)?;
        let is_nonce = nonce.bytes().all(|it| it.is_ascii_digit());
        let name = text.get(..family.len() + 1 + NONCE_DIGITS)?;
        is_nonce.then_some((name, *tier))
    })
}

/// The tier of an envelope: what its opening line says, else what the record of the result says.
fn envelope_tier(open: &str, family: SourceTier, label: Option<SourceTier>) -> SourceTier {
    if family != SourceTier::ThirdPartyPublic {
        return family;
    }
    match () {
        () if open.contains("kind=\"artifact-handle\"") => SourceTier::Handle,
        () if open.contains("third-party-private") => SourceTier::ThirdPartyPrivate,
        // The result of a tool says no kind.
        () if !open.contains(" kind=") => match label {
            Some(SourceTier::ThirdPartyPrivate) => SourceTier::ThirdPartyPrivate,
            _ => SourceTier::ThirdPartyPublic,
        },
        () => SourceTier::ThirdPartyPublic,
    }
}
