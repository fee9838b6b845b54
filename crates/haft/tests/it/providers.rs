//! What talks to model providers, over sockets of this machine and from files.

mod assembly;
mod chat_completions;
mod hostile;
pub(crate) mod transcripts;
