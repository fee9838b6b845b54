//! The arguments of `haft mcp` in a build without the feature `mcp`: all are accepted, and the command says why it does
//! nothing.

use clap::Args;

#[derive(Debug, Args)]
pub(crate) struct McpArgs {
    #[arg(hide = true, trailing_var_arg = true, allow_hyphen_values = true)]
    words: Vec<String>,
}
