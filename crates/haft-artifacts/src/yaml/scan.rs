//! Reads a stream of documents and hands them to a visitor one after the other.

use std::ops::ControlFlow;

use haft_core::json::{self, Document};

use super::document_splitter::{DocumentSlice, DocumentSplitter};
use super::error::YamlError;
use super::parse::{YamlLimits, parse_document};
use crate::byte_order_mark;
use crate::error::ContentError;
use crate::scan::{ContentScan, ReadRequest};

/// Receives documents.
pub(super) trait DocumentVisitor: Send + 'static {
    /// Visits the next document; `Break` ends the scan. `last` is true if it is known that no other
    /// document follows.
    fn visit_document(&mut self, document: Document, last: bool) -> ControlFlow<()>;

    /// Called after the last document.
    fn end(&mut self) {}
}

/// How the content is read.
#[derive(Clone, Copy, Debug)]
pub(super) struct YamlScanOptions {
    pub(super) window: usize,
    pub(super) document_bytes: usize,
    /// Whether a second document is an error.
    pub(super) single: bool,
}

/// One pass over the content.
pub(super) struct YamlScan<V> {
    options: YamlScanOptions,
    splitter: DocumentSplitter,
    position: u64,
    length: u64,
    documents: u64,
    stopped: bool,
    error: Option<YamlError>,
    visitor: V,
}

impl<V: DocumentVisitor> YamlScan<V> {
    pub(super) fn new(length: u64, options: YamlScanOptions, visitor: V) -> Self {
        let splitter = DocumentSplitter::default();
        let stopped = false;
        let error = None;
        Self { options, splitter, position: 0, length, documents: 0, stopped, error, visitor }
    }

    /// The visitor, after the scan has ended.
    pub(super) fn finish(self) -> Result<V, YamlError> {
        self.error.map_or(Ok(self.visitor), Err)
    }

    fn read(&mut self, last: bool) -> Result<(), YamlError> {
        while !self.stopped
            && let Some(slice) = self.splitter.next(last)
        {
            self.parse_slice(&slice, last && self.splitter.pending_bytes() == 0)?;
        }
        if self.splitter.pending_bytes() > self.options.document_bytes {
            return Err(self.too_large(self.splitter.pending_line()));
        }
        if last && !self.stopped {
            if self.documents == 0 {
                self.visit(Document::default(), true);
            }
            self.visitor.end();
        }
        Ok(())
    }

    fn parse_slice(&mut self, slice: &DocumentSlice, last: bool) -> Result<(), YamlError> {
        if self.options.single && self.documents > 0 {
            return Err(YamlError::SeveralDocuments { line: slice.line + 1 });
        }
        let bytes = self.splitter.bytes(slice);
        if bytes.len() > self.options.document_bytes {
            return Err(self.too_large(slice.line));
        }
        let text = String::from_utf8_lossy(bytes);
        let document = parse_document(&text, LIMITS).map_err(|fault| YamlError::Syntax {
            line: slice.line + fault.line as u64 + 1,
            column: fault.column as u64 + 1,
            reason: fault.reason.into(),
        })?;
        self.visit(document, last);
        Ok(())
    }

    fn visit(&mut self, document: Document, last: bool) {
        self.documents += 1;
        self.stopped = self.visitor.visit_document(document, last).is_break();
    }

    fn too_large(&self, line: u64) -> YamlError {
        YamlError::TooLarge { line: line + 1, limit: self.options.document_bytes }
    }
}

impl<V: DocumentVisitor> ContentScan for YamlScan<V> {
    fn next_read(&self) -> Option<ReadRequest> {
        if self.stopped || self.error.is_some() {
            return None;
        }
        // A byte order mark must be read at once.
        let window = self.options.window.max(if self.position == 0 { 4 } else { 1 });
        ReadRequest::next_window(self.position, self.length, window)
    }

    fn process(&mut self, mut data: &[u8]) -> usize {
        if self.position == 0 {
            if byte_order_mark::is_utf16(data) {
                self.error = Some(ContentError::Encoding.into());
                return 0;
            }
            self.position += data.len() as u64;
            data = byte_order_mark::strip_utf8(data);
        } else {
            self.position += data.len() as u64;
        }
        self.splitter.push(data);
        if let Err(error) = self.read(self.position == self.length) {
            self.error = Some(error);
        }
        0
    }
}

/// As deep as JSON documents are. Only aliases make values larger than the text of a document.
const LIMITS: YamlLimits = YamlLimits { depth: json::MAX_DEPTH, size: 32 * 1024 * 1024 };
