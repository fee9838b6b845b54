//! Encodes tools as the providers' requests contain them.

use anyhow::{Context as _, Result};
use haft::Tool;
use haft::providers::dialect::{Dialect, EncodeError, ModelRequest, RequestNote};
use haft::providers::dialects::anthropic_messages::AnthropicMessages;
use haft::providers::dialects::chat_completions::ChatCompletions;
use haft::providers::dialects::openai_responses::OpenAiResponses;
use haft::providers::prompt::{OfferedTool, Prompt};
use haft::providers::wire_names::WireNames;
use serde_json::{Map, Value};

use crate::args::ToolFormat;

/// Encodes one tool, and returns it with the notes about what the format cannot express.
pub(super) fn encode_tool(tool: &Tool, format: ToolFormat) -> Result<(Value, Vec<RequestNote>)> {
    let tools = std::slice::from_ref(tool);
    let (mut request, notes) = match format {
        ToolFormat::JsonSchema => {
            let schema = serde_json::from_str(tool.input_schema().json_schema_text())?;
            return Ok((schema, Vec::new()));
        }
        ToolFormat::ChatCompletions => encode_request(&ChatCompletions::new(), tools)?,
        ToolFormat::Responses => encode_request(&OpenAiResponses::new(), tools)?,
        ToolFormat::Anthropic => encode_request(&AnthropicMessages::new(), tools)?,
    };
    let encoded = request.pointer_mut("/tools/0").map(Value::take);
    Ok((encoded.context("the encoded request contains no tool")?, notes))
}

/// Encodes a request that contains only these tools, and returns it with the notes about their schemas.
pub(super) fn encode_request(
    dialect: &impl Dialect,
    tools: &[Tool],
) -> Result<(Value, Vec<RequestNote>), EncodeError> {
    let names = WireNames::new(tools.iter().map(|tool| tool.name().as_str()));
    let mut prompt = Prompt::default();
    let offered =
        |tool: &Tool| OfferedTool::new(names.wire_name(tool.name().as_str()), tool.clone());
    prompt.tools.extend(tools.iter().map(offered));
    // Cache breakpoints of a provider are not part of a tool.
    let options = Map::from_iter([("cache_breakpoints".to_owned(), "off".into())]);
    let mut encoded = dialect.encode_request(&ModelRequest::new("model", &prompt, &options))?;
    encoded.notes.retain(|note| note.topic.is_about_tool_schema());
    let request = serde_json::from_slice(&encoded.body);
    let request = request.map_err(|error| EncodeError::new(error.to_string()))?;
    Ok((request, encoded.notes))
}
