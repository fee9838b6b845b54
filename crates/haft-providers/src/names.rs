//! Names and ids that every provider takes.
//!
//! Providers want letters, digits, `_` and `-`, at most 64 of them. A name that is like that stays; another one is
//! spelled so, with a hash of it behind, and found again when the model calls it.

#[cfg(test)]
mod tests;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use haft_core::call::RecordId;
use sha2::{Digest as _, Sha256};

/// Most characters of a name or an id.
pub const MAX_LENGTH: usize = 64;

/// The names of tools on the wire, and back. Two tools never share one.
#[derive(Clone, Debug, Default)]
pub struct WireNames {
    to_wire: HashMap<Arc<str>, Arc<str>>,
    to_tool: HashMap<Arc<str>, Arc<str>>,
}

impl WireNames {
    /// Names for these tools. What a name becomes depends on the others only if it would be taken.
    pub fn of<'n>(names: impl IntoIterator<Item = &'n str>) -> Self {
        let mut all = Self::default();
        let (fit, other): (Vec<&str>, Vec<&str>) = names.into_iter().partition(|it| fits(it));
        for name in fit {
            all.put(name, name.into());
        }
        for name in other {
            if !all.to_wire.contains_key(name) {
                let free = (8..=MAX_LENGTH).step_by(8).map(|digits| spelled(name, digits));
                let free = free.into_iter().find(|it| !all.to_tool.contains_key(it.as_str()));
                all.put(name, free.unwrap_or_else(|| spelled(name, MAX_LENGTH)).into());
            }
        }
        all
    }

    fn put(&mut self, name: &str, wire: Arc<str>) {
        let name: Arc<str> = name.into();
        self.to_tool.insert(Arc::clone(&wire), Arc::clone(&name));
        self.to_wire.insert(name, wire);
    }

    /// The name on the wire. One that is not known is spelled as if it were alone.
    #[must_use]
    pub fn wire(&self, name: &str) -> Arc<str> {
        let known = self.to_wire.get(name).cloned();
        known.unwrap_or_else(|| if fits(name) { name.into() } else { spelled(name, 8).into() })
    }

    /// The tool that the model means. A name that nobody gave stays as it is, and is the name of no tool.
    #[must_use]
    pub fn tool<'n>(&'n self, wire: &'n str) -> &'n str {
        self.to_tool.get(wire).map_or(wire, |name| name)
    }
}

/// The ids of the calls of one prompt.
#[derive(Debug, Default)]
pub(super) struct WireIds {
    taken: HashSet<String>,
}

impl WireIds {
    /// The provider's own id where it gave one that is fit and not taken; else one that follows from the record.
    pub(super) fn of(&mut self, record: RecordId, given: Option<&str>) -> String {
        let given = given.filter(|id| fits(id) && !self.taken.contains(*id)).map(str::to_owned);
        let id = given.unwrap_or_else(|| self.minted(record));
        self.taken.insert(id.clone());
        id
    }

    fn minted(&self, record: RecordId) -> String {
        let hash: String = record.call_id().to_string().chars().take(32).collect();
        let first = match record.occurrence().get() {
            1 => format!("call_{hash}"),
            n => format!("call_{hash}_{n}"),
        };
        let next = (2_u32..).map(|n| format!("{first}-{n}"));
        let mut free = std::iter::once(first.clone()).chain(next);
        free.find(|id| !self.taken.contains(id)).unwrap_or_default()
    }
}

/// Somebody's name where the wire has a place for it.
pub(super) fn speaker(name: &str) -> String {
    let name: String = name.chars().take(MAX_LENGTH).map(plain).collect();
    if name.is_empty() { "_".to_owned() } else { name }
}

fn fits(name: &str) -> bool {
    (1..=MAX_LENGTH).contains(&name.len()) && name.chars().all(is_plain)
}

fn spelled(name: &str, digits: usize) -> String {
    let hash = Sha256::digest(name);
    let hash: String = hash.iter().map(|byte| format!("{byte:02x}")).collect();
    let hash: String = hash.chars().take(digits).collect();
    let kept = MAX_LENGTH.saturating_sub(digits + 1);
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
