//! Reading answers in tests.

use haft::providers::Dialect;
use haft::providers::dialect::{AnswerError, Request};
use haft::providers::generation::{Assembler, Generation, Outcome};
use haft::providers::prompt::{
    CallArgs, CallResult, Content, Entry, Heard, Own, OwnCall, OwnThought, Prompt,
};
use haft::records::{CallId, RecordId};
use haft::trust::{MessagePart, PromptText};
use serde_json::{Map, Value};
use std::sync::Arc;

use super::transcripts::renderer;

/// What a stream of such events becomes.
pub(crate) fn streamed<D: Dialect>(
    dialect: &D,
    events: &[Value],
) -> Result<(Generation, Outcome), AnswerError> {
    let (prompt, options) = (Prompt::default(), Map::new());
    let mut decoder = dialect.decoder(&Request::new("test-model", &prompt, &options));
    let mut assembler = Assembler::new();
    for event in events {
        let name = event["type"].as_str();
        decoder.event(name, &event.to_string(), &mut |it| assembler.push(it).unwrap())?;
    }
    Ok(assembler.finish())
}

/// What an answer that comes whole becomes.
pub(crate) fn whole<D: Dialect>(
    dialect: &D,
    body: &Value,
) -> Result<(Generation, Outcome), AnswerError> {
    let (prompt, options) = (Prompt::default(), Map::new());
    let mut decoder = dialect.decoder(&Request::new("test-model", &prompt, &options).whole());
    let mut assembler = Assembler::new();
    decoder.whole(body.to_string().as_bytes(), &mut |it| assembler.push(it).unwrap())?;
    Ok(assembler.finish())
}

/// The same stream in smaller pieces: every text below these keys is cut somewhere.
pub(crate) fn cut(events: &[Value], keys: &[&str], cuts: &[usize]) -> Vec<Value> {
    let mut cuts = cuts.iter().cycle();
    let mut out = Vec::new();
    for event in events {
        let kind = event["type"].as_str().unwrap_or_default();
        let place = keys.iter().find(|it| event.pointer(it).is_some_and(Value::is_string));
        let Some(place) = place.filter(|_| kind.ends_with("delta")) else {
            out.push(event.clone());
            continue;
        };
        let text = event.pointer(place).unwrap().as_str().unwrap();
        let ends: Vec<usize> = text.char_indices().map(|(at, _)| at).chain([text.len()]).collect();
        let (one, two) = text.split_at(ends[cuts.next().unwrap() % ends.len()]);
        for piece in [one, two] {
            let mut event = event.clone();
            *event.pointer_mut(place).unwrap() = piece.into();
            out.push(event);
        }
    }
    out
}

pub(crate) fn words(text: &str) -> PromptText {
    renderer().message(&MessagePart::new("m", text))
}

/// A turn in which somebody asks, the model answers like this, and its calls have results.
pub(crate) fn replayed(generation: &Generation) -> Prompt {
    let calls: Vec<OwnCall> = generation.calls.iter().map(call).collect();
    let results =
        calls.iter().map(|it| CallResult::of(it, vec![Content::Text(words("done"))])).collect();
    let thoughts = generation
        .reasoning
        .iter()
        .filter_map(|it| Some(OwnThought::Opaque(Arc::new(it.opaque.clone()?.0))));
    let said = if generation.text.is_empty() {
        Vec::new()
    } else {
        vec![Content::Text(words(&generation.text))]
    };
    let own = Own::new(said).thinking(thoughts.collect()).calling(calls);
    let mut prompt = Prompt::default();
    prompt.timeline = vec![
        Entry::Heard(Heard::new(vec![Content::Text(words("Go."))])),
        Entry::Own(own),
        Entry::Results(results),
    ];
    prompt
}

fn call(call: &haft::providers::generation::GeneratedCall) -> OwnCall {
    let id = RecordId::first(CallId::of_text(&call.name, &call.arguments));
    let args = CallArgs::Object(call.arguments.clone());
    OwnCall::new(id, call.id.clone().unwrap(), call.name.as_str(), args)
}

/// A request for this prompt, and what was noted.
pub(crate) fn request<D: Dialect>(
    dialect: &D,
    prompt: &Prompt,
    model: &str,
    options: &Value,
) -> (Value, Vec<&'static str>) {
    let options = options.as_object().cloned().unwrap_or_default();
    let encoded = dialect.encode(&Request::new(model, prompt, &options)).unwrap();
    let notes = encoded.notes.iter().map(|it| it.topic).collect();
    (serde_json::from_slice(&encoded.body).unwrap(), notes)
}

/// A schema of the suites, if they are at hand.
pub(crate) fn suite(path: &str) -> Option<Value> {
    let text = std::fs::read(haft_testkit::suite(path)?).unwrap();
    let mut schema: Value = serde_json::from_slice(&text).unwrap();
    // A keyword of an older draft in a schema of the newest one.
    if let Some(filter) = schema.pointer_mut("/$defs/CompoundFilter") {
        filter.as_object_mut().unwrap().remove("$recursiveAnchor");
    }
    Some(schema)
}
