//! Models behind HTTP.

pub mod reasoning;
pub mod text_calls;
