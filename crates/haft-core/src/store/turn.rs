//! Turns in a store: new ones, their status, and lists of them.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{
    CancelRequest, GateRow, LeaseRequest, Row, StoreError, StoreWrite, TurnId, TurnSchedule,
    check_text,
};
use crate::clock::Timestamp;

/// A turn that is about to be stored.
///
/// ```
/// use haft_core::store::NewTurn;
///
/// let turn = NewTurn::new("turn-1".parse()?).conversation("support-7").agent("support").priority(5);
/// assert_eq!((turn.agent.as_deref(), turn.priority), (Some("support"), 5));
/// # Ok::<(), haft_core::error::InvalidName>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct NewTurn {
    /// Its name.
    pub id: TurnId,
    /// The conversation it belongs to, if it belongs to one.
    pub conversation: Option<String>,
    /// The namespace it belongs to; empty if there is only one.
    pub tenant: String,
    /// The agent that it is a turn of.
    pub agent: Option<String>,
    /// The model that takes its steps.
    pub model: Option<String>,
    /// The beginning of the user's message, as [`first_words`] truncates it.
    pub first_words: Option<String>,
    /// Turns of a higher priority are claimed first.
    pub priority: i32,
    /// How long a queued turn is not claimed.
    pub start_after: Duration,
    /// What is stored of it from the first moment on.
    pub writes: Vec<StoreWrite>,
    /// The process that runs it from the first moment on; `None` if any process can claim it.
    pub holder: Option<LeaseRequest>,
}

impl NewTurn {
    /// A turn that belongs to no conversation and has nothing yet.
    #[must_use]
    pub fn new(id: TurnId) -> Self {
        Self {
            id,
            conversation: None,
            tenant: String::new(),
            agent: None,
            model: None,
            first_words: None,
            priority: 0,
            start_after: Duration::ZERO,
            writes: Vec::new(),
            holder: None,
        }
    }

    /// The process that runs it from the first moment on.
    #[must_use]
    pub fn held_by(mut self, holder: LeaseRequest) -> Self {
        self.holder = Some(holder);
        self
    }

    /// The conversation it belongs to.
    #[must_use]
    pub fn conversation(mut self, conversation: impl Into<String>) -> Self {
        self.conversation = Some(conversation.into());
        self
    }

    /// The namespace it belongs to.
    #[must_use]
    pub fn tenant(mut self, tenant: impl Into<String>) -> Self {
        self.tenant = tenant.into();
        self
    }

    /// The agent that it is a turn of.
    #[must_use]
    pub fn agent(mut self, agent: impl Into<String>) -> Self {
        self.agent = Some(agent.into());
        self
    }

    /// The model that takes its steps.
    #[must_use]
    pub fn model(mut self, model: impl Into<String>) -> Self {
        self.model = Some(model.into());
        self
    }

    /// Sets the user's message, of which the [`first_words`] are stored.
    #[must_use]
    pub fn said(mut self, text: &str) -> Self {
        self.first_words = Some(first_words(text));
        self
    }

    /// Turns of a higher priority are claimed first (default: 0).
    #[must_use]
    pub fn priority(mut self, priority: i32) -> Self {
        self.priority = priority;
        self
    }

    /// How long a queued turn is not claimed (default: not at all).
    #[must_use]
    pub fn start_after(mut self, delay: Duration) -> Self {
        self.start_after = delay;
        self
    }

    /// What is stored of it from the first moment on.
    #[must_use]
    pub fn writes(mut self, writes: Vec<StoreWrite>) -> Self {
        self.writes = writes;
        self
    }

    /// Checks the texts, as every store does first.
    ///
    /// # Errors
    ///
    /// [`StoreError::Invalid`] if one of them cannot be stored.
    pub fn check(&self) -> Result<(), StoreError> {
        check_text("a conversation", self.conversation.as_deref().unwrap_or_default())?;
        check_text("a tenant", &self.tenant)?;
        check_text("the name of an agent", self.agent.as_deref().unwrap_or_default())?;
        check_text("the name of a model", self.model.as_deref().unwrap_or_default())?;
        let first_words = self.first_words.as_deref().unwrap_or_default();
        check_text("the first words of a turn", first_words)?;
        self.holder.as_ref().map_or(Ok(()), LeaseRequest::check)?;
        self.writes.iter().try_for_each(StoreWrite::check)
    }

    /// The words by which the turn is found, as [`search_words`] splits them.
    #[must_use]
    pub fn search_words(&self) -> BTreeSet<String> {
        let texts = [&self.first_words, &self.agent, &self.conversation];
        texts.into_iter().flatten().flat_map(|text| search_words(text)).collect()
    }
}

/// The beginning of a text, on one line: at most 200 characters, with single spaces between the words.
///
/// ```
/// use haft_core::store::first_words;
///
/// assert_eq!(first_words("Deploy the shop."), "Deploy the shop.");
/// assert_eq!(first_words("  Deploy\n\tthe shop. "), "Deploy the shop.");
/// assert_eq!(first_words("Deploy  the shop."), "Deploy the shop.");
/// assert_eq!(first_words(&"long ".repeat(100)).chars().count(), 200);
/// ```
#[must_use]
pub fn first_words(text: &str) -> String {
    // Most messages are a short line of plain words, which stays as it is.
    let is_plain = text.len() <= 200 && text.bytes().all(|it| matches!(it, b' '..=b'~'));
    if is_plain && text.trim() == text && !text.contains("  ") {
        return text.to_owned();
    }
    let mut words = String::with_capacity(text.len().min(200));
    let mut left = 200_usize;
    for word in text.split_whitespace() {
        if !words.is_empty() && left > 0 {
            words.push(' ');
            left -= 1;
        }
        words.extend(word.chars().filter(|it| *it != '\0').take(left));
        left = left.saturating_sub(word.chars().count());
        if left == 0 {
            break;
        }
    }
    words
}

/// The words of a text for a search: sequences of letters and digits, in lower case, at most 64 of them.
///
/// ```
/// use haft_core::store::search_words;
///
/// let words: Vec<_> = search_words("Deploy the SHOP, the shop!").into_iter().collect();
/// assert_eq!(words, ["deploy", "shop", "the"]);
/// ```
#[must_use]
pub fn search_words(text: &str) -> BTreeSet<String> {
    let words = text.split(|it: char| !it.is_alphanumeric()).filter(|word| !word.is_empty());
    words.take(64).map(|word| word.chars().take(64).collect::<String>().to_lowercase()).collect()
}

/// The status of a turn.
///
/// ```
/// use haft_core::store::TurnStatus;
///
/// assert_eq!(TurnStatus::from_word("limit-reached"), Some(TurnStatus::LimitReached));
/// assert!(TurnStatus::Failed.is_final() && !TurnStatus::Waiting.is_final());
/// assert_eq!(TurnStatus::CancelRequested.as_str(), "cancel-requested");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum TurnStatus {
    /// It was created without a lease, and no process has run it yet.
    Queued,
    /// A process runs it, or ran it and died.
    Running,
    /// It waits at a gate that is open, or that was settled and not read yet.
    Waiting,
    /// Its last attempt ended before the turn did: [`TurnSummary::stop`] says why. No process claims it before
    /// [`TurnSummary::runnable_at`].
    Interrupted,
    /// It is to be cancelled by the process that runs it, or by the next one.
    CancelRequested,
    /// It was acknowledged.
    Completed,
    /// It failed.
    Failed,
    /// It was cancelled.
    Cancelled,
    /// It reached a limit.
    LimitReached,
    /// What is stored of it is not what was written. No store writes this status: a list shows it for a turn whose
    /// other facts cannot be trusted, and [`load`](super::TurnStore::load) says why. Such a turn can only be removed.
    Damaged,
}

impl TurnStatus {
    /// All that a turn can be stored with.
    pub const ALL: &[Self] = &[
        Self::Queued,
        Self::Running,
        Self::Waiting,
        Self::Interrupted,
        Self::CancelRequested,
        Self::Completed,
        Self::Failed,
        Self::Cancelled,
        Self::LimitReached,
    ];

    /// Whether nothing more will happen.
    #[must_use]
    pub const fn is_final(self) -> bool {
        matches!(self, Self::Completed | Self::Failed | Self::Cancelled | Self::LimitReached)
    }

    /// Its name, under which it is stored.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Running => "running",
            Self::Waiting => "waiting",
            Self::Interrupted => "interrupted",
            Self::CancelRequested => "cancel-requested",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
            Self::LimitReached => "limit-reached",
            Self::Damaged => "damaged",
        }
    }

    /// The status with this name, of those that a turn can be stored with.
    #[must_use]
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|status| status.as_str() == word)
    }
}

/// The stored parts of a turn.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct StoredTurn {
    /// The summary that lists of turns show.
    pub summary: TurnSummary,
    /// The rows, in the order in which they were first put.
    pub rows: Vec<Row>,
    /// The journal, in order.
    pub journal: Vec<String>,
    /// Every gate of the turn, in the order in which they were opened.
    pub gates: Vec<GateRow>,
}

impl StoredTurn {
    /// A turn of which only the summary is stored.
    #[must_use]
    pub fn new(summary: TurnSummary) -> Self {
        Self { summary, rows: Vec::new(), journal: Vec::new(), gates: Vec::new() }
    }
}

/// A turn in a list of turns.
///
/// Times are those of the store's clock.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct TurnSummary {
    /// Its name.
    pub id: TurnId,
    /// The conversation it belongs to.
    pub conversation: Option<String>,
    /// Its status.
    pub status: TurnStatus,
    /// When it began.
    pub created_at: Timestamp,
    /// The holder of the lease, unless the lease was returned. The lease may have expired.
    pub holder: Option<Arc<str>>,
    /// Until when the lease holds or held.
    pub held_until: Option<Timestamp>,
    /// The namespace it belongs to; empty if there is only one.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub tenant: String,
    /// The agent that it is a turn of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// The model that takes its steps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The beginning of the user's message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_words: Option<String>,
    /// How many tokens it has used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
    /// Turns of a higher priority are claimed first.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub priority: i32,
    /// From when on it can be claimed, unless a lease on it is active; `None` if it waits or has ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runnable_at: Option<Timestamp>,
    /// How often it was taken over from a process that died, since it last made progress.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub take_overs: u32,
    /// Who asked for its end, and why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cancel: Option<CancelRequest>,
    /// When something of it was last written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub updated_at: Option<Timestamp>,
    /// When it ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<Timestamp>,
    /// Why it ended without being completed, or why its last attempt did. See [`TurnSummary::stop_at`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop: Option<StopReason>,
    /// The tools that it has called, sorted by name, at most [`TurnSummary::MAX_TOOLS`] of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<String>,
}

impl TurnSummary {
    /// How many tools a summary names. Later ones are not found by their names.
    pub const MAX_TOOLS: usize = 64;

    /// A running turn without a lease.
    #[must_use]
    pub fn new(id: TurnId, created_at: Timestamp) -> Self {
        Self {
            id,
            conversation: None,
            status: TurnStatus::Running,
            created_at,
            holder: None,
            held_until: None,
            tenant: String::new(),
            agent: None,
            model: None,
            first_words: None,
            tokens: None,
            priority: 0,
            runnable_at: None,
            take_overs: 0,
            cancel: None,
            updated_at: None,
            ended_at: None,
            stop: None,
            tools: Vec::new(),
        }
    }

    /// What a list shows of a turn whose facts cannot be trusted.
    #[must_use]
    pub fn damaged(id: TurnId, tenant: String, created_at: Timestamp) -> Self {
        let mut summary = Self::new(id, created_at);
        summary.status = TurnStatus::Damaged;
        summary.tenant = tenant;
        summary
    }

    /// The summary of a turn that is created now.
    #[must_use]
    pub fn of_new(new: &NewTurn, now: Timestamp) -> Self {
        let mut summary = Self::new(new.id.clone(), now);
        summary.conversation.clone_from(&new.conversation);
        summary.tenant.clone_from(&new.tenant);
        summary.agent.clone_from(&new.agent);
        summary.model.clone_from(&new.model);
        summary.first_words.clone_from(&new.first_words);
        summary.priority = new.priority;
        summary.updated_at = Some(now);
        summary
    }

    /// When it can be claimed.
    #[must_use]
    pub fn schedule(&self) -> TurnSchedule {
        TurnSchedule {
            status: self.status,
            runnable_at: self.runnable_at,
            held_until: self.held_until,
            take_overs: self.take_overs,
            cancel: self.cancel.clone(),
        }
    }

    /// Sets when it can be claimed.
    pub fn set_schedule(&mut self, schedule: TurnSchedule) {
        let TurnSchedule { status, runnable_at, held_until, take_overs, cancel } = schedule;
        (self.status, self.runnable_at, self.held_until) = (status, runnable_at, held_until);
        (self.take_overs, self.cancel) = (take_overs, cancel);
    }

    /// Its status at a time. A turn whose process returned its lease, or has not renewed it, was interrupted.
    #[must_use]
    pub fn status_at(&self, now: Timestamp) -> TurnStatus {
        match self.status {
            TurnStatus::Running if !self.schedule().is_held(now) => TurnStatus::Interrupted,
            status => status,
        }
    }

    /// Why it does not run at a time: how it ended if it was not completed, or why its last attempt did. Nothing for a turn
    /// that runs, waits or was completed.
    ///
    /// ```
    /// use haft_core::clock::Timestamp;
    /// use haft_core::store::{StopReason, TurnStatus, TurnSummary};
    ///
    /// let mut turn = TurnSummary::new("turn-1".parse()?, Timestamp::EPOCH);
    /// let gone = turn.stop_at(Timestamp::EPOCH).map(|it| it.message);
    /// assert_eq!(gone.as_deref(), Some("its process left it, or was stopped"));
    /// turn.status = TurnStatus::Failed;
    /// turn.stop = Some(StopReason::new("the model answered with status 500"));
    /// assert_eq!(turn.stop_at(Timestamp::EPOCH), turn.stop);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn stop_at(&self, now: Timestamp) -> Option<StopReason> {
        match self.status {
            TurnStatus::Running if !self.schedule().is_held(now) => {
                Some(StopReason::new(match self.held_until {
                    Some(until) => format!("its process has not been heard of since {until}"),
                    None => "its process left it, or was stopped".to_owned(),
                }))
            }
            TurnStatus::Interrupted
            | TurnStatus::Failed
            | TurnStatus::Cancelled
            | TurnStatus::LimitReached => self.stop.clone(),
            _ => None,
        }
    }

    /// Applies a change.
    pub fn update(&mut self, update: &SummaryUpdate) {
        let SummaryUpdate { model, tokens, stop, tools } = update;
        self.model = model.clone().or_else(|| self.model.take());
        self.tokens = tokens.or(self.tokens);
        self.stop = stop.clone().or_else(|| self.stop.take());
        for tool in tools {
            if self.tools.len() < Self::MAX_TOOLS {
                insert_sorted(&mut self.tools, tool);
            }
        }
    }
}

/// Why a turn, or an attempt to run it, stopped.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct StopReason {
    /// What went wrong, at most 1000 characters.
    pub message: String,
    /// The code of the error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// Where in the turn: `executor` for the model, `store`, or the name of a pipeline.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stage: Option<String>,
}

impl StopReason {
    /// A reason in words.
    #[must_use]
    pub fn new(message: impl AsRef<str>) -> Self {
        let message = message.as_ref().chars().filter(|it| *it != '\0').take(1000).collect();
        Self { message, code: None, stage: None }
    }

    fn check(&self) -> Result<(), StoreError> {
        check_text("the reason of a stop", &self.message)?;
        check_text("the code of an error", self.code.as_deref().unwrap_or_default())?;
        check_text("the place of an error", self.stage.as_deref().unwrap_or_default())
    }
}

fn is_zero<T: Default + PartialEq>(number: &T) -> bool {
    *number == T::default()
}

/// A change to the summary of a turn. Fields that are not set stay unchanged.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct SummaryUpdate {
    /// The model that took the last step.
    pub model: Option<String>,
    /// How many tokens the turn has used.
    pub tokens: Option<u64>,
    /// Why the turn stopped.
    pub stop: Option<StopReason>,
    /// Tools that the turn has called, sorted by name, in addition to those that it called before.
    pub tools: Vec<String>,
}

impl SummaryUpdate {
    /// Changes the model that took the last step.
    #[must_use]
    pub fn model(mut self, model: impl Into<String>) -> Self {
        self.model = Some(model.into());
        self
    }

    /// Changes how many tokens the turn has used.
    #[must_use]
    pub fn tokens(mut self, tokens: u64) -> Self {
        self.tokens = Some(tokens);
        self
    }

    /// Sets why the turn stopped.
    #[must_use]
    pub fn stop(mut self, reason: StopReason) -> Self {
        self.stop = Some(reason);
        self
    }

    /// Adds a tool that the turn has called. A name that a summary cannot have is left out: one of more than 256 bytes, and
    /// one with control characters, which a model can invent and no tool has.
    ///
    /// ```
    /// use haft_core::store::SummaryUpdate;
    ///
    /// let update = SummaryUpdate::default().tool("read_file").tool("no\ntool");
    /// assert_eq!(update.tools.into_iter().collect::<Vec<_>>(), ["read_file"]);
    /// ```
    #[must_use]
    pub fn tool(mut self, name: &str) -> Self {
        if is_tool_name(name) {
            insert_sorted(&mut self.tools, name);
        }
        self
    }

    /// Checks the texts, as every store does first.
    ///
    /// # Errors
    ///
    /// [`StoreError::Invalid`] if one of them cannot be stored.
    pub fn check(&self) -> Result<(), StoreError> {
        check_text("the name of a model", self.model.as_deref().unwrap_or_default())?;
        self.stop.as_ref().map_or(Ok(()), StopReason::check)?;
        if self.tools.iter().all(|name| is_tool_name(name)) {
            return Ok(());
        }
        let reason = "it has more than 256 bytes or control characters";
        Err(StoreError::Invalid { what: "the name of a tool", reason })
    }
}

/// Adds a name to a sorted list, unless it is there. Nearly always it is the only one, and there may be many thousand turns.
fn insert_sorted(names: &mut Vec<String>, name: &str) {
    if let Err(place) = names.binary_search_by(|it| it.as_str().cmp(name)) {
        names.reserve_exact(usize::from(names.is_empty()));
        names.insert(place, name.to_owned());
    }
}

/// Whether a summary can have the name of a tool.
fn is_tool_name(name: &str) -> bool {
    name.len() <= 256 && !name.contains(char::is_control)
}
