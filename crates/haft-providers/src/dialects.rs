//! The dialects of this crate: how a prompt becomes a request of one API, and how its response becomes a generation.

pub mod anthropic_messages;
pub mod chat_completions;
pub mod ollama;
pub mod openai_responses;
mod openai_service;
mod shared;
