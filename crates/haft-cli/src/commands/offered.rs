//! Tools as a real request offers them, in each dialect.

use anyhow::{Context as _, Result};
use haft::Tool;
use haft::providers::dialect::{CannotEncode, Dialect, Note, Request};
use haft::providers::dialects::anthropic_messages::AnthropicMessages;
use haft::providers::dialects::chat_completions::ChatCompletions;
use haft::providers::dialects::openai_responses::OpenAiResponses;
use haft::providers::names::WireNames;
use haft::providers::prompt::{OfferedTool, Prompt};
use serde_json::{Map, Value};

use crate::args::Form;

/// A tool in a form, and what could not be said in it.
pub(super) fn shown(tool: &Tool, form: Form) -> Result<(Value, Vec<Note>)> {
    let tools = std::slice::from_ref(tool);
    let (mut request, notes) = match form {
        Form::JsonSchema => {
            let schema = serde_json::from_str(tool.input_schema().json_schema_text())?;
            return Ok((schema, Vec::new()));
        }
        Form::ChatCompletions => request(&ChatCompletions::new(), tools)?,
        Form::Responses => request(&OpenAiResponses::new(), tools)?,
        Form::Anthropic => request(&AnthropicMessages::new(), tools)?,
    };
    let shown = request.pointer_mut("/tools/0").map(Value::take);
    Ok((shown.context("the request shows no tool")?, notes))
}

/// A request with these tools and nothing else, and what it could not say of them.
pub(super) fn request(
    dialect: &impl Dialect,
    tools: &[Tool],
) -> Result<(Value, Vec<Note>), CannotEncode> {
    let names = WireNames::of(tools.iter().map(|tool| tool.name().as_str()));
    let mut prompt = Prompt::default();
    let offered = |tool: &Tool| OfferedTool::new(names.wire(tool.name().as_str()), tool.clone());
    prompt.tools.extend(tools.iter().map(offered));
    // Marks for the cache of a provider say nothing of the tools.
    let options = Map::from_iter([("cache_breakpoints".to_owned(), "off".into())]);
    let mut encoded = dialect.encode(&Request::new("model", &prompt, &options))?;
    encoded
        .notes
        .retain(|note| note.topic.starts_with("schema") || note.topic == "tool-not-strict");
    let request = serde_json::from_slice(&encoded.body);
    let request = request.map_err(|error| CannotEncode::new(error.to_string()))?;
    Ok((request, encoded.notes))
}
