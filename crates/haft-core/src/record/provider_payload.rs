//! Values that a provider wants back unchanged.

use std::sync::Arc;

use serde_json::Value;

use super::{RecordFault, RecordFaults, nests_within};

/// Checks a vendor's opaque value and the tag of the providers that understand it. A value always has a tag; there can be
/// a tag without a value.
pub(crate) fn check_payload(
    payload: Option<&Value>,
    compatibility: Option<&Arc<str>>,
    faults: &mut RecordFaults,
) {
    if let Some(tag) = compatibility {
        faults.check_not_empty("replayCompatibility", tag);
    }
    faults.add_if(payload.is_some() && compatibility.is_none(), RecordFault::Unpaired);
    let deep = payload.is_some_and(|it| !nests_within(it, MAX_DEPTH));
    faults.add_if(deep, RecordFault::TooDeep { field: "payload" });
}

/// Whether a value with this tag can be sent back to a provider that understands these tags.
pub(crate) fn payload_fits(compatibility: Option<&str>, understood: &[&str]) -> bool {
    compatibility.is_none_or(|tag| tag == PLAIN_TEXT || understood.contains(&tag))
}

/// The tag of what every provider can replay.
const PLAIN_TEXT: &str = "plain-text";

/// How deeply a payload may nest; the record around it needs some levels too.
const MAX_DEPTH: usize = 100;
