//! A proxy in front of other servers, which keeps large results out of the client's prompt.
//!
//! [`McpProxy`] passes messages on unchanged, byte for byte, in every revision of the protocol that client and server
//! agree on. It changes two things:
//!
//! - **`tools/list`** has the tools of the server, then the four query tools. The list is the same
//!   whatever results there are. A tool has no `outputSchema`: clients hold structured results to it, and a stored result
//!   has none. A tool with the name of a query tool, or of a tool of another server, gets the name of its server in front.
//! - **Results** that fit the client pass unchanged, with their `structuredContent`. Of a larger one every large text is
//!   stored while it arrives, so that a result of a gigabyte needs no memory; the client gets the beginning, a handle and
//!   the names of the tools that query it. `structuredContent` is left out then, and stored if there is no text. Images
//!   and sounds pass up to 4 MiB.
//!
//! Results are stored in a spool, bounded by bytes and age. A proxy that is started again with the same spool knows the
//! handles of the one before.
//!
//! With several servers the proxy offers tools only, and answers `initialize`, `server/discover` and `ping` itself.

mod catalog;
mod connection;
mod envelope;
mod own_requests;
mod queries;
mod responses;
mod results;
mod session;
mod tool_filter;
mod tool_list;

#[cfg(feature = "http")]
mod http_connection;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use haft_core::artifact::ArtifactKind;
use haft_core::clock::{Clock, SystemClock};
use haft_core::spool::SpoolStore;
use haft_core::tool::InvalidTool;
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncWrite};

use self::catalog::{Catalog, CatalogLimits};
pub use self::connection::Upstream;
use self::session::Session;
use self::tool_filter::ToolFilter;
use crate::answer_limits::AnswerLimits;
use crate::query_tools::QueryTools;
use crate::server::{ConnectionError, DefinitionOptions};
use crate::transport::ReadLimits;

/// A proxy between one client and its servers.
pub struct McpProxy {
    shared: ProxyShared,
    upstreams: Vec<Upstream>,
}

/// What the tasks of a proxy share.
struct ProxyShared {
    catalog: Catalog,
    spools: Arc<dyn SpoolStore>,
    queries: QueryTools,
    /// The definitions of the query tools.
    definitions: Vec<Value>,
    limits: AnswerLimits,
    read_limits: ReadLimits,
    filter: ToolFilter,
}

/// A proxy in the making.
#[must_use = "a builder does nothing until `build` is called"]
pub struct McpProxyBuilder {
    spools: Arc<dyn SpoolStore>,
    upstreams: Vec<Upstream>,
    limits: AnswerLimits,
    lifetime: Duration,
    max_bytes: u64,
    filter: ToolFilter,
    clock: Arc<dyn Clock>,
}

impl McpProxy {
    /// Starts a proxy that stores large results in a spool.
    ///
    /// ```
    /// use std::sync::Arc;
    ///
    /// use haft_mcp::proxy::{McpProxy, Upstream};
    /// use haft_stores::MemorySpoolStore;
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let (ours, _server) = tokio::io::duplex(1024);
    /// let (output, input) = tokio::io::split(ours);
    /// let proxy = McpProxy::builder(Arc::new(MemorySpoolStore::new()))
    ///     .upstream(Upstream::streams("files", output, input))
    ///     .deny("write_*")
    ///     .build()?;
    /// // `proxy.serve_stdio().await?` serves the client that started this process.
    /// # drop(proxy);
    /// # Ok(())
    /// # }
    /// ```
    pub fn builder(spools: Arc<dyn SpoolStore>) -> McpProxyBuilder {
        McpProxyBuilder {
            spools,
            upstreams: Vec::new(),
            limits: AnswerLimits::GENERIC,
            lifetime: DEFAULT_LIFETIME,
            max_bytes: DEFAULT_MAX_BYTES,
            filter: ToolFilter::default(),
            clock: Arc::new(SystemClock::new()),
        }
    }

    /// Serves the client that started this process, over standard input and output, until it closes its end.
    ///
    /// # Errors
    ///
    /// The connection to the client failed.
    pub async fn serve_stdio(self) -> Result<(), ConnectionError> {
        let (input, output) = rmcp::transport::stdio();
        self.serve_stream(input, output).await
    }

    /// Serves one client over two streams, a message per line, until the client closes its end.
    ///
    /// # Errors
    ///
    /// The connection to the client failed.
    pub async fn serve_stream<R, W>(self, input: R, output: W) -> Result<(), ConnectionError>
    where
        R: AsyncRead + Send + Unpin + 'static,
        W: AsyncWrite + Send + Unpin + 'static,
    {
        let Self { shared, upstreams } = self;
        Session::run(shared, upstreams, input, output).await
    }
}

impl McpProxyBuilder {
    /// Adds a server. With several servers, the tools of the first come first.
    pub fn upstream(mut self, upstream: Upstream) -> Self {
        self.upstreams.push(upstream);
        self
    }

    /// Sets the maximum size of one answer.
    pub fn answer_limits(mut self, limits: AnswerLimits) -> Self {
        self.limits = limits;
        self
    }

    /// How long results are stored; the default is 24 hours.
    pub fn lifetime(mut self, lifetime: Duration) -> Self {
        self.lifetime = lifetime;
        self
    }

    /// How many bytes of results are stored; the default is 2 GiB. The oldest go first, and the newest stays in any case.
    pub fn max_bytes(mut self, bytes: u64) -> Self {
        self.max_bytes = bytes;
        self
    }

    /// Offers only tools whose names match this or another allowed pattern. `*` matches any characters.
    pub fn allow(mut self, pattern: impl Into<String>) -> Self {
        self.filter.allow(pattern.into());
        self
    }

    /// Does not offer tools whose names match this pattern, even if they are allowed. `*` matches any characters.
    pub fn deny(mut self, pattern: impl Into<String>) -> Self {
        self.filter.deny(pattern.into());
        self
    }

    /// The clock; the default is the system clock.
    pub fn clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = clock;
        self
    }

    /// Finishes the proxy.
    ///
    /// # Errors
    ///
    /// A query tool cannot be built.
    pub fn build(self) -> Result<McpProxy, InvalidTool> {
        let formats = haft::artifacts::standard_formats();
        let kinds = [ArtifactKind::TEXT, ArtifactKind::JSON];
        let queries = QueryTools::new(&formats, &kinds, self.limits)?;
        let options = DefinitionOptions { lifetime: self.lifetime };
        let definitions = tool_list::query_definitions(queries.tools(), &options);
        let limits = CatalogLimits { bytes: self.max_bytes, lifetime: self.lifetime };
        let read_limits = ReadLimits {
            spool_above: self.limits.bytes,
            max_part_bytes: self.max_bytes,
            ..ReadLimits::default()
        };
        let shared = ProxyShared {
            catalog: Catalog::new(Arc::clone(&self.spools), self.clock, limits),
            spools: self.spools,
            queries,
            definitions,
            limits: self.limits,
            read_limits,
            filter: self.filter,
        };
        Ok(McpProxy { shared, upstreams: self.upstreams })
    }
}

impl fmt::Debug for McpProxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("McpProxy").field("upstreams", &self.upstreams).finish_non_exhaustive()
    }
}

impl fmt::Debug for McpProxyBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("McpProxyBuilder")
            .field("upstreams", &self.upstreams)
            .finish_non_exhaustive()
    }
}

/// How long results are stored.
const DEFAULT_LIFETIME: Duration = Duration::from_secs(24 * 60 * 60);

/// How many bytes of results are stored.
const DEFAULT_MAX_BYTES: u64 = 2 * 1024 * 1024 * 1024;
