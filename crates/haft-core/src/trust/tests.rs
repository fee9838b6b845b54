mod control_tokens;
mod hostile;
mod labels;
mod lookalikes;
mod nonces;
mod properties;
mod render;
mod sanitize;
mod scanner;

use super::{EnvelopeKey, PromptRenderer};
use crate::id::{CallId, RecordId};

fn renderer() -> PromptRenderer {
    PromptRenderer::new(EnvelopeKey::from_bytes([7; 32]))
}

fn call() -> RecordId {
    RecordId::first(CallId::of_text("fetch", "https://example.com/"))
}
