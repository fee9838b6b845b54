//! Contracts and pure logic of Haft.

pub mod args;
pub mod call;
pub mod json;
pub mod schema;
