//! A provider of which every third response fails, in all the ways in which a response can fail for a while. No turn ends
//! for good because of it, and nothing is done twice.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use haft::providers::dialects::chat_completions::ChatCompletions;
use haft::providers::retry::RetryPolicy;
use haft::providers::transport::{Body, HttpError, Response, Transport};
use haft::providers::{Options, Provider};
use haft::records::CallState;
use haft::stores::MemoryStore;
use haft::tools::ToolEffect;
use haft::turn::{Agent, TurnOutcome};
use haft::{Args, BoxFuture, Tool};
use serde_json::{Value, json};

use super::provider::{broken_stream, calls, ends, input, says, status, stream, text};
use super::{Reply, SentRequest, WithHeader as _, respond};

/// How many calls a turn makes.
const CALLS: usize = 5;

/// A model that calls `charge` until there are enough results, behind a line that fails.
#[derive(Debug)]
struct Chaos {
    random: Mutex<u64>,
    /// How often each fault happened.
    faults: Mutex<BTreeMap<u64, usize>>,
}

impl Chaos {
    fn next(&self, end: u64) -> u64 {
        let mut random = self.random.lock().unwrap();
        *random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (*random >> 33) % end
    }

    fn respond(&self, request: &SentRequest) -> Result<Reply, HttpError> {
        let body: Value = serde_json::from_slice(request.body()).unwrap();
        let messages = body["messages"].as_array().unwrap().iter();
        let results = messages.filter(|it| it["role"] == "tool").count();
        let call = || calls("charge", &json!({ "n": results }).to_string());
        if self.next(100) >= 30 {
            return match results {
                CALLS.. => says("Done."),
                _ => stream(&[call(), ends("tool_calls")]),
            };
        }
        let (host, fault) = ("h".to_owned(), self.next(FAULTS));
        *self.faults.lock().unwrap().entry(fault).or_default() += 1;
        match fault {
            0 => status(500, "broken"),
            1 => status(503, "away"),
            2 => status(429, "{\"error\": {\"message\": \"slow down\"}}"),
            3 => status(529, "overloaded"),
            4 => Err(HttpError::Connect { host, reason: "refused".to_owned() }),
            5 => Err(HttpError::Broken { host, received: 9, reason: "reset".to_owned() }),
            // A response that breaks off: in the middle of a call, of a text, and of a line.
            6 => Ok(broken_stream(&[call()], "")),
            7 => Ok(broken_stream(&[text("Half an")], "")),
            8 => Ok(broken_stream(&[call()], "data: {\"choices\": [{\"ind")),
            9 => Ok(broken_stream(&[call()], "data: this is no JSON\n\n")),
            10 => Ok(broken_stream(&[], "")),
            // A gateway that ends a stream which has not begun.
            11 => Ok(broken_stream(&[], "data: [DONE]\n\n")),
            // Bytes that are damaged on their way, in the middle of the arguments.
            12 => {
                let mut damaged =
                    format!("data: {}\n\n", calls("charge", r#"{"n": "?"}"#)).into_bytes();
                damaged.iter_mut().filter(|it| **it == b'?').for_each(|it| *it = 0xff);
                let end = format!("data: {}\n\ndata: [DONE]\n\n", ends("tool_calls"));
                let body = Body::from_chunks([Bytes::from(damaged), Bytes::from(end)]);
                Ok(respond(200, body).with_header("content-type", "text/event-stream"))
            }
            _ => {
                let page = Body::from_chunks([Bytes::from_static(b"<html>Bad gateway</html>")]);
                Ok(respond(502, page).with_header("content-type", "text/html"))
            }
        }
    }
}

const FAULTS: u64 = 14;

impl Transport for Chaos {
    fn send(&self, request: SentRequest) -> BoxFuture<'_, Result<Response<Body>, HttpError>> {
        let response = self.respond(&request);
        Box::pin(async move { response })
    }
}

#[tokio::test(start_paused = true)]
async fn no_turn_ends_for_good_in_the_chaos_of_its_provider() {
    let seed = std::env::var_os("HAFT_SEED").and_then(|it| it.to_str()?.parse().ok());
    let seed = seed.unwrap_or(20_260_712);
    println!("HAFT_SEED={seed}");
    let chaos = Arc::new(Chaos { random: Mutex::new(seed), faults: Mutex::default() });
    let mut resumes = 0;
    for turn in 0..haft_testkit::cases(60) {
        let ledger = Arc::new(Mutex::new(Vec::new()));
        let noted = Arc::clone(&ledger);
        let schema = haft::schema::object().field("n", haft::schema::integer().required());
        let charge = Tool::builder("charge").description("Charges.").effect(ToolEffect::Once);
        let charge = charge.input(schema).handler(move |args: Args| {
            noted.lock().unwrap().push(args.to_string());
            "charged"
        });
        let retry = RetryPolicy::default().max_delay(Duration::from_secs(1));
        let provider = Provider::builder(ChatCompletions::new(), "m")
            .base_url("http://localhost:1/v1/")
            .options(Options::new().with("retry", json!({ "maxAttempts": 2 })))
            .retry(retry)
            .transport(Arc::clone(&chaos));
        let agent = Agent::builder(provider.build().unwrap())
            .tool(charge.build().unwrap())
            .store(Arc::new(MemoryStore::new()))
            .build()
            .unwrap();
        let mut report = input(&agent).report().await.unwrap();
        while report.is_resumable {
            resumes += 1;
            report = agent.resume(&report.turn).report().await.unwrap();
        }
        let error = &report.error;
        assert_eq!(report.outcome, TurnOutcome::Completed, "turn {turn} of seed {seed}: {error:?}");
        assert_eq!(report.text(), "Done.");
        let charges = ledger.lock().unwrap().clone();
        let expected: Vec<String> = (0..CALLS).map(|n| json!({ "n": n }).to_string()).collect();
        assert_eq!(charges, expected, "turn {turn} of seed {seed}");
        assert!(report.calls.iter().all(|call| call.state() == CallState::Succeeded));
    }
    let faults = chaos.faults.lock().unwrap().clone();
    println!("{resumes} resumes; faults: {faults:?}");
    assert!(resumes > 0 && faults.len() as u64 == FAULTS, "{resumes} resumes; {faults:?}");
}
