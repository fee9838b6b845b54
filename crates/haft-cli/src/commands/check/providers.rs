//! Checks the tools against the limits of the providers.

use haft::Tool;
use haft::providers::dialect::{Dialect, EncodeError, ModelRequest, RequestNote};
use haft::providers::dialects::anthropic_messages::AnthropicMessages;
use haft::providers::dialects::chat_completions::ChatCompletions;
use haft::providers::dialects::openai_responses::OpenAiResponses;
use haft::providers::prompt::{OfferedTool, Prompt};
use haft::providers::wire_names::WireNames;
use serde_json::Map;

use super::Findings;
use crate::agent::AgentDir;
use crate::user_error::UserError;

/// Maximum number of tools in a request to OpenAI.
const MAX_TOOLS: usize = 128;
/// Maximum number of characters in a tool description for OpenAI.
const MAX_DESCRIPTION: usize = 1024;

pub(super) fn check_providers(agent: &AgentDir, findings: &mut Findings) {
    if agent.tools.len() > MAX_TOOLS {
        let count = agent.tools.len();
        findings.add_warning(format!(
            "OpenAI accepts at most {MAX_TOOLS} tools; the agent has {count}"
        ));
    }
    let names = WireNames::new(agent.tools.iter().map(|tool| tool.name().as_str()));
    for tool in &agent.tools {
        let name = tool.name().as_str();
        let length = tool.description().chars().count();
        let wire = names.wire_name(name);
        if *wire != *name {
            let text = format!("tool `{name}` is sent to models as `{wire}`");
            let rule = "providers accept names of at most 64 letters, digits, `_` and `-`";
            findings.add_warning(format!("{text}: {rule}"));
        }
        if length > MAX_DESCRIPTION {
            findings.add_warning(format!(
                "tool `{name}` has a description of {length} characters; OpenAI accepts at most {MAX_DESCRIPTION}"
            ));
        }
    }
    check_encoding("openai", &ChatCompletions::new(), agent, findings);
    check_encoding("openai-responses", &OpenAiResponses::new(), agent, findings);
    check_encoding("anthropic", &AnthropicMessages::new(), agent, findings);
}

/// Encodes the tools in a dialect. What the dialect cannot express becomes a warning.
fn check_encoding<D: Dialect>(
    provider: &str,
    dialect: &D,
    agent: &AgentDir,
    findings: &mut Findings,
) {
    match find_notes(dialect, &agent.tools) {
        Ok(notes) => {
            for note in notes {
                findings.add_warning(format!("{provider}: {}", note.message));
            }
        }
        Err(error) => findings.add_error(UserError::new(format!("{provider}: {error}"))),
    }
}

/// What a dialect cannot express of the schemas of these tools.
fn find_notes(dialect: &impl Dialect, tools: &[Tool]) -> Result<Vec<RequestNote>, EncodeError> {
    let names = WireNames::new(tools.iter().map(|tool| tool.name().as_str()));
    let mut prompt = Prompt::default();
    let offered =
        |tool: &Tool| OfferedTool::new(names.wire_name(tool.name().as_str()), tool.clone());
    prompt.tools.extend(tools.iter().map(offered));
    let encoded = dialect.encode_request(&ModelRequest::new("model", &prompt, &Map::new()))?;
    let notes = encoded.notes.into_iter();
    Ok(notes.filter(|note| note.topic.is_about_tool_schema()).collect())
}
