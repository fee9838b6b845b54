//! A dialect of your own, for a server that Haft does not know: it streams one JSON value per line.
#![expect(clippy::print_stdout, reason = "an example prints")]

use std::io::{self, BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;

use haft::events::Usage;
use haft::media::MediaKind;
use haft::providers::dialect::{
    DecodeError, Delivery, Dialect, EncodeError, EncodedRequest, Framing, ModelRequest,
    ResponseDecoder, StreamEvent,
};
use haft::providers::generation::{FinishReason, GenerationEvent};
use haft::providers::prompt::{
    AssistantEntry, AssistantThought, ContentPart, MediaPosition, OfferedTool, PromptEntry,
    SystemPart,
};
use haft::providers::tool_schema::lower_full;
use haft::providers::{Options, Provider};
use haft::turn::Agent;
use haft::{Tool, ToolArgs, ToolFailure};
use haft_conformance::DialectSample;
use serde_json::{Map, Value, json};

/// The dialect of `POST /chat`.
#[derive(Debug)]
struct LineChat;

impl Dialect for LineChat {
    fn name(&self) -> &'static str {
        "line-chat"
    }

    fn base_url(&self) -> &'static str {
        "http://127.0.0.1:8080"
    }

    fn path(&self, _model: &str, _delivery: Delivery) -> String {
        "/chat".to_owned()
    }

    fn framing(&self) -> Framing {
        Framing::Ndjson
    }

    fn auth_headers(&self, key: &str) -> Vec<(&'static str, String)> {
        vec![("authorization", format!("Bearer {key}"))]
    }

    fn options_schema(&self) -> Value {
        json!({
            "type": "object",
            "additionalProperties": false,
            "properties": {
                "temperature": { "type": "number", "minimum": 0 },
                "length": { "type": "integer", "minimum": 1 },
            },
        })
    }

    /// Images could go into the messages of users; this example sends text alone.
    fn supports_media(&self, _: MediaKind, _: &str, _: MediaPosition) -> bool {
        false
    }

    fn replay_tags(&self) -> &'static [&'static str] {
        &[]
    }

    fn encode_request(&self, request: &ModelRequest<'_>) -> Result<EncodedRequest, EncodeError> {
        let prompt = request.prompt;
        let mut messages: Vec<Value> = system_message(&prompt.system).into_iter().collect();
        for entry in &prompt.timeline {
            encode_entry(entry, &mut messages)?;
        }
        messages.extend(system_message(&prompt.trailing));
        let mut notes = Vec::new();
        let mut tools = Vec::new();
        for offered in &prompt.tools {
            let lowered = lower_full(offered.tool.input_schema());
            notes.extend(lowered.notes);
            tools.push(encode_tool(offered, &lowered.text)?);
        }
        let body = json!({
            "model": request.model,
            "messages": messages,
            "tools": tools,
            "options": request.options,
            "stream": request.delivery.is_streamed(),
        });
        Ok(EncodedRequest::new(body.to_string(), notes))
    }

    fn response_decoder(&self, _request: &ModelRequest<'_>) -> Box<dyn ResponseDecoder> {
        Box::new(LineChatDecoder::default())
    }
}

fn system_message(parts: &[SystemPart]) -> Option<Value> {
    let texts: Vec<&str> = parts.iter().map(|part| part.text.as_str()).collect();
    (!texts.is_empty()).then(|| json!({ "role": "system", "content": texts.join("\n\n") }))
}

fn encode_entry(entry: &PromptEntry, messages: &mut Vec<Value>) -> Result<(), EncodeError> {
    match entry {
        PromptEntry::User(user) => {
            messages.push(json!({ "role": "user", "content": join_texts(&user.content)? }));
        }
        PromptEntry::Assistant(entry) => messages.push(encode_assistant(entry)?),
        PromptEntry::ToolResults(results) => {
            for result in results {
                let content = join_texts(&result.content)?;
                let name = &*result.wire_name;
                messages.push(json!({ "role": "tool", "tool_name": name, "content": content }));
            }
        }
        _ => return Err(EncodeError::new("this kind of entry is not known")),
    }
    Ok(())
}

fn encode_assistant(entry: &AssistantEntry) -> Result<Value, EncodeError> {
    let thoughts = entry.thoughts.iter().filter_map(|thought| match thought {
        AssistantThought::Text(text) => Some(text.as_str()),
        _ => None,
    });
    let mut texts: Vec<String> = thoughts.map(str::to_owned).collect();
    texts.push(join_texts(&entry.content)?);
    texts.retain(|text| !text.is_empty());
    let mut calls = Vec::new();
    for call in &entry.calls {
        let arguments: Value = serde_json::from_str(&call.args.to_json())
            .map_err(|error| EncodeError::new(error.to_string()))?;
        calls.push(json!({ "function": { "name": &*call.wire_name, "arguments": arguments } }));
    }
    Ok(json!({ "role": "assistant", "content": texts.join("\n\n"), "tool_calls": calls }))
}

fn encode_tool(offered: &OfferedTool, schema: &str) -> Result<Value, EncodeError> {
    let parameters: Value =
        serde_json::from_str(schema).map_err(|error| EncodeError::new(error.to_string()))?;
    Ok(json!({ "type": "function", "function": {
        "name": &*offered.wire_name,
        "description": offered.description(),
        "parameters": parameters,
    } }))
}

fn join_texts(content: &[ContentPart]) -> Result<String, EncodeError> {
    let texts = content.iter().map(|part| match part {
        ContentPart::Text(text) => Ok(text.as_str()),
        _ => Err(EncodeError::new("only text can be sent")),
    });
    Ok(texts.collect::<Result<Vec<_>, _>>()?.join("\n\n"))
}

/// Reads one line after the other. The last one says `"done": true`.
#[derive(Debug, Default)]
struct LineChatDecoder {
    calls: u32,
}

impl LineChatDecoder {
    fn decode(
        &mut self,
        text: &str,
        report: &mut dyn FnMut(GenerationEvent<'_>),
    ) -> Result<(), DecodeError> {
        let line: Map<String, Value> = serde_json::from_str(text)
            .map_err(|error| DecodeError::Malformed(error.to_string()))?;
        if let Some(error) = line.get("error") {
            let message = error.as_str().map_or_else(|| error.to_string(), str::to_owned);
            return Err(DecodeError::Provider { kind: None, message, retryable: false });
        }
        if let Some(message) = line.get("message") {
            self.decode_message(message, report);
        }
        if line.get("done") == Some(&Value::Bool(true)) {
            let count = |key: &str| line.get(key).and_then(Value::as_u64).unwrap_or_default();
            let usage = Usage::new(count("prompt_eval_count"), count("eval_count"));
            report(GenerationEvent::Usage(usage));
            let reason = line.get("done_reason").and_then(Value::as_str).unwrap_or("stop");
            let finish = match reason {
                "stop" => Some(FinishReason::Stop),
                "length" => Some(FinishReason::Length),
                _ => None,
            };
            report(GenerationEvent::Finish { finish, reason });
            report(GenerationEvent::End);
        }
        Ok(())
    }

    fn decode_message(&mut self, message: &Value, report: &mut dyn FnMut(GenerationEvent<'_>)) {
        if let Some(text) = message.get("content").and_then(Value::as_str) {
            report(GenerationEvent::TextDelta(text));
        }
        let calls = message.get("tool_calls").and_then(Value::as_array);
        for function in calls.into_iter().flatten().filter_map(|call| call.get("function")) {
            let slot = self.calls;
            self.calls += 1;
            let name = function.get("name").and_then(Value::as_str);
            let arguments = function.get("arguments").map(Value::to_string).unwrap_or_default();
            report(GenerationEvent::CallDelta { slot, id: None, name, arguments: &arguments });
            report(GenerationEvent::CallEnd { slot });
        }
    }
}

impl ResponseDecoder for LineChatDecoder {
    fn decode_event(
        &mut self,
        event: StreamEvent<'_>,
        report: &mut dyn FnMut(GenerationEvent<'_>),
    ) -> Result<(), DecodeError> {
        self.decode(event.data, report)
    }

    fn decode_whole(
        &mut self,
        body: &[u8],
        report: &mut dyn FnMut(GenerationEvent<'_>),
    ) -> Result<(), DecodeError> {
        let text = std::str::from_utf8(body);
        let text = text.map_err(|error| DecodeError::Malformed(error.to_string()))?;
        self.decode(text, report)
    }
}

const CALL: &str = concat!(
    r#"{"message":{"content":"Let me look. "},"done":false}"#,
    "\n",
    r#"{"message":{"tool_calls":[{"function":{"name":"weather","arguments":{"city":"Zürich"}}}]},"done":false}"#,
    "\n",
    r#"{"done":true,"done_reason":"stop","prompt_eval_count":20,"eval_count":5}"#,
    "\n",
);

const ANSWER: &str = concat!(
    r#"{"message":{"content":"It is sunny "},"done":false}"#,
    "\n",
    r#"{"message":{"content":"in Zürich."},"done":false}"#,
    "\n",
    r#"{"done":true,"done_reason":"stop","prompt_eval_count":30,"eval_count":6}"#,
    "\n",
);

#[derive(ToolArgs)]
struct Place {
    /// The city
    city: String,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    // The dialect keeps the contract.
    let whole =
        r#"{"message":{"content":"It is sunny in Zürich."},"done":true,"done_reason":"stop"}"#;
    let samples = [
        DialectSample::new(ANSWER).whole(whole).text("It is sunny in Zürich."),
        DialectSample::new(CALL).text("Let me look. ").call("weather", r#"{"city":"Zürich"}"#),
    ];
    haft_conformance::dialect(&LineChat, &samples)?;
    println!("the dialect conforms");

    // It runs a turn against a server on this machine.
    let server = TcpListener::bind("127.0.0.1:0")?;
    let base_url = format!("http://{}", server.local_addr()?);
    let requests = thread::spawn(move || serve(&server, [CALL, ANSWER]));
    let model = Provider::builder(LineChat, "house-model")
        .base_url(base_url)
        .options(Options::new().with("temperature", 0))
        .build()?;
    let weather = Tool::builder("weather")
        .description("Returns the weather of a city.")
        .handler(async |place: Place| Ok::<_, ToolFailure>(format!("sunny in {}", place.city)))
        .build()?;
    let agent = Agent::builder(model).system("You help.").tool(weather).build()?;
    let answer = agent.turn("How is the weather in Zürich?").await?;
    println!("{}: {answer} ({} tokens)", answer.report.outcome, answer.report.usage.total);

    let requests = requests.join().map_err(|_| "the server failed")??;
    let last: Value = serde_json::from_str(requests.last().ok_or("nothing was sent")?)?;
    let messages = last.get("messages").and_then(Value::as_array).ok_or("no messages")?;
    let roles = messages.iter().filter_map(|message| message.get("role"));
    println!("the last request has {}", roles.map(Value::to_string).collect::<Vec<_>>().join(", "));
    Ok(())
}

/// Gives each connection one response, and returns the bodies of the requests.
fn serve<const N: usize>(server: &TcpListener, responses: [&str; N]) -> io::Result<Vec<String>> {
    let mut bodies = Vec::new();
    for response in responses {
        let (connection, _) = server.accept()?;
        bodies.push(read_body(&mut BufReader::new(connection.try_clone()?))?);
        respond(connection, response)?;
    }
    Ok(bodies)
}

fn read_body(reader: &mut impl BufRead) -> io::Result<String> {
    let mut length = 0;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap_or(0);
        }
        if line.trim().is_empty() {
            break;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    String::from_utf8(body).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
}

fn respond(mut connection: TcpStream, body: &str) -> io::Result<()> {
    let length = body.len();
    write!(
        connection,
        "HTTP/1.1 200 OK\r\ncontent-type: application/x-ndjson\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}"
    )
}
