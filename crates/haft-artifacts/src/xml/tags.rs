//! Tags: their attributes, and which elements are open.

use std::borrow::Cow;
use std::collections::HashSet;

use quick_xml::events::BytesStart;
use quick_xml::events::attributes::AttrError;

use super::character_data::attribute_value;
use super::error::XmlFault;

/// The elements that are open.
#[derive(Debug, Default)]
pub(super) struct ElementStack {
    /// Their names, one after the other, and the offset of each.
    names: String,
    starts: Vec<usize>,
    /// Whether the root was opened.
    root_seen: bool,
}

impl ElementStack {
    /// How many elements are open.
    pub(super) fn depth(&self) -> usize {
        self.starts.len()
    }

    /// Whether there is an element at all.
    pub(super) fn has_root(&self) -> bool {
        self.root_seen
    }

    pub(super) fn open(&mut self, name: &str) -> Result<(), XmlFault> {
        if name.is_empty() {
            return Err(XmlFault::new("a tag without a name", "write `&lt;` for a `<` in text"));
        }
        if self.starts.is_empty() && self.root_seen {
            let reason = format!("a second root element, `{}`", shorten_name(name));
            return Err(XmlFault::new(reason, "XML has one; put them into one element"));
        }
        if self.starts.len() == MAX_DEPTH {
            let reason = format!("elements are nested deeper than {MAX_DEPTH} levels");
            return Err(XmlFault::new(reason, "it can still be searched and read as text"));
        }
        self.root_seen = true;
        self.starts.push(self.names.len());
        self.names.push_str(name);
        Ok(())
    }

    pub(super) fn close(&mut self, name: &str) -> Result<(), XmlFault> {
        let Some(open) = self.innermost() else {
            let reason = format!("`</{}>` closes nothing", shorten_name(name));
            return Err(XmlFault::new(reason, READ_AS_TEXT_HINT));
        };
        if open != name {
            let open = shorten_name(open);
            let name = shorten_name(name);
            let reason = format!("`</{name}>` stands where `</{open}>` must come first");
            return Err(XmlFault::new(reason, "close the elements in the order they were opened"));
        }
        if let Some(start) = self.starts.pop() {
            self.names.truncate(start);
        }
        Ok(())
    }

    pub(super) fn innermost(&self) -> Option<&str> {
        self.starts.last().and_then(|start| self.names.get(*start..))
    }
}

/// Names and values.
pub(super) type AttributeList<'t> = Vec<(&'t str, Cow<'t, str>)>;

/// The attributes of a tag with their values, or what is wrong and where in the tag.
pub(super) fn read_attributes<'t>(
    tag: &'t BytesStart<'_>,
) -> Result<AttributeList<'t>, (XmlFault, usize)> {
    let mut found = AttributeList::new();
    let mut seen = HashSet::new();
    // The reader's own check compares each with each, however many there are.
    for attribute in tag.attributes().with_checks(false) {
        let attribute = attribute.map_err(|error| not_an_attribute(tag, &error))?;
        let name = attribute.key.0;
        if found.len() == MAX_ATTRIBUTES {
            let reason = format!("an element has more than {MAX_ATTRIBUTES} attributes");
            return Err((XmlFault::new(reason, READ_AS_TEXT_HINT), 0));
        }
        let twice = if found.len() < FEW {
            found.iter().any(|(other, _)| *other == name)
        } else {
            if seen.is_empty() {
                seen.extend(found.iter().map(|(name, _)| *name));
            }
            !seen.insert(name)
        };
        if twice {
            let reason = format!("the attribute `{}` stands twice", shorten_name(name));
            return Err((XmlFault::new(reason, "an element has each attribute once"), 0));
        }
        let value = match attribute.value {
            Cow::Borrowed(raw) => attribute_value(raw),
            Cow::Owned(raw) => attribute_value(&raw).into_owned().into(),
        };
        found.push((name, value));
    }
    Ok(found)
}

fn not_an_attribute(tag: &BytesStart<'_>, error: &AttrError) -> (XmlFault, usize) {
    let element = shorten_name(tag.name().as_ref());
    let (reason, at) = match error {
        AttrError::ExpectedEq(at) | AttrError::ExpectedValue(at) => {
            (format!("an attribute of `{element}` has no value"), *at)
        }
        AttrError::UnquotedValue(at) => {
            (format!("the value of an attribute of `{element}` is not in quotes"), *at)
        }
        AttrError::ExpectedQuote(at, _) => {
            (format!("the value of an attribute of `{element}` is not closed"), *at)
        }
        AttrError::Duplicated(at, _) => (format!("an attribute of `{element}` stands twice"), *at),
    };
    // Offsets are counted from the byte after `<`.
    (XmlFault::new(reason, "write attributes as `name=\"value\"`"), at + 1)
}

/// A name for a message.
pub(super) fn shorten_name(name: &str) -> String {
    name.chars().take(80).collect()
}

/// Up to this many attributes are compared with each other.
const FEW: usize = 8;
/// The most attributes of an element. They are in memory at the same time.
const MAX_ATTRIBUTES: usize = 1 << 16;
/// The deepest nesting of elements.
const MAX_DEPTH: usize = 256;
pub(super) const READ_AS_TEXT_HINT: &str = "the lines around it can still be read as text";
