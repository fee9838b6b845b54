//! The key that signs decisions.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Gate, GateDecision, GateSettlement, Grant, StandingApproval};
use crate::clock::Timestamp;
use crate::id::Digest;
use crate::json::{Document, canonical_text};
use crate::mac::{MacKey, MacMessage};

/// The secret with which decisions are signed.
///
/// The application keeps 32 random bytes where neither a tool nor a model can read them, and gives them to the runner
/// and to the programs in which people decide. Code that runs inside a turn has no access to them.
///
/// ```
/// use haft_core::clock::Timestamp;
/// use haft_core::gate::{Gate, GateDecision, GateKey, GateRequest};
///
/// let at = Timestamp::EPOCH;
/// let gate = Gate::open("g-1".parse()?, "t-1".parse()?, GateRequest::new("Deploy?"), at)?;
/// let key = GateKey::from_bytes([7; 32]);
/// let decision = GateDecision::Rejected { reason: "not on a Friday".into() };
/// let settlement = key.sign(&gate, decision, "Ada", at);
/// assert!(key.verify(&gate, &settlement).is_ok());
/// assert!(GateKey::from_bytes([8; 32]).verify(&gate, &settlement).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct GateKey(MacKey);

/// The proof that a decision was made by a holder of the key, for exactly this gate.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct GateSignature(String);

impl GateSignature {
    fn of(message: MacMessage) -> Self {
        Self(Digest::from_bytes(message.finish()).to_string())
    }

    /// Compares in constant time. A text that is no digest fits nothing.
    fn fits(&self, message: MacMessage) -> bool {
        self.0.parse::<Digest>().is_ok_and(|given| message.matches(given.as_bytes()))
    }
}

/// A decision whose signature is missing or wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("its signature is missing or does not fit the question and the answer")]
#[non_exhaustive]
pub struct InvalidSignature;

impl GateKey {
    /// The key of these 32 secret, random bytes.
    #[must_use]
    pub fn from_bytes(secret: [u8; 32]) -> Self {
        Self(MacKey::new(secret))
    }

    /// Signs a decision on a gate.
    #[must_use]
    pub fn sign(
        &self,
        gate: &Gate,
        decision: GateDecision,
        by: impl Into<String>,
        at: Timestamp,
    ) -> GateSettlement {
        self.sign_settlement(
            gate,
            GateSettlement { by: by.into(), ..GateSettlement::closed(decision, at) },
        )
    }

    /// Signs the approval of a call with other arguments than the proposed ones.
    #[must_use]
    pub fn sign_edited(
        &self,
        gate: &Gate,
        arguments: &Value,
        by: impl Into<String>,
        at: Timestamp,
    ) -> GateSettlement {
        let edited = Some(canonical_json(Ok(arguments.clone())));
        self.sign_settlement(
            gate,
            GateSettlement { by: by.into(), edited, ..approving_settlement(at) },
        )
    }

    /// Signs the approval of a call that also approves later calls.
    #[must_use]
    pub fn sign_always(
        &self,
        gate: &Gate,
        always: StandingApproval,
        by: impl Into<String>,
        at: Timestamp,
    ) -> GateSettlement {
        let approved = GateSettlement { always: Some(always), ..approving_settlement(at) };
        self.sign_settlement(gate, GateSettlement { by: by.into(), ..approved })
    }

    /// Signs the approval of a call by a grant, in the name of the person who gave the grant.
    #[must_use]
    pub fn sign_granted(&self, gate: &Gate, grant: &Grant, at: Timestamp) -> GateSettlement {
        let by = grant.by.clone();
        let grant = Some(grant.id);
        self.sign_settlement(gate, GateSettlement { by, grant, ..approving_settlement(at) })
    }

    /// Signs a grant.
    #[must_use]
    pub fn sign_grant(&self, mut grant: Grant) -> Grant {
        grant.signature = None;
        grant.signature = Some(GateSignature::of(self.grant_message(&grant)));
        grant
    }

    /// Verifies that a grant was signed in its present form.
    ///
    /// # Errors
    ///
    /// The signature is missing or wrong.
    pub fn verify_grant(&self, grant: &Grant) -> Result<(), InvalidSignature> {
        let mut unsigned = grant.clone();
        match unsigned.signature.take() {
            Some(given) if given.fits(self.grant_message(&unsigned)) => Ok(()),
            _ => Err(InvalidSignature),
        }
    }

    fn grant_message(&self, unsigned: &Grant) -> MacMessage {
        let mut message = self.0.start();
        message.add_text(GRANT_DOMAIN);
        message.add_text(&canonical_json(serde_json::to_value(unsigned)));
        message
    }

    fn sign_settlement(&self, gate: &Gate, mut settlement: GateSettlement) -> GateSettlement {
        settlement.signature = Some(GateSignature::of(self.message(gate, &settlement)));
        settlement
    }

    /// Verifies that a decision was signed for this gate as it was opened, and returns what was signed.
    ///
    /// A gate that the turn itself closed needs no signature, because closing only refuses.
    ///
    /// # Errors
    ///
    /// The signature is missing or wrong.
    pub fn verify(&self, gate: &Gate, settlement: &GateSettlement) -> Result<(), InvalidSignature> {
        if matches!(settlement.decision, GateDecision::Aborted | GateDecision::Timeout) {
            return Ok(());
        }
        match &settlement.signature {
            Some(given) if given.fits(self.message(gate, settlement)) => Ok(()),
            _ => Err(InvalidSignature),
        }
    }

    /// The message that a signature covers: the gate and the decision, each preceded by its length.
    fn message(&self, gate: &Gate, settlement: &GateSettlement) -> MacMessage {
        let mut message = self.0.start();
        message.add_text(DOMAIN);
        message.add_text(&canonical_json(serde_json::to_value(gate)));
        message.add_text(&canonical_json(serde_json::to_value(&settlement.decision)));
        message.add_text(&settlement.by);
        message.add_text(&canonical_json(serde_json::to_value(settlement.at)));
        if let Some(edited) = &settlement.edited {
            message.add_text(edited);
        }
        // Edited arguments are one text and these are two, so that no settlement can be read as another.
        if let Some(always) = &settlement.always {
            message.add_text("always");
            message.add_text(&canonical_json(serde_json::to_value(always)));
        }
        if let Some(grant) = &settlement.grant {
            message.add_text("grant");
            message.add_text(&grant.to_string());
        }
        message
    }
}

const DOMAIN: &str = "haft gate 1";

const GRANT_DOMAIN: &str = "haft grant 1";

/// The approval of a call, without a name and a signature.
fn approving_settlement(at: Timestamp) -> GateSettlement {
    GateSettlement::closed(GateDecision::Resolved { value: Value::Bool(true) }, at)
}

/// The canonical text of a value. A value that cannot be written as JSON has an empty text, so that its signature
/// matches nothing.
fn canonical_json(value: serde_json::Result<Value>) -> String {
    let document = value.ok().and_then(|value| Document::from_value(&value).ok());
    document.map(|document| canonical_text(document.root())).unwrap_or_default()
}

impl fmt::Debug for GateKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("GateKey(…)")
    }
}
