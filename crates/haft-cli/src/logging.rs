//! Log output, which the environment variable `HAFT_LOG` turns on.

use std::io::stderr;

use anyhow::Result;
use tracing_subscriber::Layer as _;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::fmt::format::FmtSpan;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

use crate::model_providers::read_variable;
use crate::user_error::UserError;

/// The variable with the filter: a level, or levels by target, such as `info` or `warn,haft=debug`.
const VARIABLE: &str = "HAFT_LOG";

/// Whether log output is on.
pub(crate) fn is_enabled() -> bool {
    read_variable(VARIABLE).is_some()
}

/// Writes logs to standard error if `HAFT_LOG` is set.
pub(crate) fn install() -> Result<()> {
    if !is_enabled() {
        return Ok(());
    }
    let filter = read_variable(VARIABLE).unwrap_or_default();
    let filter: Targets = filter.parse().map_err(|error| {
        UserError::new(format!("{VARIABLE} is not a valid log filter: {error}"))
            .hint("use a level, or levels by target: HAFT_LOG=info or HAFT_LOG=warn,haft=debug")
    })?;
    let layer = tracing_subscriber::fmt::layer().with_writer(stderr).with_ansi(false);
    let layer = layer.with_span_events(FmtSpan::CLOSE);
    tracing_subscriber::registry().with(layer.with_filter(filter)).try_init()?;
    Ok(())
}
