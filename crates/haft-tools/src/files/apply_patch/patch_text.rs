//! Parses a patch.

/// What a patch does to a file.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum FileChange {
    Add { path: String, content: String },
    Delete { path: String },
    Update { path: String, move_to: Option<String>, hunks: Vec<Hunk> },
}

impl FileChange {
    /// The files that are changed.
    pub(super) fn paths(&self) -> impl Iterator<Item = &str> {
        let (path, other) = match self {
            Self::Add { path, .. } | Self::Delete { path } => (path, None),
            Self::Update { path, move_to, .. } => (path, move_to.as_deref()),
        };
        [path.as_str()].into_iter().chain(other)
    }
}

/// A part of a file that changes.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Hunk {
    /// A line that stands somewhere before the part.
    pub(super) anchor: Option<String>,
    pub(super) lines: Vec<HunkLine>,
    /// Whether the part is at the end of the file.
    pub(super) is_at_end: bool,
}

/// A line of a hunk.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum HunkLine {
    Kept(String),
    Removed(String),
    Added(String),
}

/// Parses a patch. The error is for the model.
pub(super) fn parse_patch(text: &str) -> Result<Vec<FileChange>, String> {
    let lines: Vec<&str> = text.trim_matches('\n').lines().collect();
    let [first, lines @ .., last] = lines.as_slice() else {
        return Err("the patch has no lines between its begin and its end".to_owned());
    };
    if first.trim_end() != "*** Begin Patch" || last.trim_end() != "*** End Patch" {
        return Err(
            "the patch must begin with `*** Begin Patch` and end with `*** End Patch`".to_owned()
        );
    }
    let mut changes: Vec<FileChange> = Vec::new();
    for (number, line) in (2..).zip(lines) {
        let unexpected = || format!("line {number} of the patch does not belong there: `{line}`");
        if let Some(change) = file_header(line) {
            changes.push(change);
            continue;
        }
        match changes.last_mut().ok_or_else(unexpected)? {
            FileChange::Add { content, .. } => {
                content.push_str(line.strip_prefix('+').ok_or_else(unexpected)?);
                content.push('\n');
            }
            FileChange::Delete { .. } => return Err(unexpected()),
            FileChange::Update { move_to, hunks, .. } => match line.strip_prefix("*** Move to: ") {
                Some(target) if hunks.is_empty() && move_to.is_none() => {
                    *move_to = Some(target.trim().to_owned());
                }
                Some(_) => return Err(unexpected()),
                None => add_line(hunks, line).ok_or_else(unexpected)?,
            },
        }
    }
    if changes.is_empty() {
        return Err("the patch changes no file".to_owned());
    }
    let has_no_effect = |it: &&FileChange| match it {
        FileChange::Update { move_to, hunks, .. } => {
            hunks.iter().any(|it| it.lines.is_empty()) || (move_to.is_none() && hunks.is_empty())
        }
        _ => false,
    };
    match changes.iter().find(has_no_effect).and_then(|it| it.paths().next()) {
        Some(path) => Err(format!("the change of `{path}` has no lines")),
        None => Ok(changes),
    }
}

fn file_header(line: &str) -> Option<FileChange> {
    let path_after = |prefix: &str| line.strip_prefix(prefix).map(|it| it.trim().to_owned());
    if let Some(path) = path_after("*** Add File: ") {
        return Some(FileChange::Add { path, content: String::new() });
    }
    if let Some(path) = path_after("*** Delete File: ") {
        return Some(FileChange::Delete { path });
    }
    let path = path_after("*** Update File: ")?;
    Some(FileChange::Update { path, move_to: None, hunks: Vec::new() })
}

/// Adds a line to the hunks of a file. Returns `None` if it does not belong there.
fn add_line(hunks: &mut Vec<Hunk>, line: &str) -> Option<()> {
    if line.trim_end() == "*** End of File" {
        hunks.last_mut()?.is_at_end = true;
        return Some(());
    }
    if let Some(anchor) = line.strip_prefix("@@") {
        let anchor = anchor.trim();
        let anchor = (!anchor.is_empty()).then(|| anchor.to_owned());
        hunks.push(Hunk { anchor, ..Hunk::default() });
        return Some(());
    }
    let line = match line.chars().next() {
        // Models leave out the space of an empty line.
        None => HunkLine::Kept(String::new()),
        Some(' ') => HunkLine::Kept(line.get(1..)?.to_owned()),
        Some('-') => HunkLine::Removed(line.get(1..)?.to_owned()),
        Some('+') => HunkLine::Added(line.get(1..)?.to_owned()),
        Some(_) => return None,
    };
    if hunks.is_empty() {
        hunks.push(Hunk::default());
    }
    let hunk = hunks.last_mut()?;
    if hunk.is_at_end {
        return None;
    }
    hunk.lines.push(line);
    Some(())
}
