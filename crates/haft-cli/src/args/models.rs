//! The arguments of `haft models`, `haft doctor` and `haft config`.

use clap::{Args, Subcommand};

use super::StoreArg;

#[derive(Debug, Args)]
pub(crate) struct ModelsArgs {
    /// The provider whose models are listed [default: list the providers]
    pub(crate) provider: Option<String>,
    /// Allow sending the API key over unencrypted HTTP
    #[arg(long)]
    pub(crate) plain_http: bool,
    /// Print one JSON object per line
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct DoctorArgs {
    /// The model to check, such as `openai:gpt-5-mini` [default: the model of the configuration]
    #[arg(long, value_name = "PROVIDER:MODEL", env = "HAFT_MODEL")]
    pub(crate) model: Option<String>,
    #[command(flatten)]
    pub(crate) store: StoreArg,
    /// Allow sending the API key over unencrypted HTTP
    #[arg(long)]
    pub(crate) plain_http: bool,
    /// Print one JSON object per line
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ConfigArgs {
    #[command(subcommand)]
    pub(crate) command: Option<ConfigCommand>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ConfigCommand {
    /// Print the path of the configuration file
    Path,
    /// Print a value
    Get {
        /// The key, such as `model` or `providers.local.base_url`
        key: String,
    },
    /// Set a value
    Set {
        /// The key, such as `model` or `providers.local.base_url`
        key: String,
        /// The value; numbers, booleans and lists are written as in TOML
        value: String,
    },
    /// Remove a value
    Unset {
        /// The key
        key: String,
    },
}
