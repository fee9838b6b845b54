//! The Model Context Protocol for the agent development kit Haft, as client and as server.
//!
//! | module | feature | what it does |
//! |---|---|---|
//! | [`transport`] | `client` | reads messages as a stream, so that large results go to the spool and are never in memory as a whole |
//! | [`client`] | `client` | offers the tools of other servers to an agent |
//! | `server` | `server` | offers the tools of an agent to other clients |
//! | `proxy` | `proxy` | a proxy in front of other servers, which keeps large results out of the client's prompt |
//!
//! # Features
//!
//! | feature | default | |
//! |---|---|---|
//! | `client` | yes | servers that are child processes, or behind any pair of byte streams |
//! | `http` | no | servers that are reached over HTTP |
//! | `oauth` | no | access to such servers by OAuth |
//! | `server`, `server-http` | no | an agent as a server, over standard input and output or over HTTP |
//! | `proxy` | no | a proxy in front of other servers |
//! | `rustls`, `native-tls`, `rustls-no-provider` | `rustls` | the TLS backend of `http` |
//!
//! # Dependencies
//!
//! This crate may depend on `haft`, `haft-core` and `haft-http`. Of the crates of Haft, only `haft-cli` depends on it.
#![cfg_attr(docsrs, feature(doc_cfg))]

#[cfg(feature = "server")]
mod answer_limits;
#[cfg(feature = "client")]
pub mod client;
#[cfg(feature = "proxy")]
pub mod proxy;
#[cfg(feature = "server")]
mod query_tools;
#[cfg(any(feature = "client", feature = "server"))]
mod request_span;
#[cfg(feature = "server")]
pub mod server;
#[cfg(feature = "client")]
pub mod transport;

#[cfg(feature = "server")]
pub use self::answer_limits::{AnswerLimits, ClientProfile, UnknownClient};
#[cfg(feature = "proxy")]
pub use self::proxy::McpProxy;
#[cfg(feature = "server")]
pub use self::server::McpServer;
