//! What to write instead, for the mistakes that models make.

use super::{BLANK, PathParser, is_name_char, is_name_first};
use crate::jsonpath::ast::QueryRoot;
use haft_core::invariant::OrReport as _;

pub(super) const NO_ROOT: &str = "start the path with `$`, as in `$.items[0].name`";
pub(super) const INTEGER: &str =
    "write integers as in `[0]`, `[-1]` or `[0:10:2]`: no `+`, no leading zeros, no fraction";
pub(super) const NUMBER: &str = "write numbers as in JSON: `10`, `-0.5` or `1e3`";
pub(super) const CONTROL: &str =
    "write control characters in a string as escapes, such as `\\n` or `\\u0001`";
pub(super) const ESCAPE: &str = "a string knows the escapes \\b \\f \\n \\r \\t \\/ \\\\, \\u with four \
     hexadecimal digits (surrogates in pairs), and its own quote";
pub(super) const NOT: &str = "put the comparison into parentheses: `!(@.price > 10)`";
pub(super) const PARENTHESIS: &str =
    "parentheses hold whole conditions: write `[?(@.price > 10)]`, not `[?(@.price) > 10]`";
pub(super) const SINGULAR: &str = "only single values compare; to ask whether any element of a list fits, \
     nest a filter: `[?@.tags[?@ == 'x']]`";
pub(super) const LOGICAL: &str = "`match` and `search` are conditions of their own: write \
     `[?match(@.name, 'x.*')]` without a comparison";
pub(super) const FUNCTIONS: &str = "the functions are `length(@.a) > 1`, `count(@.a[*]) > 1`, \
     `value(@..a) == 1`, `match(@.a, 'whole.*')` and `search(@.a, 'part')`, with no space before \
     the parenthesis";
pub(super) const PATTERN: &str = "the pattern does not compile or is too large; look-around and \
     back-references are not available, and a backslash in a string is written twice";
pub(super) const SCRIPT: &str =
    "scripts are not available: `[-1]` is the last element, and filters start with `?`";
pub(super) const REGEX: &str = "write `search(@.name, 'part')`, or `@.name =~ /part/i`";
const SEGMENT: &str = "a path goes on with `.name`, `['name']`, `[0]`, `[0:5]`, `[*]`, `..name` or a \
     filter such as `[?@.price > 10]`";
const ARITHMETIC: &str = "arithmetic is not available in filters; a name with other characters is \
     quoted: `@['content-type']`";
const METHOD: &str = "methods are not available: use the functions `length(@.a)`, `count(@.a[*])`, \
     `match(@.a, 'whole.*')` and `search(@.a, 'part')`";
const PARENT: &str = "`^` (the parent) is not available: select the parent with a filter, as in \
     `$.items[?@.child]`";
const KEYS: &str = "`~` (the names of members) is not available: select the object itself";

impl PathParser<'_> {
    pub(super) fn hint_behind_segment(&self) -> String {
        match self.peek() {
            Some('^') => PARENT.into(),
            Some('~') => KEYS.into(),
            Some('-') => "quote a name with other characters: `['content-type']`".into(),
            Some('(') => METHOD.into(),
            Some('?') => "filters stand in brackets: `[?@.price > 10]`".into(),
            Some('/') => "separate names by `.`, not by `/`".into(),
            Some(it) if is_name_first(it) => {
                let name = self.next_word();
                format!("write `.{name}` or `['{name}']`")
            }
            _ => SEGMENT.into(),
        }
    }

    pub(super) fn hint_behind_dot(&self) -> String {
        match self.peek() {
            None => "a path does not end with a dot".into(),
            Some('0'..='9') => {
                "write `[0]` for an element of a list, or `['0']` for a member".into()
            }
            Some(it) if BLANK.contains(&it) => "no white space behind a dot".into(),
            Some('\'' | '"') => "a quoted name stands in brackets: `['name']`".into(),
            Some('.') => "`..` is the longest run of dots: `$..name`".into(),
            Some('?' | '(' | '@') => "filters stand in brackets: `[?@.price > 10]`".into(),
            _ => "quote a name with other characters: `['content-type']`".into(),
        }
    }

    pub(super) fn hint_in_bracket(&self) -> String {
        match self.peek() {
            None => "close the bracket: `]`".into(),
            Some(']') => "write `[*]` for all elements, or leave the brackets out".into(),
            Some(',') => "a comma stands between two selectors: `[0,1]`".into(),
            Some('@' | '!') => "filters start with `?`: try `[?@.price > 10]`".into(),
            Some('$') => "a path inside of brackets must be in a filter: `[?$.a == @.a]`".into(),
            Some('(') => SCRIPT.into(),
            Some('+' | '.') => INTEGER.into(),
            Some(it) if is_name_first(it) => {
                format!("quote the name: `['{}']`", self.next_word())
            }
            _ => "write `['name']`, `[0]`, `[-1]`, `[0:5]`, `[*]` or `[?@.price > 10]`".into(),
        }
    }

    pub(super) fn hint_behind_selector(&self) -> String {
        match self.peek() {
            None => "close the bracket: `]`".into(),
            Some('.' | '0'..='9' | ':') => INTEGER.into(),
            _ => self.hint_behind_term(),
        }
    }

    /// Behind a query or a condition, inside of a filter or a list of selectors.
    pub(super) fn hint_behind_term(&self) -> String {
        match self.peek() {
            None => "close every `(` and `[`".into(),
            Some('=') => "compare with `==`".into(),
            Some('&') => "join conditions with `&&`".into(),
            Some('|') => "join conditions with `||`".into(),
            Some('+' | '-' | '*' | '/' | '%') => ARITHMETIC.into(),
            Some('(') => METHOD.into(),
            Some('^') => PARENT.into(),
            Some('~') => KEYS.into(),
            Some(it) if is_name_first(it) => match self.next_word() {
                "and" | "AND" => "join conditions with `&&`".into(),
                "or" | "OR" => "join conditions with `||`".into(),
                "in" | "nin" | "contains" | "IN" => "`in` is not available: write \
                     `@.a == 'x' || @.a == 'y'`, or `@.tags[?@ == 'x']` for a list"
                    .into(),
                word => format!(
                    "`{word}` is no operator: use `==` `!=` `<` `<=` `>` `>=` `&&` `||`, and \
                     quote strings: '{word}'"
                ),
            },
            _ => "conditions are joined with `&&` or `||`, selectors with `,`".into(),
        }
    }

    /// In front of a condition or an operand.
    pub(super) fn hint_in_filter(&self) -> String {
        match self.peek() {
            None => "close every `(` and `[`, as in `[?@.price > 10]`".into(),
            Some('.') => "filters need `@`: try `[?@.price > 10]`".into(),
            Some('=') => "compare with `==`".into(),
            Some('/') => REGEX.into(),
            Some('+') => NUMBER.into(),
            Some('<' | '>') => "the operators are `==` `!=` `<` `<=` `>` `>=`".into(),
            Some(']' | ')') => "a condition is missing: try `[?@.price > 10]`".into(),
            Some('[' | '{') => "only strings, numbers, `true`, `false` and `null` compare".into(),
            Some('(') => "only conditions stand in parentheses".into(),
            Some('*') => "filters need `@`: `@.*` or `@[*]`".into(),
            Some(it) if is_name_first(it) => match self.next_word() {
                "True" => "write `true`".into(),
                "False" => "write `false`".into(),
                "None" | "Null" | "NULL" | "undefined" | "nil" => {
                    "write `null`, or `!@.name` for a member that is absent".into()
                }
                "typeof" => "`typeof` is not available".into(),
                "not" | "NOT" => "negate with `!`: `[?!@.name]`".into(),
                word if self.is_left_side() => {
                    format!("filters need `@`: try `[?@.{word}{}]`", self.behind_word())
                }
                word => format!("write `@.{word}` for a member, or '{word}' for a string"),
            },
            _ => "a condition looks like `@.price > 10` or `@.name == 'x'`".into(),
        }
    }

    /// Directly behind `@` or `$` in a filter.
    pub(super) fn hint_behind_origin(&self, origin: QueryRoot) -> Option<String> {
        if !self.peek().is_some_and(is_name_first) {
            return None;
        }
        Some(match (origin, self.next_word()) {
            (QueryRoot::Current, "root") => "write `$` for the root".into(),
            (QueryRoot::Current, word @ ("property" | "path" | "parent" | "parentProperty")) => {
                format!("`@{word}` is not available")
            }
            (origin, word) => {
                let sign = if origin == QueryRoot::Root { '$' } else { '@' };
                format!("write `{sign}.{word}`")
            }
        })
    }

    /// A literal or a number stands alone from `start` to `at`.
    pub(super) fn hint_uncompared(&self, start: usize, at: usize) -> String {
        let behind = PathParser { at, ..*self };
        match behind.peek() {
            Some(']' | ')' | '&' | '|' | ',') | None => {
                let term = self.text.get(start..self.at).or_report_default(super::AT_BOUNDARY);
                if term.ends_with(')') {
                    format!("compare the result, as in `{term} > 1`")
                } else {
                    format!("compare it with something, as in `@.name == {term}`")
                }
            }
            Some('.' | '0'..='9') => NUMBER.into(),
            _ => behind.hint_behind_term(),
        }
    }

    fn next_word(&self) -> &str {
        let rest = self.remaining_text();
        let end = rest.find(|it| !is_name_char(it)).unwrap_or(rest.len());
        rest.get(..end).or_report("a match begins at a boundary", rest)
    }

    /// Whether a condition starts here, and no right side of a comparison.
    fn is_left_side(&self) -> bool {
        let before =
            self.text.get(..self.at).or_report_default(super::AT_BOUNDARY).trim_end_matches(BLANK);
        !before.ends_with(['=', '<', '>', ',', '~'])
    }

    /// What follows the next word, as an example: up to the closing bracket if that is short.
    fn behind_word(&self) -> &str {
        let rest = self
            .remaining_text()
            .get(self.next_word().len()..)
            .or_report_default(super::AT_BOUNDARY);
        let end = rest.find([']', ')']).unwrap_or(rest.len());
        match rest.get(..end) {
            Some(tail) if end <= 40 && tail.starts_with([' ', '=', '<', '>', '!']) => tail,
            _ => " > 10",
        }
    }
}
