//! Contracts and pure logic of Haft.

pub mod json;
