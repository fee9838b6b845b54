//! The sealed state of calls that wait for input.

use std::time::Duration;

use haft_core::CallId;
use haft_core::store::TurnId;
use rmcp::ErrorData;
use rmcp::model::{RequestStateCodec, SealOptions};

use super::builder::InvalidServer;

/// Seals and opens states. A state names the turn that waits and is bound to the call, so that it continues nothing else.
#[derive(Debug)]
pub(super) struct RequestStates {
    codec: RequestStateCodec,
    lifetime: Duration,
}

impl RequestStates {
    pub(super) fn new(secret: Option<[u8; 32]>, lifetime: Duration) -> Result<Self, InvalidServer> {
        let no_randomness = |reason: String| InvalidServer::NoRandomness { reason };
        let secret = match secret {
            Some(secret) => secret,
            None => {
                let mut secret = [0; 32];
                getrandom::fill(&mut secret).map_err(|error| no_randomness(error.to_string()))?;
                secret
            }
        };
        let codec =
            RequestStateCodec::try_new(secret).map_err(|error| no_randomness(error.to_string()))?;
        Ok(Self { codec, lifetime })
    }

    /// The state of a call that waits in its `round`.
    pub(super) fn seal(&self, turn: &TurnId, call: CallId, round: u32) -> String {
        let options = SealOptions::new().associated_data(call.as_bytes()).ttl(self.lifetime);
        self.codec.seal_with(format!("{round} {turn}").as_bytes(), &options)
    }

    /// The turn and the round that a state names.
    pub(super) fn open(&self, state: &str, call: CallId) -> Result<(TurnId, u32), ErrorData> {
        let refused =
            |why: &str| ErrorData::invalid_params(format!("requestState was refused: {why}"), None);
        let opened = self.codec.open_with(state, call.as_bytes());
        let opened = opened.map_err(|error| refused(&error.to_string()))?;
        let text = std::str::from_utf8(&opened).map_err(|_| refused("it is no text"))?;
        let (round, turn) = text.split_once(' ').ok_or_else(|| refused("it has no turn"))?;
        let round = round.parse().map_err(|_| refused("it has no round"))?;
        Ok((turn.parse().map_err(|_| refused("it names no turn"))?, round))
    }
}
