//! The tool `parse_yaml`.

use haft_core::json::Document;
use haft_core::tool::ToolFailure;
use serde::Serialize;

use haft_artifacts::yaml::{YamlLimits, parse_document};
use haft_core::tool::Json;
use haft_macros::{ToolArgs, tool};

#[derive(ToolArgs)]
pub(crate) struct ParseYamlArgs {
    /// One YAML document
    #[arg(max_len = 500000, example = "name: demo\nports: [80, 443]\n")]
    text: String,
}

#[derive(Serialize)]
pub(super) struct ParsedYaml {
    value: Document,
    warnings: Vec<String>,
}

/// Reads a YAML document into JSON: aliases and merge keys are followed, `yes` and `no` stay text, dates stay
/// text. An empty document is `null`.
///
/// Returns JSON: `value`, and `warnings`.
#[tool(read_only, artifact = Json)]
pub(super) fn parse_yaml(args: ParseYamlArgs) -> Result<Json<ParsedYaml>, ToolFailure> {
    let text = args.text.strip_prefix('\u{FEFF}').unwrap_or(&args.text);
    let value = parse_document(text, YamlLimits { depth: 100, size: 4 * 1024 * 1024 }).map_err(|fault| {
        ToolFailure::new(format!(
            "the text is not one YAML document: {}, at line {}, column {}; mend it there, and give several \
             documents one by one",
            fault.reason,
            fault.line + 1,
            fault.column + 1
        ))
    })?;
    let warnings = match text.contains('\t') {
        true => {
            vec!["there are tabs in the text, which YAML does not take as indentation".to_owned()]
        }
        false => Vec::new(),
    };
    Ok(Json(ParsedYaml { value, warnings }))
}
