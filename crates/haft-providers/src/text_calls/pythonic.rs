//! `[f(a=1), g()]` as the whole output

mod literal;

use haft_core::args::RawArgs;

use self::literal::push_literal;
use super::TextCall;
use super::cursor::{Cursor, Stop};
use super::loose_keyed::push_string;
use super::scan::{Input, Reading, Whole, settle};

#[derive(Debug)]
pub(super) struct Pythonic;

impl Whole for Pythonic {
    fn read(&self, text: &str, input: Input) -> Reading {
        match (calls(text), input) {
            (Ok(_), Input::Partial) => Reading::More,
            (read, input) => settle(read, 0, input),
        }
    }
}

fn calls(text: &str) -> Result<(usize, Vec<TextCall>), Stop> {
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
    if at.peek().is_some() { Err(Stop::Bad) } else { Ok((text.len(), calls)) }
}

/// `f(a=1, b="x")`: only keyword arguments, only literals.
pub(super) fn call(at: &mut Cursor<'_>) -> Result<TextCall, Stop> {
    let name = at.name()?;
    if name.starts_with(|it: char| !it.is_alphabetic() && it != '_') {
        return Err(Stop::Bad);
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
        push_string(&mut members, at.name()?);
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
