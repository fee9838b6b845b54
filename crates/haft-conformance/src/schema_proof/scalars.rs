//! Strings and numbers: the ones near their limits first.

use serde_json::Value;

use super::generate::Generator;
use haft_core::json::{Document, Number};
use haft_core::schema::{IntegerRules, NumberRules, StringRules};

/// Largest integer below which a double skips none.
const EXACT: i128 = 1 << 53;

/// Integers at which readers of JSON differ.
const EDGES: [i128; 22] = [
    0,
    1,
    -1,
    2,
    9,
    10,
    127,
    128,
    255,
    256,
    -128,
    -129,
    65_536,
    1 << 31,
    1 << 32,
    EXACT - 1,
    EXACT,
    EXACT + 1,
    -EXACT - 1,
    i64::MAX as i128,
    i64::MIN as i128,
    u64::MAX as i128,
];

/// Doubles at which readers of JSON differ.
const DOUBLES: [f64; 22] = [
    0.0,
    -0.0,
    0.1,
    -0.5,
    1.5,
    3.0,
    1e-7,
    1e-300,
    5e-324,
    f64::MIN_POSITIVE,
    4_294_967_296.0,
    9_007_199_254_740_992.0,
    9_223_372_036_854_775_808.0,
    -9_223_372_036_854_775_808.0,
    18_446_744_073_709_551_616.0,
    1e19,
    1e21,
    1e30,
    -1e30,
    1e300,
    f32::MAX as f64,
    f64::MAX,
];

/// Characters of one to four bytes, of one and of two UTF-16 units, and those that JSON escapes.
const CHARACTERS: [char; 24] = [
    'a', 'b', 'Z', '0', '9', ' ', '-', '_', '.', '/', '"', '\\', '\n', '\t', '\u{0}', '\u{7f}',
    'é', 'ß', '\u{301}', '\u{2028}', '漢', '\u{feff}', '😀', '𝒳',
];

impl Generator {
    pub(super) fn draw_character(&mut self) -> char {
        self.random.pick(&CHARACTERS).copied().unwrap_or('a')
    }

    pub(super) fn draw_text(&mut self, length: usize) -> String {
        (0..length).map(|_| self.draw_character()).collect()
    }

    pub(super) fn draw_string(&mut self, rules: &StringRules) -> Option<Value> {
        let least = rules.min_length.unwrap_or_default();
        let most = rules.max_length.unwrap_or(usize::MAX).min(least.saturating_add(12));
        let Some(pattern) = &rules.pattern else {
            let length = match self.random.next_below(4) {
                0 => least,
                1 => most,
                _ => self.random.next_between(least, most),
            };
            return Some(Value::from(self.draw_text(length)));
        };
        let fits = |text: &String| {
            (least..=rules.max_length.unwrap_or(usize::MAX)).contains(&text.chars().count())
                && pattern.is_match(text)
        };
        let seed = jsonschema_regex::pattern_witness(pattern.as_str()).unwrap_or_default();
        let varied = (0..24).map(|at| self.vary_text(&seed, at)).find(fits);
        varied.or_else(|| Some(seed).filter(fits)).map(Value::from)
    }

    /// The text with something added or repeated; less and less of it, the more tries have failed.
    fn vary_text(&mut self, text: &str, attempt: usize) -> String {
        let length = self.random.next_below(6);
        match (attempt + self.random.next_below(3)) % 6 {
            0 => format!("{text}{}", self.draw_text(length)),
            1 => format!("{}{text}", self.draw_text(length)),
            2 => text.repeat(1 + length),
            3 => text.to_uppercase(),
            4 => {
                let last = text.chars().next_back().map(String::from).unwrap_or_default();
                format!("{text}{}", last.repeat(length))
            }
            _ => text.to_owned(),
        }
    }

    pub(super) fn draw_integer(&mut self, rules: &IntegerRules) -> Option<Value> {
        if rules.min.is_none() && rules.max.is_none() && self.random.once_in(16) {
            let value = self.random.pick(&[1e30, -1e30, 1e21, 1e300]).copied();
            let step = rules.multiple_of.unwrap_or(1);
            #[expect(clippy::cast_precision_loss, reason = "steps are below 2^53")]
            return value.filter(|it| it % (step as f64) == 0.0).and_then(exact_double);
        }
        let low = rules.min.unwrap_or(i128::from(i64::MIN));
        let high = rules.max.unwrap_or(i128::from(u64::MAX));
        let wanted = match self.random.next_below(6) {
            0 => low,
            1 => high,
            2 => low + 1,
            3 => high - 1,
            4 => self.random.pick(&EDGES).copied().unwrap_or_default(),
            _ => self.any_integer(),
        };
        let mut value = if (low..=high).contains(&wanted) {
            wanted
        } else {
            let span = high.checked_sub(low)?.checked_add(1)?;
            low + i128::from(self.random.next_u64()).rem_euclid(span.max(1))
        };
        if let Some(step) = rules.multiple_of.map(i128::from).filter(|it| *it > 0) {
            value -= value.rem_euclid(step);
            if value < low {
                value += step;
            }
        }
        let value = (low..=high).contains(&value).then_some(value)?;
        integer_value(value).map(|value| self.respell_number(value))
    }

    /// An integer of any size that 64 bits hold.
    fn any_integer(&mut self) -> i128 {
        let bits = self.random.next_below(64);
        let value = i128::from(self.random.next_u64() >> bits);
        if self.random.once_in(2) { value } else { (-value).max(i128::from(i64::MIN)) }
    }

    pub(super) fn draw_number(&mut self, rules: &NumberRules) -> Option<Value> {
        let low = rules.min.into_iter().chain(rules.above.map(f64::next_up)).reduce(f64::max);
        let high = rules.max.into_iter().chain(rules.below.map(f64::next_down)).reduce(f64::min);
        let fits = |value: &f64| {
            low.is_none_or(|low| *value >= low) && high.is_none_or(|high| *value <= high)
        };
        let mut candidates = [None; 4];
        for candidate in &mut candidates {
            *candidate = match self.random.next_below(6) {
                0 => low,
                1 => high,
                2 => low.zip(high).map(|(low, high)| low / 2.0 + high / 2.0),
                3 => self.random.pick(&DOUBLES).copied(),
                4 => low.or(high).map(|it| it + self.draw_fraction()),
                _ => Some(self.any_double()),
            };
        }
        let found = candidates.into_iter().flatten().find(|it| it.is_finite() && fits(it));
        let found = found.or(low).or(high).filter(fits)?;
        exact_double(found).map(|value| self.respell_number(value))
    }

    #[expect(clippy::cast_precision_loss, reason = "a fraction of 53 bits is exact")]
    fn draw_fraction(&mut self) -> f64 {
        (self.random.next_u64() >> 11) as f64 / EXACT as f64
    }

    fn any_double(&mut self) -> f64 {
        match self.random.next_below(3) {
            0 => self.draw_fraction() * 200.0 - 100.0,
            1 => (self.draw_fraction() * 2000.0).round() / 10.0,
            _ => Some(f64::from_bits(self.random.next_u64()))
                .filter(|it| it.is_finite())
                .unwrap_or(0.5),
        }
    }

    pub(super) fn any_number(&mut self) -> Value {
        let value = match self.random.next_below(4) {
            0 => self.random.pick(&EDGES).copied().and_then(integer_value),
            1 => integer_value(self.any_integer()),
            2 => self.random.pick(&DOUBLES).copied().and_then(exact_double),
            _ => exact_double(self.any_double()),
        };
        value.unwrap_or_default()
    }

    /// The same number in the other form, now and then: `3` as `3.0`, and back.
    #[expect(clippy::cast_precision_loss, reason = "checked to be within 2^53")]
    pub(super) fn respell_number(&mut self, value: Value) -> Value {
        if !value.is_number() || !self.random.once_in(4) {
            return value;
        }
        match Document::from_value(&value).ok().and_then(|doc| doc.root().as_number()) {
            Some(Number::Int(whole)) if value.is_f64() => Value::from(whole),
            Some(Number::Int(whole)) if i128::from(whole.unsigned_abs()) <= EXACT => {
                Value::from(whole as f64)
            }
            _ => value,
        }
    }
}

/// An integer as a value, if 64 bits hold it.
pub(super) fn integer_value(value: i128) -> Option<Value> {
    let signed = i64::try_from(value).map(Value::from);
    signed.or_else(|_| u64::try_from(value).map(Value::from)).ok()
}

/// A double as a value. One that is not the number its own text spells becomes that number:
/// between 2^53 and 2^64 the two differ. At -2^63 no value can say what the text says.
pub(super) fn exact_double(value: f64) -> Option<Value> {
    const LOWEST: f64 = -9_223_372_036_854_775_808.0;
    if value.total_cmp(&LOWEST).is_eq() {
        return integer_value(i128::from(i64::MIN));
    }
    let value = serde_json::Number::from_f64(value)?.into();
    let doc = Document::from_value(&value).ok()?;
    match doc.root().as_number()? {
        Number::Int(whole) if i128::from(whole.unsigned_abs()) <= EXACT => Some(value),
        Number::Float(_) => Some(value),
        _ => Some(doc.root().to_value()),
    }
}

/// The value with every double made exact; see [`double`].
pub(super) fn with_exact_numbers(value: Value) -> Value {
    match value {
        Value::Number(number) if number.is_f64() => {
            number.as_f64().and_then(exact_double).unwrap_or(Value::Number(number))
        }
        Value::Array(list) => list.into_iter().map(with_exact_numbers).collect(),
        Value::Object(members) => Value::Object(
            members.into_iter().map(|(key, it)| (key, with_exact_numbers(it))).collect(),
        ),
        other => other,
    }
}
