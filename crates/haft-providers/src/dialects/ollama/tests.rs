use haft_core::tokens::Estimators;
use haft_core::trust::{EnvelopeKey, PromptRenderer};
use serde_json::{Map, Value, json};

use super::Ollama;
use crate::dialect::{DecodeError, Dialect as _, ModelRequest, StreamEvent};
use crate::generation::{Generation, GenerationAssembler, GenerationOutcome};
use crate::options::{OptionSchema, Options};
use crate::prompt::{ContentPart, Prompt, PromptEntry, UserEntry};

fn encode(options: Value) -> Value {
    let renderer = PromptRenderer::new(EnvelopeKey::from_bytes([7; 32]));
    let text = renderer.spoken_text("Hello");
    let mut prompt = Prompt::default();
    prompt.timeline.push(PromptEntry::User(UserEntry::new(vec![ContentPart::Text(text)])));
    let options = match options {
        Value::Object(options) => options,
        other => panic!("{other}"),
    };
    let request = ModelRequest::new("m", &prompt, &options);
    serde_json::from_slice(&Ollama::new().encode_request(&request).unwrap().body).unwrap()
}

fn read(lines: &[Value]) -> Result<(Generation, GenerationOutcome), DecodeError> {
    let prompt = Prompt::default();
    let options = Map::new();
    let mut decoder = Ollama::new().response_decoder(&ModelRequest::new("m", &prompt, &options));
    let mut assembler = GenerationAssembler::new();
    for line in lines {
        let line = line.to_string();
        decoder
            .decode_event(StreamEvent::new(&line), &mut |event| assembler.push(event).unwrap())?;
    }
    Ok(assembler.finish())
}

#[test]
fn options_stand_where_the_api_has_them() {
    let body = encode(json!({ "think": "low", "keep_alive": "5m", "num_ctx": 8192, "seed": 7 }));
    assert_eq!((&body["think"], &body["keep_alive"]), (&json!("low"), &json!("5m")));
    assert_eq!(body["options"], json!({ "num_ctx": 8192, "seed": 7 }));
    assert_eq!((&body["stream"], &body["truncate"]), (&json!(true), &json!(false)));
    assert!(body.get("tools").is_none());
    // The names of Chat Completions, which `ollama:` had before.
    let body = encode(json!({ "max_tokens": 9, "reasoning_effort": "none", "truncate": true }));
    assert_eq!((&body["think"], &body["truncate"]), (&json!(false), &json!(true)));
    let expected = json!({ "num_predict": 9, "num_ctx": Ollama::DEFAULT_NUM_CTX });
    assert_eq!(body["options"], expected);
    assert_eq!(encode(json!({ "reasoning_effort": "high" }))["think"], json!("high"));
}

#[test]
fn options_are_accepted_and_refused_as_they_should_be() {
    let schema = OptionSchema::for_dialect(&Ollama::new());
    let resolve = |options: Value| {
        let options = Options::from(options).with("model", "m");
        schema.resolve(&Ollama::new(), &[&options], &Estimators::default())
    };
    assert!(
        resolve(json!({ "think": true, "format": { "type": "object" }, "stop": ["x"] })).is_ok()
    );
    for (wrong, word) in [
        (json!({ "think": "a lot" }), "think"),
        (json!({ "num_ctx": 0 }), "num_ctx"),
        (json!({ "num_predict": 5, "max_tokens": 5 }), "give one of them"),
        (json!({ "think": true, "reasoning_effort": "low" }), "give one of them"),
        (json!({ "top_logprobs": 2 }), "logprobs"),
        (json!({ "num_ctxs": 5 }), "did you mean `num_ctx`?"),
    ] {
        let refused = resolve(wrong.clone()).unwrap_err().to_string();
        assert!(refused.contains(word), "{wrong}: {refused}");
    }
    let limit = |options: Value| Ollama::new().output_limit(options.as_object().unwrap());
    assert_eq!(limit(json!({ "max_tokens": 5 })), Some(5));
    assert_eq!(limit(json!({ "num_predict": -1 })), None);
}

#[test]
fn a_stream_with_thoughts_text_and_calls() {
    let (generation, outcome) = read(&[
        json!({ "model": "qwen3", "message": { "role": "assistant", "content": "", "thinking": "Hm" }, "done": false }),
        json!({ "message": { "content": "", "thinking": "m." }, "done": false }),
        json!({ "message": { "content": "I look." }, "done": false }),
        json!({ "message": { "content": "", "tool_calls": [
            { "id": "c1", "function": { "name": "a", "arguments": { "z": 1.50, "a": "ü" } } },
            { "function": { "name": "b" } } ] }, "done": false }),
        json!({ "message": { "content": "" }, "done": true, "done_reason": "stop", "prompt_eval_count": 20, "eval_count": 5 }),
    ])
    .unwrap();
    assert_eq!(outcome, GenerationOutcome::ToolCalls);
    assert_eq!((generation.text.as_str(), generation.model.as_deref()), ("I look.", Some("qwen3")));
    assert_eq!(generation.reasoning[0].text, "Hmm.");
    let calls: Vec<_> =
        generation.calls.iter().map(|it| (it.name.as_str(), it.id.as_deref())).collect();
    assert_eq!(calls, [("a", Some("c1")), ("b", None)]);
    let first: Value = serde_json::from_str(&generation.calls[0].arguments).unwrap();
    assert_eq!(
        (first, generation.calls[1].arguments.as_str()),
        (json!({ "z": 1.5, "a": "ü" }), "{}")
    );
    assert_eq!((generation.usage.prompt, generation.usage.completion), (20, 5));
}

#[test]
fn ends_and_failures() {
    let end = |reason: &str| {
        read(&[json!({ "message": { "content": "x" }, "done": true, "done_reason": reason })])
    };
    assert_eq!(end("stop").unwrap().1, GenerationOutcome::Completed);
    assert_eq!(end("length").unwrap().1, GenerationOutcome::Truncated);
    let cut = read(&[json!({ "message": { "content": "x" }, "done": false })]);
    assert_eq!(cut.unwrap().1, GenerationOutcome::Truncated);
    for (error, retryable) in
        [("model 'x' not found", false), ("llama runner process has terminated", true)]
    {
        match read(&[json!({ "error": error })]) {
            Err(DecodeError::Provider { message, retryable: is, .. }) => {
                assert_eq!((message.as_str(), is), (error, retryable));
            }
            other => panic!("{other:?}"),
        }
    }
    assert!(matches!(read(&[json!({ "choices": [] })]), Err(DecodeError::Malformed(_))));
    let overflow = r#"{"error":"the input length exceeds the context length"}"#;
    assert!(Ollama::new().is_context_overflow(400, overflow));
    assert!(!Ollama::new().is_context_overflow(400, r#"{"error":"bad request"}"#));
}
