//! A name on the first line, and `key: value` on all others

use haft_core::args::RawArgs;
use haft_core::json::Document;

use super::TextCall;
use super::cursor::{Stop, is_name_part};
use super::offered::Offered;
use super::scan::{Input, Reading, Whole, settle};

/// Blank lines are passed over. Any other line makes the whole output text: it could be the rest of a
/// value, and a call with half a value is worse than none.
#[derive(Debug)]
pub(super) struct LooseKeyed {
    offered: Offered,
}

impl LooseKeyed {
    pub(super) fn new(offered: &Offered) -> Self {
        Self { offered: offered.clone() }
    }

    fn call(&self, text: &str, input: Input) -> Result<TextCall, Stop> {
        let mut name = None;
        let mut members = String::from("{");
        for line in text.split_inclusive('\n') {
            let is_complete = line.ends_with('\n') || input == Input::Whole;
            let line = line.trim();
            match name {
                _ if line.is_empty() => {}
                None if is_complete && self.offered.has(line) => name = Some(line),
                None if !is_complete && self.offered.has_prefix(line) => return Err(Stop::End),
                None => return Err(Stop::Bad),
                Some(_) => match line.split_once(':') {
                    Some((key, value)) if is_key(key.trim_end()) && is_complete => {
                        push_member(&mut members, key.trim_end(), value.trim());
                    }
                    Some((key, _)) if is_key(key.trim_end()) => return Err(Stop::End),
                    None if is_key(line) && !is_complete => return Err(Stop::End),
                    _ => return Err(Stop::Bad),
                },
            }
        }
        if members.len() == 1 {
            return Err(Stop::End);
        }
        members.push('}');
        Ok(TextCall::new(name.ok_or(Stop::End)?, RawArgs::text(&members)))
    }
}

impl Whole for LooseKeyed {
    fn read(&self, text: &str, input: Input) -> Reading {
        match (self.call(text, input), input) {
            (Ok(_), Input::Partial) => Reading::More,
            (read, input) => settle(read.map(|it| (text.len(), vec![it])), 0, input),
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
