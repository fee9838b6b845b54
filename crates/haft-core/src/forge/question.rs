//! The questions that every artifact can be asked, and the four tools that ask them.

use crate::json::ValueRef;
use crate::schema::args::Args;
use crate::schema::{
    InputSchema, ObjectSchema, SchemaFault, boolean, integer, object, one_of, string,
};

/// A question about an artifact: what one of the four query tools was called with.
///
/// The tools are the same for all kinds of content. A [format](super::ArtifactFormat) answers the questions that it
/// understands.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Question {
    /// `artifact_info`: what the content consists of, such as its keys, columns or headings. Its kind and size are
    /// not asked of the format.
    Info {
        /// How many entries of the list to leave out.
        skip: u64,
    },
    /// `artifact_read`: lines, or a part that has a name.
    Read {
        /// The first line, counted from 1; a negative number counts from the end.
        start: Option<i64>,
        /// The last line.
        end: Option<u64>,
        /// The byte of the first line to begin with.
        offset: Option<u64>,
        /// The part that is wanted instead of lines.
        section: Option<String>,
    },
    /// `artifact_grep`: the lines that match a regular expression.
    Grep {
        /// The expression.
        pattern: String,
        /// Whether upper and lower case are the same.
        ignore_case: bool,
        /// How many lines to show around a match.
        context: u64,
        /// The first line to search, counted from 1.
        start: Option<u64>,
        /// After how many matches to stop.
        limit: Option<u64>,
    },
    /// `artifact_query`: a question in the language of the format.
    Query {
        /// The question.
        query: String,
        /// How many entries of the result to leave out.
        skip: u64,
    },
}

/// One of the four query tools.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BaseTool {
    Info,
    Read,
    Grep,
    Query,
}

impl BaseTool {
    /// In the order in which the model sees them.
    pub(super) const ALL: [Self; 4] = [Self::Info, Self::Read, Self::Grep, Self::Query];

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Info => "artifact_info",
            Self::Read => "artifact_read",
            Self::Grep => "artifact_grep",
            Self::Query => "artifact_query",
        }
    }

    pub(super) const fn description(self) -> &'static str {
        match self {
            Self::Info => {
                "Describes a stored result: size, lines, keys, columns or headings, and what artifact_query takes. \
                 Without callId, lists all stored results."
            }
            Self::Read => "Reads lines of a stored result, or a section of a Markdown text.",
            Self::Grep => {
                "Finds lines of a stored result by a regular expression and prints them as `number:line`."
            }
            Self::Query => {
                "Queries a stored result. JSON, YAML, XML: a JSONPath such as `$.items[?@.price > 9].name`. CSV and \
                 lists of records: SQL such as `SELECT region, sum(sold) FROM data WHERE year = 2024 GROUP BY region \
                 ORDER BY sum(sold) DESC LIMIT 5`. Markdown: `headings`, `links` or `code`."
            }
        }
    }

    fn arguments(self) -> ObjectSchema {
        let skip = || integer().min(0).description("Entries to leave out").optional();
        match self {
            Self::Info => object().field("skip", skip()),
            Self::Read => object()
                .field(
                    "start",
                    integer().description("First line, from 1; -20: the last 20 lines").optional(),
                )
                .field("end", integer().min(0).description("Last line").optional())
                .field(
                    "offset",
                    integer().min(0).description("Byte of a cut line to go on with").optional(),
                )
                .field("section", string().non_empty().description("A heading").optional()),
            Self::Grep => object()
                .field("pattern", string().non_empty().required())
                .field("ignoreCase", boolean().optional())
                .field("context", integer().min(0).description("Lines around a match").optional())
                .field("start", integer().min(1).description("First line to search").optional())
                .field("limit", integer().min(1).optional()),
            Self::Query => {
                object().field("query", string().non_empty().required()).field("skip", skip())
            }
        }
    }

    /// The schema of its arguments, with `callId` in front, which takes these handles.
    pub(super) fn schema(self, handles: &Handles) -> Result<InputSchema, Vec<SchemaFault>> {
        let arguments = match self {
            Self::Info => handles.field(false),
            _ => handles.field(true),
        };
        InputSchema::new(arguments.fields_of(self.arguments()))
    }

    /// The question that these arguments ask.
    pub(super) fn question(self, args: &Args) -> Question {
        let root = args.root();
        let count = |name: &str| root.get(name).and_then(ValueRef::as_u64);
        let text = |name: &str| root.get(name).and_then(ValueRef::as_str).map(str::to_owned);
        let skip = count("skip").unwrap_or(0);
        match self {
            Self::Info => Question::Info { skip },
            Self::Read => Question::Read {
                start: root.get("start").and_then(ValueRef::as_i64),
                end: count("end"),
                offset: count("offset"),
                section: text("section"),
            },
            Self::Grep => Question::Grep {
                pattern: text("pattern").unwrap_or_default(),
                ignore_case: root.get("ignoreCase").and_then(ValueRef::as_bool) == Some(true),
                context: count("context").unwrap_or(0),
                start: count("start"),
                limit: count("limit"),
            },
            Self::Query => Question::Query { query: text("query").unwrap_or_default(), skip },
        }
    }
}

/// The handles that a schema accepts.
pub(super) enum Handles {
    Any,
    Live(Vec<String>),
}

impl Handles {
    /// An object with only the argument that names the artifact.
    pub(super) fn field(&self, is_required: bool) -> ObjectSchema {
        match (self, is_required) {
            (Self::Any, true) => {
                object().field(CALL_ID, string().pattern(HANDLE_PATTERN).required())
            }
            (Self::Any, false) => {
                object().field(CALL_ID, string().pattern(HANDLE_PATTERN).optional())
            }
            (Self::Live(handles), true) => {
                object().field(CALL_ID, one_of(handles.iter().cloned()).required())
            }
            (Self::Live(handles), false) => {
                object().field(CALL_ID, one_of(handles.iter().cloned()).optional())
            }
        }
    }
}

/// What every handle matches, and nothing that could be mistaken for text.
const HANDLE_PATTERN: &str = "^[\\w.:#/-]+$";

/// The argument that names the artifact.
pub(super) const CALL_ID: &str = "callId";
