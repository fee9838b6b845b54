//! The canonical text.

use super::{Document, View};

/// Canonical.
#[must_use]
pub fn canonical_text(view: View<'_>) -> String {
    let mut out = String::new();
    write_canonical(view, &mut out);
    out
}

/// Appends.
pub fn write_canonical(view: View<'_>, out: &mut String) {
    super::writer::write_compact(view, out);
}

pub(super) fn duplicate_key(_doc: &Document) -> Option<String> {
    None
}
