//! Which tools ask before they are called.

use std::collections::BTreeMap;

use haft_core::tool::ToolBuilder;

/// Which tools of packs ask before they are called, where an application wants it otherwise than the tools
/// have it: those that write files ask, the others do not.
///
/// ```
/// use haft::tools::{FilesOptions, Leave, Pack, PackOptions};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let folder = tempfile::tempdir()?;
/// let leave = Leave::default().ask("read_file", "May this file be read?").never_ask("edit_file");
/// let options = PackOptions::default().files(FilesOptions::new(folder.path())?).leave(leave);
/// let asks: Vec<bool> =
///     Pack::Files.build(&options)?.iter().map(|it| it.requires_approval().is_some()).collect();
/// assert_eq!(asks, [true, false, false, false, true, false]);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[must_use]
pub struct Leave {
    /// The question of a tool, or nothing if it does not ask.
    said: BTreeMap<String, Option<String>>,
}

impl Leave {
    /// Makes a tool ask this question before each call. Tools of packs that
    /// [only compute](super::Pack::only_computes) never ask.
    pub fn ask(mut self, tool: impl Into<String>, question: impl Into<String>) -> Self {
        self.said.insert(tool.into(), Some(question.into()));
        self
    }

    /// Lets a tool run without asking.
    pub fn never_ask(mut self, tool: impl Into<String>) -> Self {
        self.said.insert(tool.into(), None);
        self
    }

    /// The question of a tool, which asks this one if nothing else was said.
    pub(super) fn question<'q>(&'q self, tool: &str, own: Option<&'q str>) -> Option<&'q str> {
        self.said.get(tool).map_or(own, Option::as_deref)
    }

    /// A tool that asks, or does not.
    pub(super) fn settle(&self, name: &str, own: Option<&str>, tool: ToolBuilder) -> ToolBuilder {
        match self.question(name, own) {
            Some(question) => tool.requires_approval(question),
            None => tool,
        }
    }
}
