//! Contracts and pure logic of Haft.
#![cfg_attr(docsrs, feature(doc_cfg))]

pub mod artifact;
mod byte_stream;
pub mod call;
pub mod cancel;
pub mod clock;
mod descriptor;
pub mod error;
pub mod event;
mod failure;
pub mod forge;
pub mod gate;
mod hmac;
mod id;
pub mod json;
pub mod jsonpath;
pub mod media;
pub mod pipeline;
pub mod record;
pub mod schema;
pub mod spool;
pub mod stash;
pub mod step;
pub mod store;
pub mod stream;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
mod tier;
pub mod tokens;
pub mod tool;
pub mod trust;
pub mod usage;

pub use call::CallId;
pub use error::{Coded, ErrorCode};
pub use schema::args::{self, ArgValue, Args, FromArgs, RawArgs, ToolArgs};
pub use tool::context::{self, DispatchContext};
pub use tool::registry::{self, ToolRegistry};
pub use tool::{IntoToolOutput, Tool, ToolFailure, ToolOutput};
