//! The command line.

#[cfg(test)]
mod tests;

use crate::{measure::Plan, report::Format};

/// What is printed when the command line is not understood.
pub(crate) const USAGE: &str = "\
usage: haft-bench <dispatch|validate|callid|agreement> [--json] [--rounds N] [--quick] [--values N]

  dispatch    JSON text in, typed handler out: Haft, peers and the reference in node
  validate    judging parsed arguments, and building what judges them
  callid      canonical JSON and sha256 of a parsed value, and parsing it
  agreement   how often the schema shown and the handler disagree; exits with 1 if Haft's ever do

  --json      one JSON object per line: name, ours, unit, peers, ratio (ours to the floor)
  --rounds N  rounds per variant (31; 5 with --quick)
  --quick     shorter samples, for a look in passing
  --values N  values that the agreement proof draws over all shapes (1000000; at least 100 a shape)";

/// Values of the agreement proof if the command line does not say.
const VALUES: usize = 1_000_000;

/// The benchmark to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Bench {
    Dispatch,
    Validate,
    CallId,
    Agreement,
}

/// A parsed command line.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Args {
    pub(crate) bench: Bench,
    pub(crate) format: Format,
    pub(crate) plan: Plan,
    /// Values that the agreement proof draws.
    pub(crate) values: usize,
}

impl Args {
    /// Parses the arguments after the program's name.
    ///
    /// # Errors
    ///
    /// A message about the first argument that is not understood.
    pub(crate) fn parse(args: impl IntoIterator<Item = String>) -> Result<Self, String> {
        let mut args = args.into_iter();
        let (mut bench, mut format, mut plan) = (None, Format::Table, Plan::FULL);
        let (mut rounds, mut values) = (None, VALUES);
        while let Some(arg) = args.next() {
            match arg.as_str() {
                "dispatch" if bench.is_none() => bench = Some(Bench::Dispatch),
                "validate" if bench.is_none() => bench = Some(Bench::Validate),
                "callid" if bench.is_none() => bench = Some(Bench::CallId),
                "agreement" if bench.is_none() => bench = Some(Bench::Agreement),
                "--json" => format = Format::JsonLines,
                "--quick" => plan = Plan::QUICK,
                "--rounds" => rounds = Some(parse_count(&arg, args.next())?),
                "--values" => values = parse_count(&arg, args.next())?,
                _ => return Err(format!("unexpected argument `{arg}`")),
            }
        }
        let bench = bench.ok_or("no benchmark named")?;
        plan.rounds = rounds.unwrap_or(plan.rounds);
        Ok(Self { bench, format, plan, values })
    }
}

fn parse_count(option: &str, text: Option<String>) -> Result<usize, String> {
    let text = text.ok_or_else(|| format!("`{option}` needs a number"))?;
    match text.parse() {
        Ok(count) if count > 0 => Ok(count),
        _ => Err(format!("`{option}` needs a positive number and got `{text}`")),
    }
}
