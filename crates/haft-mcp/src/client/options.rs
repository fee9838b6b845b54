//! How a server is used.

use std::collections::BTreeMap;
use std::time::Duration;

use haft_core::tool::{Digest, ToolEffect};
use haft_core::trust::TrustTier;

use crate::transport::ReadLimits;

/// How a server is used.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct McpOptions {
    /// Which revision of the protocol is spoken; the default is [`ProtocolChoice::Auto`].
    pub protocol: ProtocolChoice,
    /// How long the server may take to start and to list its tools; 30 s.
    pub connect_timeout: Duration,
    /// How long a call may take without progress; 60 s. Time at a gate does not count.
    pub call_timeout: Duration,
    /// How long a call may take with progress; 15 minutes. Time at a gate does not count.
    pub max_call_time: Duration,
    /// Limits of what is read.
    pub limits: ReadLimits,
    /// The maximum number of tools that a server may offer; 512.
    pub max_tools: usize,
    /// The tier of its descriptions and results; the default is third-party, public.
    pub tier: TrustTier,
    /// When the names of tools get the name of the server in front.
    pub prefix: PrefixPolicy,
    /// Only these tools are offered, by the names that the server gives them; the default is all.
    pub only: Option<Vec<String>>,
    /// These tools are not offered.
    pub except: Vec<String>,
    /// What holds for all tools of the server.
    pub rules: ToolRules,
    /// What holds for single tools, by the names that the server gives them.
    pub tool_rules: BTreeMap<String, ToolRules>,
    /// The definitions that were accepted, by the names that the server gives them. A tool with another definition is left
    /// out, and so is a tool without an entry, unless there is no entry at all.
    pub pins: BTreeMap<String, Digest>,
}

impl Default for McpOptions {
    fn default() -> Self {
        Self {
            protocol: ProtocolChoice::Auto,
            connect_timeout: Duration::from_secs(30),
            call_timeout: Duration::from_secs(60),
            max_call_time: Duration::from_secs(15 * 60),
            limits: ReadLimits::default(),
            max_tools: 512,
            tier: TrustTier::ThirdPartyPublic,
            prefix: PrefixPolicy::OnCollision,
            only: None,
            except: Vec::new(),
            rules: ToolRules::default(),
            tool_rules: BTreeMap::new(),
            pins: BTreeMap::new(),
        }
    }
}

impl McpOptions {
    /// What holds for a tool: its own rules, and where they say nothing those of the server.
    pub(super) fn rules_of(&self, tool: &str) -> ToolRules {
        let own = self.tool_rules.get(tool).cloned().unwrap_or_default();
        ToolRules {
            effect: own.effect.or(self.rules.effect),
            approval: own.approval.or_else(|| self.rules.approval.clone()),
        }
    }

    /// Whether a tool is offered, by the name that the server gives it.
    pub(super) fn selects(&self, tool: &str) -> bool {
        self.only.as_ref().is_none_or(|only| only.iter().any(|it| it == tool))
            && !self.except.iter().any(|it| it == tool)
    }
}

/// What the program says about a tool of a server. The server cannot say it.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct ToolRules {
    /// What a call does; the default is [`ToolEffect::Once`], whatever the server says.
    pub effect: Option<ToolEffect>,
    /// Whether a call requires approval. By default it does not, unless the server calls the tool destructive.
    pub approval: Option<ApprovalRule>,
}

/// Whether calls of a tool require approval.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ApprovalRule {
    /// They do, and this is the question.
    Required(String),
    /// They do not.
    NotRequired,
}

/// Which revision of the protocol is spoken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum ProtocolChoice {
    /// Revision 2026-07-28 if the server knows it, and the handshake of earlier revisions otherwise.
    #[default]
    Auto,
    /// The handshake of 2025-11-25 and earlier. A server that leaves requests of newer revisions unanswered then starts
    /// without a pause.
    Initialize,
    /// Revision 2026-07-28 only.
    Discover,
}

/// When the names of tools get the name of the server in front, as in `files_read`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum PrefixPolicy {
    /// If the name is taken.
    #[default]
    OnCollision,
    /// Always.
    Always,
    /// Never. A tool whose name is taken is left out.
    Never,
}
