//! Large results outside the prompt, and what a model can ask of them.
//!
//! [`standard_formats`] has every built-in format. A format of your own implements [`ArtifactFormat`].

pub mod tokens;

#[doc(inline)]
pub use haft_artifacts::{ContentError, JsonFormat, TextFormat, json, standard_formats, text};
#[cfg(feature = "formats")]
#[doc(inline)]
pub use haft_artifacts::{
    CsvFormat, MarkdownFormat, XmlFormat, YamlFormat, csv, markdown, xml, yaml,
};
#[doc(inline)]
pub use haft_core::artifact::{
    ArtifactDraft, ArtifactKind, ArtifactRecord, Budget, InvalidArtifactKind, NotDescribable,
    QueryListBuilder, QueryOutput, SpooledArtifact,
};
#[doc(inline)]
pub use haft_core::forge::{ArtifactFormat, Formats, InvalidFormat, Query, QueryContext};
