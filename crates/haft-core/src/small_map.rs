//! A map for the few things that most turns have.

#[cfg(test)]
mod tests;

use std::borrow::Borrow;
use std::hash::Hash;

use indexmap::IndexMap;

/// Values by key, in the order in which the keys were first inserted.
///
/// Thousands of turns run at once, and each has a few maps with one or two entries. A small map is a plain list: it
/// needs one allocation, and comparing all keys is faster than hashing. A large map has an index.
#[derive(Clone, Debug)]
pub(crate) enum SmallMap<K, V> {
    Few(Vec<(K, V)>),
    Many(Box<IndexMap<K, V>>),
}

/// More than this are many.
const FEW: usize = 16;

impl<K: Eq + Hash, V> SmallMap<K, V> {
    /// Inserts a value behind all others, or in the place of the one with its key, which is returned.
    pub(crate) fn insert(&mut self, key: K, value: V) -> Option<V> {
        if let Some(known) = self.get_mut(&key) {
            return Some(std::mem::replace(known, value));
        }
        match self {
            Self::Few(list) if list.len() < FEW => {
                if list.len() == list.capacity() {
                    // A list would make room for four entries first, and most have one or two.
                    list.reserve_exact(list.len().max(1));
                }
                list.push((key, value));
            }
            Self::Few(list) => {
                let mut index: IndexMap<K, V> = std::mem::take(list).into_iter().collect();
                index.insert(key, value);
                *self = Self::Many(Box::new(index));
            }
            Self::Many(index) => drop(index.insert(key, value)),
        }
        None
    }

    pub(crate) fn get<Q>(&self, key: &Q) -> Option<&V>
    where
        K: Borrow<Q>,
        Q: Eq + Hash + ?Sized,
    {
        match self {
            Self::Few(list) => list.iter().find(|(it, _)| it.borrow() == key).map(|(_, it)| it),
            Self::Many(index) => index.get(key),
        }
    }

    pub(crate) fn get_mut<Q>(&mut self, key: &Q) -> Option<&mut V>
    where
        K: Borrow<Q>,
        Q: Eq + Hash + ?Sized,
    {
        match self {
            Self::Few(list) => list.iter_mut().find(|(it, _)| it.borrow() == key).map(|(_, it)| it),
            Self::Many(index) => index.get_mut(key),
        }
    }

    /// Removes a value. Those behind it move up.
    pub(crate) fn remove<Q>(&mut self, key: &Q) -> Option<V>
    where
        K: Borrow<Q>,
        Q: Eq + Hash + ?Sized,
    {
        match self {
            Self::Few(list) => {
                let at = list.iter().position(|(it, _)| it.borrow() == key)?;
                Some(list.remove(at).1)
            }
            Self::Many(index) => index.shift_remove(key),
        }
    }
}

impl<K, V> SmallMap<K, V> {
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Few(list) => list.len(),
            Self::Many(index) => index.len(),
        }
    }

    pub(crate) fn last(&self) -> Option<(&K, &V)> {
        match self {
            Self::Few(list) => list.last().map(|(key, value)| (key, value)),
            Self::Many(index) => index.last(),
        }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&K, &V)> {
        let (list, index) = match self {
            Self::Few(list) => (list.as_slice(), None),
            Self::Many(index) => (Default::default(), Some(index)),
        };
        let few = list.iter().map(|(key, value)| (key, value));
        few.chain(index.into_iter().flat_map(|index| index.iter()))
    }

    pub(crate) fn keys(&self) -> impl Iterator<Item = &K> {
        self.iter().map(|(key, _)| key)
    }

    pub(crate) fn values(&self) -> impl Iterator<Item = &V> {
        self.iter().map(|(_, value)| value)
    }

    /// How many values at the beginning match, if no match comes behind a value that does not match.
    pub(crate) fn partition_point(&self, matches: impl Fn(&V) -> bool) -> usize {
        match self {
            Self::Few(list) => list.partition_point(|(_, value)| matches(value)),
            Self::Many(index) => index.as_slice().partition_point(|_, value| matches(value)),
        }
    }

    pub(crate) fn into_entries(self) -> Vec<(K, V)> {
        match self {
            Self::Few(list) => list,
            Self::Many(index) => index.into_iter().collect(),
        }
    }
}

impl<K, V> Default for SmallMap<K, V> {
    fn default() -> Self {
        Self::Few(Vec::new())
    }
}

impl<K: Eq + Hash, V> FromIterator<(K, V)> for SmallMap<K, V> {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(entries: I) -> Self {
        let mut map = Self::default();
        for (key, value) in entries {
            map.insert(key, value);
        }
        map
    }
}
