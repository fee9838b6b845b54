//! Turns with a model behind HTTP, from a script of answers.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use haft::BoxFuture;
use haft::events::{Event, EventKind};
use haft::providers::dialects::chat_completions::ChatCompletions;
use haft::providers::generation::GenerationOutcome;
use haft::providers::retry::RetryPolicy;
use haft::providers::transport::{Body, HttpError, Response, Transport};
use haft::providers::{Options, Provider, ProviderBuilder};
use haft::records::Message;
use haft::turn::{self, Agent, Turn, TurnReport};
use haft::turn::{Cancellation, Timestamp};
use serde_json::{Value, json};

use super::transcripts::{fetch, weather};
use super::{HeaderText as _, Reply, Scripted, SentRequest, WithHeader as _, respond};
use crate::turn::Seen;

/// A stream of these events, and its end.
pub(crate) fn stream(events: &[Value]) -> Result<Reply, HttpError> {
    Ok(broken_stream(events, "data: [DONE]\n\n"))
}

pub(super) fn broken_stream(events: &[Value], end: &str) -> Reply {
    let events = events.iter().map(|event| format!("data: {event}\n\n"));
    let chunks: Vec<Bytes> = events.chain([end.to_owned()]).map(Bytes::from).collect();
    respond(200, Body::from_chunks(chunks)).with_header("content-type", "text/event-stream")
}

pub(super) fn status(status: u16, body: &str) -> Result<Reply, HttpError> {
    Ok(respond(status, Body::from_chunks([Bytes::from(body.to_owned())])))
}

pub(super) fn text(text: &str) -> Value {
    json!({ "id": "c-1", "model": "real-model", "choices": [{ "index": 0, "delta": { "content": text } }] })
}

fn thinks(text: &str) -> Value {
    json!({ "choices": [{ "index": 0, "delta": { "reasoning": text, "reasoning_content": text } }] })
}

pub(crate) fn calls(name: &str, arguments: &str) -> Value {
    json!({ "choices": [{ "index": 0, "delta": { "tool_calls": [
        { "index": 0, "id": "call_1", "function": { "name": name, "arguments": arguments } }] } }] })
}

pub(crate) fn ends(reason: &str) -> Value {
    json!({ "choices": [{ "index": 0, "delta": {}, "finish_reason": reason }],
        "usage": { "prompt_tokens": 10, "completion_tokens": 2, "total_tokens": 12 } })
}

pub(crate) fn says(it: &str) -> Result<Reply, HttpError> {
    stream(&[text(it), ends("stop")])
}

pub(crate) fn provider(transport: &Arc<Scripted>) -> ProviderBuilder {
    let retry = RetryPolicy::default().base_delay(Duration::ZERO).max_delay(Duration::ZERO);
    Provider::builder(ChatCompletions::new(), "test-model")
        .key("sk-very-secret")
        .base_url("http://localhost:1/v1/")
        .envelope_secret([1; 32])
        .retry(retry)
        .transport(Arc::clone(transport))
}

/// What a run gave: the report, the events, and the bodies that were sent.
pub(super) struct Ran {
    pub(super) report: TurnReport,
    pub(super) events: Vec<Event>,
    pub(super) bodies: Vec<Value>,
    pub(super) requests: Vec<SentRequest>,
}

pub(super) async fn run_with(
    answers: impl IntoIterator<Item = Result<Reply, HttpError>>,
    options: Value,
    ask: impl FnOnce(&Agent) -> Turn,
) -> Ran {
    let transport = Scripted::new(answers);
    let provider = provider(&transport).options(Options::from(options)).build().unwrap();
    let seen = Seen::default();
    let agent = Agent::builder(provider).tool(weather()).tool(fetch()).observer(seen.observer());
    let report = ask(&agent.build().unwrap()).report().await.unwrap();
    let requests = transport.asked();
    let bodies = requests.iter().map(|it| serde_json::from_slice(it.body()).unwrap()).collect();
    Ran { report, events: seen.events(), bodies, requests }
}

async fn run(answers: impl IntoIterator<Item = Result<Reply, HttpError>>) -> Ran {
    run_with(answers, json!({}), input).await
}

pub(super) fn input(agent: &Agent) -> Turn {
    let hello = Message::user_at("m-1", "Weather in Paris?", Timestamp::EPOCH).unwrap();
    agent.turn(hello).system("You help.")
}

#[track_caller]
pub(super) fn failed(ran: &Ran) -> (String, String) {
    assert!(
        matches!(ran.report.outcome, turn::TurnOutcome::Failed { .. }),
        "{:?}",
        ran.report.error
    );
    let error = ran.report.error.clone().unwrap();
    (error.code.map_or_else(String::new, |code| code.to_string()), error.message.to_string())
}

pub(super) fn warnings(events: &[Event]) -> Vec<String> {
    let topics = events.iter().filter_map(|event| match &event.kind {
        EventKind::Warning { topic, .. } => Some(topic.to_string()),
        EventKind::Log { topic, .. } => Some(topic.to_string()),
        _ => None,
    });
    topics.collect()
}

#[tokio::test]
async fn a_turn_with_a_call_and_an_answer() {
    let ran = run([
        stream(&[
            thinks("Look it "),
            thinks("up."),
            text("One mo"),
            text("ment."),
            calls("get_weather", r#"{"city": "Paris"}"#),
            ends("tool_calls"),
        ]),
        stream(&[text("21 "), text("degrees."), ends("stop")]),
    ])
    .await;
    assert_eq!(ran.report.outcome, turn::TurnOutcome::Completed, "{:?}", ran.report.error);
    assert_eq!(ran.report.text(), "21 degrees.");
    assert_eq!((ran.report.usage.total, ran.report.iterations), (24, 2));
    let request = &ran.requests[0];
    assert_eq!(request.uri(), "http://localhost:1/v1/chat/completions");
    assert_eq!(request.header_text("authorization"), Some("Bearer sk-very-secret"));
    assert_eq!(request.header_text("accept"), Some("text/event-stream"));
    // What was thought, said and called stands in the next request as one message, with the provider's own id.
    let messages = ran.bodies[1]["messages"].as_array().unwrap();
    let roles: Vec<&str> = messages.iter().map(|it| it["role"].as_str().unwrap()).collect();
    assert_eq!(roles, ["system", "user", "assistant", "tool"]);
    assert_eq!(messages[2]["tool_calls"][0]["id"], "call_1");
    let said = messages[2]["content"].as_str().unwrap();
    assert!(said.contains("Look it up.") && said.ends_with("One moment."), "{said}");
    // Observers saw each piece as it came, once.
    let pieces = |of: fn(&EventKind) -> Option<(String, bool)>| -> Vec<(String, bool)> {
        ran.events.iter().filter_map(|event| of(&event.kind)).collect()
    };
    let words = pieces(|kind| match kind {
        EventKind::Message(delta) => Some((delta.delta.to_string(), delta.is_complete)),
        _ => None,
    });
    let piece = |text: &str, last| (text.to_owned(), last);
    assert_eq!(
        words,
        [
            piece("One mo", false),
            piece("ment.", false),
            piece("", true),
            piece("21 ", false),
            piece("degrees.", false),
            piece("", true)
        ]
    );
    let thoughts = pieces(|kind| match kind {
        EventKind::Thought(delta) => {
            Some((delta.full.as_deref().unwrap_or_default().to_owned(), delta.is_complete))
        }
        _ => None,
    });
    assert_eq!(thoughts, [piece("", false), piece("", false), piece("Look it up.", true)]);
    let models: Vec<String> = ran
        .events
        .iter()
        .filter_map(|event| match &event.kind {
            EventKind::GenerationStats(stats) => stats.model.as_ref().map(ToString::to_string),
            _ => None,
        })
        .collect();
    assert_eq!(models, ["real-model", "real-model"]);
}

#[tokio::test]
async fn names_with_dots_are_called_by_their_own_name() {
    let transport = Scripted::new([says("Hi.")]);
    let agent = Agent::builder(provider(&transport).build().unwrap()).tool(fetch());
    input(&agent.build().unwrap()).report().await.unwrap();
    let body: Value = serde_json::from_slice(transport.asked()[0].body()).unwrap();
    let name = body["tools"][0]["function"]["name"].as_str().unwrap().to_owned();
    assert_ne!(name, "web.fetch");
    let ran =
        run([stream(&[calls(&name, r#"{"url": "x"}"#), ends("tool_calls")]), says("Done.")]).await;
    assert_eq!(ran.report.calls[0].tool(), "web.fetch");
    assert!(ran.report.calls[0].error.is_none());
}

#[tokio::test]
async fn what_is_no_answer_fails_and_makes_no_calls() {
    let call = || calls("get_weather", r#"{"city": "Paris"}"#);
    let cases = [
        (
            broken_stream(&[text("half an"), call(), ends("length")], ""),
            "longer than",
            "generation-truncated",
            "half an",
            ("E_LLM_RESPONSE_TOO_LONG", false),
        ),
        (
            broken_stream(&[text("no"), ends("content_filter")], ""),
            "filtered",
            "generation-filtered",
            "no",
            ("E_LLM_RESPONSE_FILTERED", false),
        ),
        (
            broken_stream(&[ends("stop")], "data: [DONE]\n\n"),
            "nothing",
            "generation-empty",
            "",
            ("E_LLM_RESPONSE_EMPTY", true),
        ),
    ];
    for (answer, reason, topic, kept, expected) in cases {
        let ran = run([Ok(answer)]).await;
        let (code, message) = failed(&ran);
        assert_eq!((code.as_str(), ran.report.error.as_ref().unwrap().retryable), expected);
        assert!(message.contains(reason), "{message}");
        assert!(ran.report.calls.is_empty());
        assert_eq!(ran.report.text(), kept);
        assert!(warnings(&ran.events).contains(&topic.to_owned()));
    }
    let refusal = json!({ "choices": [{ "index": 0, "delta": { "refusal": "I will not." }, "finish_reason": "stop" }] });
    let ran = run([stream(&[refusal])]).await;
    assert!(failed(&ran).1.contains("refused"));
    assert_eq!(failed(&ran).0, "E_LLM_RESPONSE_REFUSED");
    assert_eq!(ran.report.text(), "I will not.");
}

#[tokio::test]
async fn an_answer_without_done_but_with_a_reason_is_whole() {
    let ran = run([Ok(broken_stream(&[text("Hi."), ends("stop")], ""))]).await;
    assert_eq!(ran.report.text(), "Hi.");
    // A last frame without its blank line.
    let ran = run([Ok(broken_stream(&[text("Hi.")], &format!("data: {}", ends("stop"))))]).await;
    assert_eq!((ran.report.outcome, ran.report.error), (turn::TurnOutcome::Completed, None));
}

#[tokio::test]
async fn errors_have_the_codes_of_the_dialect() {
    let code = |ran: &Ran| failed(ran).0;
    assert_eq!(code(&run([status(400, "no")]).await), "E_PROVIDER_HTTP_ERROR");
    let overflow = r#"{"error": {"code": "context_length_exceeded", "message": "too long"}}"#;
    assert_eq!(code(&run([status(400, overflow)]).await), "E_PROVIDER_CONTEXT_OVERFLOW");
    let error = json!({ "error": { "message": "overloaded", "type": "server_error" } });
    let once = || json!({ "retry": { "maxAttempts": 1 } });
    let ran = run_with([stream(&[text("half"), error])], once(), input).await;
    let (code_, message) = failed(&ran);
    assert_eq!(code_, "E_PROVIDER_STREAM_ERROR");
    assert!(message.contains("overloaded") && ran.report.messages.is_empty(), "{message}");
    let garbage = broken_stream(&[], "data: {\"choices\": [\n\n");
    assert_eq!(code(&run_with([Ok(garbage)], once(), input).await), "E_PROVIDER_STREAM_ERROR");
}

#[tokio::test]
async fn a_request_is_sent_again_and_nothing_doubles() {
    let ran = run([status(503, "later"), status(429, "slower"), says("Hi.")]).await;
    assert_eq!(ran.report.text(), "Hi.");
    assert_eq!(ran.requests.len(), 3);
    let keys: Vec<_> = ran.requests.iter().map(|it| it.header_text("idempotency-key")).collect();
    assert!(keys[0].is_some() && keys.iter().all(|key| *key == keys[0]));
    assert_eq!(warnings(&ran.events).iter().filter(|it| *it == "retry-attempt").count(), 2);
    let ran =
        run_with([status(503, "later")], json!({ "retry": { "maxAttempts": 1 } }), input).await;
    assert_eq!(ran.requests.len(), 1);
    assert_eq!(failed(&ran).0, "E_PROVIDER_HTTP_ERROR");
}

#[tokio::test]
async fn keys_are_shown_nowhere() {
    let echo = r#"{"error": {"message": "bad key sk-very-secret in Bearer sk-very-secret"}}"#;
    let transport = Scripted::new([status(401, echo)]);
    let shown = Arc::new(Mutex::new(String::new()));
    let sink = Arc::clone(&shown);
    let provider = provider(&transport)
        .on_prompt(move |report| {
            sink.lock().unwrap().push_str(&format!("{report:?}{:?}", report.body))
        })
        .build()
        .unwrap();
    let debug = format!("{provider:?}");
    let seen = Seen::default();
    let agent = Agent::builder(provider).observer(seen.observer()).build().unwrap();
    let report = input(&agent).report().await.unwrap();
    let events = serde_json::to_string(&seen.events()).unwrap();
    for text in [debug, events, format!("{report:?}"), shown.lock().unwrap().clone()] {
        assert!(!text.contains("very-secret"), "{text}");
    }
}

#[tokio::test]
async fn options_of_the_turn_hold_for_the_turn() {
    let stash = json!({ "openai-chat-completions": { "temperature": 0.1, "stream": false } });
    let whole =
        json!({ "choices": [{ "message": { "content": "Hi." }, "finish_reason": "stop" }] });
    let answer = respond(200, Body::from_chunks([Bytes::from(whole.to_string())]))
        .with_header("content-type", "application/json");
    let options = json!({ "temperature": 0.9, "seed": 1 });
    let ran =
        run_with([Ok(answer)], options, |agent: &Agent| input(agent).stash(stash.clone())).await;
    assert_eq!(ran.report.text(), "Hi.");
    assert_eq!((&ran.bodies[0]["temperature"], &ran.bodies[0]["seed"]), (&json!(0.1), &json!(1)));
    assert_eq!(ran.bodies[0]["stream"], false);
    assert_eq!(ran.requests[0].header_text("accept"), Some("application/json"));

    let wrong = json!({ "openai-chat-completions": { "temperature": "hot" } });
    let ran = run_with([], json!({}), |agent: &Agent| input(agent).stash(wrong)).await;
    assert_eq!(failed(&ran).0, "E_INVALID_PROVIDER_OPTIONS");
    assert!(ran.requests.is_empty(), "nothing was sent");
}

#[tokio::test]
async fn no_option_of_the_core_is_ever_sent() {
    let options = json!({
        "streamIdleTimeoutMs": 1000, "requestTimeoutMs": 1000, "retry": { "maxAttempts": 1 }, "headers": { "X-A": "1" },
        "contextWindow": 100_000, "tokenEncoding": "claude", "outputReserve": 5, "contextShedding": true,
        "unsupportedMediaPolicy": "throw", "parseTextCalls": true, "parseThinkTags": true, "temperature": 0.3,
    });
    let ran = run_with([says("Hi.")], options, input).await;
    assert_eq!(ran.report.error, None);
    let keys: Vec<&str> = ran.bodies[0].as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(keys, ["messages", "model", "stream", "stream_options", "temperature", "tools"]);
    assert_eq!(ran.requests[0].header_text("x-a"), Some("1"));
}

#[tokio::test]
async fn calls_and_reasoning_that_stand_in_the_text() {
    let options = json!({ "parseTextCalls": true, "parseThinkTags": true });
    let ran = run_with(
        [
            stream(&[text("<thi"), text("nk>Hm.</think>Let me see. <tool_"),
                text("call>{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Paris\"}}</tool_call>"), ends("stop")]),
            says("21 degrees."),
        ],
        options,
        input,
    )
    .await;
    assert_eq!(ran.report.outcome, turn::TurnOutcome::Completed, "{:?}", ran.report.error);
    assert_eq!(ran.report.calls.len(), 1);
    let said: Vec<&str> =
        ran.report.messages.iter().map(|it| it.content().unwrap().as_str().trim()).collect();
    assert_eq!(said, ["Let me see.", "21 degrees."]);
    let shown = serde_json::to_string(&ran.events).unwrap();
    assert!(!shown.contains("<tool_call>") && !shown.contains("<think>"));
    assert!(shown.contains("Hm."));
}

#[tokio::test]
async fn a_prompt_that_does_not_fit_is_refused_or_made_to() {
    let long =
        |id: &str, text: &str| Message::user_at(id, text.repeat(400), Timestamp::EPOCH).unwrap();
    let small = json!({ "contextWindow": 400, "tokenEncoding": "claude" });
    let conversation = |agent: &Agent| {
        let answer = Message::assistant_at("m-2", "Fine.", Timestamp::EPOCH).unwrap();
        let last = Message::user_at("m-3", "And now?", Timestamp::EPOCH).unwrap();
        agent.turn([long("m-1", "old "), answer, last]).system("You help.")
    };
    let ran = run_with([], small.clone(), conversation).await;
    let (code, message) = failed(&ran);
    assert_eq!(code, "E_PROVIDER_CONTEXT_OVERFLOW");
    assert!(message.contains("Timeline") && message.contains("400"), "{message}");
    assert!(ran.requests.is_empty());

    let mut shedding = small;
    shedding["contextShedding"] = json!(true);
    let ran = run_with([says("Hi.")], shedding.clone(), conversation).await;
    assert_eq!(ran.report.error, None);
    let messages = ran.bodies[0]["messages"].to_string();
    assert!(!messages.contains("old old") && messages.contains("And now?"));
    assert!(warnings(&ran.events).contains(&"context-shed".to_owned()));

    // The last thing that the user said is never left out.
    let ask = |agent: &Agent| agent.turn(long("m-1", "new ")).system("You help.");
    let ran = run_with([], shedding, ask).await;
    assert_eq!(failed(&ran).0, "E_PROVIDER_CONTEXT_OVERFLOW");
}

#[tokio::test]
async fn observers_may_panic() {
    let transport = Scripted::new([says("Hi.")]);
    let outcome = Arc::new(Mutex::new(None));
    let sink = Arc::clone(&outcome);
    let provider = provider(&transport)
        .on_prompt(|_| panic!("an observer that is broken"))
        .on_generation(move |report| *sink.lock().unwrap() = Some(report.outcome))
        .build()
        .unwrap();
    let report = input(&Agent::builder(provider).build().unwrap()).report().await.unwrap();
    assert_eq!(report.text(), "Hi.");
    assert_eq!(*outcome.lock().unwrap(), Some(GenerationOutcome::Completed));
}

/// Never answers.
#[derive(Debug)]
struct Silent;

impl Transport for Silent {
    fn send(&self, _: SentRequest) -> BoxFuture<'_, Result<Response<Body>, HttpError>> {
        Box::pin(std::future::pending())
    }
}

#[tokio::test]
async fn a_cancelled_turn_does_not_wait_for_the_provider() {
    let provider =
        Provider::builder(ChatCompletions::new(), "m").transport(Silent).build().unwrap();
    let agent = Agent::builder(provider).build().unwrap();
    let cancellation = Cancellation::new();
    let stop = async {
        tokio::task::yield_now().await;
        cancellation.cancel("stop");
    };
    let (report, ()) = tokio::join!(input(&agent).cancellation(&cancellation).report(), stop);
    let report = report.unwrap();
    assert!(matches!(report.outcome, turn::TurnOutcome::Cancelled { .. }), "{:?}", report.outcome);
}

#[tokio::test(start_paused = true)]
async fn a_provider_that_is_silent_is_left() {
    let options =
        Options::new().with("requestTimeoutMs", 50).with("retry", json!({ "maxAttempts": 2 }));
    let provider =
        Provider::builder(ChatCompletions::new(), "m").transport(Silent).options(options);
    let agent = Agent::builder(provider.build().unwrap()).build().unwrap();
    let report = input(&agent).report().await.unwrap();
    let code = report.error.unwrap().code.unwrap();
    assert_eq!(code.as_str(), "E_PROVIDER_REQUEST_TIMEOUT");
}

#[tokio::test]
async fn many_turns_share_one_provider() {
    let answers = (0..8).map(|_| says("Hi."));
    let transport = Scripted::new(answers);
    let agent = Agent::builder(provider(&transport).build().unwrap()).build().unwrap();
    let turn =
        |n: u64| input(&agent).stash(json!({ "openai-chat-completions": { "seed": n } })).report();
    let (a, b, c, d) = tokio::join!(turn(0), turn(1), turn(2), turn(3));
    let (e, f, g, h) = tokio::join!(turn(4), turn(5), turn(6), turn(7));
    let set = [a, b, c, d, e, f, g, h].map(Result::unwrap);
    assert!(set.iter().all(|report| report.text() == "Hi."));
    let mut seeds: Vec<Value> = transport
        .asked()
        .iter()
        .map(|it| serde_json::from_slice::<Value>(it.body()).unwrap()["seed"].clone())
        .collect();
    seeds.sort_by_key(Value::as_u64);
    assert_eq!(seeds, (0..8).map(|n| json!(n)).collect::<Vec<_>>());
}

/// Arguments that were repaired before they ran are shown as they ran, so that the model does not learn that its call was
/// refused.
#[tokio::test]
async fn repaired_arguments_go_back_as_they_ran() {
    let written = "```json\n{\"city\": \"Paris\",}\n```";
    let transport = Scripted::new([
        stream(&[calls("get_weather", written), ends("tool_calls")]),
        says("Done."),
    ]);
    let agent = Agent::builder(provider(&transport).build().unwrap()).tool(weather());
    let report = input(&agent.build().unwrap()).report().await.unwrap();
    assert!(report.calls[0].error.is_none(), "{:?}", report.calls[0].error);
    let body: Value = serde_json::from_slice(transport.asked()[1].body()).unwrap();
    let messages = body["messages"].as_array().unwrap();
    let call = messages.iter().find_map(|it| it.get("tool_calls")).unwrap();
    let shown = call[0]["function"]["arguments"].as_str().unwrap();
    let shown: Value = serde_json::from_str(shown).unwrap();
    assert_eq!(shown["city"], "Paris");
    assert!(shown.get("invalid_arguments").is_none(), "{shown}");
}
