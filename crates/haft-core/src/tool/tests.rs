mod build;
mod execute;
mod handlers;
mod media;

use crate::schema::args::Args;
use crate::schema::{integer, object, string};
use crate::tool::{Tool, ToolBuilder};

/// A definition with everything but the handler.
fn search() -> ToolBuilder {
    Tool::builder("search").description("Searches.").input(
        object()
            .field("query", string().required())
            .field("limit", integer().min(1).max(50).default(10)),
    )
}

/// A tool that answers with the arguments it got.
fn echo() -> Tool {
    search().handler(async |args: Args| args.to_string()).build().unwrap()
}
