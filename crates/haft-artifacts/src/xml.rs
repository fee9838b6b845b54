//! Queries of XML.
//!
//! [`XmlView`] reads XML from front to back. Its root, keys, tags and length are found in content of any
//! size. Paths are evaluated on a projection to JSON, which may have 16 MiB.
//!
//! # How XML becomes JSON
//!
//! | XML | JSON |
//! |---|---|
//! | the document | an object with the root element as its only member |
//! | an element with only text | its text; an empty one is `""` |
//! | any other element | an object: attributes, then child elements in the order in which their names first come, then the text as `#text` |
//! | several children of one name | a list; a single child is not in a list |
//! | an attribute | a member with the prefix `_` before its name |
//! | an attribute and a child of the same name, with another prefix | a list of both |
//! | text | text, never a number: `007` stays `007` |
//! | white space around text | omitted; text that was separated by elements is joined by one blank where there was white space |
//! | CDATA | text, with all its white space |
//! | `&lt;` `&gt;` `&amp;` `&apos;` `&quot;` and `&#65;` | the character |
//! | any other entity, a lone `&` | stays as it is written; nothing is ever expanded or loaded |
//! | a name with a namespace prefix | stays as it is |
//! | the declaration, comments, processing instructions, DOCTYPE | omitted |
//!
//! Tags that are not closed, closed twice or crossed, a second root, text outside of the root and
//! attributes that occur twice are errors with line and column. Nesting is limited. A byte order mark is
//! skipped, and bytes that are not UTF-8 become the replacement character, whatever encoding the
//! declaration names.

mod character_data;
mod error;
mod format;
mod outline;
mod projection;
mod scan;
mod tags;
mod text_run;
mod view;

pub use self::error::XmlError;
pub use self::format::XmlFormat;
pub use self::view::XmlView;
