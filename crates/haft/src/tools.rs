//! Tools: how they are defined, registered and executed, and (feature `tools`) packs of ready-made ones.

#[doc(inline)]
pub use haft_core::tool::{
    AcceptedCall, AppendedTool, ArtifactIdCollision, ArtifactSet, BlockTool, ByteStream,
    CallPreview, Concurrency, Digest, FailureError, Handler, IntoHandler, IntoTool, IntoToolOutput,
    InvalidTool, Invocation, Json, LiveArtifact, OfferPoint, OnCollision, PanicError, PreviewKind,
    RegisteredTool, SharedState, Spooler, State, Tool, ToolBuilder, ToolChanges, ToolDescription,
    ToolEffect, ToolError, ToolExecutor, ToolFailure, ToolName, ToolOutput, ToolRegistry,
    ToolRegistryError, ToolRole, Unavailability,
};
#[cfg(all(feature = "tools", unix))]
#[doc(inline)]
pub use haft_tools::apply_patch;
#[cfg(feature = "tools")]
#[doc(inline)]
pub use haft_tools::{
    FilesOptions, Pack, PackError, PackOptions, UnknownPack, data, files, math, memory, pack, text,
    time,
};
#[cfg(all(feature = "tools", feature = "http"))]
#[doc(inline)]
pub use haft_tools::{WebOptions, web};
