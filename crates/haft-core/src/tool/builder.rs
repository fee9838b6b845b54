//! Defining a tool.

use std::collections::{BTreeMap, HashSet};
use std::fmt;
use std::future::{Future, ready};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use serde::Serialize;
use serde_json::Value;

use super::approval::ApprovalFilter;
use super::preview::Previewer;
use super::spooler::DEFAULT_INLINE_BELOW;
use super::{
    Concurrency, Definition, Flags, Handler, IntoHandler, OnCollision, QueriedArtifacts, Tool,
    ToolEffect, ToolName, ToolRole,
};
use crate::BoxFuture;
use crate::artifact::ArtifactKind;
use crate::error::{Coded, ErrorCode, codes};
use crate::schema::args::{Args, FromArgs, Strictness};
use crate::schema::{FaultLocation, InputSchema, Problem, Problems, Schema, SchemaFault};
use crate::stash::Stash;
use crate::trust::ForeignText;

pub(super) type Validator =
    Arc<dyn Fn(Args) -> BoxFuture<'static, Result<(), Problems>> + Send + Sync>;

/// Builds a tool. Nothing is checked before [`ToolBuilder::build`], which then reports every fault at once.
///
/// ```
/// use haft_core::Tool;
///
/// let faults = Tool::builder("no name").build().unwrap_err().to_string();
/// assert!(faults.contains("description"), "{faults}");
/// ```
#[must_use = "a builder does nothing until `build` is called"]
pub struct ToolBuilder {
    name: String,
    description: String,
    input: Vec<Result<InputSchema, Vec<SchemaFault>>>,
    handler: Option<Handler>,
    artifact: Option<ArtifactKind>,
    artifact_query: bool,
    kinds: Vec<ArtifactKind>,
    max_bytes: Option<usize>,
    queried: QueriedArtifacts,
    meta: Stash,
    strictness: Strictness,
    validators: Vec<Validator>,
    pub(super) previewer: Option<Previewer>,
    pub(super) approval_filter: Option<ApprovalFilter>,
    flags: Flags,
    parts: BTreeMap<String, Value>,
    faults: Vec<SchemaFault>,
}

/// A tool definition that was refused, with every reason.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct InvalidTool {
    /// The name that was given.
    pub tool: String,
    /// Every problem that was found.
    pub faults: Vec<SchemaFault>,
}

impl fmt::Display for InvalidTool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the definition of the tool `{}` was refused", self.tool)?;
        for (at, fault) in self.faults.iter().enumerate() {
            f.write_str(if at == 0 { ": " } else { "; " })?;
            fmt::Display::fmt(fault, f)?;
        }
        Ok(())
    }
}

impl std::error::Error for InvalidTool {}

impl Coded for InvalidTool {
    fn code(&self) -> ErrorCode {
        codes::INVALID_INITIAL_TOOL_VALUE
    }
}

impl ToolBuilder {
    pub(super) fn new(name: String) -> Self {
        Self {
            name,
            description: String::new(),
            input: Vec::new(),
            handler: None,
            artifact: None,
            artifact_query: false,
            kinds: Vec::new(),
            max_bytes: None,
            queried: QueriedArtifacts::None,
            meta: Stash::new(),
            strictness: Strictness::default(),
            validators: Vec::new(),
            previewer: None,
            approval_filter: None,
            flags: Flags::default(),
            parts: BTreeMap::new(),
            faults: Vec::new(),
        }
    }

    /// Replaces the name, for a tool that comes from elsewhere, such as a function with `#[tool]`.
    ///
    /// ```
    /// use haft_core::Tool;
    ///
    /// let search = Tool::builder("search_all").description("Searches.").handler(|| "found");
    /// assert_eq!(search.name("search").build()?.name().as_str(), "search");
    /// # Ok::<(), haft_core::tool::InvalidTool>(())
    /// ```
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = name.into();
        self
    }

    /// Sets the text by which the model chooses a tool: what the tool does, what it returns, when to use it.
    pub fn description(mut self, text: impl Into<String>) -> Self {
        self.description = text.into();
        self
    }

    /// A description from another source: the model is told that a third party wrote it, unless its tier is
    /// first-party. The schema of the tool then counts as foreign as well.
    ///
    /// ```
    /// use haft_core::Tool;
    /// use haft_core::trust::{ForeignText, TrustTier};
    ///
    /// let text = ForeignText::new("Searches the web.", TrustTier::ThirdPartyPublic);
    /// let search = Tool::builder("search").foreign_description(text).handler(|| "found").build()?;
    /// assert_eq!(search.definition_tier(), TrustTier::ThirdPartyPublic);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn foreign_description(mut self, text: ForeignText) -> Self {
        self.flags.definition_tier = Some(text.tier());
        self.description = text.into_string();
        self
    }

    /// The input schema. Not needed when the handler takes a type that derives `ToolArgs`, which brings
    /// its own.
    pub fn input(mut self, schema: impl Into<Schema>) -> Self {
        self.input.push(InputSchema::new(schema));
        self
    }

    /// A JSON Schema from another source, which is not changed and is enforced by the `jsonschema` crate.
    ///
    /// ```
    /// use haft_core::{Args, Tool};
    ///
    /// let schema = serde_json::json!({"type": "object", "properties": {"q": {"type": "string"}}});
    /// let search = Tool::builder("search")
    ///     .description("Searches.")
    ///     .json_schema(schema.clone())
    ///     .handler(|args: Args| args.root().to_string())
    ///     .build()?;
    /// assert_eq!(search.input_schema().json_schema(), schema);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn json_schema(mut self, schema: Value) -> Self {
        let input = InputSchema::from_json_schema(schema);
        self.input
            .push(input.map_err(|error| {
                vec![SchemaFault::new(FaultLocation::input(), error.to_string())]
            }));
        self
    }

    /// An input schema that was made before.
    pub fn input_schema(mut self, input: InputSchema) -> Self {
        self.input.push(Ok(input));
        self
    }

    /// Sets the handler. See [`IntoHandler`] for the possible signatures.
    ///
    /// The captured values of an async closure are cloned for each call, so they must implement `Clone`:
    ///
    /// ```compile_fail,E0277
    /// use haft_core::{Args, Tool};
    ///
    /// /// Cannot be cloned; in an `Arc` it could be captured.
    /// struct Pool;
    ///
    /// let pool = Pool;
    /// let _ = Tool::builder("a").handler(async move |_: Args| {
    ///     let _pool = &pool;
    ///     "x"
    /// });
    /// ```
    pub fn handler<S>(self, handler: impl IntoHandler<S>) -> Self {
        self.erased_handler(handler.into_handler())
    }

    pub(super) fn erased_handler(mut self, handler: Handler) -> Self {
        self.handler = Some(handler);
        self
    }

    /// Sets the kind of artifact into which large text and bytes are wrapped; the default is plain text.
    pub fn artifact(mut self, kind: ArtifactKind) -> Self {
        self.artifact = Some(kind);
        self
    }

    /// Declares the kinds of the artifacts that the handler chooses itself, so that the own tools of their formats are
    /// offered from the first request on. The tools that every artifact has are offered in any case, unless
    /// [`max_bytes`](Self::max_bytes) says that no result is large.
    ///
    /// ```
    /// use haft_core::Tool;
    /// use haft_core::artifact::ArtifactKind;
    ///
    /// let read = Tool::builder("read").description("Reads a file.").handler(|| "…");
    /// let read = read.artifact_kinds([ArtifactKind::TEXT, ArtifactKind::CSV]).build()?;
    /// assert_eq!(read.declared_kinds().len(), 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn artifact_kinds(mut self, kinds: impl IntoIterator<Item = ArtifactKind>) -> Self {
        self.kinds.extend(kinds);
        self
    }

    /// Declares that no result has more bytes. A program whose tools all declare less than 4096 offers no tools that query
    /// large results until there is one. A larger result is stored as any other.
    ///
    /// ```
    /// use haft_core::Tool;
    ///
    /// let roll = Tool::builder("roll").description("Rolls a die.").handler(|| "4").max_bytes(16);
    /// assert!(roll.build()?.declared_kinds().is_empty());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn max_bytes(mut self, bytes: usize) -> Self {
        self.max_bytes = Some(bytes);
        self
    }

    /// Makes it a query on artifacts: its text is the final result and is never wrapped.
    pub fn artifact_query(mut self) -> Self {
        self.artifact_query = true;
        self
    }

    /// Declares the handles of the artifacts that a query tool can be asked about, so that a prompt names the tool where
    /// it shows such a handle. The forge declares them for the tools that it makes.
    pub fn queried_handles(mut self, handles: Arc<HashSet<String>>) -> Self {
        self.queried = QueriedArtifacts::Handles(handles);
        self
    }

    /// Declares the kinds of artifacts that a query tool can be asked about, as
    /// [`queried_handles`](Self::queried_handles) declares single ones.
    pub fn queried_kinds(
        mut self,
        reads: impl Fn(&ArtifactKind) -> bool + Send + Sync + 'static,
    ) -> Self {
        self.queried = QueriedArtifacts::Kinds(Arc::new(reads));
        self
    }

    /// Adds metadata under a dot path. Haft does not read it; middleware does.
    ///
    /// ```
    /// use haft_core::Tool;
    ///
    /// let tool = Tool::builder("now").description("Tells the time.").handler(|| "noon");
    /// let tool = tool.meta("owner.team", "core").build()?;
    /// assert_eq!(tool.meta().get("owner.team"), Some("core".into()));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn meta(mut self, path: &str, value: impl Serialize) -> Self {
        if let Err(error) = self.meta.set(path, value) {
            self.faults
                .push(SchemaFault::new(FaultLocation::Meta(path.to_owned()), error.to_string()));
        }
        self
    }

    /// Adds a part to the definition that the model does not see, such as the command line or the address behind the
    /// tool. It counts in [`Tool::definition_digest`], so that an approval of the tool does not hold for another command
    /// under the same name.
    pub fn definition_part(mut self, name: &str, value: impl Serialize) -> Self {
        match serde_json::to_value(value) {
            Ok(value) => {
                self.parts.insert(name.to_owned(), value);
            }
            Err(error) => {
                self.faults.push(SchemaFault::new(
                    FaultLocation::DefinitionPart(name.to_owned()),
                    error.to_string(),
                ));
            }
        }
        self
    }

    /// Makes it exist for one dispatch only: registries drop it on ack.
    pub fn ephemeral(mut self) -> Self {
        self.flags.ephemeral = true;
        self
    }

    /// Vouches for the tool's own text: the developer wrote it, or the user asked for exactly this text. Do not use it
    /// for text that a third party could have written. It is a ceiling, not a floor: parts that come from other sources
    /// keep their own tier.
    pub fn trusted(mut self) -> Self {
        self.flags.trusted = true;
        self
    }

    /// What a merge does when the name is taken.
    pub fn on_collision(mut self, policy: OnCollision) -> Self {
        self.flags.on_collision = policy;
        self
    }

    /// Sets the effect of a call on the outside world; the default is [`ToolEffect::Once`].
    ///
    /// ```
    /// use haft_core::Tool;
    /// use haft_core::tool::ToolEffect;
    ///
    /// let clock = Tool::builder("clock").description("Tells the time.").handler(|| "noon");
    /// assert_eq!(clock.effect(ToolEffect::ReadOnly).build()?.effect(), ToolEffect::ReadOnly);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn effect(mut self, effect: ToolEffect) -> Self {
        self.flags.effect = effect;
        self
    }

    /// Which calls may run at the same time; the default is all.
    pub fn concurrency(mut self, concurrency: Concurrency) -> Self {
        self.flags.concurrency = concurrency;
        self
    }

    /// Makes every call wait for approval from outside the turn. The approver is shown the question, the
    /// tool and the arguments that the handler will get.
    ///
    /// ```
    /// use haft_core::Tool;
    ///
    /// let deploy = Tool::builder("deploy")
    ///     .description("Deploys.")
    ///     .requires_approval("May I deploy?")
    ///     .handler(|| "done")
    ///     .build()?;
    /// assert_eq!(deploy.requires_approval(), Some("May I deploy?"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn requires_approval(mut self, question: impl Into<String>) -> Self {
        let question = question.into();
        self.faults.extend(question_fault(&question));
        self.flags.approval = Some(question);
        self
    }

    /// How long a call may take before it ends as failed.
    ///
    /// ```
    /// use std::time::Duration;
    /// use haft_core::Tool;
    ///
    /// let slow = Tool::builder("slow").description("Takes its time.").handler(|| "done");
    /// let slow = slow.timeout(Duration::from_secs(5)).build()?;
    /// assert_eq!(slow.timeout(), Some(Duration::from_secs(5)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.flags.timeout = Some(timeout);
        self
    }

    /// Switches coercion off.
    pub fn strict(mut self) -> Self {
        self.strictness = Strictness::Strict;
        self
    }

    /// Adds a check beyond the schema, such as a look-up in a database. It runs after the schema has accepted the
    /// arguments, and before the handler. Like a handler, an async closure is cloned for each call.
    ///
    /// ```
    /// use haft_core::schema::{Problem, integer, object};
    /// use haft_core::{Args, Tool};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), haft_core::tool::InvalidTool> {
    /// let tool = Tool::builder("order")
    ///     .description("Orders pieces.")
    ///     .input(object().field("pieces", integer().required()))
    ///     .validator(async |args: Args| match args.root().get("pieces").and_then(|it| it.as_i64()) {
    ///         Some(pieces) if pieces <= 5 => Ok(()),
    ///         _ => Err(Problem::new("/pieces", "at most 5, which are left").into()),
    ///     })
    ///     .handler(|_: Args| "ordered")
    ///     .build()?;
    /// assert!(tool.call(r#"{"pieces": 9}"#).await.outcome.is_err());
    /// # Ok(())
    /// # }
    /// ```
    pub fn validator<A, F, Fut>(mut self, validator: F) -> Self
    where
        A: FromArgs,
        F: FnOnce(A) -> Fut + Clone + Send + Sync + 'static,
        Fut: Future<Output = Result<(), Problems>> + Send + 'static,
    {
        self.validators.push(Arc::new(move |args| match A::from_args(&args) {
            Ok(args) => Box::pin(validator.clone()(args)),
            Err(error) => Box::pin(ready(Err(Problem::new("", error.to_string()).into()))),
        }));
        self
    }

    /// Finishes the definition.
    ///
    /// # Errors
    ///
    /// Every fault of the definition at once: name, description, schema, handler, contradictions.
    pub fn build(mut self) -> Result<Tool, InvalidTool> {
        let name = self.take_name();
        if self.description.trim().is_empty() {
            self.add_fault(
                FaultLocation::Description,
                "a tool needs a description: the model chooses by it",
            );
        }
        let mut kinds = std::mem::take(&mut self.kinds);
        let is_small = self.handler.as_ref().is_some_and(Handler::is_small);
        let own = self.artifact.clone();
        let own = own.or_else(|| (kinds.is_empty() && !is_small).then(ArtifactKind::default));
        kinds.extend(own.filter(|kind| !kinds.contains(kind)));
        let is_bounded = self.max_bytes.is_some_and(|bytes| bytes < DEFAULT_INLINE_BELOW);
        if self.artifact_query || is_bounded {
            kinds.clear();
        }
        let role = match (self.artifact_query, self.artifact.take()) {
            (true, Some(_)) => {
                self.add_fault(
                    FaultLocation::Artifact,
                    "a query on artifacts is never wrapped as an artifact",
                );
                ToolRole::ArtifactQuery
            }
            (true, None) => ToolRole::ArtifactQuery,
            (false, kind) => ToolRole::Standard(kind.unwrap_or_default()),
        };
        if let Concurrency::Keyed(pointer) = &self.flags.concurrency
            && !pointer.starts_with('/')
        {
            let text = format!("`{pointer}` is not a JSON pointer: it starts with `/`");
            self.add_fault(FaultLocation::Concurrency, text);
        }
        let input = self.take_input();
        if self.handler.is_none() {
            self.add_fault(FaultLocation::Handler, "a tool needs a handler");
        }
        match (name, input, self.handler, self.faults.is_empty()) {
            (Some(name), Some(input), Some(handler), true) => Ok(Tool(Arc::new(Definition {
                name,
                description: self.description,
                input,
                handler,
                role,
                kinds,
                queried: self.queried,
                meta: self.meta,
                strictness: self.strictness,
                validators: self.validators,
                previewer: self.previewer,
                approval_filter: self.approval_filter,
                flags: self.flags,
                parts: self.parts,
                digest: OnceLock::new(),
            }))),
            _ => Err(InvalidTool { tool: self.name, faults: self.faults }),
        }
    }

    fn add_fault(&mut self, at: FaultLocation, what: impl Into<String>) {
        self.faults.push(SchemaFault::new(at, what));
    }

    fn take_name(&mut self) -> Option<ToolName> {
        match self.name.parse() {
            Ok(name) => Some(name),
            Err(error) => {
                self.add_fault(FaultLocation::Name, error.to_string());
                None
            }
        }
    }

    /// The one schema: from the builder or from the handler's own type, never from both.
    fn take_input(&mut self) -> Option<InputSchema> {
        let mut all = std::mem::take(&mut self.input);
        match self.handler.as_mut().and_then(Handler::take_input) {
            // A schema without fields says what a handler without arguments says.
            Some(_)
                if self.handler.as_ref().is_some_and(Handler::takes_nothing) && !all.is_empty() =>
            {
                if all.iter().flatten().any(has_fields) {
                    self.add_fault(
                        FaultLocation::input(),
                        "the schema has fields, but the handler takes no arguments",
                    );
                }
            }
            own => all.extend(own),
        }
        if all.len() > 1 {
            self.add_fault(
                FaultLocation::input(),
                "the schema is given more than once; a handler whose argument type derives \
                 `ToolArgs` brings its own",
            );
        }
        match all.pop() {
            Some(Ok(input)) => Some(input),
            Some(Err(mut faults)) => {
                self.faults.append(&mut faults);
                None
            }
            None => {
                self.add_fault(
                    FaultLocation::input(),
                    "a tool needs an input schema; `object()` takes no arguments",
                );
                None
            }
        }
    }
}

/// Whether a schema declares fields.
fn has_fields(input: &InputSchema) -> bool {
    let schema = input.json_schema();
    schema.get("properties").and_then(Value::as_object).is_some_and(|fields| !fields.is_empty())
}

/// What is wrong with a question, if anything is.
pub(super) fn question_fault(question: &str) -> Option<SchemaFault> {
    let fault = || {
        SchemaFault::new(
            FaultLocation::Approval,
            "the person who approves a call needs a question to decide on",
        )
    };
    question.trim().is_empty().then(fault)
}

impl fmt::Debug for ToolBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ToolBuilder").field("name", &self.name).finish_non_exhaustive()
    }
}
