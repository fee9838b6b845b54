//! `[f(a=1), g()]` as the whole output

mod literal;

use haft_core::args::RawArgs;

use self::literal::push_literal;
use super::TextCall;
use super::cursor::{Cursor, ParseStop};
use super::loose_keyed::push_string;
use super::scan::{GrammarReading, Input, WholeGrammar, finish_reading};

#[derive(Debug)]
pub(super) struct Pythonic;

impl WholeGrammar for Pythonic {
    fn read_output(&self, text: &str, input: Input) -> GrammarReading {
        match (calls(text), input) {
            (Ok(_), Input::Partial) => GrammarReading::More,
            (read, input) => finish_reading(read, 0, input),
        }
    }
}

fn calls(text: &str) -> Result<(usize, Vec<TextCall>), ParseStop> {
    let mut at = Cursor::new(text, 0);
    let mut calls = Vec::new();
    at.skip_space();
    at.expect("[")?;
    loop {
        at.skip_space();
        if at.eat("]")? {
            break;
        }
        calls.push(call(&mut at)?);
        at.skip_space();
        if !at.eat(",")? {
            at.expect("]")?;
            break;
        }
    }
    at.skip_space();
    if at.peek().is_some() { Err(ParseStop::Mismatch) } else { Ok((text.len(), calls)) }
}

/// `f(a=1, b="x")`: only keyword arguments, only literals.
pub(super) fn call(at: &mut Cursor<'_>) -> Result<TextCall, ParseStop> {
    let name = at.read_name()?;
    if name.starts_with(|it: char| !it.is_alphabetic() && it != '_') {
        return Err(ParseStop::Mismatch);
    }
    at.expect("(")?;
    let mut members = String::from("{");
    loop {
        at.skip_space();
        if at.eat(")")? {
            break;
        }
        if members.len() > 1 {
            members.push(',');
        }
        push_string(&mut members, at.read_name()?);
        members.push(':');
        at.skip_space();
        at.expect("=")?;
        at.skip_space();
        push_literal(at, &mut members, 0)?;
        at.skip_space();
        if !at.eat(",")? {
            at.expect(")")?;
            break;
        }
    }
    members.push('}');
    Ok(TextCall::new(name, RawArgs::text(&members)))
}
