//! Values that a provider wants back unchanged.

use std::sync::Arc;

use serde_json::Value;

use super::{RecordFault, RecordFaults, nests_within};

/// The tag of what every provider can replay.
const PLAIN_TEXT: &str = "plain-text";

/// How deeply a payload may nest; the record around it needs some levels too.
const MAX_DEPTH: usize = 100;

/// A vendor's opaque value and the tag of the providers that understand it. A value always has a tag; there can be a
/// tag without a value. `null` counts as no value.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct ProviderPayload {
    payload: Option<Arc<Value>>,
    compatibility: Option<Arc<str>>,
}

impl ProviderPayload {
    /// Adds every problem to `faults`.
    pub(crate) fn new(
        payload: Option<Value>,
        compatibility: Option<Arc<str>>,
        faults: &mut RecordFaults,
    ) -> Self {
        let payload = payload.filter(|it| !it.is_null());
        if let Some(tag) = &compatibility {
            faults.check_not_empty("replayCompatibility", tag);
        }
        faults.add_if(payload.is_some() && compatibility.is_none(), RecordFault::Unpaired);
        let deep = payload.as_ref().is_some_and(|it| !nests_within(it, MAX_DEPTH));
        faults.add_if(deep, RecordFault::TooDeep { field: "payload" });
        Self { payload: payload.map(Arc::new), compatibility }
    }

    pub(crate) fn payload(&self) -> Option<&Value> {
        self.payload.as_deref()
    }

    pub(crate) fn compatibility(&self) -> Option<&str> {
        self.compatibility.as_deref()
    }

    /// Whether it can be sent back to a provider that understands these tags.
    pub(crate) fn fits(&self, understood: &[&str]) -> bool {
        self.compatibility().is_none_or(|tag| tag == PLAIN_TEXT || understood.contains(&tag))
    }
}
