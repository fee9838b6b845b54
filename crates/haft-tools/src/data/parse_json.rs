//! The tool `parse_json`.

use haft_core::json::{Document, Repair};
use haft_core::tool::ToolFailure;
use serde::Serialize;

use haft_core::tool::Json;
use haft_macros::{ToolArgs, tool};

#[derive(ToolArgs)]
pub(crate) struct ParseJsonArgs {
    /// The JSON text
    #[arg(min_len = 1, max_len = 500000, example = "{'a': [true, None,]}")]
    text: String,
}

#[derive(Serialize)]
pub(super) struct ParsedJson {
    value: Document,
    warnings: Vec<&'static str>,
}

/// Checks JSON text, and repairs what people and models often get wrong: single quotes, commas before a closing
/// bracket, a code fence around it, `True` and `None`, line breaks in strings.
///
/// Returns JSON: `value`, and `warnings`, one for each thing that was repaired. Without warnings the text was
/// valid JSON.
#[tool(read_only, artifact = Json)]
pub(super) fn parse_json(args: ParseJsonArgs) -> Result<Json<ParsedJson>, ToolFailure> {
    let (value, repairs) = Document::parse_lenient(&args.text).map_err(|error| {
        ToolFailure::new(format!("the text is not JSON and cannot be repaired: {error}"))
    })?;
    Ok(Json(ParsedJson { value, warnings: repairs.into_iter().map(warning_text).collect() }))
}

const fn warning_text(repair: Repair) -> &'static str {
    match repair {
        Repair::CodeFence => "a code fence around the text was removed",
        Repair::TrailingComma => "commas before closing brackets were removed",
        Repair::SingleQuotes => "strings in single quotes were read as strings",
        Repair::RawControl => "control characters in strings were kept as they are",
        Repair::PythonWord => "`True`, `False` or `None` was read as the word of JSON",
        _ => "the text was repaired",
    }
}
