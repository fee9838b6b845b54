//! The tools of MCP servers in an agent.
//!
//! ```no_run
//! use std::sync::Arc;
//!
//! use haft_core::ToolRegistry;
//! use haft_mcp::client::{McpEndpoint, McpTools, ServerCommand};
//! use haft_stores::DirSpoolStore;
//!
//! # async fn connect() -> Result<(), Box<dyn std::error::Error>> {
//! let spools = Arc::new(DirSpoolStore::open("spools")?);
//! let command = ServerCommand::new("npx").args(["@modelcontextprotocol/server-filesystem", "."]);
//! let files = McpTools::connect("files", McpEndpoint::streams(command), spools).await?;
//!
//! let registry = ToolRegistry::default();
//! for tool in files.tools(|name| registry.has(name)) {
//!     registry.register(tool)?;
//! }
//! # Ok(())
//! # }
//! ```
//!
//! # What holds for every server
//!
//! - The schemas of its tools are stored unchanged and enforced before a call. A tool whose schema cannot be enforced is left
//!   out, with the reason in [`McpTools::problems`].
//! - Its descriptions and results are third-party text. A model reads them as such.
//! - Its annotations only tighten: `destructiveHint` makes a tool require approval. What loosens, such as
//!   [`ToolRules::effect`], is said by the program.
//! - A definition is pinned by its hash. If a server changes one, its calls are refused until the program accepts it.
//! - Large texts, blobs and structured values go to the spool while they are read; see [`transport`](crate::transport).
//! - Its questions (elicitation, and results that require input) are gates of the turn. It gets no access to the model
//!   (sampling) and no list of directories (roots), and its tasks are refused.
//! - Every request has a deadline, and a call that is cancelled is cancelled at the server. A server that has ended is
//!   started again for the next call, with pauses that grow.

mod arguments;
mod call;
mod connection;
mod definition;
mod elicitation;
mod error;
mod handler;
mod inspection;
#[cfg(feature = "oauth")]
mod oauth;
mod options;
mod results;
mod server;
mod tools;

#[cfg(test)]
mod tests;

pub use self::error::McpClientError;
pub use self::inspection::{DescriptionFinding, inspect_description};
#[cfg(feature = "oauth")]
pub use self::oauth::{OAuthClient, OAuthError, OAuthLogin, TokenStore};
pub use self::options::{ApprovalRule, McpOptions, PrefixPolicy, ProtocolChoice, ToolRules};
#[cfg(feature = "http")]
pub use self::server::HttpServer;
pub use self::server::{McpEndpoint, ServerCommand, ServerStreams, StreamPair};
pub use self::tools::{McpTools, OfferedTool, ToolProblem};
