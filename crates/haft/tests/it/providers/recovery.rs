//! What goes wrong between a turn and its provider, and how the turn goes on or ends.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use futures_core::Stream;
use haft::events::{Event, EventKind, StreamState};
use haft::providers::ProviderError;
use haft::providers::dialects::anthropic_messages::AnthropicMessages;
use haft::providers::dialects::chat_completions::ChatCompletions;
use haft::providers::dialects::openai_responses::OpenAiResponses;
use haft::providers::transport::{Body, HttpError};
use haft::providers::{Dialect, Options, Provider};
use haft::stores::{MemoryStore, RowKind, TurnStatus, TurnStore as _};
use haft::turn::Cancellation;
use haft::turn::{self, Agent, TurnReport};
use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::provider::{
    broken_stream, calls, ends, failed, input, provider, run_with, says, status, stream, text,
    warnings,
};
use super::transcripts::weather;
use super::{Reply, Scripted, WithHeader as _, respond};
use crate::turn::Seen;

type Answer = Result<Reply, HttpError>;

fn whole(body: &Value) -> Answer {
    let body = Body::from_chunks([Bytes::from(body.to_string())]);
    Ok(respond(200, body).with_header("content-type", "application/json"))
}

struct Ran {
    report: TurnReport,
    events: Vec<Event>,
    bodies: Vec<String>,
}

async fn run_on(
    dialect: impl Dialect,
    options: Value,
    answers: impl IntoIterator<Item = Answer>,
) -> Ran {
    let transport = Scripted::new(answers);
    let provider = Provider::builder(dialect, "m").options(Options::from(options));
    let provider = provider.transport(Arc::clone(&transport)).build().unwrap();
    let seen = Seen::default();
    let agent = Agent::builder(provider).tool(weather()).observer(seen.observer());
    let report = input(&agent.build().unwrap()).report().await.unwrap();
    let asked = transport.asked();
    let bodies = asked.iter().map(|it| String::from_utf8(it.body().to_vec()).unwrap()).collect();
    Ran { report, events: seen.events(), bodies }
}

/// Answers that reason and call, answers that end, and the refusal of what was reasoned.
trait Reasons: Dialect {
    fn new() -> Self;
    fn given() -> Value;
    fn calls(secret: &str, city: &str) -> Answer;
    fn ends() -> Answer;
    const REFUSALS: &'static [&'static str];
}

impl Reasons for OpenAiResponses {
    fn new() -> Self {
        Self::new()
    }

    fn given() -> Value {
        json!({ "reasoning_replay": "encrypted" })
    }

    fn calls(secret: &str, city: &str) -> Answer {
        whole(
            &json!({ "id": "resp_1", "object": "response", "status": "completed", "model": "m", "output": [
            { "type": "reasoning", "id": format!("rs_{secret}"), "summary": [], "encrypted_content": secret },
            { "type": "function_call", "id": format!("fc_{secret}"), "call_id": format!("call_{secret}"),
              "name": "get_weather", "arguments": json!({ "city": city }).to_string(), "status": "completed" },
        ] }),
        )
    }

    fn ends() -> Answer {
        whole(
            &json!({ "id": "resp_2", "object": "response", "status": "completed", "model": "m", "output": [
            { "type": "message", "id": "msg_1", "role": "assistant", "status": "completed",
              "content": [{ "type": "output_text", "text": "21 degrees.", "annotations": [] }] },
        ] }),
        )
    }

    const REFUSALS: &'static [&'static str] = &[
        r#"{"error": {"message": "The encrypted content could not be verified.", "type": "invalid_request_error", "code": "invalid_encrypted_content"}}"#,
        r#"{"error": {"message": "Item 'fc_1' of type 'function_call' was provided without its required 'reasoning' item: 'rs_1'.", "type": "invalid_request_error", "code": null}}"#,
        r#"{"error": {"message": "Item 'rs_1' of type 'reasoning' was provided without its required following item.", "type": "invalid_request_error"}}"#,
    ];
}

impl Reasons for AnthropicMessages {
    fn new() -> Self {
        Self::new()
    }

    fn given() -> Value {
        json!({ "max_tokens": 2048, "thinking": { "type": "enabled", "budget_tokens": 1024 } })
    }

    fn calls(secret: &str, city: &str) -> Answer {
        whole(
            &json!({ "id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": [
            { "type": "thinking", "thinking": "Hm.", "signature": secret },
            { "type": "tool_use", "id": format!("toolu_{secret}"), "name": "get_weather", "input": { "city": city } },
        ], "stop_reason": "tool_use", "usage": { "input_tokens": 1, "output_tokens": 1 } }),
        )
    }

    fn ends() -> Answer {
        whole(&json!({ "id": "msg_2", "type": "message", "role": "assistant", "model": "m",
            "content": [{ "type": "text", "text": "21 degrees." }],
            "stop_reason": "end_turn", "usage": { "input_tokens": 1, "output_tokens": 1 } }))
    }

    const REFUSALS: &'static [&'static str] = &[
        r#"{"type": "error", "error": {"type": "invalid_request_error", "message": "messages.1.content.0: Invalid `signature` in `thinking` block"}}"#,
        r#"{"type": "error", "error": {"type": "invalid_request_error", "message": "`thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified."}}"#,
    ];
}

async fn check_refused_reasoning<D: Reasons>() {
    const TOPIC: &str = "reasoning-replay-rejected";
    for refusal in D::REFUSALS {
        let answers = [D::calls("first", "Paris"), status(400, refusal), D::ends()];
        let ran = run_on(D::new(), D::given(), answers).await;
        assert_eq!(ran.report.outcome, turn::TurnOutcome::Completed, "{:?}", ran.report.error);
        assert_eq!(ran.report.text(), "21 degrees.");
        let sent: Vec<bool> = ran.bodies.iter().map(|it| it.contains("\"first\"")).collect();
        assert_eq!(sent, [false, true, false], "{refusal}");
        // Only the reasoning is gone, not what was called and answered.
        assert!(ran.bodies[2].contains("get_weather") && ran.bodies[2].contains("21 degrees"));
        assert_eq!(warnings(&ran.events).iter().filter(|it| *it == TOPIC).count(), 1);

        // What was refused once is not sent again; what is thought later is.
        let answers = [
            D::calls("first", "Paris"),
            status(400, refusal),
            D::calls("second", "Rome"),
            D::ends(),
        ];
        let ran = run_on(D::new(), D::given(), answers).await;
        assert_eq!(ran.report.text(), "21 degrees.");
        assert!(!ran.bodies[3].contains("\"first\"") && ran.bodies[3].contains("\"second\""));

        // A provider that refuses what it does not get either is not asked for ever.
        let answers = [D::calls("first", "Paris"), status(400, refusal), status(400, refusal)];
        let ran = run_on(D::new(), D::given(), answers).await;
        assert_eq!((ran.bodies.len(), ran.report.status()), (3, TurnStatus::Failed));
        let code = ran.report.error.unwrap().code.unwrap();
        assert!(code.as_str().ends_with("_HTTP_ERROR"), "{code}");
    }
    // There is nothing to leave out.
    let ran = run_on(D::new(), D::given(), [status(400, D::REFUSALS[0])]).await;
    assert_eq!((ran.bodies.len(), ran.report.status()), (1, TurnStatus::Failed));
    // Another refusal.
    let other = r#"{"error": {"type": "invalid_request_error", "message": "Unknown parameter: reasoning"}}"#;
    let ran = run_on(D::new(), D::given(), [D::calls("first", "Paris"), status(400, other)]).await;
    assert_eq!((ran.bodies.len(), ran.report.status()), (2, TurnStatus::Failed));
    assert!(!warnings(&ran.events).contains(&TOPIC.to_owned()));
}

#[tokio::test]
async fn reasoning_that_responses_refuse_is_left_out_once() {
    check_refused_reasoning::<OpenAiResponses>().await;
}

#[tokio::test]
async fn thinking_that_anthropic_refuses_is_left_out_once() {
    check_refused_reasoning::<AnthropicMessages>().await;
}

/// Another process may number the records differently; it finds the refused thought by its id.
#[tokio::test]
async fn refused_reasoning_is_stored_by_the_id_of_its_thought() {
    type D = AnthropicMessages;
    let answers = [<D as Reasons>::calls("first", "Paris"), status(400, D::REFUSALS[0]), D::ends()];
    let transport = Scripted::new(answers);
    let provider = Provider::builder(<D as Reasons>::new(), "m").options(Options::from(D::given()));
    let provider = provider.transport(Arc::clone(&transport)).build().unwrap();
    let store = Arc::new(MemoryStore::new());
    let agent = Agent::builder(provider).tool(weather()).store(Arc::clone(&store) as _);
    let report = input(&agent.build().unwrap()).report().await.unwrap();
    let stored = store.load(report.turn).await.unwrap().unwrap();
    let thought = stored.rows.iter().find(|row| row.kind == RowKind::Thought).unwrap();
    let journal: String = stored.journal.iter().map(ToString::to_string).collect();
    let (_, behind) = journal.split_once("\"haftRejectedReplay\":").unwrap();
    assert!(behind.contains(&format!("\"{}\"", thought.id)), "{behind}");
}

/// A body whose chunks somebody sends, and that never ends by itself.
struct Dripping(mpsc::UnboundedReceiver<Bytes>);

impl Stream for Dripping {
    type Item = Result<Bytes, HttpError>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.0.poll_recv(cx).map(|it| it.map(Ok))
    }
}

fn dripping() -> (mpsc::UnboundedSender<Bytes>, Answer) {
    let (send, receive) = mpsc::unbounded_channel();
    let response = respond(200, Body::new(Dripping(receive)));
    (send, Ok(response.with_header("content-type", "text/event-stream")))
}

fn chunk(event: &Value) -> Bytes {
    format!("data: {event}\n\n").into()
}

/// The clock of the runtime goes on when nothing else can happen.
async fn after(time: Duration) {
    let _ = tokio::time::timeout(time, std::future::pending::<()>()).await;
}

const IDLE: Duration = Duration::from_millis(50);

fn stalling() -> Options {
    Options::new().with("streamIdleTimeoutMs", 50)
}

#[tokio::test(start_paused = true)]
async fn a_stream_that_stalls_is_left_and_nothing_of_it_is_kept() {
    let (send, answer) = dripping();
    send.send(chunk(&text("Half an"))).unwrap();
    send.send(chunk(&calls("get_weather", r#"{"city": "Par"#))).unwrap();
    let transport = Scripted::new([answer]);
    let options = stalling().with("retry", json!({ "maxAttempts": 1 }));
    let provider = provider(&transport).options(options).build().unwrap();
    let agent = Agent::builder(provider).tool(weather()).build().unwrap();
    let report = input(&agent).report().await.unwrap();
    assert!(report.is_resumable);
    let error = report.error.unwrap();
    assert_eq!(error.code.unwrap().as_str(), "E_PROVIDER_STREAM_STALLED");
    assert!(report.messages.is_empty() && report.calls.is_empty());
    assert!(send.is_closed(), "the connection is given up");
}

/// A stream that ends, breaks, stalls or has a chunk that cannot be read, after text and half a call.
fn broken_answers() -> Vec<(&'static str, Answer, Option<mpsc::UnboundedSender<Bytes>>)> {
    let half = || [text("Half an"), calls("get_weather", r#"{"city": "Par"#)];
    let (send, stalled) = dripping();
    send.send(chunk(&text("Half an"))).unwrap();
    let (broken_send, broken) = dripping();
    broken_send.send(chunk(&text("Half an"))).unwrap();
    let reset = HttpError::Broken { host: "h".into(), received: 9, reason: "reset".into() };
    let reset = Body::new(ThenError(Some(chunk(&text("Half an"))), Some(reset)));
    let overloaded = json!({ "error": { "message": "overloaded", "type": "server_error" } });
    drop(broken_send);
    vec![
        ("an end without a reason", Ok(broken_stream(&half(), "")), None),
        ("a chunk that is cut", Ok(broken_stream(&half(), "data: {\"choices\": [\n\n")), None),
        ("a stall", stalled, Some(send)),
        ("a stream that is closed", broken, None),
        ("a reset", Ok(respond(200, reset)), None),
        ("an overload", stream(&[text("Half an"), overloaded]), None),
    ]
}

/// A chunk, and then an error.
struct ThenError(Option<Bytes>, Option<HttpError>);

impl Stream for ThenError {
    type Item = Result<Bytes, HttpError>;

    fn poll_next(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let chunk = self.0.take().map(Ok);
        Poll::Ready(chunk.or_else(|| self.1.take().map(Err)))
    }
}

#[tokio::test(start_paused = true)]
async fn a_response_that_breaks_off_is_requested_again_and_nothing_of_it_is_kept() {
    for (what, answer, _open) in broken_answers() {
        let transport = Scripted::new([answer, says("The whole answer.")]);
        let provider = provider(&transport).options(stalling()).build().unwrap();
        let seen = Seen::default();
        let agent = Agent::builder(provider).tool(weather()).observer(seen.observer());
        let report = input(&agent.build().unwrap()).report().await.unwrap();
        assert_eq!(report.outcome, turn::TurnOutcome::Completed, "{what}: {:?}", report.error);
        assert_eq!((report.text(), report.calls.len()), ("The whole answer.", 0), "{what}");
        assert_eq!(transport.asked().len(), 2, "{what}");
        let notices: Vec<String> = seen.events().iter().filter_map(retry_notice).collect();
        let [notice] = notices.as_slice() else { panic!("{what}: {notices:?}") };
        assert!(notice.contains("attempt 2 of 3"), "{what}: {notice}");
        // What was shown of the first attempt is withdrawn before the second one begins.
        let states = seen.events().into_iter().filter_map(|event| match event.kind {
            EventKind::Message(piece) => Some(piece.state),
            _ => None,
        });
        let states: Vec<StreamState> = states.collect();
        let withdrawn = states.iter().position(|it| *it == StreamState::Superseded);
        let sealed = states.iter().position(|it| *it == StreamState::Sealed);
        assert!(withdrawn.is_some() && withdrawn < sealed, "{what}: {states:?}");
    }
}

/// The text of a log entry about a retry.
fn retry_notice(event: &Event) -> Option<String> {
    match &event.kind {
        EventKind::Log { topic, message, .. } if &**topic == "retry-attempt" => {
            Some(message.to_string())
        }
        _ => None,
    }
}

#[tokio::test(start_paused = true)]
async fn attempts_are_shared_by_requests_and_by_responses_that_break_off() {
    let broken = || Ok(broken_stream(&[text("Half an")], ""));
    let ran = run_with([status(503, "later"), broken(), broken()], json!({}), input).await;
    let (code, message) = failed(&ran);
    assert_eq!(code, "E_PROVIDER_STREAM_ERROR");
    assert!(message.contains("broke off"), "{message}");
    assert_eq!(ran.requests.len(), 3);
    assert!(ran.report.is_resumable && ran.report.messages.is_empty());
}

#[tokio::test(start_paused = true)]
async fn an_outage_of_the_provider_leaves_the_turn_resumable() {
    let store = Arc::new(MemoryStore::new());
    let run = |answers: Vec<Answer>| {
        let transport = Scripted::new(answers);
        let provider = provider(&transport).build().unwrap();
        Agent::builder(provider).tool(weather()).store(Arc::clone(&store) as _).build().unwrap()
    };
    let call = || stream(&[calls("get_weather", r#"{"city": "Paris"}"#), ends("tool_calls")]);
    let away = || status(503, "away");
    let report = input(&run(vec![call(), away(), away(), away()])).report().await.unwrap();
    assert_eq!((report.status(), report.is_resumable), (TurnStatus::Failed, true));
    assert_eq!(report.calls.len(), 1);
    // Still away, then back: the call is not made again.
    let again = run(vec![away(), away(), away()]).resume(&report.turn).report().await.unwrap();
    assert!(again.is_resumable);
    let done = run(vec![says("21 degrees.")]).resume(&report.turn).report().await.unwrap();
    assert_eq!((done.outcome, done.is_resumable), (turn::TurnOutcome::Completed, false));
    assert_eq!((done.messages.len(), done.calls.len(), done.iterations), (1, 1, 2));
    // A request that is refused ends the turn.
    let refused = input(&run(vec![status(401, "no")])).report().await.unwrap();
    assert!(!refused.is_resumable);
}

#[tokio::test(start_paused = true)]
async fn comments_that_keep_a_connection_open_are_no_progress() {
    for (options, limit) in [(stalling(), IDLE), (Options::new(), Duration::from_secs(300))] {
        let (send, answer) = dripping();
        send.send(chunk(&text("Half an"))).unwrap();
        let transport = Scripted::new([answer]);
        let options = options.with("retry", json!({ "maxAttempts": 1 }));
        let provider = provider(&transport).options(options).build().unwrap();
        let agent = Agent::builder(provider).build().unwrap();
        let drip = async {
            while send.send(Bytes::from_static(b": still here\n\n")).is_ok() {
                after(limit * 2 / 5).await;
            }
        };
        let begun = tokio::time::Instant::now();
        let (report, ()) = tokio::join!(input(&agent).report(), drip);
        let error = report.unwrap().error.unwrap();
        assert_eq!(error.code.unwrap().as_str(), "E_PROVIDER_STREAM_STALLED");
        assert!(begun.elapsed() < limit * 2, "{:?}", begun.elapsed());
    }
}

#[tokio::test]
async fn a_page_for_people_is_named_by_its_content_type() {
    let page = || {
        let body = Body::from_chunks([Bytes::from_static(b"<html>\n<title>Sign in</title>")]);
        Ok(respond(200, body).with_header("content-type", "text/html; charset=utf-8"))
    };
    for options in [json!({}), json!({ "stream": false })] {
        let ran = run_with([page()], options, input).await;
        let (code, message) = failed(&ran);
        assert_eq!(code, "E_PROVIDER_HTTP_ERROR");
        assert!(message.contains("`text/html; charset=utf-8`"), "{message}");
        assert!(message.contains("<html> <title>Sign in</title>"), "{message}");
        assert!(!ran.report.is_resumable, "another attempt meets the same page");
    }
}

#[tokio::test(start_paused = true)]
async fn a_stream_that_makes_progress_is_waited_for() {
    let (send, answer) = dripping();
    let transport = Scripted::new([answer]);
    let provider = provider(&transport).options(stalling()).build().unwrap();
    let agent = Agent::builder(provider).build().unwrap();
    let drip = async {
        // Each one in time, all of them together not.
        for _ in 0..5 {
            after(IDLE * 4 / 5).await;
            send.send(Bytes::from_static(b": still here\n\n")).unwrap();
            send.send(chunk(&text("H"))).unwrap();
        }
        send.send(chunk(&text("i."))).unwrap();
        send.send(chunk(&ends("stop"))).unwrap();
        send.send(Bytes::from_static(b"data: [DONE]\n\n")).unwrap();
    };
    let (report, ()) = tokio::join!(input(&agent).report(), drip);
    let report = report.unwrap();
    assert_eq!((report.text(), &report.outcome), ("HHHHHi.", &turn::TurnOutcome::Completed));
    // The end was said, so that nobody waited for the connection to close.
    assert!(send.is_closed());
}

#[tokio::test(start_paused = true)]
async fn a_stream_that_stalls_behind_its_end_is_whole() {
    let (send, answer) = dripping();
    send.send(chunk(&text("Hi."))).unwrap();
    send.send(chunk(&ends("stop"))).unwrap();
    let transport = Scripted::new([answer]);
    let provider = provider(&transport).options(stalling()).build().unwrap();
    let report = input(&Agent::builder(provider).build().unwrap()).report().await.unwrap();
    assert_eq!((report.text(), &report.outcome), ("Hi.", &turn::TurnOutcome::Completed));
}

#[tokio::test(start_paused = true)]
async fn a_cancellation_is_no_stall() {
    let (send, answer) = dripping();
    send.send(chunk(&text("Half an"))).unwrap();
    let transport = Scripted::new([answer]);
    let provider = provider(&transport).options(stalling()).build().unwrap();
    let agent = Agent::builder(provider).build().unwrap();
    let cancellation = Cancellation::new();
    let stop = async {
        after(IDLE / 2).await;
        cancellation.cancel("enough");
    };
    let (report, ()) = tokio::join!(input(&agent).cancellation(&cancellation).report(), stop);
    let outcome = report.unwrap().outcome;
    assert!(matches!(outcome, turn::TurnOutcome::Cancelled { .. }), "{outcome:?}");
    assert!(send.is_closed());
}

#[tokio::test]
async fn a_provider_that_wants_to_be_left_alone_is_not_asked_early() {
    let later = || {
        let response = respond(429, Body::from_chunks([Bytes::from_static(b"slow down")]));
        Ok(response.with_header("retry-after", "3600"))
    };
    let ran = run_with([later()], json!({}), input).await;
    let (code, message) = failed(&ran);
    assert_eq!(code, "E_PROVIDER_HTTP_ERROR");
    assert!(message.contains("it asks to come back in 3600s"), "{message}");
    assert_eq!(ran.requests.len(), 1);
}

#[test]
fn keys_do_not_go_over_plain_http_to_others() {
    let build = |url: &str| {
        let builder = Provider::builder(ChatCompletions::new(), "m").transport(Scripted::new([]));
        builder.base_url(url).key("sk-1").build()
    };
    for url in [
        "https://api.example.com/v1",
        "HTTPS://api.example.com",
        "http://localhost:11434/v1",
        "http://models.localhost",
        "http://127.0.0.1:8080",
        "http://127.9.9.9",
        "http://[::1]:8080/v1",
        "http://LOCALHOST./v1",
    ] {
        assert!(build(url).is_ok(), "{url}");
    }
    for url in [
        "http://api.example.com/v1",
        "http://192.168.0.7:11434",
        "http://localhost.example.com",
        "http://127.0.0.1.example.com/v1",
        "http://[::2]/v1",
        "http://localhost@example.com/",
        "http://0.0.0.0:1",
        "example.com",
    ] {
        match build(url) {
            Err(ProviderError::PlainHttp { host }) => assert!(url.contains(&host), "{host}"),
            other => panic!("{url}: {other:?}"),
        }
    }
    let builder = || {
        let builder = Provider::builder(ChatCompletions::new(), "m").transport(Scripted::new([]));
        builder.base_url("http://gpu.lan:8000/v1")
    };
    assert!(builder().build().is_ok(), "without a key there is nothing to read");
    assert!(builder().key("sk-1").allow_key_over_plain_http().build().is_ok());
    let header = Options::new().with("headers", json!({ "Authorization": "Bearer sk-1" }));
    let error = builder().options(header).build().unwrap_err();
    assert!(error.to_string().contains("`gpu.lan:8000`"), "{error}");
    let header = Options::new().with("headers", json!({ "X-Trace": "1" }));
    assert!(builder().options(header).build().is_ok());
}

#[tokio::test]
async fn a_key_in_the_options_of_a_turn_does_not_go_out_either() {
    let transport = Scripted::new([]);
    let provider = Provider::builder(ChatCompletions::new(), "m").transport(Arc::clone(&transport));
    let provider = provider.base_url("http://gpu.lan:8000/v1").build().unwrap();
    let stash = json!({ "openai-chat-completions": { "headers": { "x-api-key": "sk-1" } } });
    let agent = Agent::builder(provider).build().unwrap();
    let report = input(&agent).stash(stash).report().await.unwrap();
    assert!(report.error.unwrap().message.contains("plain http"));
    assert!(transport.asked().is_empty());
}
