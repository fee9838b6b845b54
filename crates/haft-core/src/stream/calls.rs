//! Calls as they become known.

use std::sync::Arc;

use indexmap::IndexMap;

use super::{StreamError, StreamPart, check_id};
use crate::call::{CallId, CallState, Handle, ToolCall};
use crate::clock::Timestamp;
use crate::event::{ResultSummary, ToolCallReport};
use crate::schema::args::RawArgs;

/// An update of a call. Fields that are not set stay unchanged.
#[derive(Clone, Debug, Default)]
#[must_use = "an update does nothing until it is reported"]
pub struct ToolCallUpdate {
    tool: Option<String>,
    args: Option<RawArgs>,
    checksum: Option<CallId>,
    results: Option<ResultSummary>,
    is_error: Option<bool>,
    part: StreamPart,
}

impl ToolCallUpdate {
    /// Nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Everything that a record says. A call that is over is complete.
    pub fn of(call: &ToolCall, handle: Option<&Handle>) -> Self {
        let over = call.state().is_final();
        Self {
            tool: Some(call.tool().to_owned()),
            args: Some(call.raw().clone()),
            checksum: Some(call.call_id()),
            results: over.then(|| ResultSummary::of(call, handle)),
            is_error: Some(over && call.state() != CallState::Succeeded),
            part: if over { StreamPart::Last } else { StreamPart::More },
        }
    }

    /// The tool.
    pub fn tool(mut self, name: impl Into<String>) -> Self {
        self.tool = Some(name.into());
        self.checksum = None;
        self
    }

    /// The arguments, as they were received.
    pub fn args(mut self, args: impl Into<RawArgs>) -> Self {
        self.args = Some(args.into());
        self.checksum = None;
        self
    }

    /// Its outcome.
    pub fn results(mut self, summary: ResultSummary) -> Self {
        self.results = Some(summary);
        self
    }

    /// It failed.
    pub fn failed(mut self) -> Self {
        self.is_error = Some(true);
        self
    }

    /// It is over.
    pub fn complete(mut self) -> Self {
        self.part = StreamPart::Last;
        self
    }
}

#[derive(Debug, Default)]
pub(super) struct Calls(IndexMap<Arc<str>, Call>);

#[derive(Debug)]
struct Call {
    known: ToolCallUpdate,
    created_at: Timestamp,
}

impl Calls {
    pub(super) fn report(
        &mut self,
        id: &str,
        update: ToolCallUpdate,
        at: Timestamp,
    ) -> Result<ToolCallReport, StreamError> {
        let index = match self.0.get_index_of(id) {
            Some(index) => index,
            None => {
                let call = Call { known: ToolCallUpdate::new(), created_at: at };
                self.0.insert_full(check_id(id)?.into(), call).0
            }
        };
        match self.0.get_index_mut(index) {
            Some((id, call)) if call.known.part == StreamPart::More => {
                call.merge(update);
                Ok(call.report(Arc::clone(id), at))
            }
            _ => Err(StreamError::Ended { id: id.to_owned() }),
        }
    }
}

impl Call {
    fn merge(&mut self, update: ToolCallUpdate) {
        let known = &mut self.known;
        if update.tool.is_some() || update.args.is_some() {
            known.tool = update.tool.or_else(|| known.tool.take());
            known.args = update.args.or_else(|| known.args.take());
            known.checksum = update.checksum.or_else(|| {
                let (tool, args) = known.tool.as_deref().zip(known.args.as_ref())?;
                Some(args.call_id(tool))
            });
        }
        known.results = update.results.or_else(|| known.results.take());
        known.is_error = update.is_error.or(known.is_error);
        known.part = update.part;
    }

    fn report(&mut self, id: Arc<str>, at: Timestamp) -> ToolCallReport {
        let known = &mut self.known;
        let is_complete = known.part == StreamPart::Last;
        let report = ToolCallReport {
            id,
            tool: known.tool.as_deref().unwrap_or_default().into(),
            args: known.args.as_ref().map(Into::into),
            checksum: known.checksum,
            created_at: self.created_at,
            updated_at: at,
            results: known.results.clone(),
            is_complete,
            is_error: known.is_error.unwrap_or(false),
            completed_at: is_complete.then_some(at),
            grant: None,
        };
        if is_complete {
            // A call that is over keeps nothing but its name.
            *known = ToolCallUpdate { part: StreamPart::Last, ..ToolCallUpdate::new() };
        }
        report
    }
}
