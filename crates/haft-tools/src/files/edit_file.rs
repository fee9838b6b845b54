//! The tool `edit_file`.

use std::io::Read as _;

use haft_core::tool::{Concurrency, InvalidTool, Tool, ToolEffect, ToolFailure};

use super::change_preview::preview_change;
use super::replace_file::replace_file;
use super::{FilesOptions, root_dir};
use crate::preview;
use haft_macros::ToolArgs;

#[derive(ToolArgs)]
pub(crate) struct EditFileArgs {
    /// The path of the file, below the root
    #[arg(min_len = 1, max_len = 4096, example = "notes/todo.md")]
    path: String,
    /// The changes, one after the other; all of them are made, or none
    #[arg(min_len = 1, max_len = 50)]
    edits: Vec<Edit>,
}

#[derive(ToolArgs)]
pub(crate) struct Edit {
    /// The text to replace, exactly as it stands in the file, with enough around it to be there only once
    #[arg(min_len = 1, max_len = 100000, example = "- [ ] water the plants")]
    find: String,
    /// The text to put in its place; nothing to delete it
    #[arg(max_len = 100000, example = "- [x] water the plants")]
    replace: String,
    /// Whether to replace it wherever it stands
    #[arg(default = false)]
    all: bool,
}

const DESCRIPTION: &str = "Changes parts of a text file: each edit replaces a text that stands in the file exactly \
once. If one of them does not fit, nothing is changed.\n\
Returns a line that says how much was changed.";

pub(super) fn edit_file(options: &FilesOptions) -> Result<Tool, InvalidTool> {
    let shared = options.clone();
    let previewed = options.clone();
    Tool::builder("edit_file")
        .description(DESCRIPTION)
        .requires_approval("May this file be changed?")
        // An edit that is made twice can change twice.
        .effect(ToolEffect::Once)
        .concurrency(Concurrency::Keyed("/path".to_owned()))
        .preview(move |args: EditFileArgs| {
            let before = content(&previewed, &args.path)?;
            let (after, _) = edited_text(before.clone(), &args.edits)?;
            Ok(preview_change(&args.path, Some(&before), &after))
        })
        .handler(move |args: EditFileArgs| edit(&shared, &args))
        .build()
}

fn edit(options: &FilesOptions, args: &EditFileArgs) -> Result<String, ToolFailure> {
    let (text, changes) = edited_text(content(options, &args.path)?, &args.edits)?;
    replace_file(&options.root, &args.path, text.as_bytes())?;
    Ok(format!(
        "changed {changes} places in `{}`, which has {} bytes now",
        preview(&args.path),
        text.len()
    ))
}

/// Makes the changes in a text. Returns the new text, and how many places were changed.
fn edited_text(mut text: String, edits: &[Edit]) -> Result<(String, usize), ToolFailure> {
    let mut changes = 0;
    for (at, edit) in (1..).zip(edits) {
        let count = text.matches(&edit.find).count();
        match (count, edit.all) {
            (0, _) => {
                return Err(edit_error(
                    at,
                    "its text is not in the file; read it again and copy it exactly",
                ));
            }
            (2.., false) => {
                let text = format!(
                    "its text is in the file {count} times; give more of what is around it, or `all`"
                );
                return Err(edit_error(at, &text));
            }
            _ => {}
        }
        let grown = count.saturating_mul(edit.replace.len()).saturating_add(text.len());
        if grown > MAX_EDIT_BYTES {
            return Err(edit_error(at, "the file gets too large"));
        }
        text = text.replace(&edit.find, &edit.replace);
        changes += count;
    }
    Ok((text, changes))
}

pub(super) fn content(options: &FilesOptions, path: &str) -> Result<String, ToolFailure> {
    let (file, bytes) = options.root.open_file(path)?;
    let mut content = Vec::new();
    let limit = MAX_EDIT_BYTES as u64;
    file.take(limit + 1)
        .read_to_end(&mut content)
        .map_err(|error| root_dir::io_failure(path, "file", error))?;
    if content.len() > MAX_EDIT_BYTES {
        return Err(ToolFailure::new(format!(
            "`{}` has {bytes} bytes, and files of at most {limit} are edited",
            preview(path)
        )));
    }
    String::from_utf8(content).map_err(|_| {
        ToolFailure::new(format!("`{}` is not UTF-8 text; it cannot be edited", preview(path)))
    })
}

fn edit_error(at: usize, why: &str) -> ToolFailure {
    ToolFailure::new(format!("nothing was changed: edit {at}: {why}"))
}

const MAX_EDIT_BYTES: usize = 8 * 1024 * 1024;
