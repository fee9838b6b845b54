//! `haft id`

use std::process::ExitCode;

use anyhow::Result;
use haft::args::RawArgs;
use haft::json::{Document, canonical_text};
use serde_json::json;

use crate::args::Id;
use crate::failure::Failure;

pub(super) fn run(args: &Id) -> Result<ExitCode> {
    let text = super::text_of(&args.args)?;
    let document = Document::parse(&text).map_err(|error| {
        Failure::new(format!("the arguments are not JSON: {error}"))
            .hint("put them in single quotes, or in a file: haft id TOOL @args.json")
    })?;
    if args.canonical {
        let tool = Document::parse(&json!(args.tool).to_string())?;
        let (args, tool) = (canonical_text(document.root()), canonical_text(tool.root()));
        return super::print(&format!("{{\"args\":{args},\"tool\":{tool}}}\n"));
    }
    super::print(&format!("{}\n", RawArgs::text(&text).call_id(&args.tool)))
}
