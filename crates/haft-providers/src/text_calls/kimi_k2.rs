//! `<|tool_calls_section_begin|><|tool_call_begin|>functions.f:0<|tool_call_argument_begin|>{}<|tool_call_end|><|tool_calls_section_end|>`

use super::TextCall;
use super::cursor::{Cursor, ParseStop};
use super::json_call::arguments_from;
use super::scan::CallReading;

pub(super) const OPEN: &str = "<|tool_calls_section_begin|>";

/// Reads the calls of a section, behind its marker. A section without calls is none.
pub(super) fn read_section(mut at: Cursor<'_>) -> CallReading {
    let mut calls = Vec::new();
    loop {
        at.skip_space();
        if at.eat("<|tool_calls_section_end|>")? {
            break;
        }
        at.expect("<|tool_call_begin|>")?;
        at.skip_space();
        let name = tool_name(at.read_while(|it| it != '<' && !it.is_whitespace())?)?;
        at.skip_space();
        at.expect("<|tool_call_argument_begin|>")?;
        at.skip_space();
        let arguments = arguments_from(at.read_object()?).ok_or(ParseStop::Mismatch)?;
        at.skip_space();
        at.expect("<|tool_call_end|>")?;
        calls.push(TextCall::new(name, arguments));
    }
    if calls.is_empty() { Err(ParseStop::Mismatch) } else { Ok((at.at, calls)) }
}

/// The name in an id like `functions.f:0`.
fn tool_name(id: &str) -> Result<&str, ParseStop> {
    let (path, number) = id.rsplit_once(':').ok_or(ParseStop::Mismatch)?;
    let name = path.strip_prefix("functions.").unwrap_or(path);
    let is_number = !number.is_empty() && number.bytes().all(|it| it.is_ascii_digit());
    if name.is_empty() || !is_number { Err(ParseStop::Mismatch) } else { Ok(name) }
}
