//! Packs of ready-made tools, and readers of media, for the agent development kit Haft.
//!
//! | pack | tools | needs |
//! |---|---|---|
//! | [`files`](files()) | read, list, find and search files below one directory; write and edit them after approval | a directory |
//! | [`time`](time()) | current time, time zones, differences, calendars | |
//! | [`math`](math()) | expressions, units of measure | |
//! | [`text`](text()) | counts, transformations, differences, patterns, encodings, hashes | |
//! | [`data`](data()) | CSV, JSON and YAML; statistics; tables | |
//! | [`memory`](memory()) | memories that remain between turns | |
//! | `web` (feature `http`) | fetches pages from allowed hosts | hosts |
//!
//! A pack is a list of [`Tool`](haft_core::Tool)s: register all of them, leave some out, or replace one by a custom tool.
//! [`readers`] has the readers of media in files, in stores and on the network.
//!
//! ```
//! use haft_core::{DispatchContext, ToolRegistry};
//! use haft_tools::FilesOptions;
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let dir = tempfile::tempdir()?;
//! # let notes = dir.path();
//! # std::fs::write(notes.join("todo.md"), "# Today\n\n- water the plants\n")?;
//! let mut tools = haft_tools::files(FilesOptions::new(notes)?)?;
//! tools.extend(haft_tools::math()?);
//! let registry = ToolRegistry::default();
//! for tool in tools {
//!     registry.register(tool)?;
//! }
//!
//! let ctx = DispatchContext::builder("turn-1").build();
//! let search = registry.find("search_files")?;
//! let call = search.executor(&ctx).call(r#"{"pattern": "plants"}"#).await;
//! assert!(format!("{:?}", call.outcome?).contains("todo.md:3"));
//! # Ok(())
//! # }
//! ```
//!
//! # Rules of all tools
//!
//! - The message of a failed call says what to do next. A failure is never returned as a result.
//! - Everything that a tool reads, searches or computes is bounded, and a truncated result says that it is truncated.
//! - A tool whose result is JSON returns JSON and nothing else: warnings are members of their own.
//! - Content from files, the network or arguments is untrusted, unless the application declares otherwise for a
//!   directory. Only what a tool computes itself, such as the time, is trusted.
//! - Tools that write files require approval, all others do not; [`Tool::with_approval`](haft_core::Tool::with_approval) and
//!   [`Tool::without_approval`](haft_core::Tool::without_approval) change that.
//! - The time is that of the turn's clock, so that runs can be replayed.
//!
//! # Features
//!
//! | feature | default | |
//! |---|---|---|
//! | `packs` | yes | the packs of tools; without it there are only the readers |
//! | `http` | no | the pack `web` and `readers::HttpReader` |
//! | `rustls`, `native-tls`, `rustls-no-provider` | `rustls` | the TLS backend of `http` |
//!
//! # Dependencies
//!
//! This crate may depend on [`haft_core`], `haft-artifacts` (formats that tools parse), `haft-http` and `haft-macros`.
#![cfg_attr(docsrs, feature(doc_cfg))]

#[cfg(feature = "packs")]
pub mod data;
#[cfg(feature = "packs")]
pub mod files;
#[cfg(feature = "packs")]
pub mod math;
#[cfg(feature = "packs")]
pub mod memory;
#[cfg(feature = "packs")]
mod output;
#[cfg(feature = "packs")]
mod pack;
pub mod readers;
#[cfg(feature = "packs")]
pub mod text;
#[cfg(feature = "packs")]
pub mod time;
#[cfg(all(feature = "packs", feature = "http"))]
pub mod web;

#[cfg(test)]
#[cfg(feature = "packs")]
mod tests;

// The macros expand to paths below `::haft`, all of which exist in the core.
#[cfg(feature = "packs")]
extern crate haft_core as haft;

#[cfg(feature = "packs")]
pub use self::data::data;
#[cfg(all(feature = "packs", unix))]
pub use self::files::apply_patch::apply_patch;
#[cfg(feature = "packs")]
pub use self::files::{FilesOptions, files};
#[cfg(feature = "packs")]
pub use self::math::math;
#[cfg(feature = "packs")]
pub use self::memory::memory;
#[cfg(feature = "packs")]
pub use self::pack::{Pack, PackError, PackOptions, UnknownPack, pack};
#[cfg(feature = "packs")]
pub use self::text::text;
#[cfg(feature = "packs")]
pub use self::time::time;
#[cfg(all(feature = "packs", feature = "http"))]
pub use self::web::{WebOptions, web};

/// The start of a text for messages: bounded and on one line.
#[cfg(feature = "packs")]
fn preview(text: &str) -> String {
    let mut characters = text.chars();
    let mut out: String =
        characters.by_ref().take(MAX_PREVIEW).flat_map(char::escape_debug).collect();
    if characters.next().is_some() {
        out.push('…');
    }
    out
}

#[cfg(feature = "packs")]
const MAX_PREVIEW: usize = 80;
