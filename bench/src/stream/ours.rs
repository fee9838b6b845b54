//! Our way: the parts of a provider by themselves, and a whole turn.

use std::sync::Arc;

use bytes::Bytes;
use haft::providers::Provider;
use haft::providers::dialect::{Dialect as _, ModelRequest, ResponseDecoder, StreamEvent};
use haft::providers::dialects::chat_completions::ChatCompletions;
use haft::providers::framing::SseDecoder;
use haft::providers::generation::{GenerationAssembler, GenerationOutcome};
use haft::providers::prompt::Prompt;
use haft::providers::transport::{Body, Request, Transport, response};
use haft::providers::transport::{HttpError, Response};
use haft::records::Message;
use haft::tools::ToolEffect;
use haft::turn::{Agent, Timestamp, TurnOutcome};
use haft::{BoxFuture, Tool, ToolArgs, ToolFailure};
use serde_json::Map;

use super::data::{Answer, TOOL};

/// Reads a stream in chunks: framing, dialect, assembly.
pub(crate) fn read(chunks: &[Bytes]) -> Result<Answer, String> {
    let mut reader = Reader::new();
    for chunk in chunks {
        reader.feed(chunk.clone())?;
    }
    reader.finish()
}

/// The parts of a provider that read an answer.
pub(crate) struct Reader {
    frames: SseDecoder,
    decoder: Box<dyn ResponseDecoder>,
    assembler: GenerationAssembler,
}

impl Reader {
    pub(crate) fn new() -> Self {
        let (prompt, options) = (Prompt::default(), Map::new());
        let decoder =
            ChatCompletions::new().response_decoder(&ModelRequest::new("m", &prompt, &options));
        Self { frames: SseDecoder::new(16 << 20), decoder, assembler: GenerationAssembler::new() }
    }

    pub(crate) fn feed(&mut self, chunk: Bytes) -> Result<(), String> {
        self.frames.feed(chunk);
        while let Some(event) = self.frames.next_event().map_err(|error| error.to_string())? {
            let (assembler, mut failed) = (&mut self.assembler, None);
            let text = event.text();
            let read = self.decoder.decode_event(StreamEvent::new(&text), &mut |event| {
                if let Err(error) = assembler.push(event) {
                    failed = Some(error);
                }
            });
            read.map_err(|error| error.to_string())?;
            if let Some(error) = failed {
                return Err(error.to_string());
            }
        }
        Ok(())
    }

    pub(crate) fn finish(self) -> Result<Answer, String> {
        let (generation, outcome) = self.assembler.finish();
        if outcome != GenerationOutcome::ToolCalls {
            return Err(format!("{outcome:?}"));
        }
        let calls = generation.calls.into_iter().map(|it| (it.name, it.arguments)).collect();
        Ok(Answer { text: generation.text, calls, tokens: generation.usage.total })
    }
}

/// Has the chunks in memory, and answers the second request briefly.
#[derive(Debug)]
pub(crate) struct Canned(pub(crate) Vec<Bytes>);

impl Transport for Canned {
    fn send(&self, request: Request<Bytes>) -> BoxFuture<'_, Result<Response<Body>, HttpError>> {
        Box::pin(async move {
            let chunks = match is_second(request.body()) {
                true => vec![Bytes::from_static(BRIEF.as_bytes())],
                false => self.0.clone(),
            };
            let mut response = response(200, Body::from_chunks(chunks))?;
            let kind = http::HeaderValue::from_static("text/event-stream");
            response.headers_mut().insert("content-type", kind);
            Ok(response)
        })
    }
}

/// Whether a request has the results of calls in it.
pub(crate) fn is_second(body: &[u8]) -> bool {
    memchr::memmem::find(body, br#""role":"tool""#).is_some()
}

/// The answer to that one.
pub(crate) const BRIEF: &str = "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Done.\"},\"finish_reason\":\"stop\"}],\"usage\":{\"total_tokens\":0}}\n\ndata: [DONE]\n\n";

/// Runs turns whose model is behind a transport.
pub(crate) fn agent(transport: Arc<dyn Transport>, base_url: &str) -> Result<Agent, String> {
    let model = Provider::builder(ChatCompletions::new(), "m").base_url(base_url);
    let model = model.transport(transport).build().map_err(|error| error.to_string())?;
    let tool = Tool::builder(TOOL).description("Takes a note.").effect(ToolEffect::ReadOnly);
    let tool = tool.handler(async |note: Note| Ok::<_, ToolFailure>(note.text.len().to_string()));
    let tool = tool.build().map_err(|error| error.to_string())?;
    Agent::builder(model).tool(tool).build().map_err(|error| error.to_string())
}

#[derive(ToolArgs)]
struct Note {
    text: String,
}

/// Runs one turn: the long answer, its calls, the brief one.
pub(crate) async fn turn(agent: &Agent) -> Result<Answer, String> {
    let hello = Message::user_at("m-1", "Go on.", Timestamp::EPOCH).map_err(|it| it.to_string())?;
    let input = agent.turn(hello).system("You help.");
    let report = input.report().await.map_err(|error| error.to_string())?;
    if report.outcome != TurnOutcome::Completed || report.text() != "Done." {
        return Err(format!("the turn ended otherwise: {:?}", report.error));
    }
    let text = report.messages.first().and_then(|it| it.content()).map(|it| it.as_str().to_owned());
    let call = |it: &Arc<haft::ToolCall>| (it.tool().to_owned(), it.raw().to_text().into_owned());
    Ok(Answer {
        text: text.unwrap_or_default(),
        calls: report.calls.iter().map(call).collect(),
        tokens: report.usage.total,
    })
}
