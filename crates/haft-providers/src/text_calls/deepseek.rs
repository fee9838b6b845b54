//! `<｜DSML｜function_calls><｜DSML｜invoke name="f"><｜DSML｜parameter name="a" string="true">x</｜DSML｜parameter></｜DSML｜invoke></｜DSML｜function_calls>`

use haft_core::args::RawArgs;
use haft_core::json::{Document, JsonWriter};

use super::TextCall;
use super::cursor::{Cursor, ParseStop};
use super::scan::{CallReading, Input};
use super::value_ends::ValueEnds;

/// Begins the calls of V3.2.
pub(super) const OPEN: &str = "<｜DSML｜function_calls>";

/// Begins the calls of V4.
pub(super) const OPEN_V4: &str = "<｜DSML｜tool_calls>";

/// Reads blocks of calls. A value is a string, or JSON if its tag says so.
#[derive(Debug)]
pub(super) struct DeepSeek {
    values: ValueEnds,
}

impl Default for DeepSeek {
    fn default() -> Self {
        Self { values: ValueEnds::new("</｜DSML｜parameter>") }
    }
}

impl DeepSeek {
    /// Reads the calls of a block, behind its marker. A block without calls is none.
    pub(super) fn read_block(&mut self, at: Cursor<'_>, input: Input) -> CallReading {
        self.values.read(input, |values| read_calls(at, values, input))
    }
}

/// The arguments of a call as they are written: name, value, and whether the value is a string.
type Parameters<'t> = Vec<(&'t str, &'t str, bool)>;

fn read_calls(mut at: Cursor<'_>, values: &mut ValueEnds, input: Input) -> CallReading {
    let mut calls = Vec::new();
    loop {
        at.skip_space();
        // Behind a value every block reads the same, whichever marker it began with.
        if at.eat("</｜DSML｜function_calls>")? || at.eat("</｜DSML｜tool_calls>")? {
            break;
        }
        at.expect("<｜DSML｜invoke name=\"")?;
        let name = read_quoted(&mut at)?;
        at.expect(">")?;
        calls.push((name, read_parameters(&mut at, values, input)?));
    }
    if calls.is_empty() {
        return Err(ParseStop::Mismatch);
    }
    let calls = calls.iter().map(|(name, parameters)| {
        let arguments = arguments(parameters);
        // Values that are nested deeper than arguments may be.
        arguments.document().ok_or(ParseStop::Mismatch)?;
        Ok(TextCall::new(name, arguments))
    });
    Ok((at.at, calls.collect::<Result<_, _>>()?))
}

fn read_parameters<'t>(
    at: &mut Cursor<'t>,
    values: &mut ValueEnds,
    input: Input,
) -> Result<Parameters<'t>, ParseStop> {
    let mut parameters = Vec::new();
    loop {
        at.skip_space();
        if at.eat("</｜DSML｜invoke>")? {
            return Ok(parameters);
        }
        at.expect("<｜DSML｜parameter name=\"")?;
        let name = read_quoted(at)?;
        at.expect(" string=\"")?;
        let is_string = match read_quoted(at)? {
            "true" => true,
            "false" => false,
            _ => return Err(ParseStop::Mismatch),
        };
        at.expect(">")?;
        parameters.push((name, values.read_value(at, input)?, is_string));
    }
}

/// A text without escapes, up to its closing quote.
fn read_quoted<'t>(at: &mut Cursor<'t>) -> Result<&'t str, ParseStop> {
    let text = at.read_while(|it| !matches!(it, '"' | '<' | '>' | '\n'))?;
    at.expect("\"")?;
    if text.is_empty() { Err(ParseStop::Mismatch) } else { Ok(text) }
}

/// The arguments as an object. A value that should be JSON and is not stays a string, which coercion may accept.
fn arguments(parameters: &[(&str, &str, bool)]) -> RawArgs {
    let mut out = JsonWriter::new();
    out.object(|out| {
        for (name, value, is_string) in parameters {
            let parsed = if *is_string { None } else { Document::parse_lenient(value).ok() };
            match parsed {
                Some((document, _)) => out.key(name).view(document.root()),
                None => out.key(name).string(value),
            };
        }
    });
    RawArgs::text(&out.finish().root().to_string())
}
