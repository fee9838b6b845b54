//! Keys that `tools.command` and `tools.http` share.

use std::time::Duration;

use haft::artifacts::ArtifactKind;
use haft::schema::{self, FaultLocation, SchemaFault};
use haft::tools::{InvalidTool, ToolEffect};
use schemars::JsonSchema;
use serde::Deserialize;

use super::arguments::Arguments;
use super::source::{AgentFileError, ErrorList};

/// Effect of a tool call, which decides whether it may be repeated after a crash.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(super) enum EffectKey {
    /// The call changes nothing.
    ReadOnly,
    /// The call may be repeated.
    Idempotent,
    /// The call must not be repeated.
    #[default]
    Once,
}

impl From<EffectKey> for ToolEffect {
    fn from(key: EffectKey) -> Self {
        match key {
            EffectKey::ReadOnly => Self::ReadOnly,
            EffectKey::Idempotent => Self::Idempotent,
            EffectKey::Once => Self::Once,
        }
    }
}

/// The input schema of the arguments.
pub(super) fn input_schema(args: &Arguments) -> Result<schema::ObjectSchema, Vec<AgentFileError>> {
    let (mut input, mut errors) = (schema::object(), ErrorList::default());
    for (name, argument) in args {
        let field = argument.field().map_err(|error| error.in_table(["args", name.as_str()]));
        if let Some(field) = errors.take(field) {
            input = input.field(name, field);
        }
    }
    errors.finish(Some(input))
}

/// Parses the key `artifact`.
pub(super) fn parse_artifact_kind(name: Option<&str>) -> Result<ArtifactKind, AgentFileError> {
    let Some(name) = name else { return Ok(ArtifactKind::TEXT) };
    let kind: Option<ArtifactKind> = name.parse().ok().filter(|it| ARTIFACT_KINDS.contains(it));
    kind.ok_or_else(|| {
        let error = AgentFileError::at(["artifact"], format!("unknown artifact kind `{name}`"));
        error.suggest(name, ARTIFACT_KINDS.iter().map(ArtifactKind::as_str))
    })
}

/// The artifact kinds that the output of a tool can have.
pub(crate) const ARTIFACT_KINDS: &[ArtifactKind] = &[
    ArtifactKind::TEXT,
    ArtifactKind::JSON,
    ArtifactKind::JSONL,
    ArtifactKind::MARKDOWN,
    ArtifactKind::CSV,
    ArtifactKind::YAML,
    ArtifactKind::XML,
];

/// Parses the key `timeout`.
pub(super) fn parse_timeout(seconds: u64) -> Result<Duration, AgentFileError> {
    match seconds {
        0 => {
            let error = AgentFileError::at(["timeout"], "the timeout must not be 0");
            Err(error.hint("set it to a number of seconds"))
        }
        _ => Ok(Duration::from_secs(seconds)),
    }
}

/// Converts the error of a tool builder to errors at the keys that caused it.
pub(super) fn explain_invalid_tool(error: &InvalidTool) -> Vec<AgentFileError> {
    match error.faults.as_slice() {
        [] => vec![AgentFileError::whole_file(error)],
        faults => faults.iter().map(explain_fault).collect(),
    }
}

fn explain_fault(fault: &SchemaFault) -> AgentFileError {
    match &fault.at {
        FaultLocation::Description => AgentFileError::at(["description"], &fault.what),
        FaultLocation::Approval => AgentFileError::at(["approval"], &fault.what),
        FaultLocation::Name => AgentFileError::whole_file(&fault.what),
        FaultLocation::Input { field: Some(name), path } => {
            let is_inside = path.strip_prefix("input.").is_some_and(|it| it != name);
            AgentFileError::at(
                ["args", name],
                match is_inside {
                    true => fault.to_string(),
                    false => fault.what.clone(),
                },
            )
        }
        _ => AgentFileError::whole_file(fault),
    }
}
