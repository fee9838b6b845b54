//! The arguments of `haft web`.

use std::net::IpAddr;
use std::path::PathBuf;

use clap::Args;

use super::StoreArg;

#[derive(Debug, Args)]
pub(crate) struct WebArgs {
    /// Agents whose tools the page shows; the agents of stored turns need not be named
    #[arg(long = "agent", value_name = "AGENT")]
    pub(crate) agents: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) store: StoreArg,
    /// Port on the loopback address [default: a free one]
    #[arg(long, default_value_t = 0, hide_default_value = true)]
    pub(crate) port: u16,
    /// Loopback address to listen on
    #[arg(long, default_value = "127.0.0.1", value_name = "IP", value_parser = parse_loopback)]
    pub(crate) address: IpAddr,
    /// Show turns, but refuse every action
    #[arg(long)]
    pub(crate) read_only: bool,
    /// Do not open the page in a browser
    #[arg(long)]
    pub(crate) no_open: bool,
    /// Name that decisions are recorded under [default: the variable USER]
    #[arg(long, value_name = "NAME")]
    pub(crate) by: Option<String>,
    /// Allow sending the API key over unencrypted HTTP
    #[arg(long)]
    pub(crate) plain_http: bool,
}

/// The page has no encryption and one token, so that it stays on this machine.
fn parse_loopback(text: &str) -> Result<IpAddr, String> {
    let address: IpAddr = text.parse().map_err(|_| "this is not an IP address".to_owned())?;
    match address.is_loopback() {
        true => Ok(address),
        false => {
            Err("the page is served on loopback only; use a tunnel to reach it from elsewhere"
                .to_owned())
        }
    }
}
