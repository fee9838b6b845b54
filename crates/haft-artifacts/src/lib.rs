//! Queries of large results, format by format.
//!
//! A tool can return more than fits into a prompt. Haft stores such a result as an artifact, and the model
//! queries it: it reads some lines, searches for a pattern, or evaluates a JSONPath. This crate contains the
//! formats that define those queries, and a *view* per format for programs that query stored content
//! themselves. Every query reads by position, within a [budget](haft_core::artifact::Budget), and says how to
//! get what it has omitted, so that content of any size can be queried.
//!
//! | Format | View | Content |
//! |---|---|---|
//! | [`TextFormat`] | [`TextView`](text::TextView) | lines of any content |
//! | [`JsonFormat`] | [`JsonView`](json::JsonView) | JSON and JSON Lines |
//! | `MarkdownFormat` | `MarkdownIndex` | headings, code blocks, links, front matter |
//! | `YamlFormat` | `YamlView` | one document or a stream |
//! | `XmlFormat` | `XmlView` | elements and attributes |
//! | `CsvFormat` | `CsvView` | rows and columns |
//!
//! The formats after JSON need the feature `formats`. The feature `tokens` adds exact token counts.
//!
//! ```
//! use haft_artifacts::text::TextView;
//! use haft_core::spool::SpoolStore;
//! use haft_stores::MemorySpoolStore;
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let reader = MemorySpoolStore::new().write("call-1".into(), "one\ntwo\nthree\n".into()).await?;
//! let page = TextView::new(reader).cat(1..3).await?;
//! assert_eq!(page.text(), "two\nthree");
//! # Ok(())
//! # }
//! ```
//!
//! # Dependencies
//!
//! This crate depends on `haft-core` for its contracts, on tokio for blocking threads, and on parsers. It does
//! not depend on stores, tools, providers or the turn loop, and it accesses neither the network nor the file
//! system: the [readers](haft_core::spool::SpoolReader) that it is given do that.
//!
//! # A custom format
//!
//! [`standard_formats`] has all built-in formats. A custom format is a type with
//! [`ArtifactFormat`](haft_core::forge::ArtifactFormat):
//!
//! ```
//! use haft_artifacts::text::TextView;
//! use haft_core::artifact::{ArtifactKind, QueryOutput};
//! use haft_core::forge::{ArtifactFormat, QueryAnswer, QueryContext, Question};
//!
//! #[derive(Debug)]
//! struct Diff;
//!
//! impl Diff {
//!     const KIND: ArtifactKind = ArtifactKind::named("diff");
//! }
//!
//! impl ArtifactFormat for Diff {
//!     fn reads(&self, kind: &ArtifactKind) -> bool {
//!         *kind == Self::KIND
//!     }
//!
//!     fn answer(&self, question: &Question, ctx: &QueryContext) -> Option<QueryAnswer> {
//!         // Lines and searches are left to the format of text.
//!         let Question::Info { .. } = question else { return None };
//!         let ctx = ctx.clone();
//!         Some(Box::pin(async move {
//!             let view = TextView::new(ctx.artifact.reader().clone()).budget(ctx.budget);
//!             let files = view.grep("^\\+\\+\\+ ", Default::default()).await?;
//!             Ok(QueryOutput::text(files.text(), ctx.budget))
//!         }))
//!     }
//! }
//!
//! let formats = haft_artifacts::standard_formats().with(Diff)?;
//! # Ok::<(), haft_core::forge::InvalidFormat>(())
//! ```
//!
#![cfg_attr(docsrs, feature(doc_cfg))]
#![doc = include_str!("../docs/formats.md")]

mod blocking;
mod byte_order_mark;
mod content_view;
#[cfg(feature = "formats")]
pub mod csv;
#[cfg(feature = "formats")]
mod error;
mod invariant;
pub mod json;
pub mod jsonpath;
#[cfg(feature = "formats")]
pub mod markdown;
mod question;
mod ranges;
mod scan;
pub mod table;
pub mod text;
#[cfg(feature = "tokens")]
pub mod tokens;
#[cfg(feature = "formats")]
mod tree;
mod tree_record;
#[cfg(feature = "formats")]
pub mod xml;
#[cfg(feature = "formats")]
pub mod yaml;

use haft_core::forge::Formats;

pub use self::blocking::run_blocking;
#[cfg(feature = "formats")]
pub use self::csv::CsvFormat;
#[cfg(feature = "formats")]
pub use self::error::ContentError;
pub use self::json::JsonFormat;
#[cfg(feature = "formats")]
pub use self::markdown::MarkdownFormat;
pub use self::text::{TextFormat, TextQueries};
#[cfg(feature = "formats")]
pub use self::xml::XmlFormat;
#[cfg(feature = "formats")]
pub use self::yaml::YamlFormat;

/// All built-in formats: text, which reads every kind, JSON and, with the feature `formats`, Markdown,
/// YAML, XML and CSV.
///
/// ```
/// use haft_core::tool::ArtifactSet;
///
/// // Without artifacts there is nothing to query.
/// let tools = haft_artifacts::standard_formats().forge(&ArtifactSet::new())?;
/// assert!(tools.is_empty());
/// # Ok::<(), haft_core::tool::InvalidTool>(())
/// ```
#[must_use]
pub fn standard_formats() -> Formats {
    let formats =
        Formats::new().with_unchecked(TextFormat::new()).with_unchecked(JsonFormat::new());
    #[cfg(feature = "formats")]
    let formats = formats
        .with_unchecked(MarkdownFormat::new())
        .with_unchecked(YamlFormat::new())
        .with_unchecked(XmlFormat::new())
        .with_unchecked(CsvFormat::new());
    formats
}

#[cfg(all(test, feature = "formats"))]
mod tests;
