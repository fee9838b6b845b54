//! Addresses that are no model API: every dialect says what came instead, and asks again only where that may help.

use std::sync::Arc;

use bytes::Bytes;
use haft::providers::dialects::anthropic_messages::AnthropicMessages;
use haft::providers::dialects::chat_completions::ChatCompletions;
use haft::providers::dialects::ollama::Ollama;
use haft::providers::dialects::openai_responses::OpenAiResponses;
use haft::providers::transport::{Body, HttpError};
use haft::providers::{Dialect, Options, Provider};
use haft::turn::{Agent, TurnReport};
use serde_json::{Value, json};

use super::provider::input;
use super::{Reply, Scripted, WithHeader as _, respond};

type Answer = Result<Reply, HttpError>;

fn answer(status: u16, content_type: &str, body: &str) -> Answer {
    let body = Body::from_chunks([Bytes::copy_from_slice(body.as_bytes())]);
    let reply = respond(status, body);
    Ok(if content_type.is_empty() {
        reply
    } else {
        reply.with_header("content-type", content_type)
    })
}

/// Runs a turn against an address that responds like this three times. Returns the report and the number of requests.
async fn run_on(
    dialect: impl Dialect,
    options: &Value,
    (status, content_type, body): (u16, &str, &str),
) -> (TurnReport, usize) {
    let transport = Scripted::new([(); 3].map(|()| answer(status, content_type, body)));
    let provider = Provider::builder(dialect, "m")
        .base_url("http://localhost:1/v1")
        .key("sk-very-secret")
        .options(Options::from(options.clone()))
        .transport(Arc::clone(&transport))
        .build()
        .unwrap();
    let report = input(&Agent::builder(provider).build().unwrap()).report().await.unwrap();
    (report, transport.asked().len())
}

/// What the report of each dialect says, streamed and whole.
async fn ask_all(response: (u16, &str, &str)) -> Vec<(String, TurnReport, usize)> {
    let mut all = Vec::new();
    for options in [json!({}), json!({ "stream": false })] {
        let reports = [
            ("openai-chat-completions", run_on(ChatCompletions::new(), &options, response).await),
            ("openai-responses", run_on(OpenAiResponses::new(), &options, response).await),
            ("anthropic-messages", run_on(AnthropicMessages::new(), &options, response).await),
            ("ollama", run_on(Ollama::new(), &options, response).await),
        ];
        for (dialect, (report, requests)) in reports {
            all.push((format!("{dialect} {options}"), report, requests));
        }
    }
    all
}

async fn check(response: (u16, &str, &str), said: &str, requests: usize) {
    for (what, report, asked) in ask_all(response).await {
        let dialect = what.split(' ').next().unwrap();
        let message = report.error.as_ref().unwrap().message.to_string();
        let expected = format!(
            "the executor failed: `localhost:1` responded with {said}, which is no response of the dialect `{dialect}`; \
             check the base URL and the dialect"
        );
        assert_eq!(message, expected, "{what}: {response:?}");
        assert_eq!(asked, requests, "{what}: {response:?}");
        assert_eq!(report.is_resumable, requests > 1, "{what}: {response:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_no_response_of_a_model_is_quoted_with_its_status_and_type() {
    let page = "<!doctype html>\n<title>Sign in</title>";
    let other = r#"{"id": 7, "model": "T", "status": "created"}"#;
    for (status, content_type) in [(200, "application/json"), (201, "text/plain"), (200, "")] {
        let shown = match content_type {
            "" => "no content type".to_owned(),
            content_type => format!("content type `{content_type}`"),
        };
        let said = format!("status {status}, {shown} and `{other}`");
        check((status, content_type, other), &said, 1).await;
        let said = format!("status {status}, {shown} and `[]`");
        check((status, content_type, "[]"), &said, 1).await;
        let said = format!("status {status}, {shown} and `\u{FFFD}[31mhello {{] \u{FFFD}`");
        check((status, content_type, "\u{1b}[31mhello\n{] \u{202e}"), &said, 1).await;
        // A gateway that lost a response may have it the next time.
        let said = format!("status {status}, {shown} and an empty body");
        check((status, content_type, ""), &said, 3).await;
    }
    let said = "status 200, content type `text/html; charset=utf-8` and `<!doctype html> <title>Sign in</title>`";
    check((200, "text/html; charset=utf-8", page), said, 1).await;
}

#[tokio::test]
async fn a_service_that_repeats_the_key_does_not_bring_it_into_a_message() {
    for (what, report, _) in ask_all((200, "text/plain", "you sent sk-very-secret")).await {
        let message = report.to_string();
        assert!(message.contains("you sent [redacted]"), "{what}: {message}");
    }
}

/// The right JSON is read, whatever its content type is.
#[tokio::test]
async fn a_whole_response_needs_no_content_type() {
    let body = json!({
        "id": "1", "model": "m", "type": "message", "role": "assistant", "status": "completed",
        "choices": [{ "index": 0, "message": { "content": "It is late." }, "finish_reason": "stop" }],
        "content": [{ "type": "text", "text": "It is late." }], "stop_reason": "end_turn",
        "output": [{ "type": "message", "id": "msg_1", "role": "assistant", "status": "completed",
            "content": [{ "type": "output_text", "text": "It is late.", "annotations": [] }] }],
        "message": { "role": "assistant", "content": "It is late." }, "done": true, "done_reason": "stop",
    });
    for content_type in ["", "text/plain", "application/octet-stream", "text/event-stream"] {
        for (what, report, asked) in ask_all((200, content_type, &body.to_string())).await {
            assert_eq!(report.to_string(), "It is late.", "{what}: `{content_type}`");
            assert_eq!(asked, 1, "{what}");
        }
    }
}

/// A connection that breaks in the middle of a whole response is no other service.
#[tokio::test(start_paused = true)]
async fn a_whole_response_that_is_cut_is_requested_again() {
    for (what, report, asked) in ask_all((200, "application/json", r#"{"choices": [{"#)).await {
        assert_eq!((asked, report.is_resumable), (3, true), "{what}: {report}");
        assert!(!report.to_string().contains("check the base URL"), "{what}: {report}");
    }
}
