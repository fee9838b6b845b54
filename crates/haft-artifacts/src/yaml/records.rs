//! The visitors of documents: one type per query.

use std::collections::HashSet;
use std::ops::ControlFlow;

use haft_core::artifact::{QueryListBuilder, QueryOutput};
use haft_core::json::{Document, JsonWriter, ValueKind};

use super::scan::DocumentVisitor;
use crate::tree::TreeRun;

/// Counts documents, up to a number.
#[derive(Debug)]
pub(super) struct CountDocuments {
    pub(super) documents: u64,
    pub(super) at_most: u64,
    /// How many elements the root of the last document has, if it is a list.
    pub(super) elements: Option<usize>,
}

impl DocumentVisitor for CountDocuments {
    fn visit_document(&mut self, document: Document, _: bool) -> ControlFlow<()> {
        self.documents += 1;
        let root = document.root();
        self.elements = (root.kind() == ValueKind::Array).then(|| root.len());
        continue_if(self.documents < self.at_most)
    }
}

/// The keys of all mappings, each once.
#[derive(Debug)]
pub(super) struct CollectKeys {
    pub(super) listing: QueryListBuilder,
    pub(super) any_mapping: bool,
    seen: HashSet<String>,
    room: usize,
    full: bool,
}

impl CollectKeys {
    pub(super) fn new(listing: QueryListBuilder) -> Self {
        Self { listing, any_mapping: false, seen: HashSet::new(), room: KEY_BYTES, full: false }
    }

    pub(super) fn answer(self) -> QueryOutput {
        if !self.any_mapping {
            return QueryOutput::undefined();
        }
        let shown = self.seen.len();
        let answer = self.listing.finish();
        if self.full {
            return answer.noted(format_args!(
                "there are too many different keys; only the first {shown} were looked at"
            ));
        }
        answer
    }
}

impl DocumentVisitor for CollectKeys {
    fn visit_document(&mut self, document: Document, _: bool) -> ControlFlow<()> {
        let root = document.root();
        self.any_mapping |= root.kind() == ValueKind::Object;
        root.members().try_for_each(|(key, _)| {
            if self.seen.contains(key) {
                return ControlFlow::Continue(());
            }
            let Some(room) = self.room.checked_sub(key.len() + 1) else {
                self.full = true;
                return ControlFlow::Break(());
            };
            self.room = room;
            self.seen.insert(key.to_owned());
            let mut text = JsonWriter::new();
            text.string(key);
            self.listing.push(text.finish().root())
        })
    }
}

impl DocumentVisitor for TreeRun {
    fn visit_document(&mut self, document: Document, last: bool) -> ControlFlow<()> {
        self.visit(document, last)
    }

    fn end(&mut self) {
        Self::end(self);
    }
}

fn continue_if(more: bool) -> ControlFlow<()> {
    if more { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
}

/// The maximum number of bytes that the distinct keys of all documents may have.
const KEY_BYTES: usize = 4 * 1024 * 1024;
