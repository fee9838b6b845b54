//! A name on the first line, and `key: value` on all others

use haft_core::args::RawArgs;
use haft_core::json::Document;

use super::TextCall;
use super::cursor::{ParseStop, is_name_part};
use super::offered::OfferedNames;
use super::scan::{GrammarReading, Input, WholeGrammar, finish_reading};

/// BlankPrefix lines are passed over. Any other line makes the whole output text: it could be the rest of a
/// value, and a call with half a value is worse than none.
#[derive(Debug)]
pub(super) struct LooseKeyed {
    offered: OfferedNames,
}

impl LooseKeyed {
    pub(super) fn new(offered: &OfferedNames) -> Self {
        Self { offered: offered.clone() }
    }

    fn call(&self, text: &str, input: Input) -> Result<TextCall, ParseStop> {
        let mut name = None;
        let mut members = String::from("{");
        for line in text.split_inclusive('\n') {
            let is_complete = line.ends_with('\n') || input == Input::Whole;
            let line = line.trim();
            match name {
                _ if line.is_empty() => {}
                None if is_complete && self.offered.has(line) => name = Some(line),
                None if !is_complete && self.offered.has_prefix(line) => {
                    return Err(ParseStop::Incomplete);
                }
                None => return Err(ParseStop::Mismatch),
                Some(_) => match line.split_once(':') {
                    Some((key, value)) if is_key(key.trim_end()) && is_complete => {
                        push_member(&mut members, key.trim_end(), value.trim());
                    }
                    Some((key, _)) if is_key(key.trim_end()) => return Err(ParseStop::Incomplete),
                    None if is_key(line) && !is_complete => return Err(ParseStop::Incomplete),
                    _ => return Err(ParseStop::Mismatch),
                },
            }
        }
        if members.len() == 1 {
            return Err(ParseStop::Incomplete);
        }
        members.push('}');
        Ok(TextCall::new(name.ok_or(ParseStop::Incomplete)?, RawArgs::text(&members)))
    }
}

impl WholeGrammar for LooseKeyed {
    fn read_output(&self, text: &str, input: Input) -> GrammarReading {
        match (self.call(text, input), input) {
            (Ok(_), Input::Partial) => GrammarReading::More,
            (read, input) => finish_reading(read.map(|it| (text.len(), vec![it])), 0, input),
        }
    }
}

fn is_key(key: &str) -> bool {
    !key.is_empty() && key.chars().all(is_name_part)
}

/// A value that is JSON is read as that, any other as a string.
fn push_member(out: &mut String, key: &str, value: &str) {
    if out.len() > 1 {
        out.push(',');
    }
    push_string(out, key);
    out.push(':');
    match Document::parse(value) {
        Ok(document) => out.push_str(&document.root().to_string()),
        Err(_) => push_string(out, value),
    }
}

/// Writes a JSON string.
pub(super) fn push_string(out: &mut String, text: &str) {
    let mut string = haft_core::json::JsonWriter::new();
    string.string(text);
    out.push_str(&string.finish().root().to_string());
}
