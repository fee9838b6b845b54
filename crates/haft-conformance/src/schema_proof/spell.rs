//! One value in many texts: members in any order, numbers and characters in any spelling.

use std::fmt::Write as _;

use serde_json::{Number, Value};

use super::random::Random;

/// JSON text that says exactly `value`.
pub(super) fn spell_json(value: &Value, random: &mut Random) -> String {
    let mut out = String::new();
    write_value(value, random, &mut out);
    out
}

fn write_value(value: &Value, random: &mut Random, out: &mut String) {
    match value {
        Value::Number(number) => write_number(number, random, out),
        Value::String(text) => write_string(text, random, out),
        Value::Array(elements) => {
            out.push('[');
            for (at, element) in elements.iter().enumerate() {
                write_separator(at, random, out);
                write_value(element, random, out);
            }
            out.push(']');
        }
        Value::Object(members) => {
            let mut members: Vec<_> = members.iter().collect();
            for at in 1..members.len() {
                members.swap(at, random.next_below(at + 1));
            }
            out.push('{');
            for (at, (key, value)) in members.into_iter().enumerate() {
                write_separator(at, random, out);
                write_string(key, random, out);
                out.push(':');
                write_value(value, random, out);
            }
            out.push('}');
        }
        // Writing to a string cannot fail.
        word => drop(write!(out, "{word}")),
    }
}

fn write_separator(at: usize, random: &mut Random, out: &mut String) {
    if at > 0 {
        out.push(',');
    }
    if random.once_in(4) {
        out.push_str("\n ");
    }
}

fn write_number(number: &Number, random: &mut Random, out: &mut String) {
    let integer = number.is_i64() || number.is_u64();
    let _ = match (random.next_below(8), integer, number.as_f64()) {
        (0, true, _) => write!(out, "{number}.0"),
        (1, true, _) => write!(out, "{number}e0"),
        (2, true, _) if number.as_i64() != Some(0) => write!(out, "{number}0e-1"),
        (0..=2, false, Some(value)) => write!(out, "{value:e}"),
        (3, false, Some(value)) => write!(out, "{value:E}"),
        _ => write!(out, "{number}"),
    };
}

fn write_string(text: &str, random: &mut Random, out: &mut String) {
    out.push('"');
    for character in text.chars() {
        match character {
            '"' | '\\' => out.extend(['\\', character]),
            '\u{0}'..='\u{1f}' => write_escape(character, out),
            _ if random.once_in(16) => write_escape(character, out),
            _ => out.push(character),
        }
    }
    out.push('"');
}

fn write_escape(character: char, out: &mut String) {
    for unit in character.encode_utf16(&mut [0; 2]) {
        let _ = write!(out, "\\u{unit:04x}");
    }
}
