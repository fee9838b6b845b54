//! The command line.

#[cfg(test)]
mod tests;

use crate::{
    artifacts, conversation, growth, inspector, mcp, measure::Plan, report::Format, stream, tokens,
    turns, workers,
};

/// What is printed when the command line is not understood.
pub(crate) const USAGE: &str = "\
usage: haft-bench <dispatch|validate|callid|agreement|artifacts|stream|turns|conversation|growth|mcp|workers|inspector|tokens|binary> [--json] [--rounds N] [--quick]
                  [--values N] [--bytes N] [--keep] [--full] [--peers DIR]

  dispatch    JSON text in, typed handler out: Haft, peers and the reference in node
  validate    judging parsed arguments, and building what judges them
  callid      canonical JSON and sha256 of a parsed value, and parsing it
  agreement   how often the schema shown and the handler disagree; exits with 1 if Haft's ever do
  artifacts   large results: spooling, ranges, searches, formats, beside the programs for that
  stream      100000 pieces of an answer read, in memory and over HTTP, and a request of 1000 records
  turns       turns of three iterations: at once, waiting, and on the disk, beside bare Tokio
  conversation  a conversation of many turns: size of its store and time of hydration, and how they grow
  growth      what grows with a turn, its history and its store, at four sizes, and the exponents
  mcp         the MCP proxy: what it adds to a small call, and a large result (--bytes) until its answer
  workers     workers on PostgreSQL: decisions, claims, commits, throughput, and a large result (--bytes) in S3
  inspector   the page in a browser: size, a turn of 10000 events, and an artifact (--bytes) that is scrolled and searched
  tokens      what six tasks cost in tokens, one of them with a log (--bytes), beside pasting every result
  binary      the program haft from the same build directory: instructions of its start, and its size

  --json      one JSON object per line: name, ours, unit, peers, ratio (ours to the floor)
  --rounds N  rounds per variant (31; 5 with --quick; of artifacts, stream and turns 7 and 3)
  --quick     shorter samples, for a look in passing
  --values N  values that the agreement proof draws over all shapes (1000000; at least 100 a shape)
  --bytes N   size of the log of artifacts, such as 64M or 1G (256M)
  --keep      leaves the data of artifacts where it is
  --peers DIR counts what PydanticAI and Vercel AI send, which are installed in this directory:
              python3 -m venv DIR/venv && DIR/venv/bin/pip install 'pydantic-ai-slim[openai]' pydantic-ai-harness
              npm install --prefix DIR ai @ai-sdk/openai zod
  --full      has 100000 turns wait, and not only 10000; stores up to a million turns for growth";

/// Values of the agreement proof if the command line does not say.
const VALUES: usize = 1_000_000;

/// The benchmark to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Bench {
    Dispatch,
    Validate,
    CallId,
    Agreement,
    Artifacts,
    Stream,
    Turns,
    Conversation,
    Growth,
    Mcp,
    Workers,
    Inspector,
    Tokens,
    Binary,
}

/// A parsed command line.
#[derive(Clone, Debug)]
pub(crate) struct Args {
    pub(crate) bench: Bench,
    pub(crate) format: Format,
    pub(crate) plan: Plan,
    /// Values that the agreement proof draws.
    pub(crate) values: usize,
    pub(crate) artifacts: artifacts::Options,
    pub(crate) stream: stream::Options,
    pub(crate) turns: turns::Options,
    pub(crate) conversation: conversation::Options,
    pub(crate) growth: growth::Options,
    pub(crate) mcp: mcp::Options,
    pub(crate) workers: workers::Options,
    pub(crate) inspector: inspector::Options,
    pub(crate) tokens: tokens::Options,
}

impl Args {
    /// Parses the arguments after the program's name.
    ///
    /// # Errors
    ///
    /// A message about the first argument that is not understood.
    pub(crate) fn parse(args: impl IntoIterator<Item = String>) -> Result<Self, String> {
        let mut args = args.into_iter();
        let mut bench = None;
        let mut format = Format::Table;
        let mut plan = Plan::FULL;
        let mut rounds = None;
        let mut values = VALUES;
        let mut bytes = 256 << 20;
        let mut keep = false;
        let mut few = 7;
        let mut full = false;
        let mut quick = false;
        let mut peers = None;
        while let Some(arg) = args.next() {
            match arg.as_str() {
                "dispatch" if bench.is_none() => bench = Some(Bench::Dispatch),
                "validate" if bench.is_none() => bench = Some(Bench::Validate),
                "callid" if bench.is_none() => bench = Some(Bench::CallId),
                "agreement" if bench.is_none() => bench = Some(Bench::Agreement),
                "artifacts" if bench.is_none() => bench = Some(Bench::Artifacts),
                "stream" if bench.is_none() => bench = Some(Bench::Stream),
                "turns" if bench.is_none() => bench = Some(Bench::Turns),
                "conversation" if bench.is_none() => bench = Some(Bench::Conversation),
                "growth" if bench.is_none() => bench = Some(Bench::Growth),
                "mcp" if bench.is_none() => bench = Some(Bench::Mcp),
                "workers" if bench.is_none() => bench = Some(Bench::Workers),
                "inspector" if bench.is_none() => bench = Some(Bench::Inspector),
                "tokens" if bench.is_none() => bench = Some(Bench::Tokens),
                "binary" if bench.is_none() => bench = Some(Bench::Binary),
                "--json" => format = Format::JsonLines,
                "--quick" => (plan, few, quick) = (Plan::QUICK, 3, true),
                "--rounds" => rounds = Some(parse_count(&arg, args.next())?),
                "--bytes" => bytes = parse_size(&arg, args.next())?,
                "--keep" => keep = true,
                "--peers" => peers = Some(args.next().ok_or("`--peers` needs a directory")?.into()),
                "--full" => full = true,
                "--values" => values = parse_count(&arg, args.next())?,
                _ => return Err(format!("unexpected argument `{arg}`")),
            }
        }
        let bench = bench.ok_or("no benchmark named")?;
        plan.rounds = rounds.unwrap_or(plan.rounds);
        let artifacts = artifacts::Options { bytes, rounds: rounds.unwrap_or(few), keep };
        let turns = turns::Options { rounds: rounds.unwrap_or(few), full };
        let stream = stream::Options { rounds: rounds.unwrap_or(few) };
        let conversation = conversation::Options { turns: if quick { 200 } else { 1_000 } };
        let growth = growth::Options { quick, full };
        let mcp = mcp::Options { calls: if quick { 500 } else { 5_000 }, bytes };
        let (count, waiting) = if quick { (100, 1_000) } else { (400, 10_000) };
        let workers = workers::Options { turns: count, waiting, bytes };
        let inspector = inspector::Options { bytes };
        Ok(Self {
            bench,
            format,
            plan,
            values,
            artifacts,
            stream,
            turns,
            conversation,
            growth,
            mcp,
            workers,
            inspector,
            tokens: tokens::Options { log_bytes: bytes, peers },
        })
    }
}

fn parse_count(option: &str, text: Option<String>) -> Result<usize, String> {
    let text = text.ok_or_else(|| format!("`{option}` needs a number"))?;
    match text.parse() {
        Ok(count) if count > 0 => Ok(count),
        _ => Err(format!("`{option}` needs a positive number and got `{text}`")),
    }
}

/// Bytes, or with `K`, `M` or `G` behind them as many of that.
fn parse_size(option: &str, text: Option<String>) -> Result<u64, String> {
    let text = text.ok_or_else(|| format!("`{option}` needs a size"))?;
    let (digits, unit) = match text.as_bytes().last() {
        Some(b'K') => (text.strip_suffix('K'), 1 << 10),
        Some(b'M') => (text.strip_suffix('M'), 1 << 20),
        Some(b'G') => (text.strip_suffix('G'), 1 << 30),
        _ => (Some(text.as_str()), 1),
    };
    let size = digits.and_then(|digits| digits.parse::<u64>().ok()?.checked_mul(unit));
    size.filter(|size| *size > 0)
        .ok_or_else(|| format!("`{option}` needs a size such as 64M and got `{text}`"))
}
