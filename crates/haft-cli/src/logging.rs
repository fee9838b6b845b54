//! Log output, which the environment variable `HAFT_LOG` turns on, and the export of traces.

use std::io::stderr;

use anyhow::Result;
use tracing_subscriber::Layer as _;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::fmt::format::FmtSpan;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

use crate::environment::read_text;
#[cfg(feature = "cluster")]
use crate::telemetry::Telemetry;
use crate::user_error::UserError;

/// The variable with the filter: a level, or levels by target, such as `info` or `warn,haft=debug`.
const VARIABLE: &str = "HAFT_LOG";

/// What is written or sent until the program ends.
#[derive(Debug)]
#[must_use = "what waits is sent by `finish`"]
pub(crate) struct Logging {
    #[cfg(feature = "cluster")]
    telemetry: Option<Telemetry>,
}

impl Logging {
    /// Writes logs to standard error if `HAFT_LOG` is set, and exports spans and metrics if the environment names a
    /// collector.
    pub(crate) fn install() -> Result<Self> {
        let logs = match read_text(VARIABLE) {
            Some(filter) => {
                let filter: Targets = filter.parse().map_err(|error| {
                    UserError::new(format!("{VARIABLE} is not a valid log filter: {error}")).hint(
                        "use a level, or levels by target: HAFT_LOG=info or HAFT_LOG=warn,haft=debug",
                    )
                })?;
                let layer = tracing_subscriber::fmt::layer().with_writer(stderr).with_ansi(false);
                Some(layer.with_span_events(FmtSpan::CLOSE).with_filter(filter))
            }
            None => None,
        };
        #[cfg(feature = "cluster")]
        let telemetry = Telemetry::start()?;
        #[cfg(feature = "cluster")]
        let has_telemetry = telemetry.is_some();
        #[cfg(not(feature = "cluster"))]
        let has_telemetry = false;
        // Without a layer nothing is installed, so that turns do no work for traces.
        if logs.is_some() || has_telemetry {
            let registry = tracing_subscriber::registry().with(logs);
            #[cfg(feature = "cluster")]
            let registry = registry.with(telemetry.as_ref().map(Telemetry::layer));
            registry.try_init()?;
        }
        Ok(Self {
            #[cfg(feature = "cluster")]
            telemetry,
        })
    }

    /// Sends what waits to be sent.
    pub(crate) fn finish(self) {
        #[cfg(feature = "cluster")]
        if let Some(telemetry) = self.telemetry {
            telemetry.shut_down();
        }
    }
}
