//! `{"name": "f", "parameters": {}}` as the whole output

use super::cursor::{Cursor, ParseStop};
use super::json_call::{ARGUMENTS_OR_PARAMETERS, call_of};
use super::offered::OfferedNames;
use super::scan::{GrammarReading, Input, WholeGrammar, finish_reading};
use super::{RawArgs, TextCall};

/// Objects follow each other with commas, semicolons or white space between them.
///
/// An object without arguments looks like any data about something that has a name. It is a call only if
/// there is nothing else in it and the name is offered.
#[derive(Debug)]
pub(super) struct Llama3Json {
    offered: OfferedNames,
}

impl Llama3Json {
    pub(super) fn new(offered: &OfferedNames) -> Self {
        Self { offered: offered.clone() }
    }

    fn calls(&self, text: &str) -> Result<(usize, Vec<TextCall>), ParseStop> {
        let mut at = Cursor::new(text, 0);
        let mut calls = Vec::new();
        at.skip_space();
        at.peek_required()?;
        while at.peek().is_some() {
            let object = at.read_json('{')?;
            let call = call_of(object, ARGUMENTS_OR_PARAMETERS).ok_or(ParseStop::Mismatch)?;
            if call.arguments == RawArgs::none() && !self.is_call_without_arguments(object, &call) {
                return Err(ParseStop::Mismatch);
            }
            calls.push(call);
            let rest = at.rest();
            at.at += rest.len() - rest.trim_start_matches(is_separator).len();
        }
        Ok((text.len(), calls))
    }

    fn is_call_without_arguments(&self, object: &str, call: &TextCall) -> bool {
        let Ok((document, _)) = haft_core::json::Document::parse_lenient(object) else {
            return false;
        };
        let root = document.root();
        let has_arguments = ARGUMENTS_OR_PARAMETERS.iter().any(|key| root.get(key).is_some());
        has_arguments || (root.len() == 1 && self.offered.has(&call.name))
    }
}

impl WholeGrammar for Llama3Json {
    fn read_output(&self, text: &str, input: Input) -> GrammarReading {
        match (self.calls(text), input) {
            (Ok(_), Input::Partial) => GrammarReading::More,
            (read, input) => finish_reading(read, 0, input),
        }
    }
}

fn is_separator(it: char) -> bool {
    it.is_whitespace() || matches!(it, ',' | ';')
}
