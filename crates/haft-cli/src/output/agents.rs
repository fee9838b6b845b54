//! Agents, their tools, and what was found about them.

use haft::records::{CallError, CallId, CallState};
use haft::turn::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::user_error::UserError;

/// A line of `haft tools`: a tool as a model sees it.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ToolLine<'t> {
    /// Its name.
    pub(crate) name: &'t str,
    /// What it does.
    pub(crate) description: &'t str,
    /// The JSON Schema of its arguments.
    pub(crate) input_schema: Map<String, Value>,
}

/// What `haft call` prints: the record of a call.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CallRecord<'r> {
    /// The tool.
    pub(crate) tool: &'r str,
    /// The content key of the call.
    pub(crate) call_id: CallId,
    /// The arguments as they were given.
    pub(crate) args: Value,
    /// The arguments that the tool received; nothing if they were refused.
    pub(crate) accepted: Option<Value>,
    /// The state of the call.
    pub(crate) state: CallState,
    /// Why it failed.
    pub(crate) error: Option<&'r CallError>,
    /// The cause of the failure, for the user and not for a model.
    pub(crate) cause: Option<&'r str>,
    /// The result as text.
    pub(crate) result: Option<String>,
    /// When it was started.
    pub(crate) started_at: Timestamp,
}

/// What `haft check` prints.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CheckReport {
    /// Whether there are no errors.
    pub(crate) ok: bool,
    /// The name of the agent; nothing if its file cannot be read.
    pub(crate) name: Option<String>,
    /// How many tools it has.
    pub(crate) tools: Option<usize>,
    /// The tools that each request has, those that query large results included.
    pub(crate) tool_tokens: Vec<ToolTokens>,
    /// Its MCP servers.
    pub(crate) mcp_servers: Vec<ServerToolCount>,
    /// How many steps its script has.
    pub(crate) script_steps: Option<usize>,
    /// What keeps it from working.
    pub(crate) errors: Vec<Finding>,
    /// What may be unintended.
    pub(crate) warnings: Vec<Finding>,
}

/// What the definition of a tool costs.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ToolTokens {
    /// The name of the tool.
    pub(crate) name: String,
    /// How many tokens its definition takes in each request, in the encoding `o200k_base`.
    pub(crate) tokens: u64,
}

/// The tools of an MCP server that an agent has.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ServerToolCount {
    /// The name of the server.
    pub(crate) server: String,
    /// How many of its tools the agent has.
    pub(crate) tools: usize,
    /// How many tokens their definitions take in each request.
    pub(crate) tokens: u64,
}

/// An error or a warning.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Finding {
    /// The file that it is in.
    pub(crate) file: Option<String>,
    /// The line in the file, counted from 1.
    pub(crate) line: Option<usize>,
    /// The key in the file.
    pub(crate) key: Option<String>,
    /// What is wrong.
    pub(crate) message: String,
    /// What can be done about it.
    pub(crate) hint: Option<String>,
}

impl Finding {
    /// An error or a warning as it is printed.
    pub(crate) fn of(error: &UserError) -> Self {
        let location = error.location();
        Self {
            file: location.map(|it| it.file.to_string_lossy().into_owned()),
            line: location.and_then(|it| it.line),
            key: location.and_then(|it| it.key.clone()),
            message: error.message().to_owned(),
            hint: error.advice().map(str::to_owned),
        }
    }
}

/// A line of `haft test`.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct TestLine<'t> {
    /// The name of the test.
    pub(crate) test: &'t str,
    /// Whether it passed.
    pub(crate) ok: bool,
    /// Why it failed.
    pub(crate) failure: Option<&'t str>,
    /// How long it took.
    pub(crate) milliseconds: u64,
}

/// A line of `haft mcp list`: a server and what it offers.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ServerLine<'s> {
    /// The name of the server.
    pub(crate) server: &'s str,
    /// What the server says about itself; nothing if it is not connected.
    pub(crate) description: Option<&'s str>,
    /// How many tokens the definitions of its tools take in each request.
    pub(crate) tokens: u64,
    /// Its tools.
    pub(crate) tools: Vec<ServerTool<'s>>,
    /// The tools that are left out.
    pub(crate) problems: Vec<ServerProblem>,
}

/// A tool of an MCP server.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ServerTool<'s> {
    /// Its name on the server.
    pub(crate) name: &'s str,
    /// Its name in the agent; nothing if it is left out.
    pub(crate) tool: Option<&'s str>,
    /// How many tokens its definition takes in each request.
    pub(crate) tokens: u64,
    /// The digest of its definition.
    pub(crate) hash: String,
    /// Whether its definition is not the one that was accepted.
    pub(crate) changed: bool,
    /// Why its description is suspicious.
    pub(crate) findings: Vec<String>,
}

/// A tool of an MCP server that is left out.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ServerProblem {
    /// Its name on the server.
    pub(crate) tool: String,
    /// Why it is left out.
    pub(crate) reason: String,
}
