//! What commands print as JSON: the types that are printed, and the schemas that are generated from them.
//!
//! A command prints these types and nothing else, so that a changed field is a changed schema in `docs/schema`. Fields are
//! added and never renamed.

mod agents;
mod content;
mod models;
mod schemas;
mod turns;

use std::time::Duration;

use anyhow::Result;
use serde::Serialize;

pub(crate) use self::agents::{
    CallRecord, CheckReport, Finding, ServerLine, ServerProblem, ServerTool, ServerToolCount,
    TestLine, ToolLine, ToolTokens,
};
pub(crate) use self::content::{ArtifactLine, MatchLine, MediaLine};
pub(crate) use self::models::{
    CheckStatus, DoctorLine, ModelLine, PrintedPrices, ProviderLine, TokenLine,
};
pub(crate) use self::schemas::{schema_text, write_schemas};
pub(crate) use self::turns::{
    ConversationExport, ConversationLine, EventLine, ExportedTurn, GateLine, GrantLine, ListedTurn,
    OutcomeLine, PrintedGate, PrintedRecord, PrintedRequest, PrintedResponse, PrintedStep,
    PrintedTime, PrintedTurn, RequestFacts, SubmittedTurn,
};

/// A value as one line of JSON, whose members are sorted by their names.
pub(crate) fn to_line(value: &impl Serialize) -> Result<String> {
    Ok(format!("{}\n", serde_json::to_value(value)?))
}

/// A duration in whole milliseconds.
pub(crate) fn whole_milliseconds(duration: Duration) -> u64 {
    duration.as_millis().try_into().unwrap_or(u64::MAX)
}

/// A value as JSON to read.
pub(crate) fn to_pretty_text(value: &impl Serialize) -> Result<String> {
    Ok(format!("{:#}\n", serde_json::to_value(value)?))
}
