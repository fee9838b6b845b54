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
mod id;
pub mod invariant;
pub mod json;
pub mod jsonpath;
mod mac;
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

/// What the expansions of the macros refer to. Not part of the public API.
#[doc(hidden)]
pub mod __macro {
    pub use crate::artifact::ArtifactKind;
    pub use crate::json::{JsonWriter, UnrepresentableValue, ValueKind, ValueRef};
    pub use crate::schema::args::{
        ArgDefinitions, ArgValue, Args, DecodeError, IntegerArg, LengthArg, ListArg, NumericArg,
        TextArg, ToolArgs,
    };
    pub use crate::schema::{Field, ObjectSchema, Presence, Schema, object, one_of, tuple, union};
    pub use crate::tool::context::DispatchContext;
    pub use crate::tool::{
        Concurrency, IntoToolOutput, InvalidTool, OnCollision, Tool, ToolEffect, signature,
    };
}
