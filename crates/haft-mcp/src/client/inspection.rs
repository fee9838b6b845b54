//! Looks for text in definitions that tries to instruct a model.

use std::fmt;

use haft_core::trust::{ForeignText, is_invisible, sanitized_definition};

/// Something suspicious in the description of a tool.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DescriptionFinding {
    /// It has characters that are not seen.
    Invisible {
        /// How many.
        count: usize,
    },
    /// It has tags that Haft reserves for envelopes.
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
            Self::ReservedTags => f.write_str("it has tags that are reserved for envelopes"),
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
