//! Reading a streamed answer, and writing a large request.
//!
//! The answer has 100 000 chunks (about 30 MB) as OpenAI's Chat Completions write them. The floor splits lines by hand,
//! reads each event into types that borrow and appends to strings; it knows neither the rest of the format nor limits.
//! Ours is the path of a provider: framing, dialect, assembly. All must come to the same answer. A stream is
//! cut into chunks in several ways, because servers and networks cut it in several ways.
//!
//! Over HTTP the server is a process of its own, and node another; a round has one stream for each client.

mod data;
mod floor;
#[cfg(not(feature = "allocations"))]
mod http;
pub(crate) mod ours;
#[cfg(feature = "peers")]
mod peers;
mod request;
pub(crate) mod server;
#[cfg(not(feature = "allocations"))]
mod server_process;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use bytes::Bytes;
use tokio::runtime::Runtime;

use self::data::{Answer, CHUNKS, Framing, show};
use crate::Sink;
use crate::measure::{self, Plan, UNIT, Variant};
use crate::report::{Entry, FLOOR, OURS, Row};

/// What to measure.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Options {
    pub(crate) rounds: usize,
}

/// Measures every row.
///
/// # Errors
///
/// When an answer is read wrongly, or a row cannot be printed.
pub(crate) fn run(options: Options, print: Sink<'_>) -> Result<(), String> {
    let plan = Plan { rounds: options.rounds, counted: 1, ..Plan::FULL };
    let events = data::events();
    let bytes: usize = events.iter().map(String::len).sum();
    crate::note(&format!("{CHUNKS} chunks, {bytes} bytes, {} rounds", options.rounds));
    let expected = show(floor::read(&Framing::Events.cut(&events)));
    for (name, framing) in FRAMINGS {
        print(&decode(name, framing, &events, &expected, plan)?.aims([(OURS, 1.3)]))?;
    }
    #[cfg(not(feature = "allocations"))]
    for row in http::measure(options.rounds, &expected)? {
        // One and a half times as fast as the client that most programs use.
        let peer = row.entries.iter().find(|it| it.name.starts_with("async-openai"));
        let aim = peer.and_then(|it| it.ratio).map(|ratio| (OURS, ratio / 1.5));
        print(&row.aims(aim))?;
    }
    print(&request::measure(Plan { counted: 10, ..plan })?)
}

/// The ways in which a stream is cut.
const FRAMINGS: [(&str, Framing); 5] = [
    ("stream/one event a chunk", Framing::Events),
    ("stream/8192 bytes a chunk", Framing::Bytes(8192)),
    ("stream/1460 bytes a chunk", Framing::Bytes(1460)),
    ("stream/400 bytes a chunk", Framing::Bytes(400)),
    ("stream/137 bytes a chunk", Framing::Bytes(137)),
];

fn decode(
    name: &str,
    framing: Framing,
    events: &[String],
    expected: &str,
    plan: Plan,
) -> Result<Row, String> {
    let chunks: Arc<[Bytes]> = framing.cut(events).into();
    let reading = |name, read: fn(&[Bytes]) -> Result<Answer, String>| {
        let chunks = Arc::clone(&chunks);
        Variant::new(name, move || read(&chunks), show)
    };
    let mut variants = vec![reading(FLOOR, floor::read), reading(OURS, ours::read)];
    let agent = ours::agent(Arc::new(ours::Canned(chunks.to_vec())), "http://127.0.0.1:1/v1")?;
    let runtime = current_thread()?;
    let turn = move || runtime.block_on(ours::turn(&agent));
    variants.push(Variant::new("haft, in a turn", turn, show));
    #[cfg(feature = "peers")]
    variants.extend(peers::WAYS.map(|(name, read)| reading(name, read)));
    let figures = measure::compare(expected, variants, plan)?;
    let per_chunk = |entry: Entry| Entry { value: entry.value / CHUNKS as f64, ..entry };
    let entries = figures.iter().map(|it| per_chunk(it.into())).collect();
    Ok(Row { name: name.to_owned(), unit: UNIT_PER_CHUNK, entries })
}

const UNIT_PER_CHUNK: &str = match UNIT.as_bytes() {
    b"ns" => "ns per chunk",
    _ => "allocations per chunk",
};

fn current_thread() -> Result<Runtime, String> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.map_err(|error| error.to_string())
}
