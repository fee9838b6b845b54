//! Packs of ready-made tools: what an agent needs on its first day.
//!
//! | pack | tools | needs |
//! |---|---|---|
//! | [`files`](files()) | read, list, find and search below one folder; write and edit with leave | a folder |
//! | [`time`](time()) | the time, time zones, differences, calendars | |
//! | [`math`](math()) | expressions, units of measure | |
//! | [`text`](text()) | counts, changes, differences, patterns, encodings, hashes | |
//! | [`data`](data()) | CSV, JSON and YAML; statistics; tables | |
//! | [`memory`](memory()) | what is remembered from turn to turn | |
//! | `web` (feature `http`) | fetches pages of the hosts that are allowed | hosts |
//!
//! A pack is a list of tools like any other: register them, leave some out, or put a tool of your own in the
//! place of one.
//!
//! ```
//! use haft_tools::{self, FilesOptions};
//! use haft_core::{DispatchContext, ToolRegistry};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let folder = tempfile::tempdir()?;
//! # let notes = folder.path();
//! # std::fs::write(notes.join("todo.md"), "# Today\n\n- water the plants\n")?;
//! let mut tools = tools::files(FilesOptions::new(notes)?)?;
//! tools.extend(tools::math()?);
//! let registry = ToolRegistry::new();
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
//! # What holds for all of them
//!
//! - A failing call says what to do next. Failures are never results.
//! - Whatever is read, searched or computed is bounded, and an answer that was cut says so.
//! - A tool whose result is JSON gives JSON and nothing else: remarks stand in members of their own.
//! - What comes from a file, from the network or from the arguments is not trusted, unless the application
//!   says so for a folder. Only what a tool computes by itself, such as the time, is.
//! - Tools that write files ask before each call, others do not; [`Tool::asking`](haft_core::Tool::asking) and
//!   [`Tool::never_asking`](haft_core::Tool::never_asking) make them do otherwise.
//! - Time is that of the turn's clock, so that runs can be replayed.
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

#[cfg(all(test, feature = "packs"))]
mod tests;

// The macros expand to paths of `::haft`; the core has all of them.
#[cfg(feature = "packs")]
extern crate haft_core as haft;

#[cfg(feature = "packs")]
pub use self::data::data;
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

#[cfg(feature = "packs")]
/// The start of a text, for people: bounded and on one line.
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
