//! Lists of turns.

use std::collections::BTreeSet;

use super::{TurnId, TurnStatus, TurnSummary, search_words};
use crate::clock::Timestamp;

/// Which turns to list.
///
/// ```
/// use haft_core::store::TurnQuery;
///
/// let query = TurnQuery::default().conversation("support-7").unfinished().limit(10);
/// assert_eq!(query.conversation.as_deref(), Some("support-7"));
/// assert_eq!((query.unfinished, query.limit), (true, Some(10)));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct TurnQuery {
    /// Only the turn of this name.
    pub id: Option<TurnId>,
    /// Only those of a conversation.
    pub conversation: Option<String>,
    /// Only those that are not over.
    pub unfinished: bool,
    /// Only those that a process could claim now ([`TurnSchedule::is_claimable`](super::TurnSchedule::is_claimable)), also
    /// if they come after another one of their conversation.
    pub claimable: bool,
    /// Only turns that began before this one, to continue where a list stopped.
    pub before: Option<TurnId>,
    /// At most this many; the default is 100.
    pub limit: Option<usize>,
    /// Only those of a namespace.
    pub tenant: Option<String>,
    /// Only those with one of these statuses; all if there is none.
    pub statuses: Vec<TurnStatus>,
    /// Only those of an agent.
    pub agent: Option<String>,
    /// Only those of a model.
    pub model: Option<String>,
    /// Only those that have all of these words, or words that begin with them, in their first words, their agent or their
    /// conversation.
    pub words: BTreeSet<String>,
    /// Only those that have called a tool.
    pub tool: Option<String>,
    /// Only turns that have used at least this number of tokens.
    pub min_tokens: Option<u64>,
    /// Only turns that have used at most this number of tokens.
    pub max_tokens: Option<u64>,
    /// Only those that were created at this time or later.
    pub created_from: Option<Timestamp>,
    /// Only those that were created before this time.
    pub created_before: Option<Timestamp>,
}

impl TurnQuery {
    /// The default number of turns in a list.
    pub const DEFAULT_LIMIT: usize = 100;

    /// Only those of a conversation.
    #[must_use]
    pub fn conversation(mut self, conversation: impl Into<String>) -> Self {
        self.conversation = Some(conversation.into());
        self
    }

    /// Only those that are not over.
    #[must_use]
    pub fn unfinished(mut self) -> Self {
        self.unfinished = true;
        self
    }

    /// Only the turn of this name.
    #[must_use]
    pub fn id(mut self, turn: TurnId) -> Self {
        self.id = Some(turn);
        self
    }

    /// Only those that a process could claim now.
    #[must_use]
    pub fn claimable(mut self) -> Self {
        self.claimable = true;
        self
    }

    /// Only those that began before this one.
    #[must_use]
    pub fn before(mut self, turn: TurnId) -> Self {
        self.before = Some(turn);
        self
    }

    /// Sets the maximum number of turns.
    #[must_use]
    pub fn limit(mut self, limit: usize) -> Self {
        self.limit = Some(limit);
        self
    }

    /// Only those of a namespace.
    #[must_use]
    pub fn tenant(mut self, tenant: impl Into<String>) -> Self {
        self.tenant = Some(tenant.into());
        self
    }

    /// Only those with this status, or another one that was given.
    #[must_use]
    pub fn status(mut self, status: TurnStatus) -> Self {
        self.statuses.push(status);
        self
    }

    /// Only those that have ended.
    #[must_use]
    pub fn ended(mut self) -> Self {
        self.statuses.extend(TurnStatus::ALL.iter().copied().filter(|it| it.is_final()));
        self
    }

    /// Only those of an agent.
    #[must_use]
    pub fn agent(mut self, agent: impl Into<String>) -> Self {
        self.agent = Some(agent.into());
        self
    }

    /// Only those of a model.
    #[must_use]
    pub fn model(mut self, model: impl Into<String>) -> Self {
        self.model = Some(model.into());
        self
    }

    /// Only those that have all words of this text, or words that begin with them.
    ///
    /// ```
    /// use haft_core::store::TurnQuery;
    ///
    /// let query = TurnQuery::default().matching("Deploy SHOP");
    /// assert!(query.words.contains("shop"));
    /// ```
    #[must_use]
    pub fn matching(mut self, text: &str) -> Self {
        self.words.extend(search_words(text));
        self
    }

    /// Only those that have called a tool.
    #[must_use]
    pub fn tool(mut self, tool: impl Into<String>) -> Self {
        self.tool = Some(tool.into());
        self
    }

    /// Only turns that have used at least this number of tokens.
    #[must_use]
    pub fn min_tokens(mut self, tokens: u64) -> Self {
        self.min_tokens = Some(tokens);
        self
    }

    /// Only turns that have used at most this number of tokens.
    #[must_use]
    pub fn max_tokens(mut self, tokens: u64) -> Self {
        self.max_tokens = Some(tokens);
        self
    }

    /// Only those that were created at this time or later.
    #[must_use]
    pub fn created_from(mut self, time: Timestamp) -> Self {
        self.created_from = Some(time);
        self
    }

    /// Only those that were created before this time.
    #[must_use]
    pub fn created_before(mut self, time: Timestamp) -> Self {
        self.created_before = Some(time);
        self
    }

    /// Whether a turn is one of those that are asked for, apart from [`before`](Self::before), [`limit`](Self::limit) and
    /// [`claimable`](Self::claimable), which depends on the time.
    /// Stores that have no index use it, and tests.
    #[must_use]
    pub fn selects(&self, turn: &TurnSummary) -> bool {
        let is_same =
            |wanted: &Option<String>, found: &Option<String>| wanted.is_none() || wanted == found;
        let has_words = || {
            let texts = [&turn.first_words, &turn.agent, &turn.conversation];
            let words: BTreeSet<String> =
                texts.into_iter().flatten().flat_map(|text| search_words(text)).collect();
            self.words.iter().all(|prefix| words.iter().any(|word| word.starts_with(prefix)))
        };
        self.id.as_ref().is_none_or(|it| *it == turn.id)
            && is_same(&self.conversation, &turn.conversation)
            && is_same(&self.agent, &turn.agent)
            && is_same(&self.model, &turn.model)
            && self.tenant.as_ref().is_none_or(|it| *it == turn.tenant)
            && !(self.unfinished && turn.status.is_final())
            && (self.statuses.is_empty() || self.statuses.contains(&turn.status))
            && self.tool.as_ref().is_none_or(|it| turn.tools.contains(it))
            && self.min_tokens.is_none_or(|it| it <= turn.tokens.unwrap_or(0))
            && self.max_tokens.is_none_or(|it| turn.tokens.unwrap_or(0) <= it)
            && self.created_from.is_none_or(|it| it <= turn.created_at)
            && self.created_before.is_none_or(|it| turn.created_at < it)
            && (self.words.is_empty() || has_words())
    }
}
