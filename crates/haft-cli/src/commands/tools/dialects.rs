//! A tool as each dialect writes it.

use anyhow::{Context as _, Result};
use haft::Tool;
use haft::providers::anthropic_messages::AnthropicMessages;
use haft::providers::chat_completions::ChatCompletions;
use haft::providers::dialect::{Dialect, Note, Request};
use haft::providers::names::WireNames;
use haft::providers::openai_responses::OpenAiResponses;
use haft::providers::prompt::{OfferedTool, Prompt};
use serde_json::{Map, Value};

use crate::args::Form;

/// A tool in a form, and what could not be said in it.
pub(in crate::commands) fn shown(tool: &Tool, form: Form) -> Result<(Value, Vec<Note>)> {
    match form {
        Form::JsonSchema => {
            let schema = serde_json::from_str(tool.input_schema().json_schema_text())?;
            Ok((schema, Vec::new()))
        }
        Form::ChatCompletions => encoded(&ChatCompletions::new(), tool),
        Form::Responses => encoded(&OpenAiResponses::new(), tool),
        Form::Anthropic => encoded(&AnthropicMessages::new(), tool),
    }
}

/// What a real request would say of the tool.
fn encoded(dialect: &impl Dialect, tool: &Tool) -> Result<(Value, Vec<Note>)> {
    let names = WireNames::of([tool.name().as_str()]);
    let mut prompt = Prompt::default();
    prompt.tools.push(OfferedTool::new(names.wire(tool.name().as_str()), tool.clone()));
    // Marks for the cache of a provider say nothing of the tool.
    let options = Map::from_iter([("cache_breakpoints".to_owned(), "off".into())]);
    let mut encoded = dialect.encode(&Request::new("model", &prompt, &options))?;
    encoded.notes.retain(|note| note.topic.starts_with("schema") || note.topic.starts_with("tool"));
    let mut request: Value = serde_json::from_slice(&encoded.body)?;
    let shown = request.pointer_mut("/tools/0").map(Value::take);
    Ok((shown.context("the request shows no tool")?, encoded.notes))
}
