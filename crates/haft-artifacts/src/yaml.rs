//! Queries of YAML: one document, or a stream of documents of any length.
//!
//! [`YamlView`] reads the content document by document and holds one at a time, so a stream may have
//! any size. One document may have 16 MiB.
//!
//! # How YAML becomes JSON
//!
//! | YAML | JSON |
//! |---|---|
//! | plain `null`, `~`, nothing | `null` |
//! | plain `true`, `True`, `TRUE` and the same of `false` | a boolean; `yes`, `no`, `on`, `off` stay text |
//! | plain integers: decimal, `0x1F`, `0o17` | a number with all its digits; `007` is 7 |
//! | plain decimal fractions and exponents | a number |
//! | `.inf`, `-.inf`, `.nan` in any case | the texts `.inf`, `-.inf`, `.nan` |
//! | everything else plain: dates, times, versions | text |
//! | quoted and block scalars, `!!str`, `!!binary`, `!!timestamp` | text |
//! | `!!int`, `!!float`, `!!bool`, `!!null` before a quoted scalar | what the plain scalar would be |
//! | other tags | ignored |
//! | an alias | a copy of what the anchor names |
//! | `<<:` with a mapping or a list of them | their members, unless the mapping has them itself |
//! | a key that is not text | its spelling; JSON text if it is a collection |
//! | a key that occurs twice in one mapping | an error |
//!
//! Nesting and what aliases expand to are bounded. A text of only white space and comments is one
//! document, `null`; an empty text has none. A byte order mark is skipped, and bytes that are not UTF-8
//! become the replacement character.

mod document_splitter;
mod error;
mod format;
mod parse;
mod records;
mod scalar;
mod scan;
mod to_json;
mod view;

pub use self::error::YamlError;
pub use self::format::YamlFormat;
pub use self::parse::{YamlLimits, YamlParseError, parse_document};
pub use self::view::{YamlStreamKind, YamlView};
