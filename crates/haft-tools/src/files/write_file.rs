//! The tool `write_file`.

use haft_core::tool::{CallPreview, Concurrency, InvalidTool, Tool, ToolEffect, ToolFailure};

use super::FilesOptions;
use super::change_preview::preview_change;
use super::edit_file::content;
use super::replace_file::replace_file;
use crate::preview;
use haft_macros::ToolArgs;

#[derive(ToolArgs)]
pub(crate) struct WriteFileArgs {
    /// The path of the file, below the root; folders are made if need be
    #[arg(min_len = 1, max_len = 4096, example = "notes/todo.md")]
    path: String,
    /// All of the new content
    #[arg(max_len = 2000000, example = "# Today\n")]
    content: String,
    /// What to do if the file is there already
    #[arg(default = "replace")]
    if_exists: IfExists,
}

#[derive(ToolArgs)]
pub(crate) enum IfExists {
    /// Puts the new content in its place
    Replace,
    /// Fails, and leaves it as it is
    Refuse,
}

const DESCRIPTION: &str = "Writes a text file, and makes the folders it is in. All of the content is replaced; to \
change a part of a file use `edit_file`.\n\
Returns a line that says what was written.";

pub(super) fn write_file(options: &FilesOptions) -> Result<Tool, InvalidTool> {
    let shared = options.clone();
    let previewed = options.clone();
    Tool::builder("write_file")
        .description(DESCRIPTION)
        .requires_approval("May this file be written?")
        .effect(ToolEffect::Idempotent)
        .concurrency(Concurrency::Keyed("/path".to_owned()))
        .preview(move |args: WriteFileArgs| preview_write(&previewed, &args))
        .handler(move |args: WriteFileArgs| write(&shared, &args))
        .build()
}

/// Says what the file has now and what it would have.
fn preview_write(options: &FilesOptions, args: &WriteFileArgs) -> Result<CallPreview, ToolFailure> {
    let Ok((_, bytes)) = options.root.open_file(&args.path) else {
        return Ok(preview_change(&args.path, None, &args.content));
    };
    Ok(match content(options, &args.path) {
        Ok(before) => preview_change(&args.path, Some(&before), &args.content),
        Err(_) => {
            let path = preview(&args.path);
            let written = args.content.len();
            let text = format!(
                "`{path}` has {bytes} bytes that are not compared; {written} bytes replace them\n"
            );
            CallPreview::text(text)
        }
    })
}

fn write(options: &FilesOptions, args: &WriteFileArgs) -> Result<String, ToolFailure> {
    let there =
        matches!(args.if_exists, IfExists::Refuse) && options.root.open_file(&args.path).is_ok();
    if there {
        return Err(ToolFailure::new(format!(
            "`{}` is there already, and was left as it is; use another path, or `if_exists`: `replace`",
            preview(&args.path)
        )));
    }
    replace_file(&options.root, &args.path, args.content.as_bytes())?;
    Ok(format!("wrote {} bytes to `{}`", args.content.len(), preview(&args.path)))
}
