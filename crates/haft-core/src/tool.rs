//! Tools: a definition that the model sees, and a handler that it never sees.
//!
//! A tool is built once and cannot be changed; cloning it copies a pointer. Its handler is private to this module and
//! runs only through [`ToolExecutor`], which computes the call id, validates the arguments, emits events, and catches
//! failures.

mod approval;
mod artifact_set;
mod builder;
mod call_record;
pub mod context;
mod definition;
mod error;
mod executor;
mod handler;
mod into_tool;
mod output;
mod preview;
pub mod registry;
mod spooler;
mod state;

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, HashSet};
use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use crate::id::Digest;
pub use artifact_set::{ArtifactIdCollision, ArtifactSet, LiveArtifact};
pub use builder::{InvalidTool, ToolBuilder};
pub use error::{ToolError, Unavailability};
pub use executor::{AcceptedCall, Invocation, ToolExecutor};
pub use handler::{Handler, IntoHandler, signature};
pub use into_tool::IntoTool;
pub use output::{IntoToolOutput, Json, ToolOutput};
pub use registry::{
    AppendedTool, BlockTool, OfferPoint, RegisteredTool, ToolChanges, ToolRegistry,
    ToolRegistryError,
};
pub use spooler::Spooler;
#[doc(hidden)]
pub use state::shared_state;
pub use state::{SharedState, State};

pub use crate::byte_stream::ByteStream;
pub use crate::failure::{FailureError, PanicError, ToolFailure};
pub use crate::id::ToolName;
pub use crate::preview::{CallPreview, PreviewKind};

use crate::artifact::ArtifactKind;
use crate::schema::args::{Args, RawArgs, Strictness};
use crate::schema::{AcceptedArgs, InputSchema, Problems};
use crate::stash::Stash;
use crate::tier::TrustTier;
use crate::tool::context::DispatchContext;
use builder::Validator;
use preview::Previewer;

/// A capability that the agent can offer to the model.
///
/// ```
/// use haft_core::schema::{object, one_of, string};
/// use haft_core::{Args, Tool};
///
/// let get_weather = Tool::builder("get_weather")
///     .description("Returns the current weather for a given city.")
///     .input(
///         object()
///             .field("city", string().description("The city name").required())
///             .field("units", one_of(["celsius", "fahrenheit"]).default("celsius")),
///     )
///     .handler(async |args: Args| format!("21 degrees in {}", args.root()))
///     .build()?;
/// assert_eq!(get_weather.name().as_str(), "get_weather");
/// # Ok::<(), haft_core::tool::InvalidTool>(())
/// ```
#[derive(Clone)]
pub struct Tool(Arc<Definition>);

#[derive(Clone)]
struct Definition {
    name: ToolName,
    description: String,
    input: InputSchema,
    handler: Handler,
    role: ToolRole,
    /// The kinds of artifacts that the results can be.
    kinds: Vec<ArtifactKind>,
    /// The artifacts that a query tool can be asked about.
    queried: QueriedArtifacts,
    meta: Stash,
    strictness: Strictness,
    validators: Vec<Validator>,
    previewer: Option<Previewer>,
    approval_filter: Option<approval::ApprovalFilter>,
    flags: Flags,
    /// Parts of the definition that the model does not see, by name.
    parts: BTreeMap<String, Value>,
    /// Computed when it is first asked for.
    digest: OnceLock<Digest>,
}

/// How a tool's result is treated.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ToolRole {
    /// Text and bytes are wrapped as an artifact of this kind.
    Standard(ArtifactKind),
    /// The text is the final result of a query on an artifact and is never wrapped again.
    ArtifactQuery,
}

/// The artifacts that a query tool can be asked about.
#[derive(Clone, Default)]
enum QueriedArtifacts {
    #[default]
    None,
    Handles(Arc<HashSet<String>>),
    Kinds(Arc<dyn Fn(&ArtifactKind) -> bool + Send + Sync>),
}

#[derive(Clone, Debug, Default)]
struct Flags {
    ephemeral: bool,
    trusted: bool,
    on_collision: OnCollision,
    effect: ToolEffect,
    concurrency: Concurrency,
    approval: Option<String>,
    timeout: Option<Duration>,
    /// The tier of the source of the definition, or `None` if the developer wrote it.
    definition_tier: Option<TrustTier>,
}

/// What happens when a merge meets a tool of the same name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[expect(clippy::exhaustive_enums, reason = "the three policies are part of the contract")]
pub enum OnCollision {
    /// Leave it to the merge, whose own default is to refuse.
    #[default]
    Throw,
    /// The incoming tool wins.
    Replace,
    /// The tool that is there stays.
    Keep,
}

/// The effect of a call on the outside world, which decides whether it may be repeated after a crash.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum ToolEffect {
    /// Changes nothing.
    ReadOnly,
    /// May be repeated with the same idempotency key.
    Idempotent,
    /// Must not be repeated. The default.
    #[default]
    Once,
}

/// Which calls may run side by side.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Concurrency {
    /// With any other call.
    #[default]
    Parallel,
    /// Alone.
    Exclusive,
    /// Not with a call that has an equal value at this JSON pointer of its arguments.
    Keyed(String),
}

/// A tool as plain data: what a provider renders into its own wire shape.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ToolDescription {
    /// The name the model calls it by.
    pub name: ToolName,
    /// What the model reads when it chooses.
    pub description: String,
    /// The input schema as a plain tree.
    pub input_schema: Value,
}

impl Tool {
    /// Starts a definition.
    pub fn builder(name: impl Into<String>) -> ToolBuilder {
        ToolBuilder::new(name.into())
    }

    /// The name the model calls it by.
    #[must_use]
    pub fn name(&self) -> &ToolName {
        &self.0.name
    }

    /// What the model reads when it chooses.
    #[must_use]
    pub fn description(&self) -> &str {
        &self.0.description
    }

    /// Where the description comes from: first-party if the developer wrote it.
    #[must_use]
    pub fn definition_tier(&self) -> TrustTier {
        self.0.flags.definition_tier.unwrap_or(TrustTier::FirstParty)
    }

    /// The schema that is shown and enforced.
    #[must_use]
    pub fn input_schema(&self) -> &InputSchema {
        &self.0.input
    }

    /// What becomes of its result.
    #[must_use]
    pub fn role(&self) -> &ToolRole {
        &self.0.role
    }

    /// The kinds of artifacts that its large results have; none if it has no large results. The tools that query them are
    /// offered from the first request on.
    #[must_use]
    pub fn declared_kinds(&self) -> &[ArtifactKind] {
        &self.0.kinds
    }

    /// Whether this tool queries an artifact, so that a prompt names the tool where it shows the handle.
    #[must_use]
    pub fn queries_artifact(&self, handle: &str, kind: &ArtifactKind) -> bool {
        match &self.0.queried {
            QueriedArtifacts::None => false,
            QueriedArtifacts::Handles(handles) => handles.contains(handle),
            QueriedArtifacts::Kinds(reads) => reads(kind),
        }
    }

    /// Free metadata for middleware; Haft does not read it.
    #[must_use]
    pub fn meta(&self) -> &Stash {
        &self.0.meta
    }

    /// Whether near misses are coerced.
    #[must_use]
    pub fn strictness(&self) -> Strictness {
        self.0.strictness
    }

    /// Whether it lives for one dispatch only.
    #[must_use]
    pub fn is_ephemeral(&self) -> bool {
        self.0.flags.ephemeral
    }

    /// Whether its own text may be shown as trusted. A ceiling: parts that come from other sources keep their tier.
    #[must_use]
    pub fn is_trusted(&self) -> bool {
        self.0.flags.trusted
    }

    /// The tier of its own text: first-party if the tool is trusted, else [`TrustTier::UNTRUSTED`]. It is taken when the
    /// call runs and stays with the record, so that a later tool of the same name cannot change it. It is a ceiling: text that
    /// the tool knows to come from elsewhere goes below it by [`TrustTier::floor`].
    #[must_use]
    pub fn text_tier(&self) -> TrustTier {
        if self.is_trusted() { TrustTier::FirstParty } else { TrustTier::UNTRUSTED }
    }

    /// What a merge does when the name is taken.
    #[must_use]
    pub fn on_collision(&self) -> OnCollision {
        self.0.flags.on_collision
    }

    /// What calling it does to the world.
    #[must_use]
    pub fn effect(&self) -> ToolEffect {
        self.0.flags.effect
    }

    /// Which calls may run at the same time.
    #[must_use]
    pub fn concurrency(&self) -> &Concurrency {
        &self.0.flags.concurrency
    }

    /// The question to ask before a call is made, if the tool requires approval.
    #[must_use]
    pub fn requires_approval(&self) -> Option<&str> {
        self.0.flags.approval.as_deref()
    }

    /// The same tool, whose every call waits for approval from outside the turn, as with
    /// [`ToolBuilder::requires_approval`]. This question replaces the tool's own.
    ///
    /// ```
    /// use haft_core::schema::object;
    /// use haft_core::tool::InvalidTool;
    /// use haft_core::{Args, Tool};
    ///
    /// # fn main() -> Result<(), InvalidTool> {
    /// let tool = Tool::builder("ring_bell").description("Rings the bell.").input(object());
    /// let tool = tool.handler(async |_: Args| "rang").build()?;
    /// let asks = tool.with_approval("May the bell be rung?")?;
    /// assert_eq!(asks.requires_approval(), Some("May the bell be rung?"));
    /// assert_eq!(asks.without_approval().requires_approval(), None);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// The question is empty.
    pub fn with_approval(&self, question: impl Into<String>) -> Result<Self, InvalidTool> {
        let question = question.into();
        match builder::question_fault(&question) {
            Some(fault) => Err(InvalidTool { tool: self.name().to_string(), faults: vec![fault] }),
            None => Ok(self.replace_approval(Some(question))),
        }
    }

    /// The same tool, whose calls require no approval.
    #[must_use]
    pub fn without_approval(&self) -> Self {
        self.replace_approval(None)
    }

    fn replace_approval(&self, approval: Option<String>) -> Self {
        let mut definition = Definition::clone(&self.0);
        definition.flags.approval = approval;
        definition.approval_filter = None;
        Self(Arc::new(definition))
    }

    /// How long a call may take; `None` for the runner's limit.
    #[must_use]
    pub fn timeout(&self) -> Option<Duration> {
        self.0.flags.timeout
    }

    /// Whether its handler is not async and so blocks its thread. The loop runs such handlers on blocking threads.
    #[must_use]
    pub fn blocks(&self) -> bool {
        self.0.handler.blocks()
    }

    /// The tool as plain data.
    #[must_use]
    pub fn describe(&self) -> ToolDescription {
        ToolDescription {
            name: self.name().clone(),
            description: self.0.description.clone(),
            input_schema: self.0.input.describe(),
        }
    }

    /// Validates arguments without calling the handler: the schema first, then the tool's own validators.
    ///
    /// # Errors
    ///
    /// [`ToolError::InvalidArgs`], with every problem and the code `E_INVALID_TOOL_ARGS`.
    pub async fn validate(
        &self,
        args: impl Into<RawArgs> + Send,
    ) -> Result<AcceptedArgs, ToolError> {
        let raw = args.into();
        let name = self.name().as_str();
        let refused = |problems| ToolError::InvalidArgs { tool: name.to_owned(), problems };
        let accepted = self.0.input.accept(name, &raw, self.0.strictness).map_err(refused)?;
        self.validators_accept(&accepted.args).await.map_err(refused)?;
        Ok(accepted)
    }

    async fn validators_accept(&self, args: &Args) -> Result<(), Problems> {
        for validator in &self.0.validators {
            validator(args.clone()).await?;
        }
        Ok(())
    }

    /// Calls the tool alone, outside of any turn, as a test or a script does: with validation, and with a stash, registries
    /// and a clock of its own. Calls of a turn go through [`Tool::executor`].
    ///
    /// ```
    /// use haft_core::Tool;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), haft_core::tool::InvalidTool> {
    /// let now = Tool::builder("now").description("Tells the time.").handler(|| "noon").build()?;
    /// assert_eq!(now.call("{}").await.text(), Some("noon"));
    /// # Ok(())
    /// # }
    /// ```
    pub async fn call(&self, args: impl Into<RawArgs>) -> Invocation {
        let args = args.into();
        self.executor(&DispatchContext::builder("call").build()).call(args).await
    }

    /// The only way to the handler. Bind it once per dispatch and call it as often as needed.
    #[must_use]
    pub fn executor(&self, ctx: &DispatchContext) -> ToolExecutor {
        ToolExecutor::new(self.clone(), ctx.clone())
    }
}

impl fmt::Debug for Tool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tool")
            .field("name", &self.0.name)
            .field("description", &self.0.description)
            .field("input", &self.0.input.json_schema_text())
            .field("role", &self.0.role)
            .field("flags", &self.0.flags)
            .finish_non_exhaustive()
    }
}
