//! What providers make of the tools.

use haft::providers::dialects::anthropic_messages::AnthropicMessages;
use haft::providers::dialects::chat_completions::ChatCompletions;
use haft::providers::dialects::openai_responses::OpenAiResponses;
use haft::providers::names::WireNames;
use haft::providers::{Dialect, Options, Provider};
use serde_json::Value;

use super::Findings;
use crate::agent::Agent;
use crate::commands::offered;
use crate::failure::Failure;

/// The most tools that OpenAI takes.
const MOST_TOOLS: usize = 128;
/// The most characters of a description that OpenAI takes.
const LONGEST_DESCRIPTION: usize = 1024;

pub(super) fn check(agent: &Agent, found: &mut Findings) {
    if agent.tools.len() > MOST_TOOLS {
        let count = agent.tools.len();
        found.warnings.push(format!("OpenAI takes {MOST_TOOLS} tools, and these are {count}"));
    }
    let names = WireNames::of(agent.tools.iter().map(|tool| tool.name().as_str()));
    for tool in &agent.tools {
        let (name, length) = (tool.name().as_str(), tool.description().chars().count());
        let wire = names.wire(name);
        if *wire != *name {
            let text = format!("tool `{name}` is called `{wire}` before models");
            found.warnings.push(format!("{text}: use letters, digits, `_` and `-`, at most 64"));
        }
        if length > LONGEST_DESCRIPTION {
            let most = LONGEST_DESCRIPTION;
            found.warnings.push(format!(
                "tool `{name}` has a description of {length} characters, and OpenAI takes {most}"
            ));
        }
    }
    lost("openai", &ChatCompletions::new(), agent, found);
    lost("openai-responses", &OpenAiResponses::new(), agent, found);
    lost("anthropic", &AnthropicMessages::new(), agent, found);
    options(agent, found);
}

/// What a dialect leaves out of the schemas, or why it cannot offer the tools.
fn lost<D: Dialect>(provider: &str, dialect: &D, agent: &Agent, found: &mut Findings) {
    match offered::request(dialect, &agent.tools) {
        Ok((_, notes)) => found
            .warnings
            .extend(notes.into_iter().map(|note| format!("{provider}: {}", note.message))),
        Err(error) => found.problems.push(Failure::new(format!("{provider}: {error}"))),
    }
}

/// The options of the agent's own model.
fn options(agent: &Agent, found: &mut Findings) {
    let Some((provider, model)) = agent.file.model.as_deref().and_then(|it| it.split_once(':'))
    else {
        return;
    };
    let options = Options::from(Value::Object(agent.file.options.clone()));
    let refused = match provider {
        "openai" | "ollama" => refusal(ChatCompletions::new(), model, options),
        "openai-responses" => refusal(OpenAiResponses::new(), model, options),
        "anthropic" => refusal(AnthropicMessages::new(), model, options),
        _ => None,
    };
    found.problems.extend(refused.map(|it| Failure::new(format!("`options`: {it}"))));
}

fn refusal<D: Dialect>(dialect: D, model: &str, options: Options) -> Option<String> {
    Provider::builder(dialect, model).options(options).build().err().map(|it| it.to_string())
}
