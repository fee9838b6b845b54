//! HTTP for Haft: one client with deadlines and limits, and secrets that are never printed.
//!
//! Two parts of Haft use HTTP. Model providers send requests with an API key to an address that the operator
//! configures; tools and media readers fetch addresses that a model may have chosen. Their policies differ and stay
//! separate. What they share is in this crate:
//!
//! - [`HttpClient`] (feature `client`): sends a request and enforces [`HttpLimits`] on every wait and on the size of the
//!   response.
//! - [`Secret`], [`redact`] and [`Scrubber`]: secrets that are never printed, requests that are printed without
//!   credentials, and the removal of credentials from text that another party wrote.
//! - `fetch` (feature `fetch`): fetches URLs that an untrusted source may have chosen, within a policy on hosts and
//!   addresses.
//! - [`uri`]: checks of an address before a request is sent.
//! - [`address`]: checks of whom a request was sent to, for servers.
//!
//! Requests and responses have the types of the [`http`] crate.
//!
//! # Example
//!
//! ```
//! use haft_http::{Secret, redact};
//!
//! let key = Secret::new("sk-very-secret");
//! let request = http::Request::post("https://api.example.com/v1/chat?key=abc123")
//!     .header("x-api-key", key.to_header_value()?)
//!     .body("{}")?;
//! let printed = format!("{:?}", redact::request(&request));
//! assert!(!printed.contains("sk-very-secret") && !printed.contains("abc123"), "{printed}");
//! # Ok::<(), http::Error>(())
//! ```
//!
//! # TLS backends
//!
//! | feature | default | backend |
//! |---|---|---|
//! | `rustls` | yes | rustls with aws-lc-rs, roots of the operating system |
//! | `native-tls` | no | the library of the operating system |
//! | `rustls-no-provider` | no | rustls with the cryptography provider that the program installs |
//!
//! If several backends are compiled in, `HttpClient::builder` uses rustls. With `native-tls` a failed handshake is a
//! connection error, because the error of that library contains no details.
//!
//! # Dependencies
//!
//! This crate may depend on `haft-core` and on no other crate of Haft. Providers and tools depend on it.

#![cfg_attr(docsrs, feature(doc_cfg))]

pub mod address;
#[cfg(feature = "client")]
mod body;
#[cfg(feature = "client")]
mod client;
mod error;
#[cfg(feature = "fetch")]
pub mod fetch;
#[cfg(feature = "client")]
mod limits;
mod phase;
pub mod redact;
#[cfg(feature = "fetch")]
mod refusal;
mod secret;
pub mod uri;

#[cfg(feature = "client")]
pub use self::body::HttpBody;
#[cfg(feature = "client")]
pub use self::client::{HttpClient, HttpClientBuilder};
pub use self::error::HttpError;
#[cfg(feature = "client")]
pub use self::limits::HttpLimits;
pub use self::phase::HttpPhase;
pub use self::redact::Scrubber;
pub use self::secret::Secret;

/// The HTTP library under [`HttpClient`], for its `Client`, `Url` and resolvers.
#[cfg(feature = "client")]
pub use reqwest;
