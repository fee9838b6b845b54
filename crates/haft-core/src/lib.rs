//! Contracts and pure logic of Haft.

pub mod call;
pub mod json;
