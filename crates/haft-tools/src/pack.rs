//! Packs by name, for agents that are configured in a file.

use std::fmt;
use std::str::FromStr;

use haft_core::error::{Coded, ErrorCode, codes};
use haft_core::tool::{InvalidTool, Tool};

use super::FilesOptions;
#[cfg(feature = "http")]
use super::WebOptions;

/// A pack of ready-made tools.
///
/// ```
/// use haft_tools::{Pack, PackOptions};
///
/// let pack: Pack = "math".parse()?;
/// assert_eq!(pack.tools(), ["calculate", "convert_unit"]);
/// assert_eq!(pack.build(&PackOptions::default())?.len(), 2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Pack {
    /// Files below one directory.
    Files,
    /// Dates, times and time zones.
    Time,
    /// Expressions and units.
    Math,
    /// Text.
    Text,
    /// CSV, JSON, YAML, statistics and tables.
    Data,
    /// Memories that remain between turns.
    Memory,
    /// Pages of the web.
    Web,
}

/// The configuration that some packs need.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct PackOptions {
    /// The directory of [`Pack::Files`].
    pub files: Option<FilesOptions>,
    /// The hosts of [`Pack::Web`].
    #[cfg(feature = "http")]
    pub web: Option<WebOptions>,
}

/// There is no pack with this name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no pack `{name}`; there are {}", list_names())]
#[non_exhaustive]
pub struct UnknownPack {
    /// The name.
    pub name: String,
}

/// The tools of a pack could not be created.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PackError {
    /// The pack needs an option that is missing.
    #[error("the pack `{pack}` needs {what}")]
    NotConfigured {
        /// The pack.
        pack: Pack,
        /// The missing option.
        what: &'static str,
    },
    /// The definition of a tool is invalid.
    #[error(transparent)]
    Tool(#[from] InvalidTool),
}

impl Coded for PackError {
    fn code(&self) -> ErrorCode {
        match self {
            Self::NotConfigured { .. } => codes::INVALID_INITIAL_TOOL_VALUE,
            Self::Tool(error) => error.code(),
        }
    }
}

/// Finds a pack by its name.
///
/// ```
/// use haft_tools::{Pack, pack};
///
/// assert_eq!(pack("time"), Ok(Pack::Time));
/// assert!(pack("tea").is_err());
/// ```
///
/// # Errors
///
/// Fails if there is no pack with this name.
pub fn pack(name: &str) -> Result<Pack, UnknownPack> {
    let found = Pack::ALL.into_iter().find(|it| it.name() == name);
    found.ok_or_else(|| UnknownPack { name: crate::preview(name) })
}

impl Pack {
    /// All packs.
    pub const ALL: [Self; 7] =
        [Self::Files, Self::Time, Self::Math, Self::Text, Self::Data, Self::Memory, Self::Web];

    /// The name in agent files.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Files => "files",
            Self::Time => "time",
            Self::Math => "math",
            Self::Text => "text",
            Self::Data => "data",
            Self::Memory => "memory",
            Self::Web => "web",
        }
    }

    /// A description in one sentence.
    #[must_use]
    pub const fn description(self) -> &'static str {
        match self {
            Self::Files => {
                "Read, list, find and search files below one folder; write and edit with leave."
            }
            Self::Time => {
                "Tell the time, convert between time zones, add, compare, look at calendars."
            }
            Self::Math => "Calculate exactly and convert units of measure.",
            Self::Text => "Count, change, compare, search, encode and hash text.",
            Self::Data => "Read CSV, JSON and YAML, describe numbers, group rows, write tables.",
            Self::Memory => "List, store, update and delete memories.",
            Self::Web => "Fetch pages from the hosts that are allowed.",
        }
    }

    /// The names of its tools, in order.
    #[must_use]
    pub const fn tools(self) -> &'static [&'static str] {
        match self {
            Self::Files => &[
                "read_file",
                "list_files",
                "find_files",
                "search_files",
                "write_file",
                "edit_file",
            ],
            Self::Time => {
                &["get_current_time", "convert_time", "date_add", "date_diff", "date_calendar_info"]
            }
            Self::Math => &["calculate", "convert_unit"],
            Self::Text => &[
                "text_analyze",
                "string_transform",
                "text_diff",
                "string_extract",
                "encode_text",
                "text_hash",
            ],
            Self::Data => &[
                "parse_csv",
                "parse_json",
                "parse_yaml",
                "stats_describe",
                "stats_histogram",
                "group_rows",
                "format_table",
            ],
            Self::Memory => &["list_memories", "store_memory", "update_memory", "delete_memory"],
            Self::Web => &["web_fetch"],
        }
    }

    /// Creates its tools.
    ///
    /// ```
    /// use haft_tools::{Pack, PackOptions};
    ///
    /// let tools = Pack::Math.build(&PackOptions::default())?;
    /// assert_eq!(tools.len(), Pack::Math.tools().len());
    /// assert!(Pack::Files.build(&PackOptions::default()).is_err(), "it needs a directory");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Fails if an option that the pack needs is missing.
    pub fn build(self, options: &PackOptions) -> Result<Vec<Tool>, PackError> {
        Ok(match self {
            Self::Files => match &options.files {
                Some(files) => super::files(files.clone())?,
                None => {
                    return Err(self.not_configured("the folder that it may read: `FilesOptions`"));
                }
            },
            Self::Time => super::time()?,
            Self::Math => super::math()?,
            Self::Text => super::text()?,
            Self::Data => super::data()?,
            Self::Memory => super::memory()?,
            #[cfg(feature = "http")]
            Self::Web => match &options.web {
                Some(web) => super::web(web.clone())?,
                None => {
                    return Err(
                        self.not_configured("the hosts that it may fetch from: `WebOptions`")
                    );
                }
            },
            #[cfg(not(feature = "http"))]
            Self::Web => return Err(self.not_configured("the feature `http`")),
        })
    }

    fn not_configured(self, what: &'static str) -> PackError {
        PackError::NotConfigured { pack: self, what }
    }
}

impl fmt::Display for Pack {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Pack {
    type Err = UnknownPack;

    fn from_str(name: &str) -> Result<Self, UnknownPack> {
        pack(name)
    }
}

impl PackOptions {
    /// Sets the options of [`Pack::Files`].
    #[must_use]
    pub fn files(mut self, options: FilesOptions) -> Self {
        self.files = Some(options);
        self
    }

    /// Sets the options of [`Pack::Web`].
    #[cfg(feature = "http")]
    #[must_use]
    pub fn web(mut self, options: WebOptions) -> Self {
        self.web = Some(options);
        self
    }
}

fn list_names() -> String {
    Pack::ALL.map(|it| format!("`{it}`")).join(", ")
}
