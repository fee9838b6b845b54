mod control_tokens;
mod hostile;
mod labels;
mod lookalikes;
mod nonces;
mod properties;
mod render;
mod sanitize;
mod scanner;

use std::num::NonZeroU32;
use std::sync::Arc;

use bytes::Bytes;

use super::{EnvelopeKey, PromptRenderer, TrustTier};
use crate::BoxFuture;
use crate::artifact::{ArtifactKind, SpooledArtifact};
use crate::call::{ToolCall, ToolResults};
use crate::clock::Timestamp;
use crate::record::{Identity, Message, MessageRole, Thought};
use crate::schema::args::RawArgs;
use crate::spool::{LineIndex, SpoolError, SpoolReader};

const AT: Timestamp = Timestamp::EPOCH;

fn renderer() -> PromptRenderer {
    PromptRenderer::new(EnvelopeKey::from_bytes([7; 32]))
}

/// A call of a tool that returned this text, with this tier.
fn call(tool: &str, tier: TrustTier, text: &str) -> ToolCall {
    let args = RawArgs::text(r#"{"url":"https://example.com/"}"#);
    let mut call = ToolCall::requested(tool, args, NonZeroU32::MIN, AT);
    call.results = Some(ToolResults::Text(text.to_owned()));
    call.label = tier;
    call
}

/// A message of this role, by an author of this name.
fn message(role: MessageRole, name: &str, text: &str) -> Message {
    let message = Message::new("1", role, AT).with_identity(Identity::named(name).unwrap());
    message.with_content(text)
}

fn thought(name: &str, text: &str) -> Thought {
    Thought::new("1", text, AT).with_identity(Identity::named(name).unwrap())
}

/// Content of this length, which nobody reads.
fn artifact(kind: &ArtifactKind, byte_length: u64) -> SpooledArtifact {
    SpooledArtifact::new(kind.clone(), Arc::new(Sized(byte_length)), TrustTier::UNTRUSTED)
}

#[derive(Debug)]
struct Sized(u64);

impl SpoolReader for Sized {
    fn byte_length(&self) -> u64 {
        self.0
    }

    fn read_at(&self, _: u64, _: usize) -> BoxFuture<'_, Result<Bytes, SpoolError>> {
        Box::pin(std::future::pending())
    }

    fn index(&self) -> BoxFuture<'_, Result<Arc<LineIndex>, SpoolError>> {
        Box::pin(std::future::pending())
    }
}
