//! Contracts and pure logic of Haft.

pub mod args;
pub mod artifact;
pub mod call;
pub mod cancel;
pub mod clock;
pub mod context;
mod descriptor;
pub mod error;
pub mod event;
pub mod gate;
mod hmac;
pub mod json;
pub mod jsonpath;
pub mod media;
pub mod pipeline;
pub mod record;
pub mod registry;
pub mod schema;
pub mod spool;
pub mod stash;
pub mod step;
pub mod store;
pub mod stream;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
pub mod tokens;
pub mod tool;
pub mod trust;
pub mod usage;

pub use args::{ArgValue, Args, FromArgs, RawArgs, ToolArgs};
pub use call::CallId;
pub use context::DispatchContext;
pub use error::{Code, Coded, Error};
pub use registry::ToolRegistry;
pub use tool::{IntoToolOutput, Tool, ToolFailure, ToolOutput};
