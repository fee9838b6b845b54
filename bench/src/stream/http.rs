//! The same over HTTP on this machine.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use haft::providers::transport::{HttpTransport, Transport as _, post};
use reqwest::Client;
use tokio::runtime::{Builder, Runtime};

use super::data::{Answer, CHUNKS, show};
use super::server_process::Server;
use super::{floor, ours};
use crate::measure::median;
use crate::node;
use crate::report::{Entry, FLOOR, OURS, Row};

type Reading = Pin<Box<dyn Future<Output = Result<Answer, String>> + Send>>;
type Way = (&'static str, Box<dyn Fn() -> Reading>);

/// Seconds of one stream.
#[derive(Clone, Copy, Debug)]
struct Sample {
    wall: f64,
    cpu: f64,
}

/// Measures wall time and CPU time of each client.
pub(crate) fn measure(rounds: usize, expected: &str) -> Result<[Row; 2], String> {
    let server = Server::start()?;
    crate::note(&format!("the same from {}", server.base_url));
    let mut builder = Builder::new_multi_thread();
    let runtime = builder.worker_threads(2).enable_all().build().map_err(|it| it.to_string())?;
    let ways = ways(&server.base_url)?;
    let mut samples: Vec<Vec<Sample>> = vec![Vec::new(); ways.len()];
    for round in 0..=rounds {
        for ((name, read), samples) in ways.iter().zip(&mut samples) {
            let sample = take(&runtime, read(), (*name != BODY).then_some(expected))
                .map_err(|error| format!("`{name}`: {error}"))?;
            // The first round warms up.
            if round > 0 {
                samples.push(sample);
            }
        }
    }
    let names = ways.iter().map(|way| way.0);
    let node = node::stream(&format!("{}/chat/completions", server.base_url), rounds, expected)?;
    let row = |name: &str, unit, what: fn(&Sample) -> f64, node: Option<f64>| {
        let floor = samples.first().map(Vec::as_slice).unwrap_or_default();
        let entry = |(name, samples): (&'static str, &Vec<Sample>)| Entry {
            name,
            value: per_chunk(median(samples.iter().map(what))),
            ratio: Some(median(
                samples.iter().zip(floor).map(|(it, floor)| what(it) / what(floor)),
            )),
        };
        let mut entries: Vec<Entry> = names.clone().zip(&samples).map(entry).collect();
        let floor = median(floor.iter().map(what));
        // In a process of its own, so that its ratio is one of medians.
        entries.extend(node.map(|it| Entry {
            name: "node: fetch, JSON.parse",
            value: per_chunk(it),
            ratio: Some(it / floor),
        }));
        Row { name: name.to_owned(), unit, entries }
    };
    Ok([
        row("stream/http", "ns per chunk", |it| it.wall, node.as_ref().map(|it| it.wall)),
        row("stream/http/cpu", "ns of CPU time per chunk", |it| it.cpu, node.map(|it| it.cpu)),
    ])
}

fn per_chunk(seconds: f64) -> f64 {
    seconds * 1e9 / CHUNKS as f64
}

fn take(runtime: &Runtime, read: Reading, expected: Option<&str>) -> Result<Sample, String> {
    let wall = now();
    let cpu = cpu_time::ProcessTime::now();
    let answer = runtime.block_on(runtime.spawn(read)).map_err(|error| error.to_string())?;
    let sample = Sample { wall: wall.elapsed().as_secs_f64(), cpu: cpu.elapsed().as_secs_f64() };
    let answer = show(answer);
    if expected.is_some_and(|expected| expected != answer) {
        return Err(format!("the answer is `{answer}`"));
    }
    Ok(sample)
}

const BODY: &str = "reqwest, the body alone";

fn ways(base_url: &str) -> Result<Vec<Way>, String> {
    let text = |error: reqwest::Error| error.to_string();
    let client = Client::builder().no_proxy().build().map_err(text)?;
    let url = format!("{base_url}/chat/completions");
    let transport = Arc::new(HttpTransport::builder().build().map_err(|it| it.to_string())?);
    let agent = Arc::new(ours::agent(Arc::<HttpTransport>::clone(&transport), base_url)?);
    let asked = || {
        let client = client.clone();
        let url = url.clone();
        move || client.post(&url).header("content-type", "application/json").body(ASKED).send()
    };
    let by_floor = asked();
    let body_alone = asked();
    #[cfg_attr(not(feature = "peers"), expect(unused_mut, reason = "peers come behind it"))]
    let mut all: Vec<Way> = vec![
        (FLOOR, Box::new(move || Box::pin(by_hand(by_floor())))),
        (BODY, Box::new(move || Box::pin(body(body_alone())))),
        (OURS, {
            let url = url.clone();
            Box::new(move || Box::pin(parts(Arc::clone(&transport), url.clone())))
        }),
        ("haft, in a turn", {
            Box::new(move || {
                let agent = Arc::clone(&agent);
                Box::pin(async move { ours::turn(&agent).await })
            })
        }),
    ];
    #[cfg(feature = "peers")]
    {
        let by_peer = asked();
        all.push((
            "reqwest + eventsource-stream",
            Box::new(move || Box::pin(peers::eventsource(by_peer()))),
        ));
        let base_url = base_url.to_owned();
        all.push((
            "async-openai",
            Box::new(move || Box::pin(peers::async_openai(base_url.clone()))),
        ));
    }
    Ok(all)
}

const ASKED: &str = r#"{"model":"m","stream":true,"messages":[]}"#;

type Asked = Result<reqwest::Response, reqwest::Error>;

async fn by_hand(asked: impl Future<Output = Asked>) -> Result<Answer, String> {
    let mut response = asked.await.map_err(|error| error.to_string())?;
    let mut reader = floor::Reader::default();
    while let Some(chunk) = response.chunk().await.map_err(|error| error.to_string())? {
        reader.feed(&chunk)?;
    }
    Ok(reader.answer)
}

async fn body(asked: impl Future<Output = Asked>) -> Result<Answer, String> {
    let mut response = asked.await.map_err(|error| error.to_string())?;
    let mut bytes = 0;
    while let Some(chunk) = response.chunk().await.map_err(|error| error.to_string())? {
        bytes += chunk.len() as u64;
    }
    Ok(Answer { tokens: bytes, ..Answer::default() })
}

/// Our transport and the parts of a provider that read.
async fn parts(transport: Arc<HttpTransport>, url: String) -> Result<Answer, String> {
    let mut request = post(&url, ASKED).map_err(|error| error.to_string())?;
    let kind = http::HeaderValue::from_static("application/json");
    request.headers_mut().insert("content-type", kind);
    let response = transport.send(request).await.map_err(|error| error.to_string())?;
    let mut body = response.into_body();
    let mut reader = ours::Reader::new();
    while let Some(chunk) = body.next_chunk().await.map_err(|error| error.to_string())? {
        reader.feed(chunk)?;
    }
    reader.finish()
}

#[cfg(feature = "peers")]
mod peers {
    use std::future::Future;
    use std::pin::pin;

    use async_openai::Client;
    use async_openai::config::OpenAIConfig;
    use async_openai::types::chat::{
        ChatCompletionRequestUserMessage, CreateChatCompletionRequest,
    };

    use super::{Answer, Asked};
    use crate::stream::peers::{add, next, read_eventsource};

    pub(super) async fn eventsource(asked: impl Future<Output = Asked>) -> Result<Answer, String> {
        let response = asked.await.map_err(|error| error.to_string())?;
        let events = eventsource_stream::EventStream::new(response.bytes_stream());
        read_eventsource(pin!(events)).await
    }

    pub(super) async fn async_openai(base_url: String) -> Result<Answer, String> {
        let config = OpenAIConfig::new().with_api_base(base_url).with_api_key("none");
        let client = Client::with_config(config);
        let hello = ChatCompletionRequestUserMessage::from("Go on.");
        let request = CreateChatCompletionRequest {
            model: "m".to_owned(),
            messages: vec![hello.into()],
            stream: Some(true),
            ..CreateChatCompletionRequest::default()
        };
        let chunks = client.chat().create_stream(request).await;
        let mut chunks = chunks.map_err(|error| error.to_string())?;
        let mut answer = Answer::default();
        while let Some(chunk) = next(chunks.as_mut()).await {
            add(chunk.map_err(|error| error.to_string())?, &mut answer);
        }
        Ok(answer)
    }
}

#[expect(clippy::disallowed_methods, reason = "measuring is what this program is for")]
fn now() -> std::time::Instant {
    std::time::Instant::now()
}
