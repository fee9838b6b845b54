//! The dialects and transports of this crate keep the contracts, and the checks find those that do not.

use bytes::Bytes;
use haft_core::BoxFuture;
use haft_core::media::MediaKind;
use serde_json::{Map, Value, json};

use super::{ContractViolation, DialectSample, dialect};
use crate::dialect::{
    DecodeError, Delivery, Dialect, EncodeError, EncodedRequest, ModelRequest, ResponseDecoder,
    StreamEvent,
};
use crate::dialects::anthropic_messages::AnthropicMessages;
use crate::dialects::chat_completions::ChatCompletions;
use crate::dialects::ollama::Ollama;
use crate::dialects::openai_responses::OpenAiResponses;
use crate::generation::GenerationEvent;
use crate::prompt::MediaPosition;
use crate::transport::{Body, HttpError, Response};

/// Server-sent events with the type of each as its name.
fn sse(events: &[Value]) -> String {
    let frame = |event: &Value| match event {
        Value::String(text) => format!("data: {text}\n\n"),
        _ => match event["type"].as_str() {
            Some(name) => format!("event: {name}\r\ndata: {event}\r\n\r\n"),
            None => format!("data: {event}\n\n"),
        },
    };
    format!(": hello\n\n{}", events.iter().map(frame).collect::<String>())
}

fn chat_samples() -> [DialectSample; 2] {
    let delta = |delta: Value| json!({ "id": "c", "choices": [{ "index": 0, "delta": delta }] });
    let finish = |reason| json!({ "choices": [{ "delta": {}, "finish_reason": reason }] });
    let call = |id: Value, name: Value, arguments: &str| {
        delta(
            json!({ "tool_calls": [{ "index": 0, "id": id, "function": { "name": name, "arguments": arguments } }] }),
        )
    };
    let text = sse(&[
        delta(json!({ "content": "Grüße, " })),
        delta(json!({ "content": "🦀!" })),
        finish("stop"),
        "[DONE]".into(),
    ]);
    let whole =
        json!({ "choices": [{ "message": { "content": "Grüße, 🦀!" }, "finish_reason": "stop" }] });
    let calls = sse(&[
        call(json!("a"), json!("weather"), "{\"city\":"),
        call(Value::Null, Value::Null, "\"Zürich\"}"),
        finish("tool_calls"),
        "[DONE]".into(),
    ]);
    [
        DialectSample::new(text).whole(whole.to_string()).text("Grüße, 🦀!"),
        DialectSample::new(calls).call("weather", r#"{"city":"Zürich"}"#),
    ]
}

fn messages_samples() -> [DialectSample; 2] {
    let start = json!({ "type": "message_start", "message": { "id": "m", "usage": { "input_tokens": 3 } } });
    let block =
        |block: Value| json!({ "type": "content_block_start", "index": 0, "content_block": block });
    let delta = |delta: Value| json!({ "type": "content_block_delta", "index": 0, "delta": delta });
    let stop = json!({ "type": "content_block_stop", "index": 0 });
    let end = |reason| json!({ "type": "message_delta", "delta": { "stop_reason": reason }, "usage": { "output_tokens": 2 } });
    let last = json!({ "type": "message_stop" });
    let text = sse(&[
        start.clone(),
        block(json!({ "type": "text", "text": "" })),
        delta(json!({ "type": "text_delta", "text": "Grüße, " })),
        delta(json!({ "type": "text_delta", "text": "🦀!" })),
        stop.clone(),
        end("end_turn"),
        last.clone(),
    ]);
    let whole = json!({ "type": "message", "stop_reason": "end_turn", "content": [{ "type": "text", "text": "Grüße, 🦀!" }] });
    let calls = sse(&[
        start,
        block(json!({ "type": "tool_use", "id": "a", "name": "weather", "input": {} })),
        delta(json!({ "type": "input_json_delta", "partial_json": "{\"city\":" })),
        delta(json!({ "type": "input_json_delta", "partial_json": "\"Zürich\"}" })),
        stop,
        end("tool_use"),
        last,
    ]);
    [
        DialectSample::new(text).whole(whole.to_string()).text("Grüße, 🦀!"),
        DialectSample::new(calls).call("weather", r#"{"city":"Zürich"}"#),
    ]
}

fn responses_samples() -> [DialectSample; 2] {
    let message = json!({ "type": "message", "id": "i", "content": [{ "type": "output_text", "text": "Grüße, 🦀!" }] });
    let done = |output: &Value| json!({ "id": "r", "status": "completed", "output": [output] });
    let delta = |text| json!({ "type": "response.output_text.delta", "output_index": 0, "content_index": 0, "delta": text });
    let text = sse(&[
        json!({ "type": "response.created", "response": { "id": "r" } }),
        json!({ "type": "response.output_item.added", "output_index": 0, "item": { "type": "message", "id": "i" } }),
        delta("Grüße, "),
        delta("🦀!"),
        json!({ "type": "response.output_item.done", "output_index": 0, "item": message }),
        json!({ "type": "response.completed", "response": done(&message) }),
    ]);
    let call = json!({ "type": "function_call", "call_id": "a", "name": "weather", "arguments": "{\"city\":\"Zürich\"}" });
    let calls = sse(&[
        json!({ "type": "response.output_item.added", "output_index": 0,
            "item": { "type": "function_call", "call_id": "a", "name": "weather", "arguments": "" } }),
        json!({ "type": "response.function_call_arguments.delta", "output_index": 0, "delta": "{\"city\":\"Zü" }),
        json!({ "type": "response.function_call_arguments.delta", "output_index": 0, "delta": "rich\"}" }),
        json!({ "type": "response.output_item.done", "output_index": 0, "item": call }),
        json!({ "type": "response.completed", "response": done(&call) }),
    ]);
    [
        DialectSample::new(text).whole(done(&message).to_string()).text("Grüße, 🦀!"),
        DialectSample::new(calls).call("weather", r#"{"city":"Zürich"}"#),
    ]
}

fn ollama_samples() -> [DialectSample; 2] {
    let lines = |lines: &[Value]| lines.iter().map(|it| format!("{it}\n")).collect::<String>();
    let text = |text: &str| json!({ "model": "m", "message": { "content": text }, "done": false });
    let end = json!({ "message": { "content": "" }, "done": true, "done_reason": "stop", "eval_count": 2 });
    let call = json!({ "message": { "content": "", "tool_calls": [
        { "function": { "name": "weather", "arguments": { "city": "Zürich" } } }] }, "done": false });
    let whole =
        json!({ "message": { "content": "Grüße, 🦀!" }, "done": true, "done_reason": "stop" });
    [
        DialectSample::new(lines(&[text("Grüße, "), text("🦀!"), end.clone()]))
            .whole(whole.to_string())
            .text("Grüße, 🦀!"),
        DialectSample::new(lines(&[call, end])).call("weather", r#"{"city":"Zürich"}"#),
    ]
}

#[test]
fn the_dialects_keep_the_contract() {
    dialect(&ChatCompletions::new(), &chat_samples()).unwrap();
    dialect(&AnthropicMessages::new(), &messages_samples()).unwrap();
    dialect(&OpenAiResponses::new(), &responses_samples()).unwrap();
    dialect(&Ollama::new(), &ollama_samples()).unwrap();
}

#[cfg(feature = "http")]
#[tokio::test]
async fn the_http_transport_keeps_the_contract() {
    let transport = crate::transport::HttpTransport::builder().build().unwrap();
    super::transport(&transport).await.unwrap();
}

/// A transport that makes everything a success.
#[derive(Debug)]
struct Careless;

impl crate::transport::Transport for Careless {
    fn send(&self, _: http::Request<Bytes>) -> BoxFuture<'_, Result<Response<Body>, HttpError>> {
        Box::pin(async { crate::transport::response(200, Body::empty()) })
    }
}

#[tokio::test]
async fn a_transport_that_sends_nothing_is_found() {
    let violation = super::transport(&Careless).await.unwrap_err();
    assert_eq!(violation.promise, "a response arrives");
}

/// What a broken dialect does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    /// It leaves the timeline out without a note.
    Forgets,
    /// It sends the words of a user outside of their envelope as well.
    Repeats,
    /// It takes the end of a stream for the end of the response.
    TrustsTheEnd,
    /// It accepts every option.
    AcceptsAll,
}

/// Chat Completions with a fault.
#[derive(Debug)]
struct Broken(Fault, ChatCompletions);

impl Dialect for Broken {
    fn name(&self) -> &'static str {
        "broken"
    }

    fn base_url(&self) -> &'static str {
        self.1.base_url()
    }

    fn path(&self, model: &str, delivery: Delivery) -> String {
        self.1.path(model, delivery)
    }

    fn auth_headers(&self, key: &str) -> Vec<(&'static str, String)> {
        self.1.auth_headers(key)
    }

    fn options_schema(&self) -> Value {
        if self.0 == Fault::AcceptsAll {
            json!({ "type": "object" })
        } else {
            self.1.options_schema()
        }
    }

    fn supports_media(&self, kind: MediaKind, mime_type: &str, position: MediaPosition) -> bool {
        self.1.supports_media(kind, mime_type, position)
    }

    fn replay_tags(&self) -> &'static [&'static str] {
        &[]
    }

    fn encode_request(&self, request: &ModelRequest<'_>) -> Result<EncodedRequest, EncodeError> {
        let mut encoded = self.1.encode_request(request)?;
        let mut body: Value = serde_json::from_slice(&encoded.body).unwrap();
        match self.0 {
            Fault::Forgets => body["messages"] = json!([]),
            Fault::Repeats => body["user"] = json!("marker-question"),
            _ => {}
        }
        encoded.body = body.to_string().into();
        encoded.notes.clear();
        Ok(encoded)
    }

    fn response_decoder(&self, request: &ModelRequest<'_>) -> Box<dyn ResponseDecoder> {
        let inner = self.1.response_decoder(request);
        if self.0 == Fault::TrustsTheEnd { Box::new(Trusting(inner)) } else { inner }
    }
}

struct Trusting(Box<dyn ResponseDecoder>);

impl ResponseDecoder for Trusting {
    fn decode_event(
        &mut self,
        event: StreamEvent<'_>,
        report: &mut dyn FnMut(GenerationEvent<'_>),
    ) -> Result<(), DecodeError> {
        self.0.decode_event(event, report)?;
        report(GenerationEvent::Finish { finish: None, reason: "trust" });
        Ok(())
    }

    fn decode_whole(
        &mut self,
        body: &[u8],
        report: &mut dyn FnMut(GenerationEvent<'_>),
    ) -> Result<(), DecodeError> {
        self.0.decode_whole(body, report)
    }
}

#[test]
fn every_fault_is_found() {
    #[track_caller]
    fn check(fault: Fault, promise: &str) {
        let broken = Broken(fault, ChatCompletions::new());
        let violation: ContractViolation = dialect(&broken, &chat_samples()).unwrap_err();
        assert_eq!(violation.promise, promise, "{violation}");
    }
    check(Fault::Forgets, "an entry is encoded, or a note says that it is not");
    check(Fault::Repeats, "no text leaves its envelope");
    check(Fault::TrustsTheEnd, "an incomplete stream is a truncation or an error");
    check(Fault::AcceptsAll, "an unknown option is refused");
}

#[test]
fn a_sample_has_to_say_what_its_stream_says() {
    let [sample, _] = chat_samples();
    let violation = dialect(&ChatCompletions::new(), &[sample.text("other")]).unwrap_err();
    assert_eq!(violation.promise, "a stream has the content of its sample");
    let options = Map::from_iter([("unknown".to_owned(), Value::Bool(true))]);
    let [sample, _] = chat_samples();
    let violation = dialect(&ChatCompletions::new(), &[sample.options(options)]).unwrap_err();
    assert_eq!(violation.promise, "the options of a sample are valid");
}
