//! Contracts and pure logic of Haft.

pub mod cancel;
pub mod clock;
pub mod json;
pub mod stash;
