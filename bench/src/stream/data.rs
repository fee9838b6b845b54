//! The answer that is streamed: as OpenAI writes it, nine tenths text, one tenth the arguments of ten calls.

use std::fmt::Write as _;

use bytes::Bytes;
use sha2::{Digest as _, Sha256};

/// What came of a stream.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Answer {
    pub(crate) text: String,
    /// Names and arguments.
    pub(crate) calls: Vec<(String, String)>,
    pub(crate) tokens: u64,
}

impl Answer {
    /// Adds to a call, which may be new.
    pub(crate) fn add(&mut self, index: usize, name: Option<&str>, arguments: &str) {
        while self.calls.len() <= index {
            self.calls.push(Default::default());
        }
        if let Some((call, all)) = self.calls.get_mut(index) {
            call.push_str(name.unwrap_or_default());
            all.push_str(arguments);
        }
    }
}

/// The text that tells two answers apart.
pub(crate) fn show(answer: Result<Answer, String>) -> String {
    match answer {
        Err(error) => format!("error: {error}"),
        Ok(answer) => {
            let names: Vec<&str> = answer.calls.iter().map(|it| it.0.as_str()).collect();
            let arguments: String = answer.calls.iter().map(|it| it.1.as_str()).collect();
            let text = hash(&answer.text);
            let arguments = hash(&arguments);
            format!("{text} {} {arguments} {}", names.join(","), answer.tokens)
        }
    }
}

fn hash(text: &str) -> String {
    Sha256::digest(text).iter().fold(String::new(), |mut hex, byte| {
        let _ = write!(hex, "{byte:02x}");
        hex
    })
}

/// How many chunks the stream has.
pub(crate) const CHUNKS: usize = 100_000;

/// The calls, and how many pieces the arguments of each come in.
const CALLS: usize = 10;
const PIECES: usize = CHUNKS / 10 / CALLS;

/// Each event of the stream with its blank line, the last two of which are the end.
pub(crate) fn events() -> Vec<String> {
    let mut all = Vec::with_capacity(CHUNKS + 2);
    all.push(event(r#"{"role":"assistant","content":"","refusal":null}"#, "null", 0));
    let text = CHUNKS - CALLS * PIECES - 2;
    for n in 0..text {
        // One in twenty has an escape, and one in fifty letters beyond ASCII.
        let word = match n % 100 {
            7 | 27 | 47 | 67 | 87 => r" it.\n\n",
            13 | 63 => " schön 🌍",
            _ => WORDS.get(n % WORDS.len()).copied().unwrap_or_default(),
        };
        all.push(event(&format!(r#"{{"content":"{word}"}}"#), "null", n));
    }
    for call in 0..CALLS {
        for n in 0..PIECES {
            let delta = match n {
                0 => format!(
                    r#"{{"tool_calls":[{{"index":{call},"id":"call_{call:020}","type":"function","function":{{"name":"{TOOL}","arguments":"{{\"text\":\"{call} "}}}}]}}"#
                ),
                _ if n == PIECES - 1 => piece(call, r#"\"}"#),
                // Every other piece of arguments has an escape: they are JSON in JSON.
                _ if n % 2 == 0 => piece(call, r"\\n "),
                _ => piece(call, "word"),
            };
            all.push(event(&delta, "null", n));
        }
    }
    all.push(event("{}", r#""tool_calls""#, 0));
    all.push(format!(
        "data: {HEAD}\"choices\":[],\"usage\":{{\"prompt_tokens\":1000,\"completion_tokens\":{CHUNKS},\"total_tokens\":{}}}}}\n\n",
        CHUNKS + 1000
    ));
    all.push("data: [DONE]\n\n".to_owned());
    all
}

fn piece(call: usize, arguments: &str) -> String {
    format!(r#"{{"tool_calls":[{{"index":{call},"function":{{"arguments":"{arguments}"}}}}]}}"#)
}

fn event(delta: &str, finish: &str, n: usize) -> String {
    let mut event = format!(
        r#"data: {HEAD}"choices":[{{"index":0,"delta":{delta},"logprobs":null,"finish_reason":{finish}}}],"usage":null,"obfuscation":""#
    );
    // As the vendor pads its events, so that their length does not give words away.
    for _ in 0..n % 12 {
        event.push('x');
    }
    let _ = write!(event, "\"}}\n\n");
    event
}

/// The tool that is called.
pub(crate) const TOOL: &str = "note";

const HEAD: &str = r#"{"id":"chatcmpl-C0c1x9Z8dQp7s5Kz3vW2","object":"chat.completion.chunk","created":1760000000,"model":"gpt-5-mini-2025-08-07","system_fingerprint":"fp_8a1b2c3d4e","#;

const WORDS: [&str; 8] = [" the", " handle", " of", " a", " tool", " turns", " every", " blade"];

/// How a stream is cut into chunks of bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Framing {
    /// One event in each.
    Events,
    /// So many bytes in each.
    Bytes(usize),
}

impl Framing {
    pub(crate) fn cut(self, events: &[String]) -> Vec<Bytes> {
        let mut rest = Bytes::from(events.concat());
        let mut chunks = Vec::new();
        match self {
            Self::Events => chunks.extend(events.iter().map(|it| rest.split_to(it.len()))),
            Self::Bytes(size) => {
                while !rest.is_empty() {
                    chunks.push(rest.split_to(size.min(rest.len())));
                }
            }
        }
        chunks
    }
}
