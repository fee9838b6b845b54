//! Formats of answers: by the option of the dialect where it has one, and always by an instruction and a check.

use haft::providers::dialect::Dialect;
use haft::providers::dialects::anthropic_messages::AnthropicMessages;
use haft::providers::dialects::chat_completions::ChatCompletions;
use haft::providers::dialects::ollama::Ollama;
use haft::providers::dialects::openai_responses::OpenAiResponses;
use haft::providers::{Options, Provider};
use haft::turn::{Agent, AnswerFormat, Turn};
use serde_json::{Value, json};

use super::provider::{Ran, input, run_with, says};
use super::transcripts::weather;

fn format() -> AnswerFormat {
    let schema = json!({
        "type": "object",
        "properties": {"degrees": {"type": "integer"}, "sky": {"type": "string"}},
        "required": ["degrees"],
        "additionalProperties": false,
    });
    AnswerFormat::from_json_schema(schema).unwrap()
}

fn formatted(agent: &Agent) -> Turn {
    input(agent).answer_format(format())
}

/// The body of the first request to a provider with these options.
async fn first_body<D: Dialect>(dialect: D, options: Value, with_tools: bool) -> Value {
    let provider = Provider::builder(dialect, "m").options(Options::from(options));
    let agent = Agent::builder(provider.build().unwrap());
    let agent = if with_tools { agent.tool(weather()) } else { agent };
    let turn = input(&agent.build().unwrap()).answer_format(format());
    let request = turn.render_request().await.unwrap().unwrap();
    serde_json::from_slice(&request.body).unwrap()
}

#[tokio::test]
async fn dialects_ask_for_the_format_in_their_way() {
    let sky = json!({"type": ["string", "null"], "description": "null leaves it out."});
    let strict = json!({
        "type": "object",
        "properties": {"degrees": {"type": "integer"}, "sky": sky},
        "required": ["degrees", "sky"],
        "additionalProperties": false,
    });

    let body = first_body(ChatCompletions::new(), json!({}), true).await;
    let expected = json!({"type": "json_schema", "json_schema":
        {"name": "answer", "schema": strict, "strict": true}});
    assert_eq!(body["response_format"], expected);

    let body =
        first_body(OpenAiResponses::new(), json!({"text": {"verbosity": "low"}}), true).await;
    let expected =
        json!({"type": "json_schema", "name": "answer", "schema": strict, "strict": true});
    assert_eq!(body["text"], json!({"format": expected, "verbosity": "low"}));

    let body = first_body(AnthropicMessages::new(), json!({}), true).await;
    assert_eq!(body["output_config"], json!({"format": {"type": "json_schema", "schema": strict}}));

    let body = first_body(Ollama::new(), json!({}), false).await;
    assert_eq!(body["format"], format().schema().json_schema());
    // A format would keep the model from calling tools.
    let body = first_body(Ollama::new(), json!({}), true).await;
    assert_eq!(body["format"], Value::Null);
}

#[tokio::test]
async fn the_user_decides_how_a_format_is_requested() {
    let options = json!({"structuredOutput": "instruction"});
    let body = first_body(ChatCompletions::new(), options, false).await;
    assert_eq!(body["response_format"], Value::Null);
    assert!(body["messages"].to_string().contains("degrees"), "{body}");

    let own = json!({"type": "json_object"});
    let body = first_body(ChatCompletions::new(), json!({"response_format": own}), false).await;
    assert_eq!(body["response_format"], own);
}

#[tokio::test]
async fn other_services_get_an_instruction_and_the_check_runs_always() {
    let replies = [says("Warm."), says("{\"degrees\": 21}")];
    let Ran { report, bodies, .. } = run_with(replies, json!({}), formatted).await;
    assert_eq!(report.answer::<Value>().unwrap(), json!({"degrees": 21}));
    let [first, second] = &bodies[..] else { panic!("{bodies:?}") };
    // The server of the test is not that of the dialect.
    assert_eq!(first["response_format"], Value::Null);
    let messages = second["messages"].as_array().unwrap();
    let last = messages.last().unwrap();
    assert_eq!(last["role"], "user");
    assert!(last.to_string().contains("does not fit the required JSON Schema"), "{last}");
    // Until then the requests are the same, so that a prompt cache matches.
    let sent = first["messages"].as_array().unwrap();
    assert_eq!(messages[..sent.len()], sent[..]);

    let native = json!({"structuredOutput": "native"});
    let replies = [says("{\"degrees\": \"warm\"}"), says("{\"degrees\": 21, \"sky\": null}")];
    let Ran { report, bodies, .. } = run_with(replies, native, formatted).await;
    assert_eq!(bodies[0]["response_format"]["type"], "json_schema");
    assert_eq!(report.answer::<Value>().unwrap()["degrees"], 21);
    assert_eq!(report.iterations, 2);
}
