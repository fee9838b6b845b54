//! Values by number.

use std::collections::BTreeMap;

/// Values by number, in the order of their numbers. There is nearly always one, and there may be thousands:
/// a few are a list, which takes little room, and many are a tree.
#[expect(clippy::box_collection, reason = "a few take less room, and there are nearly always few")]
pub(super) enum Ordered<T> {
    Few(Vec<(u64, T)>),
    Many(Box<BTreeMap<u64, T>>),
}

/// More than this are many.
const FEW: usize = 16;

impl<T> Ordered<T> {
    pub(super) fn get(&self, number: u64) -> Option<&T> {
        match self {
            Self::Few(list) => {
                let at = list.binary_search_by_key(&number, |(it, _)| *it).ok()?;
                list.get(at).map(|(_, value)| value)
            }
            Self::Many(tree) => tree.get(&number),
        }
    }

    /// Puts a value in the place of the one with its number, which it gives back.
    pub(super) fn insert(&mut self, number: u64, value: T) -> Option<T> {
        if let Self::Few(list) = self
            && list.len() == FEW
        {
            *self = Self::Many(Box::new(std::mem::take(list).into_iter().collect()));
        }
        match self {
            Self::Many(tree) => tree.insert(number, value),
            Self::Few(list) => match list.binary_search_by_key(&number, |(it, _)| *it) {
                Ok(at) => list.get_mut(at).map(|(_, old)| std::mem::replace(old, value)),
                Err(at) => {
                    if list.is_empty() {
                        list.reserve_exact(1);
                    }
                    list.insert(at, (number, value));
                    None
                }
            },
        }
    }

    pub(super) fn remove(&mut self, number: u64) -> Option<T> {
        match self {
            Self::Many(tree) => tree.remove(&number),
            Self::Few(list) => {
                let at = list.binary_search_by_key(&number, |(it, _)| *it).ok()?;
                Some(list.remove(at).1)
            }
        }
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        match self {
            Self::Few(list) => list.len(),
            Self::Many(tree) => tree.len(),
        }
    }

    /// Takes all of them, in order.
    pub(super) fn take(&mut self) -> Vec<T> {
        match std::mem::take(self) {
            Self::Few(list) => list.into_iter().map(|(_, value)| value).collect(),
            Self::Many(tree) => tree.into_values().collect(),
        }
    }
}

impl<T> Default for Ordered<T> {
    fn default() -> Self {
        Self::Few(Vec::new())
    }
}
