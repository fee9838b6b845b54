//! Who may answer.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::Digest as _;

use super::{Gate, GateDecision, GateSettlement};
use crate::clock::Timestamp;
use crate::hmac::Hmac;
use crate::json::{Document, canonical_text};

/// The secret with which answers are signed.
///
/// The application keeps 32 random bytes where neither a tool nor a model can read them, and gives them to
/// the runner and to whatever lets people answer. Nothing that runs inside a turn has them.
#[derive(Clone)]
pub struct GateKey(Hmac);

/// The proof that an answer was given by somebody with the key, for exactly this gate.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct GateSignature(String);

/// An answer that proves nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("its signature is missing or does not fit the question and the answer")]
#[non_exhaustive]
pub struct InvalidSignature;

impl GateKey {
    /// The key of these 32 secret, random bytes.
    #[must_use]
    pub fn from_bytes(secret: [u8; 32]) -> Self {
        Self(Hmac::new(&secret))
    }

    /// Signs an answer to a gate.
    #[must_use]
    pub fn sign(
        &self,
        gate: &Gate,
        decision: GateDecision,
        by: impl Into<String>,
        at: Timestamp,
    ) -> GateSettlement {
        let mut settlement = GateSettlement { decision, by: by.into(), at, signature: None };
        settlement.signature = Some(self.signature(gate, &settlement));
        settlement
    }

    /// Whether an answer was signed for this gate, as it was opened, and says what was signed.
    ///
    /// A gate that the turn itself closed needs no proof: it says no.
    ///
    /// # Errors
    ///
    /// It was not.
    pub fn verify(&self, gate: &Gate, settlement: &GateSettlement) -> Result<(), InvalidSignature> {
        if matches!(settlement.decision, GateDecision::Aborted | GateDecision::Timeout) {
            return Ok(());
        }
        let Some(given) = &settlement.signature else { return Err(InvalidSignature) };
        let expected = self.signature(gate, settlement);
        if same(given.0.as_bytes(), expected.0.as_bytes()) { Ok(()) } else { Err(InvalidSignature) }
    }

    fn signature(&self, gate: &Gate, settlement: &GateSettlement) -> GateSignature {
        let parts = [
            DOMAIN.to_owned(),
            canonical(serde_json::to_value(gate)),
            canonical(serde_json::to_value(&settlement.decision)),
            settlement.by.clone(),
            canonical(serde_json::to_value(settlement.at)),
        ];
        let mut hash = self.0.start();
        for part in parts {
            hash.update(u64::try_from(part.len()).unwrap_or(u64::MAX).to_be_bytes());
            hash.update(part);
        }
        let mac = self.0.finish(hash);
        GateSignature(mac.iter().map(|byte| format!("{byte:02x}")).collect())
    }
}

const DOMAIN: &str = "haft gate 1";

/// What cannot be written as JSON signs as nothing, and so fits nothing.
fn canonical(value: serde_json::Result<Value>) -> String {
    let document = value.ok().and_then(|value| Document::from_value(&value).ok());
    document.map(|document| canonical_text(document.root())).unwrap_or_default()
}

/// Compares without telling by its time where two texts differ.
fn same(a: &[u8], b: &[u8]) -> bool {
    a.len() == b.len() && a.iter().zip(b).fold(0, |all, (a, b)| all | (a ^ b)) == 0
}

impl fmt::Debug for GateKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("GateKey(…)")
    }
}
