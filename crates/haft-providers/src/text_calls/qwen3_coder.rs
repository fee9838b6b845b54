//! `<tool_call><function=f><parameter=a>1</parameter></function></tool_call>`

use haft_core::args::RawArgs;
use haft_core::json::JsonWriter;

use super::TextCall;
use super::cursor::{Cursor, ParseStop};
use super::scan::{CLOSE, CallReading, Input};
use super::value_ends::ValueEnds;

/// Reads calls whose values are strings. The line breaks around a value are not part of it.
#[derive(Debug)]
pub(super) struct Qwen3Coder {
    values: ValueEnds,
}

impl Default for Qwen3Coder {
    fn default() -> Self {
        Self { values: ValueEnds::new("</parameter>") }
    }
}

impl Qwen3Coder {
    /// Reads the call whose function begins at the cursor.
    pub(super) fn read_call(&mut self, at: Cursor<'_>, input: Input) -> CallReading {
        self.values.read(input, |values| read_function(at, values, input))
    }
}

fn read_function(mut at: Cursor<'_>, values: &mut ValueEnds, input: Input) -> CallReading {
    let name = read_tag(&mut at, "<function=")?;
    let mut members = Vec::new();
    loop {
        at.skip_space();
        if at.eat("</function>")? {
            break;
        }
        let key = read_tag(&mut at, "<parameter=")?;
        members.push((key, values.read_value(&mut at, input)?.trim()));
    }
    at.skip_space();
    at.expect(CLOSE)?;
    let mut out = JsonWriter::new();
    out.object(|out| {
        for (key, value) in members {
            out.key(key).string(value);
        }
    });
    let arguments = RawArgs::text(&out.finish().root().to_string());
    Ok((at.at, vec![TextCall::new(name, arguments)]))
}

/// The name in `<function=name>` or `<parameter=name>`.
fn read_tag<'t>(at: &mut Cursor<'t>, open: &str) -> Result<&'t str, ParseStop> {
    at.expect(open)?;
    let name = at.read_while(|it| !matches!(it, '<' | '>' | '\n'))?.trim();
    at.expect(">")?;
    if name.is_empty() { Err(ParseStop::Mismatch) } else { Ok(name) }
}
