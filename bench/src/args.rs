//! The command line.

#[cfg(test)]
mod tests;

use crate::{measure::Plan, report::Format};

/// What is printed when the command line is not understood.
pub(crate) const USAGE: &str = "\
usage: haft-bench <dispatch|callid|agreement> [--json] [--rounds N] [--quick]

  dispatch    JSON text in, typed handler out: Haft, peers and the reference in node
  callid      canonical JSON and sha256 of a parsed value
  agreement   how often the schema shown and the handler disagree

  --json      one JSON object per line: name, ours, unit, peers, ratio (ours to the floor)
  --rounds N  rounds per variant (31; 5 with --quick)
  --quick     shorter samples, for a look in passing";

/// The benchmark to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Bench {
    Dispatch,
    CallId,
    Agreement,
}

/// A parsed command line.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Args {
    pub(crate) bench: Bench,
    pub(crate) format: Format,
    pub(crate) plan: Plan,
}

impl Args {
    /// Parses the arguments after the program's name.
    ///
    /// # Errors
    ///
    /// A message about the first argument that is not understood.
    pub(crate) fn parse(args: impl IntoIterator<Item = String>) -> Result<Self, String> {
        let mut args = args.into_iter();
        let (mut bench, mut format, mut plan, mut rounds) = (None, Format::Table, Plan::FULL, None);
        while let Some(arg) = args.next() {
            match arg.as_str() {
                "dispatch" if bench.is_none() => bench = Some(Bench::Dispatch),
                "callid" if bench.is_none() => bench = Some(Bench::CallId),
                "agreement" if bench.is_none() => bench = Some(Bench::Agreement),
                "--json" => format = Format::JsonLines,
                "--quick" => plan = Plan::QUICK,
                "--rounds" => rounds = Some(parse_rounds(args.next())?),
                _ => return Err(format!("unexpected argument `{arg}`")),
            }
        }
        let bench = bench.ok_or("no benchmark named")?;
        plan.rounds = rounds.unwrap_or(plan.rounds);
        Ok(Self { bench, format, plan })
    }
}

fn parse_rounds(text: Option<String>) -> Result<usize, String> {
    let text = text.ok_or("`--rounds` needs a number")?;
    match text.parse() {
        Ok(rounds) if rounds > 0 => Ok(rounds),
        _ => Err(format!("`--rounds` needs a positive number and got `{text}`")),
    }
}
