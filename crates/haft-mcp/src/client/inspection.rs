//! Looks for text in definitions that tries to instruct a model.

use std::fmt;

use haft_core::trust::{ForeignText, is_invisible, sanitized_definition};
use serde_json::Value;

/// Something suspicious in the description of a tool.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DescriptionFinding {
    /// It has characters that are not seen.
    Invisible {
        /// How many.
        count: usize,
    },
    /// It has tags that Haft reserves for envelopes, or control tokens of chat templates.
    ReservedTags,
    /// It has a phrase that is addressed to a model rather than about the tool.
    Instruction {
        /// The phrase.
        phrase: &'static str,
    },
    /// It is so long that it is truncated.
    Long {
        /// How many characters it has.
        characters: usize,
    },
}

impl fmt::Display for DescriptionFinding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Invisible { count } => write!(f, "it has {count} invisible characters"),
            Self::ReservedTags => {
                f.write_str("it has tags that are reserved for envelopes or chat templates")
            }
            Self::Instruction { phrase } => write!(f, "it says “{phrase}”"),
            Self::Long { characters } => {
                write!(
                    f,
                    "it has {characters} characters, of which {} are shown",
                    ForeignText::MAX_CHARS
                )
            }
        }
    }
}

/// Looks for text that tries to instruct a model. It finds what is blunt: an empty list is no proof of good will.
#[must_use]
pub fn inspect_description(text: &str) -> Vec<DescriptionFinding> {
    let mut findings = Vec::new();
    let count = text.chars().filter(|it| is_invisible(*it)).count();
    if count > 0 {
        findings.push(DescriptionFinding::Invisible { count });
    }
    if sanitized_definition(text) != text {
        findings.push(DescriptionFinding::ReservedTags);
    }
    let words = text.chars().filter(|it| !is_invisible(*it)).collect::<String>().to_lowercase();
    let words = words.split_whitespace().collect::<Vec<_>>().join(" ");
    let phrases = PHRASES.iter().filter(|phrase| words.contains(**phrase));
    findings.extend(phrases.map(|phrase| DescriptionFinding::Instruction { phrase }));
    let characters = text.chars().count();
    if characters > ForeignText::MAX_CHARS {
        findings.push(DescriptionFinding::Long { characters });
    }
    findings
}

/// Where a definition has a tag or a control token that cannot be made inert, because it is part of what the server
/// understands: the name of the tool or of a property, or a value such as that of `enum`.
pub(super) fn find_active_token(name: &str, schema: &Value) -> Option<String> {
    let is_active = |text: &str| sanitized_definition(text) != text;
    if is_active(name) {
        return Some("its name".to_owned());
    }
    let mut rest = vec![(schema, false)];
    while let Some((value, holds_names)) = rest.pop() {
        match value {
            Value::String(text) if is_active(text) => {
                return Some("a value of its schema".to_owned());
            }
            Value::Array(list) => rest.extend(list.iter().map(|it| (it, false))),
            Value::Object(members) => {
                for (key, member) in members {
                    if is_active(key) {
                        return Some("the name of a property".to_owned());
                    }
                    let is_text = !holds_names && ANNOTATIONS.contains(&key.as_str());
                    if !(is_text && member.is_string()) {
                        rest.push((member, NAMED.contains(&key.as_str()) && !holds_names));
                    }
                }
            }
            _ => {}
        }
    }
    None
}

/// Keywords of schemas whose texts are made inert where they are shown.
const ANNOTATIONS: [&str; 3] = ["description", "title", "$comment"];
/// Keywords whose members have names that are no keywords.
const NAMED: [&str; 5] =
    ["properties", "patternProperties", "$defs", "definitions", "dependentSchemas"];

/// What descriptions say that try to take control, in lower case.
const PHRASES: [&str; 18] = [
    "<important>",
    "<system",
    "ignore previous",
    "ignore all previous",
    "ignore the above",
    "disregard previous",
    "do not tell the user",
    "don't tell the user",
    "do not mention",
    "without telling the user",
    "without asking the user",
    "you must always",
    "before using any other tool",
    "before using this tool, read",
    "instead of any other tool",
    "system prompt",
    "id_rsa",
    "mcp.json",
];
