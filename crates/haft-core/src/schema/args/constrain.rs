//! Constraints of a derived field, and the traits that say which types can have them.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use crate::schema::{Pattern, Schema, Shape};

/// A bound of a number: exact for integers.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Bound {
    /// An integer.
    Integer(i128),
    /// Any other number.
    Number(f64),
}

macro_rules! bounds {
    ($variant:ident($wide:ty): $($narrow:ty),*) => {$(
        impl From<$narrow> for Bound {
            fn from(value: $narrow) -> Self {
                Self::$variant(<$wide>::from(value))
            }
        }
    )*};
}

bounds!(Integer(i128): i8, i16, i32, i64, u8, u16, u32, u64);
bounds!(Number(f64): f32, f64);

impl Bound {
    #[expect(clippy::cast_possible_truncation, reason = "saturates; faults name such a bound")]
    fn integer(self, round: fn(f64) -> f64) -> i128 {
        match self {
            Self::Integer(value) => value,
            Self::Number(value) => round(value) as i128,
        }
    }

    #[expect(clippy::cast_precision_loss, reason = "a bound of a number is a double")]
    const fn number(self) -> f64 {
        match self {
            Self::Integer(value) => value as f64,
            Self::Number(value) => value,
        }
    }
}

/// Tightening what a type already says. Each does nothing to a shape it makes no sense for; the traits
/// of this module keep derived code from asking for that.
impl Schema {
    /// Numbers of at least this.
    #[must_use]
    pub fn with_min(mut self, bound: impl Into<Bound>) -> Self {
        let bound = bound.into();
        match &mut self.shape {
            Shape::Integer(rules) => {
                let bound = bound.integer(f64::ceil);
                rules.min = Some(rules.min.map_or(bound, |old| old.max(bound)));
            }
            Shape::Number(rules) => {
                let bound = bound.number();
                rules.min = Some(rules.min.map_or(bound, |old| old.max(bound)));
            }
            _ => {}
        }
        self
    }

    /// Numbers of at most this.
    #[must_use]
    pub fn with_max(mut self, bound: impl Into<Bound>) -> Self {
        let bound = bound.into();
        match &mut self.shape {
            Shape::Integer(rules) => {
                let bound = bound.integer(f64::floor);
                rules.max = Some(rules.max.map_or(bound, |old| old.min(bound)));
            }
            Shape::Number(rules) => {
                let bound = bound.number();
                rules.max = Some(rules.max.map_or(bound, |old| old.min(bound)));
            }
            _ => {}
        }
        self
    }

    /// Integers that are multiples of `step`.
    #[must_use]
    pub fn with_multiple_of(mut self, step: u64) -> Self {
        if let Shape::Integer(rules) = &mut self.shape {
            rules.multiple_of = Some(step);
        }
        self
    }

    /// Strings, lists and maps of at least this length.
    #[must_use]
    pub fn with_min_length(mut self, length: usize) -> Self {
        if let Some((min, _)) = self.length_rules() {
            *min = Some(min.map_or(length, |old| old.max(length)));
        }
        self
    }

    /// Strings, lists and maps of at most this length.
    #[must_use]
    pub fn with_max_length(mut self, length: usize) -> Self {
        if let Some((_, max)) = self.length_rules() {
            *max = Some(max.map_or(length, |old| old.min(length)));
        }
        self
    }

    /// Strings that match this pattern.
    #[must_use]
    pub fn with_pattern(mut self, pattern: &str) -> Self {
        if let Shape::String(rules) = &mut self.shape {
            rules.pattern = Some(Pattern::new(pattern));
        }
        self
    }

    /// Lists without repeats.
    #[must_use]
    pub fn with_unique(mut self) -> Self {
        if let Shape::Array(rules) = &mut self.shape {
            rules.unique = true;
        }
        self
    }

    fn length_rules(&mut self) -> Option<(&mut Option<usize>, &mut Option<usize>)> {
        match &mut self.shape {
            Shape::String(rules) => Some((&mut rules.min_length, &mut rules.max_length)),
            Shape::Array(rules) => Some((&mut rules.min_items, &mut rules.max_items)),
            Shape::Map(rules) => Some((&mut rules.min_entries, &mut rules.max_entries)),
            _ => None,
        }
    }
}

/// Types that `min` and `max` make sense for.
#[diagnostic::on_unimplemented(
    message = "`min` and `max` need a number, and `{Self}` is none",
    note = "for strings, lists and maps use `min_len` and `max_len`"
)]
pub trait NumericArg {}

/// Types that `multiple_of` makes sense for.
#[diagnostic::on_unimplemented(message = "`multiple_of` needs an integer, and `{Self}` is none")]
pub trait IntegerArg {}

/// Types that `min_len` and `max_len` make sense for.
#[diagnostic::on_unimplemented(
    message = "`min_len` and `max_len` need a string, a list or a map, and `{Self}` is none",
    note = "for numbers use `min` and `max`"
)]
pub trait LengthArg {}

/// Types that `pattern` makes sense for.
#[diagnostic::on_unimplemented(message = "`pattern` needs a string, and `{Self}` is none")]
pub trait TextArg {}

/// Types that `unique` makes sense for.
#[diagnostic::on_unimplemented(message = "`unique` needs a list, and `{Self}` is none")]
pub trait ListArg {}

macro_rules! mark {
    ($($marker:ident: $([$($generics:tt)*] $type:ty),*;)*) => {$($(
        // The traits' own texts say enough; a list of these would drown them.
        #[diagnostic::do_not_recommend]
        impl<$($generics)*> $marker for $type {}
    )*)*};
}

mark! {
    NumericArg: [] i8, [] i16, [] i32, [] i64, [] isize, [] u8, [] u16, [] u32, [] u64, [] usize,
        [] f32, [] f64, [T: NumericArg] Option<T>, [T: NumericArg] Box<T>;
    IntegerArg: [] i8, [] i16, [] i32, [] i64, [] isize, [] u8, [] u16, [] u32, [] u64, [] usize,
        [T: IntegerArg] Option<T>, [T: IntegerArg] Box<T>;
    LengthArg: [] String, [T] Vec<T>, [T, S] HashSet<T, S>, [T] BTreeSet<T>,
        [K, V, S] HashMap<K, V, S>, [K, V] BTreeMap<K, V>, [T: LengthArg] Option<T>,
        [T: LengthArg] Box<T>;
    TextArg: [] String, [T: TextArg] Option<T>, [T: TextArg] Box<T>;
    ListArg: [T] Vec<T>, [T: ListArg] Option<T>, [T: ListArg] Box<T>;
}
