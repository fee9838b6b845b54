//! Pages from the network. There is no tool unless the application names the hosts.

pub(super) mod web_fetch;

use std::time::Duration;

use haft_core::tool::{InvalidTool, Tool};

use crate::readers::{Deadlines, FetchError, Fetcher, UrlPolicy};

/// Where pages come from. Nothing is fetched by default.
#[derive(Clone, Debug, Default)]
#[must_use]
pub struct WebOptions {
    fetcher: Option<Fetcher>,
}

impl WebOptions {
    /// Fetches by this fetcher, within its policy of addresses and its limits.
    pub fn new(fetcher: Fetcher) -> Self {
        Self { fetcher: Some(fetcher) }
    }

    /// Fetches from these hosts and no others, by https from public addresses: names, or `*.name` for all names
    /// below a name. Redirects stay among them; an answer has at most 8 MiB and takes at most a minute.
    ///
    /// # Errors
    ///
    /// The machine has no root certificates, or its TLS cannot be used.
    pub fn only_hosts<H: AsRef<str>>(
        hosts: impl IntoIterator<Item = H>,
    ) -> Result<Self, FetchError> {
        let policy = UrlPolicy::public().only_hosts(hosts).allow_redirects(REDIRECTS);
        let deadlines = Deadlines::default().total(LONGEST);
        let fetcher = Fetcher::builder(policy).max_bytes(MAX_BYTES).deadlines(deadlines).build()?;
        Ok(Self::new(fetcher))
    }
}

/// `web_fetch`, or nothing if the options do not say where from.
///
/// # Errors
///
/// None is expected: the definitions are fixed.
pub fn web(options: WebOptions) -> Result<Vec<Tool>, InvalidTool> {
    options.fetcher.map(web_fetch::web_fetch).into_iter().collect()
}

const REDIRECTS: usize = 5;
const MAX_BYTES: u64 = 8 * 1024 * 1024;
const LONGEST: Duration = Duration::from_secs(60);
