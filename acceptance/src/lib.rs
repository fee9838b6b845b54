//! The product as its users meet it.
//!
//! A scenario is one file below `acceptance/scenarios` that a user could have typed. It runs in an empty directory and
//! an otherwise empty environment, against the binary that the variable `HAFT_BIN` names. `CONTRIBUTING.md` explains
//! how to write one.
//!
//! - [`scenario`] finds scenarios and runs them by their kind: [`console`] runs Markdown, [`program`] runs Python and
//!   JavaScript, and [`keys`] runs dialogues at a terminal.
//! - [`markdown`] reads files and commands from Markdown, [`includes`] inserts what a page takes from other files, and
//!   [`links`] checks the links to headings.
//! - [`matcher`] compares output with what a scenario expects.
//! - [`sandbox`] is the directory and the environment of a scenario, [`servers`] are the shared servers, and [`needs`]
//!   records what a machine lacks.
//! - [`known_failures`] are scenarios that wait for a later change.

pub mod console;
pub mod includes;
pub mod keys;
pub mod known_failures;
pub mod links;
pub mod markdown;
pub mod matcher;
pub mod needs;
pub mod program;
pub mod sandbox;
pub mod scenario;
pub mod servers;
