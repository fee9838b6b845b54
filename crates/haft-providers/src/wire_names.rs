//! Names and ids that every provider accepts.
//!
//! Providers accept letters, digits, `_` and `-`, at most 64 of them. A name that is_valid is unchanged; any other name is
//! rewritten and gets a hash as a suffix, and is mapped back when the model calls the tool.
//!
//! ```
//! use haft_providers::wire_names::WireNames;
//!
//! let names = WireNames::new(["weather", "wetter.köln"]);
//! assert_eq!(&*names.wire_name("weather"), "weather");
//! let wire = names.wire_name("wetter.köln");
//! assert!(wire.starts_with("wetter_k_ln_"), "{wire}");
//! assert_eq!(names.tool_name(&wire), "wetter.köln");
//! ```

#[cfg(test)]
mod tests;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use haft_core::call::RecordId;
use sha2::{Digest as _, Sha256};

/// The maximum number of characters of a name or an id.
pub const MAX_NAME_LENGTH: usize = 64;

/// Maps the names of tools to their names on the wire, and back. Two tools never share a name.
#[derive(Clone, Debug, Default)]
pub struct WireNames {
    to_wire: HashMap<Arc<str>, Arc<str>>,
    to_tool: HashMap<Arc<str>, Arc<str>>,
}

impl WireNames {
    /// Names for these tools. The result for a name depends on the others only if there is a conflict.
    ///
    /// ```
    /// use haft_providers::wire_names::WireNames;
    ///
    /// let names = WireNames::new(["a.b", "a_b"]);
    /// assert_eq!(&*names.wire_name("a_b"), "a_b");
    /// assert_ne!(names.wire_name("a.b"), names.wire_name("a_b"));
    /// ```
    pub fn new<'n>(names: impl IntoIterator<Item = &'n str>) -> Self {
        let mut all = Self::default();
        let (fit, other): (Vec<&str>, Vec<&str>) = names.into_iter().partition(|it| is_valid(it));
        for name in fit {
            all.put(name, name.into());
        }
        for name in other {
            if !all.to_wire.contains_key(name) {
                let free = (8..=MAX_NAME_LENGTH).step_by(8).map(|digits| rewritten(name, digits));
                let free = free.into_iter().find(|it| !all.to_tool.contains_key(it.as_str()));
                all.put(name, free.unwrap_or_else(|| rewritten(name, MAX_NAME_LENGTH)).into());
            }
        }
        all
    }

    fn put(&mut self, name: &str, wire: Arc<str>) {
        let name: Arc<str> = name.into();
        self.to_tool.insert(Arc::clone(&wire), Arc::clone(&name));
        self.to_wire.insert(name, wire);
    }

    /// The name of a tool on the wire. An unknown name is rewritten without regard to the others.
    #[must_use]
    pub fn wire_name(&self, name: &str) -> Arc<str> {
        let known = self.to_wire.get(name).cloned();
        known
            .unwrap_or_else(|| if is_valid(name) { name.into() } else { rewritten(name, 8).into() })
    }

    /// The tool with this name on the wire. An unknown name is unchanged, and is the name of no tool.
    #[must_use]
    pub fn tool_name<'n>(&'n self, wire: &'n str) -> &'n str {
        self.to_tool.get(wire).map_or(wire, |name| name)
    }
}

/// The ids of the calls of one prompt.
#[derive(Debug, Default)]
pub(crate) struct WireIds {
    taken: HashSet<String>,
}

impl WireIds {
    /// Returns the id that the provider gave, if it is valid and not taken, else an id that is derived from the record.
    pub(crate) fn assign(&mut self, record: RecordId, given: Option<&str>) -> String {
        let given = given.filter(|id| is_valid(id) && !self.taken.contains(*id)).map(str::to_owned);
        let id = given.unwrap_or_else(|| self.derive(record));
        self.taken.insert(id.clone());
        id
    }

    fn derive(&self, record: RecordId) -> String {
        let hash = record.call_id();
        let first = match record.occurrence().get() {
            1 => format!("call_{hash:.32}"),
            n => format!("call_{hash:.32}_{n}"),
        };
        if !self.taken.contains(&first) {
            return first;
        }
        let mut others = (2_u32..).map(|n| format!("{first}-{n}"));
        others.find(|id| !self.taken.contains(id)).unwrap_or_default()
    }
}

/// The name of an author, for wire formats that have a field for it.
pub(crate) fn author_name(name: &str) -> String {
    let name: String = name.chars().take(MAX_NAME_LENGTH).map(plain).collect();
    if name.is_empty() { "_".to_owned() } else { name }
}

fn is_valid(name: &str) -> bool {
    (1..=MAX_NAME_LENGTH).contains(&name.len()) && name.chars().all(is_plain)
}

fn rewritten(name: &str, digits: usize) -> String {
    let hash = Sha256::digest(name);
    let hash: String = hash.iter().map(|byte| format!("{byte:02x}")).collect();
    let hash: String = hash.chars().take(digits).collect();
    let kept = MAX_NAME_LENGTH.saturating_sub(digits + 1);
    let mut out: String = name.chars().take(kept).map(plain).collect();
    if !out.is_empty() {
        out.push('_');
    }
    out + &hash
}

const fn plain(character: char) -> char {
    if is_plain(character) { character } else { '_' }
}

const fn is_plain(character: char) -> bool {
    character.is_ascii_alphanumeric() || matches!(character, '_' | '-')
}
