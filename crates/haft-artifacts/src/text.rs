//! Queries of text of any size, line by line.
//!
//! [`TextView`] reads the lines of any reader of [`haft_core::spool`]:
//!
//! ```
//! use haft_artifacts::text::{GrepOptions, TextView};
//! use haft_core::spool::SpoolStore;
//! use haft_stores::MemorySpoolStore;
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let store = MemorySpoolStore::new();
//! let reader = store.write("call-1".into(), "alpha\nbeta\ngamma\n".into()).await?;
//! let view = TextView::new(reader);
//!
//! let page = view.grep("^[ab]", GrepOptions::new().max_matches(1)).await?;
//! assert_eq!(page.text(), "alpha");
//! // Every page is bounded, and says where the next one begins.
//! assert_eq!(page.next.map(|next| next.start), Some(1));
//! # Ok(())
//! # }
//! ```

mod artifact_queries;
mod error;
mod format;
mod grep;
mod inner_literal;
mod line;
mod line_part;
mod page;
mod pattern;
mod scan;
mod view;

pub use self::artifact_queries::TextQueries;
pub use self::error::TextError;
pub use self::format::TextFormat;
#[cfg(feature = "formats")]
pub(crate) use self::format::page_answer;
pub use self::grep::GrepOptions;
pub use self::line_part::{LinePart, NextLinePart};
pub use self::page::{NextPage, PageLimit, TextLine, TextPage};
pub use self::pattern::check_pattern;
pub use self::view::TextView;
