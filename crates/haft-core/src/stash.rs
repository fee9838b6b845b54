//! A small JSON store addressed by dot paths, for tool metadata and for the stashes of media and
//! contexts.
//!
//! ```
//! use haft_core::stash::Stash;
//! use serde_json::json;
//!
//! let stash = Stash::new();
//! stash.set("user.name", "Ada")?;
//! stash.set("user.visits.0", 3)?;
//! assert_eq!(stash.get("user"), Some(json!({ "name": "Ada", "visits": [3] })));
//! assert_eq!(stash.get_as::<u32>("user.visits.0")?, Some(3));
//! # Ok::<(), haft_core::stash::StashError>(())
//! ```

mod changes;
mod decode;
mod encode;
mod error;
mod node;
mod path;

#[cfg(test)]
mod tests;

use std::any::{Any, TypeId};
use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use serde::de::{DeserializeOwned, DeserializeSeed as _, Error as _};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

use self::changes::ChangeLog;
use self::decode::Decoder;
use self::encode::StashEncoder;
use self::node::{Refusal, StashNode};

pub use self::changes::StashChanges;
pub use self::error::StashError;
pub use self::path::StashPath;

/// Highest index that a write may use to leave a hole in an array. Appending has no limit.
pub const MAX_GAP_INDEX: usize = 1024;

/// Most levels of containers, the store itself included, so that every store that is written as
/// text can be read again by `serde_json`.
pub const MAX_DEPTH: usize = crate::json::MAX_DEPTH - 1;

/// An ordered tree of JSON values addressed by [`StashPath`]s.
///
/// All methods take `&self`, so one store can be shared between tasks in an [`Arc`]. Values are
/// copied in and out: the store is the only way to change what is stored. A clone is a
/// snapshot, independent of the original from then on; it costs two reference counts, because
/// unchanged parts are shared.
///
/// # Paths
///
/// - In an object a segment is a key. All keys are ordinary, and only keys that were stored exist.
/// - In an array a segment is an index: decimal digits without leading zeros. Nothing else reads
///   or writes an element; strings have no elements and nothing has a `length`.
/// - A write makes the containers that are missing: an array if the segment to be stored in it is
///   an index, else an object. The store itself is always an object.
/// - A write past the end of an array fills the hole with nulls, up to [`MAX_GAP_INDEX`].
/// - A write through a string, number, boolean or null is refused with
///   [`StashError::NotAContainer`]. It never replaces the value that is in the way: a
///   mistyped path must not destroy data. Store an object there to replace it on purpose.
///
/// # Process-local values
///
/// [`Stash::insert_typed`] keeps one value per Rust type next to the JSON tree, for handles and
/// caches. They are not part of the JSON: no path reaches them, they are not serialised, and a
/// clone shares them.
pub struct Stash {
    inner: RwLock<Inner>,
}

struct Inner {
    /// Always an object.
    root: StashNode,
    /// Nothing while there are none, as in most stashes.
    typed: Option<Arc<TypedValues>>,
    /// What has changed, if that is tracked.
    changes: Option<ChangeLog>,
}

/// One value for each type.
type TypedValues = HashMap<TypeId, Arc<dyn Any + Send + Sync>>;

impl Stash {
    /// An empty store.
    #[must_use]
    pub fn new() -> Self {
        Self::with_root(StashNode::empty_object())
    }

    /// A store that starts with the members of an object.
    ///
    /// # Errors
    ///
    /// [`StashError::InvalidInitialValue`] if it is not an object,
    /// [`StashError::TooDeep`] if it is nested beyond [`MAX_DEPTH`].
    pub fn from_value(value: Value) -> Result<Self, StashError> {
        let root = [""; 0];
        match StashNode::from_value(value, MAX_DEPTH).map_err(|it| it.at(&StashPath::from(root)))? {
            root @ StashNode::Object(_) => Ok(Self::with_root(root)),
            other => Err(StashError::InvalidInitialValue { found: other.kind() }),
        }
    }

    /// A copy of the value at `path`. Only that subtree is copied, and not under the lock.
    #[must_use]
    pub fn get(&self, path: impl Into<StashPath>) -> Option<Value> {
        self.node(&path.into()).map(|node| node.to_value())
    }

    /// The value at `path` as a `T`.
    ///
    /// ```
    /// use haft_core::stash::Stash;
    ///
    /// let stash = Stash::new();
    /// stash.set("user.age", 36)?;
    /// assert_eq!(stash.get_as::<u8>("user.age")?, Some(36));
    /// assert!(stash.get_as::<bool>("user.age").is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`StashError::WrongType`] if something is there that is not a `T`.
    pub fn get_as<T: DeserializeOwned>(
        &self,
        path: impl Into<StashPath>,
    ) -> Result<Option<T>, StashError> {
        let path = path.into();
        let Some(node) = self.node(&path) else { return Ok(None) };
        serde_json::from_value(node.to_value())
            .map(Some)
            .map_err(|source| StashError::WrongType { path, source })
    }

    /// Whether something is stored at `path`. Null, `0`, `""` and `false` are something.
    #[must_use]
    pub fn has(&self, path: impl Into<StashPath>) -> bool {
        self.read().root.get(&path.into()).is_some()
    }

    /// Stores a value, in the order in which it names its members.
    ///
    /// # Errors
    ///
    /// [`StashError::NotJson`] if the value is or contains NaN, an infinity, an integer outside
    /// 64 bits or a key that is not text; [`StashError::TooDeep`]; and the errors of
    /// the path rules: [`StashError::NotAContainer`], [`StashError::NotAnIndex`],
    /// [`StashError::IndexTooLarge`], [`StashError::EmptyPath`].
    pub fn set(&self, path: impl Into<StashPath>, value: impl Serialize) -> Result<(), StashError> {
        let path = path.into();
        let encoder = StashEncoder { depth: room_below(&path) };
        let node = value.serialize(encoder).map_err(|it| it.at(&path))?;
        self.put(&path, node)
    }

    /// Stores a JSON value without serialising it again.
    ///
    /// # Errors
    ///
    /// As [`Stash::set`].
    pub fn set_value(&self, path: impl Into<StashPath>, value: Value) -> Result<(), StashError> {
        let path = path.into();
        let node = StashNode::from_value(value, room_below(&path)).map_err(|it| it.at(&path))?;
        self.put(&path, node)
    }

    /// Replaces the current value by the result of `change`, atomically.
    ///
    /// `change` runs under the store's lock: keep it short, and do not use the same store in it,
    /// which would wait for itself. If it panics, the store is as it was.
    ///
    /// ```
    /// # use haft_core::stash::Stash;
    /// let stash = Stash::new();
    /// let count = |now: Option<&serde_json::Value>| now.and_then(|it| it.as_u64()).unwrap_or(0);
    /// stash.update("count", |now| (count(now) + 1).into())?;
    /// stash.update("count", |now| (count(now) + 1).into())?;
    /// assert_eq!(stash.get_as("count")?, Some(2));
    /// # Ok::<(), haft_core::stash::StashError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`Stash::set`]; what `change` returned is then dropped.
    pub fn update(
        &self,
        path: impl Into<StashPath>,
        change: impl FnOnce(Option<&Value>) -> Value,
    ) -> Result<(), StashError> {
        let path = path.into();
        let mut inner = self.write();
        let current = inner.root.get(&path).map(StashNode::to_value);
        let node = StashNode::from_value(change(current.as_ref()), room_below(&path))
            .map_err(|it| it.at(&path))?;
        inner.put(&path, node).map(drop)
    }

    /// Removes and returns the value at `path`. Its containers stay, even when empty; later elements of an array move
    /// up. The root cannot be removed.
    ///
    /// ```
    /// use haft_core::stash::Stash;
    ///
    /// let stash = Stash::from_value(serde_json::json!({"user": {"name": "Ada"}}))?;
    /// assert_eq!(stash.remove("user.name"), Some("Ada".into()));
    /// assert!(!stash.has("user.name"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn remove(&self, path: impl Into<StashPath>) -> Option<Value> {
        let path = path.into();
        let taken = self.write().take(&path);
        taken.map(|node| node.to_value())
    }

    /// Tracks changes from now on, for [`take_changes`](Self::take_changes). Clones do not.
    pub fn track_changes(&self) {
        self.write().changes = Some(ChangeLog::default());
    }

    /// What has changed since the last call. Takes time by what has changed, and not by what is stored.
    ///
    /// ```
    /// use haft_core::stash::{Stash, StashChanges};
    ///
    /// let stash = Stash::new();
    /// stash.track_changes();
    /// stash.set("count", 1)?;
    /// stash.set("count", 2)?;
    /// let StashChanges::Parts(parts) = stash.take_changes() else { panic!("one part has changed") };
    /// assert_eq!(parts, [("count".into(), Some(2.into()))]);
    /// assert_eq!(stash.take_changes(), StashChanges::None);
    /// # Ok::<(), haft_core::stash::StashError>(())
    /// ```
    #[must_use]
    pub fn take_changes(&self) -> StashChanges {
        // Most of the time nothing has changed, and a look suffices.
        match &self.read().changes {
            Some(changes) if !changes.is_empty() => {}
            _ => return StashChanges::None,
        }
        let mut inner = self.write();
        let changes = inner.changes.replace(ChangeLog::default()).unwrap_or_default();
        changes.describe(&inner.root)
    }

    /// The paths of all leaves in insertion order. Only objects are descended into: arrays are
    /// leaves, and an empty object has none. Every path can be used to read its leaf again.
    #[must_use]
    pub fn keys(&self) -> Vec<StashPath> {
        let root = self.read().root.clone();
        let mut out = Vec::new();
        root.leaves(&mut Vec::new(), &mut out);
        out
    }

    /// A copy of everything. Whether the object keeps the order of insertion is up to the features
    /// of `serde_json`; serialising the store itself always does.
    #[must_use]
    pub fn all(&self) -> Value {
        let root = self.read().root.clone();
        root.to_value()
    }

    /// How many members the store has at its top level.
    #[must_use]
    pub fn len(&self) -> usize {
        match &self.read().root {
            StashNode::Object(members) => members.len(),
            _ => 0,
        }
    }

    /// Whether the store has no members. Process-local values do not count.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Stores a process-local value, one per type, and returns the value that it replaces. It is not part of the JSON
    /// and is lost when the store is serialised.
    ///
    /// ```
    /// use haft_core::stash::Stash;
    ///
    /// struct Connection(u16);
    /// let stash = Stash::new();
    /// assert!(stash.insert_typed(Connection(5432)).is_none());
    /// assert_eq!(stash.typed::<Connection>().map(|it| it.0), Some(5432));
    /// ```
    pub fn insert_typed<T: Any + Send + Sync>(&self, value: T) -> Option<Arc<T>> {
        let value: Arc<dyn Any + Send + Sync> = Arc::new(value);
        let old = Arc::make_mut(self.write().typed.get_or_insert_default())
            .insert(TypeId::of::<T>(), value);
        old.and_then(|old| old.downcast().ok())
    }

    /// The process-local value of a type.
    #[must_use]
    pub fn typed<T: Any + Send + Sync>(&self) -> Option<Arc<T>> {
        let found = self.read().typed.as_ref()?.get(&TypeId::of::<T>()).map(Arc::clone);
        found.and_then(|found| found.downcast().ok())
    }

    /// Removes and returns the process-local value of a type.
    pub fn remove_typed<T: Any + Send + Sync>(&self) -> Option<Arc<T>> {
        let taken = Arc::make_mut(self.write().typed.as_mut()?).remove(&TypeId::of::<T>());
        taken.and_then(|taken| taken.downcast().ok())
    }

    fn with_root(root: StashNode) -> Self {
        Self { inner: RwLock::new(Inner { root, typed: None, changes: None }) }
    }

    fn node(&self, path: &StashPath) -> Option<StashNode> {
        self.read().root.get(path).cloned()
    }

    fn put(&self, path: &StashPath, node: StashNode) -> Result<(), StashError> {
        let replaced = self.write().put(path, node);
        // The old value is dropped here, after the lock.
        replaced.map(drop)
    }

    // No method leaves the tree half changed when it panics, so a poisoned lock holds good data.

    fn read(&self) -> RwLockReadGuard<'_, Inner> {
        self.inner.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Inner> {
        self.inner.write().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inner {
    fn put(&mut self, path: &StashPath, node: StashNode) -> Result<Option<StashNode>, StashError> {
        let Some(changes) = &mut self.changes else { return self.root.put(path, node) };
        let changed = match self.root.get(path) {
            Some(current) if *current == node => None,
            Some(_) => Some(path.clone()),
            // The containers that are made on the way are new, too, and stay if the value is removed.
            None => {
                let prefixes = (1..=path.steps().len()).map(|len| path.prefix(len));
                prefixes.into_iter().find(|prefix| self.root.get(prefix).is_none())
            }
        };
        let replaced = self.root.put(path, node)?;
        if let Some(changed) = changed {
            changes.note(&changed);
        }
        Ok(replaced)
    }

    fn take(&mut self, path: &StashPath) -> Option<StashNode> {
        let taken = self.root.take(path)?;
        if let Some(changes) = &mut self.changes {
            let container = path.prefix(path.steps().len().saturating_sub(1));
            match self.root.get(&container) {
                // Later elements of an array have moved.
                Some(StashNode::Array(_)) => changes.note(&container),
                _ => changes.note(path),
            }
        }
        Some(taken)
    }
}

/// How many levels of containers a value at `path` may use.
fn room_below(path: &StashPath) -> usize {
    MAX_DEPTH.saturating_sub(path.steps().len())
}

impl Refusal {
    fn at(self, path: &StashPath) -> StashError {
        let path = path.clone();
        match self {
            Self::TooDeep => StashError::TooDeep { path },
            Self::NotJson(reason) => StashError::NotJson { path, reason },
        }
    }
}

impl Default for Stash {
    fn default() -> Self {
        Self::new()
    }
}

/// A snapshot: later changes to either do not show in the other. Process-local values are shared.
impl Clone for Stash {
    fn clone(&self) -> Self {
        let inner = self.read();
        let root = inner.root.clone();
        let typed = inner.typed.clone();
        Self { inner: RwLock::new(Inner { root, typed, changes: None }) }
    }
}

/// Equal when they hold the same JSON, whatever the order of their keys.
impl PartialEq for Stash {
    fn eq(&self, other: &Self) -> bool {
        // One lock at a time: comparing a store with itself must not wait.
        let ours = self.read().root.clone();
        let theirs = other.read().root.clone();
        ours == theirs
    }
}

/// Shows how much is stored, not what: a stash can be large and can hold secrets.
impl fmt::Debug for Stash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let len = self.len();
        let typed = self.read().typed.as_ref().map_or(0, |it| it.len());
        f.debug_struct("Stash").field("len", &len).field("typed", &typed).finish_non_exhaustive()
    }
}

/// The plain JSON object, in insertion order.
impl Serialize for Stash {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let root = self.read().root.clone();
        root.serialize(serializer)
    }
}

/// From an object; its order remains, and the last of several equal keys counts.
impl<'de> Deserialize<'de> for Stash {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match (Decoder { depth: MAX_DEPTH }).deserialize(deserializer)? {
            root @ StashNode::Object(_) => Ok(Self::with_root(root)),
            other => {
                let error = StashError::InvalidInitialValue { found: other.kind() };
                Err(D::Error::custom(error))
            }
        }
    }
}
