//! `haft id`

use std::process::ExitCode;

use anyhow::Result;
use haft::schema::RawArgs;
use haft::schema::json::{Document, canonical_text};
use serde_json::json;

use crate::args::CallIdArgs;
use crate::user_error::UserError;

pub(super) fn print_call_id(args: &CallIdArgs) -> Result<ExitCode> {
    let text = super::read_text_argument(&args.args)?;
    let document = Document::parse(&text).map_err(|error| {
        UserError::new(format!("the arguments are not valid JSON: {error}"))
            .hint("put them in single quotes, or in a file: haft id TOOL @args.json")
    })?;
    if args.canonical {
        let tool = Document::parse(&json!(args.tool).to_string())?;
        let (args, tool) = (canonical_text(document.root()), canonical_text(tool.root()));
        return super::print_text(&format!("{{\"args\":{args},\"tool\":{tool}}}\n"));
    }
    super::print_text(&format!("{}\n", RawArgs::text(&text).call_id(&args.tool)))
}
