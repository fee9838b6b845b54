//! Large results outside the prompt, and how a model queries them.
//!
//! [`standard_formats`] has every built-in format. A custom format implements [`ArtifactFormat`].

pub mod tokens;

#[cfg(feature = "formats")]
#[doc(inline)]
pub use haft_artifacts::{
    ContentError, CsvFormat, MarkdownFormat, XmlFormat, YamlFormat, csv, markdown, xml, yaml,
};
#[doc(inline)]
pub use haft_artifacts::{
    JsonFormat, TextFormat, TextQueries, json, jsonpath, standard_formats, table, text,
};
#[doc(inline)]
pub use haft_core::artifact::{
    ArtifactDraft, ArtifactKind, Budget, QueryListBuilder, QueryOutput, SpooledArtifact,
};
#[doc(inline)]
pub use haft_core::forge::{
    ArtifactFormat, Formats, InvalidFormat, Query, QueryAnswer, QueryContext, Question,
};
