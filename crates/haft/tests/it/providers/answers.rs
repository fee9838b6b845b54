//! Reading answers in tests.

use haft::providers::Dialect;
use haft::providers::dialect::{DecodeError, Delivery, ModelRequest, StreamEvent};
use haft::providers::generation::{Generation, GenerationAssembler, GenerationOutcome};
use haft::providers::prompt::{
    AssistantCall, AssistantEntry, AssistantThought, CallArgs, CallResult, ContentPart, Prompt,
    PromptEntry, UserEntry,
};
use haft::records::{CallId, RecordId};
use haft::schema::ValueSchema;
use haft::trust::PromptText;
use serde_json::{Map, Value};
use std::sync::Arc;

use super::transcripts::renderer;

/// What a stream of such events becomes.
pub(crate) fn streamed<D: Dialect>(
    dialect: &D,
    events: &[Value],
) -> Result<(Generation, GenerationOutcome), DecodeError> {
    let prompt = Prompt::default();
    let options = Map::new();
    let mut decoder = dialect.response_decoder(&ModelRequest::new("test-model", &prompt, &options));
    let mut assembler = GenerationAssembler::new();
    for event in events {
        let data = event.to_string();
        let streamed = StreamEvent::new(&data);
        let streamed = match event["type"].as_str() {
            Some(name) => streamed.with_name(name),
            None => streamed,
        };
        decoder.decode_event(streamed, &mut |it| assembler.push(it).unwrap())?;
    }
    Ok(assembler.finish())
}

/// What an answer that comes whole becomes.
pub(crate) fn whole<D: Dialect>(
    dialect: &D,
    body: &Value,
) -> Result<(Generation, GenerationOutcome), DecodeError> {
    let prompt = Prompt::default();
    let options = Map::new();
    let mut decoder = dialect.response_decoder(
        &ModelRequest::new("test-model", &prompt, &options).delivery(Delivery::Whole),
    );
    let mut assembler = GenerationAssembler::new();
    decoder.decode_whole(body.to_string().as_bytes(), &mut |it| assembler.push(it).unwrap())?;
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
    renderer().spoken_text(text)
}

/// A turn in which somebody asks, the model answers like this, and its calls have results.
pub(crate) fn replayed(generation: &Generation) -> Prompt {
    let calls: Vec<AssistantCall> = generation.calls.iter().map(call).collect();
    let results = calls
        .iter()
        .map(|it| CallResult::new(it, vec![ContentPart::Text(words("done"))]))
        .collect();
    let thoughts = generation
        .reasoning
        .iter()
        .filter_map(|it| Some(AssistantThought::Opaque(Arc::new(it.opaque.clone()?.0))));
    let said = if generation.text.is_empty() {
        Vec::new()
    } else {
        vec![ContentPart::Text(words(&generation.text))]
    };
    let own = AssistantEntry::new(said).with_thoughts(thoughts.collect()).with_calls(calls);
    let mut prompt = Prompt::default();
    prompt.timeline = vec![
        PromptEntry::User(UserEntry::new(vec![ContentPart::Text(words("Go."))])),
        PromptEntry::Assistant(own),
        PromptEntry::ToolResults(results),
    ];
    prompt
}

fn call(call: &haft::providers::generation::GeneratedCall) -> AssistantCall {
    let id = RecordId::first(CallId::of_text(&call.name, &call.arguments));
    let args = CallArgs::Object(call.arguments.as_str().into());
    AssistantCall::new(id, call.id.clone().unwrap(), call.name.as_str(), args)
}

/// A request for this prompt, and what was noted.
pub(crate) fn request<D: Dialect>(
    dialect: &D,
    prompt: &Prompt,
    model: &str,
    options: &Value,
) -> (Value, Vec<&'static str>) {
    let options = options.as_object().cloned().unwrap_or_default();
    let encoded = dialect.encode_request(&ModelRequest::new(model, prompt, &options)).unwrap();
    let notes = encoded.notes.iter().map(|it| it.topic.as_str()).collect();
    (serde_json::from_slice(&encoded.body).unwrap(), notes)
}

/// A schema that is derived from the types of a provider's official package, if it is at hand.
pub(crate) fn wire_schema(name: &str) -> Option<ValueSchema> {
    let path = haft_testkit::suite(&format!("wire/{name}.schema.json"))?;
    let schema: Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    Some(ValueSchema::from_json_schema(schema).unwrap())
}
