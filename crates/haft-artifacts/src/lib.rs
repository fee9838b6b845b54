//! What can be asked of artifacts, format by format.
//!
//! [`standard_formats`] has them all. A format of your own is a type with [`ArtifactFormat`](haft_core::forge::ArtifactFormat):
//!
//! ```
//! use haft_core::artifact::{QueryOutput, ArtifactKind};
//! use haft_core::forge::{ArtifactFormat, QueryContext, Query};
//! use haft_artifacts::text::TextView;
//! use haft_core::Args;
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
//!     fn queries(&self) -> Vec<Query> {
//!         let files = async |_: Args, asked: QueryContext| {
//!             let view = TextView::new(asked.artifact.reader().clone()).budget(asked.budget);
//!             let page = view.grep("^\\+\\+\\+ ", Default::default()).await?;
//!             Ok(QueryOutput::text(page.text(), asked.budget))
//!         };
//!         vec![Query::new("artifact_diff_files", "Lists the files that a diff changes.", files)]
//!     }
//! }
//!
//! let formats = haft_artifacts::standard_formats().with(Diff)?;
//! # Ok::<(), haft_core::artifact::InvalidFormat>(())
//! ```
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
#[cfg(feature = "formats")]
pub mod markdown;
mod query_args;
mod ranges;
mod scan;
pub mod text;
#[cfg(feature = "tokens")]
pub mod tokens;
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
pub use self::text::TextFormat;
#[cfg(feature = "formats")]
pub use self::xml::XmlFormat;
#[cfg(feature = "formats")]
pub use self::yaml::YamlFormat;

/// All built-in formats: text, which reads every kind, JSON and, with the feature `formats`, Markdown,
/// YAML, XML and CSV.
///
/// ```
/// use haft_core::artifact::ArtifactSet;
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
