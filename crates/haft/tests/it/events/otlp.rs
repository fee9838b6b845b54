//! Turns as spans that arrive at a collector over HTTP.

use std::collections::BTreeMap;
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::mpsc;
use std::thread;

use haft::events::TracedContent;
use haft::events::otlp::otlp;

use super::{Turn, plain};

/// A collector on loopback: takes one request a connection and hands out what came.
fn collector(status: &'static str) -> (SocketAddr, mpsc::Receiver<Request>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        for connection in listener.incoming() {
            let mut connection = connection.unwrap();
            let request = Request::read(&mut connection);
            let answer =
                format!("HTTP/1.1 {status}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
            connection.write_all(answer.as_bytes()).unwrap();
            if sender.send(request).is_err() {
                return;
            }
        }
    });
    (address, receiver)
}

struct Request {
    head: String,
    body: Vec<u8>,
}

impl Request {
    fn read(connection: &mut TcpStream) -> Self {
        let mut bytes = Vec::new();
        let head = loop {
            let mut more = [0; 4096];
            let read = connection.read(&mut more).unwrap();
            assert!(read > 0, "the connection closed early");
            bytes.extend(&more[..read]);
            if let Some(end) = bytes.windows(4).position(|it| it == b"\r\n\r\n") {
                break end + 4;
            }
        };
        let mut body = bytes.split_off(head);
        let head = String::from_utf8(bytes).unwrap().to_lowercase();
        let length = head.lines().find_map(|it| it.strip_prefix("content-length: ")).unwrap();
        let read = body.len();
        body.resize(length.parse().unwrap(), 0);
        connection.read_exact(&mut body[read..]).unwrap();
        Self { head, body }
    }

    fn spans(&self) -> Vec<Span> {
        let resources = Message(&self.body).all(1);
        let scopes = resources.iter().flat_map(|it| Message(it).all(2));
        scopes.flat_map(|it| Message(&it).all(2)).map(|it| Span::read(&it)).collect()
    }
}

/// A span, as far as it matters here.
#[derive(Debug)]
struct Span {
    trace: Vec<u8>,
    id: Vec<u8>,
    parent: Vec<u8>,
    name: String,
    kind: u64,
    seconds: (u64, u64),
    attributes: BTreeMap<String, String>,
    events: Vec<String>,
    failed: bool,
}

impl Span {
    fn read(bytes: &[u8]) -> Self {
        let span = Message(bytes);
        let bytes = |field| span.all(field).into_iter().next().unwrap_or_default();
        // A zero is not written.
        let time = |field| {
            let nanoseconds = bytes(field).try_into().map_or(0, u64::from_le_bytes);
            nanoseconds / 1_000_000_000
        };
        let attributes = span.all(9).iter().map(|it| attribute(it)).collect();
        let events = span.all(11).iter().map(|it| text(Message(it).all(2).remove(0))).collect();
        Self {
            trace: bytes(1),
            id: bytes(2),
            parent: bytes(4),
            name: text(bytes(5)),
            kind: span.number(6),
            seconds: (time(7), time(8)),
            attributes,
            events,
            failed: Message(&bytes(15)).number(3) == 2,
        }
    }
}

fn attribute(bytes: &[u8]) -> (String, String) {
    let pair = Message(bytes);
    let value = pair.all(2).remove(0);
    let value = Message(&value);
    let text_of = |value: &Message<'_>| value.all(1).into_iter().next().map(text);
    let list = || {
        let list = value.all(5).into_iter().next()?;
        let texts = Message(&list).all(1).into_iter().filter_map(|it| text_of(&Message(&it)));
        Some(texts.collect::<Vec<_>>().join(","))
    };
    let value = text_of(&value).or_else(list).unwrap_or_else(|| value.number(3).to_string());
    (text(pair.all(1).remove(0)), value)
}

fn text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap()
}

/// An encoded protobuf message.
struct Message<'b>(&'b [u8]);

enum Value {
    Number(u64),
    Bytes(Vec<u8>),
}

impl Message<'_> {
    /// The bytes of a field, as often as it occurs.
    fn all(&self, field: u64) -> Vec<Vec<u8>> {
        let values = self.fields().into_iter().filter(|(number, _)| *number == field);
        let bytes = values.filter_map(|(_, value)| match value {
            Value::Bytes(bytes) => Some(bytes),
            Value::Number(_) => None,
        });
        bytes.collect()
    }

    /// The number in a field; zero if it is not there.
    fn number(&self, field: u64) -> u64 {
        let found = self.fields().into_iter().find_map(|(number, value)| match value {
            Value::Number(value) if number == field => Some(value),
            _ => None,
        });
        found.unwrap_or(0)
    }

    fn fields(&self) -> Vec<(u64, Value)> {
        let mut rest = self.0;
        let mut fields = Vec::new();
        while !rest.is_empty() {
            let key = varint(&mut rest);
            let value = match key & 7 {
                0 => Value::Number(varint(&mut rest)),
                wire => {
                    let length = match wire {
                        1 => 8,
                        2 => usize::try_from(varint(&mut rest)).unwrap(),
                        5 => 4,
                        other => panic!("wire type {other}"),
                    };
                    let (bytes, more) = rest.split_at(length);
                    rest = more;
                    Value::Bytes(bytes.to_vec())
                }
            };
            fields.push((key >> 3, value));
        }
        fields
    }
}

fn varint(rest: &mut &[u8]) -> u64 {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let (byte, more) = rest.split_first().unwrap();
        *rest = more;
        value |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return value;
        }
    }
    panic!("a number of more than ten bytes")
}

#[test]
fn a_turn_arrives_at_the_collector_as_a_tree_of_spans() {
    let (address, requests) = collector("200 OK");
    let telemetry = otlp(format!("http://{address}"))
        .service("tests")
        .agent("librarian")
        .header("x-key", "secret")
        .content(TracedContent::Shown)
        .build()
        .unwrap();
    plain(&mut Turn::new("turn-1", &telemetry.observer()));
    telemetry.shutdown().unwrap();

    let request = requests.recv().unwrap();
    assert!(request.head.starts_with("post /v1/traces http/1.1\r\n"), "{}", request.head);
    assert!(request.head.contains("content-type: application/x-protobuf\r\n"), "{}", request.head);
    assert!(request.head.contains("x-key: secret\r\n"), "{}", request.head);
    let spans = request.spans();
    let names: Vec<_> = spans.iter().map(|it| it.name.as_str()).collect();
    assert_eq!(names, ["chat", "execute_tool search", "invoke_agent librarian"]);
    let [chat, call, agent] = &spans[..] else { panic!("{spans:?}") };

    assert!(agent.parent.is_empty());
    for child in [chat, call] {
        assert_eq!((&child.trace, &child.parent), (&agent.trace, &agent.id));
    }
    // The times are those of the events, and a client span is of kind 3, an internal one of kind 1.
    assert_eq!((chat.kind, chat.seconds), (3, (2, 3)));
    assert_eq!((call.kind, call.seconds), (1, (4, 6)));
    assert_eq!((agent.kind, agent.seconds), (1, (0, 9)));
    assert_eq!((agent.failed, call.failed), (false, true));
    assert_eq!(agent.events, ["log"]);

    #[track_caller]
    fn check(span: &Span, expect: &[(&str, &str)]) {
        let seen: Vec<_> = span.attributes.iter().map(|(k, v)| (k.as_str(), v.as_str())).collect();
        assert_eq!(seen, expect);
    }
    check(
        agent,
        &[
            ("gen_ai.agent.name", "librarian"),
            ("gen_ai.operation.name", "invoke_agent"),
            ("gen_ai.usage.input_tokens", "20"),
            ("gen_ai.usage.output_tokens", "10"),
            ("haft.turn.id", "turn-1"),
        ],
    );
    check(
        chat,
        &[
            ("gen_ai.operation.name", "chat"),
            ("gen_ai.provider.name", "scripted"),
            ("gen_ai.response.finish_reasons", "tool_calls"),
            ("gen_ai.response.model", "small-1"),
            ("gen_ai.usage.cache_read.input_tokens", "5"),
            ("gen_ai.usage.input_tokens", "20"),
            ("gen_ai.usage.output_tokens", "10"),
            ("gen_ai.usage.reasoning.output_tokens", "3"),
            ("haft.iteration", "0"),
            ("haft.turn.id", "turn-1"),
        ],
    );
    let call_id = haft::schema::RawArgs::text(r#"{"q": "haft"}"#).call_id("search").to_string();
    check(
        call,
        &[
            ("error.type", "E_TOOL_DOWNSTREAM_ERROR"),
            ("gen_ai.operation.name", "execute_tool"),
            ("gen_ai.tool.call.arguments", r#"{"q":"haft"}"#),
            ("gen_ai.tool.call.id", &call_id),
            ("gen_ai.tool.name", "search"),
            ("gen_ai.tool.type", "function"),
            ("haft.iteration", "0"),
            ("haft.turn.id", "turn-1"),
        ],
    );
}

#[test]
fn dropping_the_pipeline_sends_what_waits_without_content() {
    let (address, requests) = collector("200 OK");
    let telemetry = otlp(format!("http://{address}/v1/traces/")).build().unwrap();
    plain(&mut Turn::new("turn-1", &telemetry.observer()));
    drop(telemetry);
    let request = requests.recv().unwrap();
    assert!(request.head.starts_with("post /v1/traces http/1.1\r\n"), "{}", request.head);
    let spans = request.spans();
    assert_eq!(spans.len(), 3);
    assert!(spans.iter().all(|it| !it.attributes.contains_key("gen_ai.tool.call.arguments")));
}

#[test]
fn a_collector_that_refuses_is_an_error_and_no_address_is_another() {
    let (address, _requests) = collector("400 Bad Request");
    let telemetry = otlp(format!("http://{address}")).build().unwrap();
    plain(&mut Turn::new("turn-1", &telemetry.observer()));
    let refused = telemetry.flush().unwrap_err();
    assert_eq!(refused.to_string(), "telemetry was not sent");

    let nowhere = otlp("not an address").build().unwrap_err();
    assert_eq!(nowhere.to_string(), "telemetry cannot be sent to `not an address`");
}
