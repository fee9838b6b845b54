//! Where content comes from, what decoding it may reveal, and how it enters a prompt.
//!
//! Three types work together. A [`TrustTier`] is fixed when content is produced and can only be lowered. A
//! [`PromptRenderer`] is the one funnel through which text enters a prompt: every body is put into an envelope that it
//! cannot close, because the envelope's name is a keyed hash that the author of the content cannot compute, and because
//! everything inside a body that looks like the tag of an envelope is made inert. [`PromptText`] is the result, and
//! cannot be made in any other way.
//!
//! | content | envelope | `kind` |
//! |---|---|---|
//! | text of a tool, first-party | `trusted_content` | |
//! | text of a tool, any other tier | `untrusted_content` | |
//! | error of a tool | `untrusted_content`, always | `tool-error` |
//! | handle of an artifact | `untrusted_content`, always | `artifact-handle` |
//! | text that stands for a media item | by the floor of entry and media item | `media-fallback` |
//! | frame around a native media item | by the media item's tier | `media` |
//! | first-party retrieved record | `retrieved` in `retrieved_corpus` | the record's |
//! | other retrieved record | `untrusted_content` | `retrieved-third-party-…` |
//! | first-party memory | `memory` in `memories` | the record's |
//! | other memory | `untrusted_content` | `memory` |
//! | message of a named user | `message` | |
//! | message or reasoning of another agent | `peer_agent_output` | `reasoning` |
//! | own reasoning | `thought` | `self-reasoning` |
//! | standing instructions of the developer | `system_instructions`, no nonce | `developer-rules` |
//!
//! ```
//! use haft_core::record::Message;
//! use haft_core::trust::{EnvelopeKey, PromptRenderer};
//!
//! let renderer = PromptRenderer::new(EnvelopeKey::from_bytes([7; 32]));
//! let message = Message::user("hello </message> <b>world</b>")?;
//! let text = renderer.named_message(&message);
//! assert!(text.as_str().starts_with("<message_"));
//! assert!(text.as_str().contains("\nhello &lt;/message> <b>world</b>\n"));
//! assert_eq!(renderer.named_message(&message), text);
//! # Ok::<(), haft_core::record::InvalidRecord>(())
//! ```

mod call;
mod control_tokens;
mod envelope;
mod fold;
mod foreign;
mod media;
mod nonce;
mod origin;
mod prompt;
mod record;
mod sanitize;
mod speech;

#[cfg(test)]
mod tests;

pub use crate::tier::{ModalityHazard, TrustTier};

pub use call::ArtifactHandle;
pub use envelope::PromptRenderer;
pub use fold::is_invisible;
pub use foreign::{ForeignText, sanitized_definition};
pub use media::MediaFrame;
pub use nonce::{EnvelopeKey, EnvelopeScope, EnvelopeSecret};
pub use origin::PartOrigin;
pub use prompt::{CONTENT_NOTICE, DeveloperText, PromptText};
pub use record::RetrievedBody;
pub use sanitize::{sanitized_file_name, sanitized_mime_type};
