//! Standing approvals: a person approves calls in advance, so that they need no question.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::{BoundCall, GateSignature};
use crate::clock::Timestamp;
use crate::id::{Digest, InvalidName};
use crate::store::{GateId, TurnId};

/// The part of a decision that also approves later calls of the tool.
///
/// By default it covers calls with exactly the arguments of the approved one. The runner that asked makes a [`Grant`]
/// of it: the tool, its definition, the arguments, the turn and the agent are those that the runner knows, and not what
/// the store says about the gate.
///
/// ```
/// use haft_core::clock::Timestamp;
/// use haft_core::gate::StandingApproval;
///
/// let always = StandingApproval::for_agent().any_arguments().until(Timestamp::EPOCH);
/// assert_eq!(always.expires_at, Some(Timestamp::EPOCH));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[must_use = "a standing approval counts when a gate is settled with it"]
#[non_exhaustive]
pub struct StandingApproval {
    /// Where it holds.
    pub scope: GrantScope,
    /// Whether it covers calls with any arguments.
    pub any_arguments: bool,
    /// When it ends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
}

/// Where a standing approval and the grant that it becomes hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum GrantScope {
    /// In the turn that asked.
    Turn,
    /// In every turn of the agent that asked.
    Agent,
}

impl StandingApproval {
    /// Approves calls of the turn that asked.
    pub const fn in_turn() -> Self {
        Self { scope: GrantScope::Turn, any_arguments: false, expires_at: None }
    }

    /// Approves calls in every turn of the agent that asked.
    pub const fn for_agent() -> Self {
        Self { scope: GrantScope::Agent, any_arguments: false, expires_at: None }
    }

    /// Approves calls of the tool with any arguments.
    pub const fn any_arguments(mut self) -> Self {
        self.any_arguments = true;
        self
    }

    /// Approves calls until this time.
    pub const fn until(mut self, at: Timestamp) -> Self {
        self.expires_at = Some(at);
        self
    }
}

/// Names a grant: 16 hexadecimal digits that are derived from the gate at which it was given.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct GrantId([u8; 8]);

impl GrantId {
    /// The name of the grant that is given at a gate. A gate gives one grant at most, so that a turn that is resumed
    /// cannot give a revoked one again.
    #[must_use]
    pub fn of(gate: &GateId) -> Self {
        let digest = Sha256::new().chain_update("haft grant\0").chain_update(gate.as_str());
        let mut id = [0; 8];
        for (slot, byte) in id.iter_mut().zip(digest.finalize()) {
            *slot = byte;
        }
        Self(id)
    }
}

impl FromStr for GrantId {
    type Err = InvalidName;

    fn from_str(text: &str) -> Result<Self, InvalidName> {
        let invalid = || InvalidName {
            what: "the id of a grant",
            why: "has to be 16 lower-case hexadecimal digits",
        };
        let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
        if text.len() != 16 || !text.bytes().all(is_digit) {
            return Err(invalid());
        }
        u64::from_str_radix(text, 16).map(|id| Self(id.to_be_bytes())).map_err(|_| invalid())
    }
}

impl TryFrom<String> for GrantId {
    type Error = InvalidName;

    fn try_from(text: String) -> Result<Self, InvalidName> {
        text.parse()
    }
}

impl From<GrantId> for String {
    fn from(id: GrantId) -> Self {
        id.to_string()
    }
}

impl fmt::Display for GrantId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("{:016x}", u64::from_be_bytes(self.0)))
    }
}

impl fmt::Debug for GrantId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "GrantId({self})")
    }
}

/// A signed standing approval, as it is stored.
///
/// A grant approves calls of one tool with one definition, in one turn or for one agent, with any or with exactly these
/// arguments, until it expires or is revoked. Its signature covers all of that, and is made with the key of the gates.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[non_exhaustive]
pub struct Grant {
    /// Its name.
    pub id: GrantId,
    /// Where it holds.
    pub scope: GrantScope,
    /// The turn or the agent that it holds for. Agents have the names that the application gives them.
    pub holder: String,
    /// The tool.
    pub tool: String,
    /// The definition of the tool when the grant was given.
    pub definition: Digest,
    /// The arguments that it covers, as canonical JSON text, or `None` if it covers any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arguments: Option<String>,
    /// Who gave it.
    pub by: String,
    /// When it was given.
    pub at: Timestamp,
    /// When it ends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
    /// The proof that a holder of the key gave it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signature: Option<GateSignature>,
}

/// The call that a grant is checked against, with the turn, the agent and the time.
#[derive(Clone, Copy, Debug)]
#[expect(clippy::exhaustive_structs, reason = "it is all that a grant can depend on")]
pub struct GrantSubject<'c> {
    /// The turn.
    pub turn: &'c TurnId,
    /// The agent, if the runner knows it.
    pub agent: Option<&'c str>,
    /// The call, with the definition that its tool has now.
    pub call: &'c BoundCall,
    /// The time.
    pub at: Timestamp,
}

impl<'c> GrantSubject<'c> {
    /// The turn or the agent, if the runner knows it.
    fn holder(&self, scope: GrantScope) -> Option<&'c str> {
        match scope {
            GrantScope::Turn => Some(self.turn.as_str()),
            GrantScope::Agent => self.agent,
        }
    }
}

impl Grant {
    /// Makes the grant that a decision at a gate gives, without its signature. `None` if it needs an agent and there is
    /// none.
    #[must_use]
    pub fn new(
        gate: &GateId,
        approval: &StandingApproval,
        subject: &GrantSubject<'_>,
        by: impl Into<String>,
    ) -> Option<Self> {
        Some(Self {
            id: GrantId::of(gate),
            scope: approval.scope,
            holder: subject.holder(approval.scope)?.to_owned(),
            tool: subject.call.tool.clone(),
            definition: subject.call.definition,
            arguments: (!approval.any_arguments).then(|| subject.call.accepted.clone()),
            by: by.into(),
            at: subject.at,
            expires_at: approval.expires_at,
            signature: None,
        })
    }

    /// Whether it covers a call. Its signature and whether it was revoked are checked elsewhere.
    ///
    /// # Errors
    ///
    /// The first reason why it does not cover the call.
    pub fn check(&self, subject: &GrantSubject<'_>) -> Result<(), GrantRefusal> {
        let call = subject.call;
        let in_scope = subject.holder(self.scope) == Some(self.holder.as_str());
        if self.tool != call.tool {
            Err(GrantRefusal::OtherTool)
        } else if !in_scope {
            Err(GrantRefusal::OtherScope)
        } else if self.arguments.as_ref().is_some_and(|it| *it != call.accepted) {
            Err(GrantRefusal::OtherArguments)
        } else if self.definition != call.definition {
            Err(GrantRefusal::OtherDefinition)
        } else if self.is_expired(subject.at) {
            Err(GrantRefusal::Expired)
        } else {
            Ok(())
        }
    }

    /// Whether its time is over.
    #[must_use]
    pub fn is_expired(&self, at: Timestamp) -> bool {
        self.expires_at.is_some_and(|end| end <= at)
    }
}

/// Why a grant does not approve a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum GrantRefusal {
    /// It is about another tool.
    #[error("it is about another tool")]
    OtherTool,
    /// It holds for another turn or another agent.
    #[error("it holds for another turn or another agent")]
    OtherScope,
    /// It is about other arguments.
    #[error("it is about other arguments")]
    OtherArguments,
    /// The tool has another definition now.
    #[error("the definition of the tool has changed")]
    OtherDefinition,
    /// Its time is over.
    #[error("it has expired")]
    Expired,
    /// It was revoked.
    #[error("it was revoked")]
    Revoked,
    /// It cannot be read, or it was not signed with the key of the runner.
    #[error("its signature is not valid")]
    Forged,
}
