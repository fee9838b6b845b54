//! Turns with much in them: what is left out so that they fit, and what is not done twice.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use haft::events::{Event, EventKind};
use haft::media::{Media, MediaFile, MediaKind, MediaReader, MemoryReader, ReaderDescriptor};
use haft::providers::Options;
use haft::providers::internals::MediaCache;
use haft::records::{Memory, Message, MessageRole, Record as _, Retrievable};
use haft::tools::ByteStream;
use haft::trust::TrustTier;
use haft::turn::Timestamp;
use haft::turn::{Agent, Turn};
use serde_json::{Value, json};

use super::Scripted;
use super::provider::{calls, ends, input, provider, run_with, says, stream};
use super::transcripts::{self, weather};
use crate::turn::Seen;

const AT: Timestamp = Timestamp::EPOCH;

/// The payloads of log lines about this.
fn logged(events: &[Event], about: &str) -> Vec<Value> {
    let payloads = events.iter().filter_map(|event| match &event.kind {
        EventKind::Log { topic, payload, .. } if &**topic == about => {
            Some(serde_json::to_value(payload).unwrap())
        }
        _ => None,
    });
    payloads.collect()
}

/// How large each request was.
fn totals(events: &[Event]) -> Vec<u64> {
    let all = logged(events, "context-window-usage");
    all.iter().map(|it| it["total"].as_u64().unwrap()).collect()
}

fn window(tokens: u64) -> Value {
    json!({ "contextWindow": tokens, "tokenEncoding": "claude", "contextShedding": true })
}

#[tokio::test]
async fn records_go_by_their_score_and_memories_by_their_importance() {
    let found = |id: &str, score: Option<f64>| {
        let text = format!("text of {id} {}", "word ".repeat(200));
        let record = Retrievable::new(id, text, TrustTier::ThirdPartyPublic, AT).shown_inline();
        let record = match score {
            Some(score) => record.with_score(score),
            None => record,
        };
        record.checked().unwrap()
    };
    let memory = |id: &str, importance: f64| {
        let text = format!("text of {id} {}", "word ".repeat(200));
        let memory = Memory::new(id, text, AT).with_confidence(1.0).with_importance(importance);
        memory.checked().unwrap()
    };
    let conversation = |agent: &Agent| {
        input(agent)
            .retrieved(found("best", Some(0.9)))
            .retrieved(found("unscored", None))
            .retrieved(found("weak", Some(0.1)))
            .memory(memory("minor", 0.1))
            .memory(memory("major", 0.9))
    };
    let shown = |body: &Value| -> Vec<&'static str> {
        let text = body.to_string();
        let all = ["best", "unscored", "weak", "minor", "major"];
        all.into_iter().filter(|it| text.contains(&format!("text of {it} "))).collect()
    };
    let ran = run_with([says("Hi.")], window(1_000_000), conversation).await;
    assert_eq!(shown(&ran.bodies[0]), ["best", "unscored", "weak", "minor", "major"]);
    let all = totals(&ran.events)[0];
    let mut expected = vec!["best", "unscored", "weak", "minor", "major"];
    let mut room = all;
    for gone in ["unscored", "weak", "best", "minor", "major"] {
        // One token too few for what is still there.
        let ran = run_with([says("Hi.")], window(room - 1), conversation).await;
        expected.retain(|it| *it != gone);
        assert_eq!(shown(&ran.bodies[0]), expected, "{room}");
        assert_eq!(ran.report.text(), "Hi.");
        let steps = &logged(&ran.events, "context-shed")[0];
        assert_eq!(steps.as_array().unwrap().last().unwrap()["id"], gone, "{steps}");
        room = *totals(&ran.events).last().unwrap();
    }
}

#[tokio::test]
async fn results_that_were_read_become_handles() {
    let report = haft::Tool::builder("report").description("Writes a report.").trusted();
    let report = report.handler(|| "a fact of the first report\n".repeat(100)).build().unwrap();
    let other = haft::Tool::builder("other").description("Writes another.").trusted();
    let other = other.handler(|| "a fact of the other one\n".repeat(100)).build().unwrap();
    let run = |tokens: u64| {
        let tools = [report.clone(), other.clone()];
        async move {
            let transport = Scripted::new([
                stream(&[calls("report", "{}"), ends("tool_calls")]),
                stream(&[calls("other", "{}"), ends("tool_calls")]),
                stream(&[calls("artifact_read", r#"{"callId": "x"}"#), ends("tool_calls")]),
                says("Done."),
            ]);
            let provider = provider(&transport).options(Options::from(window(tokens))).build();
            let seen = Seen::default();
            let mut agent = Agent::builder(provider.unwrap()).observer(seen.observer());
            for tool in tools {
                agent = agent.tool(tool);
            }
            let report = input(&agent.build().unwrap()).report().await.unwrap();
            let bodies = transport.asked().into_iter();
            let bodies: Vec<String> =
                bodies.map(|it| String::from_utf8(it.body().to_vec()).unwrap()).collect();
            (report, seen.events(), bodies)
        }
    };
    let (report, events, bodies) = run(1_000_000).await;
    assert_eq!(report.text(), "Done.", "{:?}", report.error);
    assert!(bodies[2].contains("first report") && bodies[2].contains("other one"));
    let third = totals(&events)[2];

    let (report, events, bodies) = run(third - 1).await;
    assert_eq!(report.text(), "Done.", "{:?}", report.error);
    assert!(bodies[1].contains("first report"), "it fits as long as it is alone");
    let shown = |body: &str| body.matches("first report").count();
    assert!(shown(&bodies[1]) > 50 && shown(&bodies[2]) <= 10, "only its beginning is shown");
    assert!(bodies[2].contains("artifact-handle"));
    assert!(bodies[2].contains("other one"), "the model has not read it yet");
    let steps = &logged(&events, "context-shed")[0];
    assert_eq!(steps[0]["step"], "result-to-handle", "{steps}");
    // From the next iteration on it can be queried, and it stays a handle.
    assert!(bodies[3].contains("artifact_read") && shown(&bodies[3]) <= 10);
}

#[tokio::test]
async fn thoughts_of_earlier_iterations_go_first() {
    let think = |text: &str| json!({ "choices": [{ "index": 0, "delta": { "reasoning": text } }] });
    let answers = || {
        let thought = "an old idea ".repeat(100);
        [
            stream(&[
                think(&thought),
                calls("get_weather", r#"{"city": "Rome"}"#),
                ends("tool_calls"),
            ]),
            stream(&[
                think("a new idea"),
                calls("get_weather", r#"{"city": "Oslo"}"#),
                ends("tool_calls"),
            ]),
            says("Done."),
        ]
    };
    let ran = run_with(answers(), window(1_000_000), input).await;
    assert!(ran.bodies[2].to_string().contains("an old idea"));
    let third = totals(&ran.events)[2];
    let ran = run_with(answers(), window(third - 1), input).await;
    let body = ran.bodies[2].to_string();
    assert!(!body.contains("an old idea") && body.contains("a new idea"), "{body}");
    assert_eq!(logged(&ran.events, "context-shed")[0][0]["step"], "thoughts-left-out");
}

/// From the second time on, a quarter of the window is freed: once, and whatever the steps are that free it.
#[tokio::test]
async fn a_turn_that_is_at_the_limit_again_frees_a_quarter_of_the_window() {
    let report = haft::Tool::builder("report").description("Writes a report.").trusted();
    let report = report.handler(|| "a fact of the report\n".repeat(100)).build().unwrap();
    let conversation = || {
        let mut messages = Vec::new();
        for n in 0..40 {
            let text = |who: &str| format!("{who} {n:02} {}", "word ".repeat(50));
            let asked = Message::user_at(format!("u-{n}"), text("question"), AT).unwrap();
            let said = Message::assistant_at(format!("a-{n}"), text("answer"), AT).unwrap();
            messages.extend([asked, said]);
        }
        messages.push(Message::user_at("u-last", "And now?", AT).unwrap());
        messages
    };
    let run = |tokens: u64| {
        let report = report.clone();
        async move {
            let transport = Scripted::new([
                stream(&[calls("report", "{}"), ends("tool_calls")]),
                says("Done."),
            ]);
            let provider = provider(&transport).options(Options::from(window(tokens))).build();
            let seen = Seen::default();
            let agent = Agent::builder(provider.unwrap()).observer(seen.observer());
            let ran = agent
                .tool(report)
                .system("You help.")
                .build()
                .unwrap()
                .turn(conversation())
                .report()
                .await
                .unwrap();
            assert_eq!(ran.text(), "Done.", "{:?}", ran.error);
            seen.events()
        }
    };
    let limit = totals(&run(1_000_000).await)[0] - 1;
    let sizes = totals(&run(limit).await);
    // The first request leaves out one exchange, the second one as many as it must.
    assert_eq!(sizes[0], limit + 1);
    let exchange = sizes[0] - sizes[1];
    assert!(sizes[1] <= limit && sizes[2] > limit, "{sizes:?}");
    let (last, target) = (*sizes.last().unwrap(), limit - limit / 4);
    assert!(last <= target && last + exchange > target, "{sizes:?}: {target}");
}

/// Counts how often it is read.
#[derive(Debug)]
struct Counting(Arc<AtomicUsize>, MemoryReader);

impl MediaReader for Counting {
    fn open(&self) -> ByteStream {
        self.0.fetch_add(1, Ordering::Relaxed);
        self.1.open()
    }

    fn byte_length(&self) -> Option<u64> {
        self.1.byte_length()
    }

    fn describe(&self) -> Option<ReaderDescriptor> {
        self.1.describe()
    }
}

fn picture(byte: u8) -> (Media, Arc<AtomicUsize>) {
    let read = Arc::new(AtomicUsize::new(0));
    let reader = Counting(Arc::clone(&read), MemoryReader::new(vec![byte; 3000]));
    let file = MediaFile::read_by("a.png", "image/png", Arc::new(reader));
    (Media::user_attachment(MediaKind::Image, file), read)
}

fn showing(agent: &Agent, media: &Media) -> Turn {
    let message = Message::new("m-1", MessageRole::User, AT).with_content("Look.");
    agent.turn(message.with_attachment(media.clone()).checked().unwrap()).system("You help.")
}

#[tokio::test]
async fn a_medium_is_read_once_in_a_turn() {
    async fn read(cache: u64, turns: usize) -> usize {
        let (media, read) = picture(7);
        let answers = || {
            let call = |city: &str| {
                let args = json!({ "city": city }).to_string();
                stream(&[calls("get_weather", &args), ends("tool_calls")])
            };
            [call("Rome"), call("Oslo"), says("Done.")]
        };
        let transport = Scripted::new((0..turns).flat_map(|_| answers()));
        let provider = provider(&transport).media_cache_bytes(cache).build().unwrap();
        let agent = Agent::builder(provider).tool(weather()).build().unwrap();
        for _ in 0..turns {
            let report = showing(&agent, &media).report().await.unwrap();
            assert_eq!(report.text(), "Done.", "{:?}", report.error);
        }
        let asked = transport.asked();
        let shown = asked.iter().filter(|it| {
            String::from_utf8_lossy(it.body()).contains("data:image/png;base64,BwcHBwcH")
        });
        assert_eq!(shown.count(), 3 * turns, "it is in every request");
        read.load(Ordering::Relaxed)
    }
    assert_eq!(read(1 << 20, 1).await, 1);
    assert_eq!(read(1 << 20, 2).await, 2, "the next turn looks again");
    assert_eq!(read(0, 1).await, 3);
    assert_eq!(read(6999, 1).await, 3, "3000 bytes and their 4000 characters do not fit");
    assert_eq!(read(7000, 1).await, 1);
}

#[tokio::test]
async fn the_cache_holds_no_more_than_it_may() {
    use haft::providers::internals::assemble_prompt;
    let mut turn = transcripts::Turn::with(Vec::new());
    let mut read = Vec::new();
    for n in 0..4 {
        let (media, count) = picture(n);
        let message = Message::new(format!("m-{n}"), MessageRole::User, AT);
        let message = message.with_content("Look.").with_attachment(media).checked().unwrap();
        turn.ctx.turn().store_message(message).await.unwrap();
        read.push(count);
    }
    let cache = MediaCache::new(15_000);
    turn.options.media_cache = cache.clone();
    let dialect = haft::providers::dialects::chat_completions::ChatCompletions::new();
    for _ in 0..3 {
        assemble_prompt(&turn.ctx, &dialect, &transcripts::renderer(), &turn.options)
            .await
            .unwrap();
        assert_eq!(cache.used_bytes(), 14_000, "two of them fit");
    }
    // Going round and round finds nothing that was just dropped.
    let counts: Vec<usize> = read.iter().map(|it| it.load(Ordering::Relaxed)).collect();
    assert_eq!(counts, [3, 3, 3, 3]);
}
