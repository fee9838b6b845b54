//! Tools for pages of the web. There is no tool unless the application names the hosts.

mod decode;
mod markdown;
mod tags;
pub(super) mod web_fetch;

use std::time::Duration;

use haft_core::tool::{InvalidTool, Tool};

use crate::readers::{FetchDeadlines, FetchError, Fetcher, UrlPolicy};

/// Options of the pack `web`. Nothing can be fetched by default.
///
/// ```
/// use haft_tools::{WebOptions, web};
///
/// let tools = web(WebOptions::only_hosts(["docs.example.com", "*.wiki.example"])?)?;
/// assert_eq!(tools.len(), 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default)]
#[must_use]
pub struct WebOptions {
    fetcher: Option<Fetcher>,
}

impl WebOptions {
    /// Fetches with this fetcher, within its policy and limits.
    pub fn new(fetcher: Fetcher) -> Self {
        Self { fetcher: Some(fetcher) }
    }

    /// Fetches only from these hosts, over https and from public addresses. A host is a name, or `*.name` for all
    /// subdomains of a name. Redirects to other hosts are refused; a response can have at most 8 MiB and take at most a
    /// minute.
    ///
    /// # Errors
    ///
    /// Fails if the machine has no root certificates or no usable TLS.
    pub fn only_hosts<H: AsRef<str>>(
        hosts: impl IntoIterator<Item = H>,
    ) -> Result<Self, FetchError> {
        let policy = UrlPolicy::public().only_hosts(hosts).allow_redirects(MAX_REDIRECTS);
        let deadlines = FetchDeadlines::default().total(MAX_DURATION);
        let fetcher = Fetcher::builder(policy).max_bytes(MAX_BYTES).deadlines(deadlines).build()?;
        Ok(Self::new(fetcher))
    }
}

/// Creates the tool `web_fetch`, or none if the options allow no host.
///
/// # Errors
///
/// Does not fail in practice, because the definition is fixed.
pub fn web(options: WebOptions) -> Result<Vec<Tool>, InvalidTool> {
    options.fetcher.map(web_fetch::web_fetch).into_iter().collect()
}

const MAX_REDIRECTS: usize = 5;
const MAX_BYTES: u64 = 8 * 1024 * 1024;
const MAX_DURATION: Duration = Duration::from_secs(60);
