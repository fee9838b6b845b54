//! Scalars by the rules of the YAML 1.2 core schema. A value that JSON does not have stays text.

use haft_core::json::{Document, JsonWriter};

/// Writes the value that the text of a scalar stands for.
pub(super) fn write<'w>(text: &str, out: &'w mut JsonWriter) -> &'w mut JsonWriter {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => out.null(),
        "true" | "True" | "TRUE" => out.boolean(true),
        "false" | "False" | "FALSE" => out.boolean(false),
        ".nan" | ".NaN" | ".NAN" => out.string(".nan"),
        ".inf" | ".Inf" | ".INF" | "+.inf" | "+.Inf" | "+.INF" => out.string(".inf"),
        "-.inf" | "-.Inf" | "-.INF" => out.string("-.inf"),
        _ => write_number(text, out),
    }
}

fn write_number<'w>(text: &str, out: &'w mut JsonWriter) -> &'w mut JsonWriter {
    let radix = [("0x", 16), ("0o", 8)]
        .into_iter()
        .find_map(|(prefix, radix)| text.strip_prefix(prefix).map(|digits| (digits, radix)));
    if let Some((digits, radix)) = radix {
        let plain = digits.chars().all(|it| it.is_digit(radix));
        return match u64::from_str_radix(digits, radix).ok().filter(|_| plain) {
            Some(value) => out.unsigned(value),
            None => out.string(text),
        };
    }
    let Some(literal) = YamlNumber::read(text).map(|it| it.json()) else {
        return out.string(text);
    };
    if let Ok(value) = literal.parse() {
        return out.integer(value);
    }
    match Document::parse_owned(literal) {
        Ok(number) => out.view(number.root()),
        // Beyond the range of a double.
        Err(_) => out.string(text),
    }
}

/// A decimal number as YAML spells it: `+1`, `01`, `1.`, `.5e3`.
struct YamlNumber<'a> {
    negative: bool,
    whole: &'a str,
    fraction: &'a str,
    /// With its sign.
    exponent: &'a str,
}

impl<'a> YamlNumber<'a> {
    fn read(text: &'a str) -> Option<Self> {
        let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
        if !unsigned.starts_with(|it: char| it.is_ascii_digit() || it == '.') {
            return None;
        }
        let (mantissa, exponent) = match unsigned.split_once(['e', 'E']) {
            Some((mantissa, exponent)) => (mantissa, Some(exponent)),
            None => (unsigned, None),
        };
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let digits = |it: &str| it.bytes().all(|byte| byte.is_ascii_digit());
        let power = exponent.map(|it| it.strip_prefix(['+', '-']).unwrap_or(it));
        let valid = digits(whole)
            && digits(fraction)
            && !(whole.is_empty() && fraction.is_empty())
            && power.is_none_or(|it| !it.is_empty() && digits(it));
        let negative = text.starts_with('-');
        valid.then_some(Self { negative, whole, fraction, exponent: exponent.unwrap_or_default() })
    }

    fn json(&self) -> String {
        let mut out = if self.negative { "-".to_owned() } else { String::new() };
        let whole = self.whole.trim_start_matches('0');
        out.push_str(if whole.is_empty() { "0" } else { whole });
        if !self.fraction.is_empty() {
            out.push('.');
            out.push_str(self.fraction);
        }
        if !self.exponent.is_empty() {
            out.push('e');
            out.push_str(self.exponent);
        }
        out
    }
}
