//! The HTTP API of Haft: turns, their live events, the requests that a model saw, artifacts and gates, as JSON.
//!
//! An [`Api`] serves [stored turns](haft::turn::StoredTurns). Its routes can be mounted anywhere; a [`Guard`]
//! protects them on loopback. [`Api::openapi`] describes the requests and responses: clients are written against that
//! document, not against Rust types.
//!
//! | route | result |
//! |---|---|
//! | `GET /turns` | turns, newest first, by words, agent, model, state, time and tokens |
//! | `GET /turns/{turn}` | one turn with a window of its timeline |
//! | `GET /turns/{turn}/rows` | other windows of the timeline |
//! | `GET /turns/{turn}/events` | its changes, as server-sent events that continue after the last id |
//! | `GET /turns/{turn}/steps/{step}/request` | what the model saw, part by part with its trust |
//! | `GET /turns/{turn}/artifacts/{handle}/lines` | lines of an artifact of any size |
//! | `POST /gates/{gate}/decision` | approves, approves with edits, resolves or denies a gate |
//! | `POST /turns` | submits a turn for the workers |
//!
//! With the feature `service`, a `TenantService` serves the API to several tenants, each behind its own tokens and on its own
//! view of the stores.
#![cfg_attr(docsrs, feature(doc_cfg))]

mod agents;
mod api;
mod connections;
mod error;
mod extract;
mod feed;
mod guard;
mod open_artifacts;
mod openapi;
mod prices;
mod request_parts;
mod routes;
#[cfg(feature = "service")]
mod service;
mod shared;
mod stored;
mod timeline;
mod turn_cache;
mod turn_follower;
mod turn_list;
mod wire;

pub use self::agents::{AgentError, AgentPurpose, AgentSource, HostedAgent};
pub use self::api::{Api, ApiBuilder};
pub use self::connections::{admit_connection, serve_connections};
pub use self::guard::{Guard, NoRandomNumbers};
#[cfg(feature = "service")]
pub use self::service::{
    NewToken, ServiceFailure, ServiceLimits, TenantScope, TenantService, TenantServiceBuilder,
    TokenError, TokenFile, TokenInfo,
};
pub use self::shared::Access;
#[doc(inline)]
pub use haft::turn::TokenPrices;
#[doc(inline)]
pub use haft_http::address::InvalidAddress;
