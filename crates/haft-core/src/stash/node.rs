//! The tree behind a store: JSON whose objects keep the order of insertion.
//!
//! Containers are shared until one of their owners writes, so a clone costs one reference count
//! and a write copies only the containers on its path. The depth of every tree is bounded by
//! [`MAX_DEPTH`], which makes recursion over it safe.

use std::sync::{Arc, LazyLock};

use indexmap::IndexMap;
use serde_json::{Number, Value};

use super::path::StashSegment;
use super::{MAX_DEPTH, MAX_GAP_INDEX, StashError, StashPath};
use crate::json::ValueKind;

pub(super) type StashMembers = IndexMap<Arc<str>, StashNode>;

#[derive(Clone, Debug, PartialEq)]
pub(super) enum StashNode {
    Null,
    Bool(bool),
    Number(Number),
    String(Arc<str>),
    Array(Arc<Vec<Self>>),
    Object(Arc<StashMembers>),
}

/// Why a value cannot become a node; the caller knows the path.
#[derive(Debug)]
pub(super) enum Refusal {
    TooDeep,
    NotJson(String),
}

impl StashNode {
    pub(super) fn kind(&self) -> ValueKind {
        match self {
            Self::Null => ValueKind::Null,
            Self::Bool(_) => ValueKind::Boolean,
            Self::Number(_) => ValueKind::Number,
            Self::String(_) => ValueKind::String,
            Self::Array(_) => ValueKind::Array,
            Self::Object(_) => ValueKind::Object,
        }
    }

    /// An object without members. All of them are one until they are changed.
    pub(super) fn empty_object() -> Self {
        static EMPTY: LazyLock<Arc<StashMembers>> = LazyLock::new(Arc::default);
        Self::Object(Arc::clone(&EMPTY))
    }

    /// Takes over a value that may use `depth` levels of containers.
    pub(super) fn from_value(value: Value, depth: usize) -> Result<Self, Refusal> {
        Ok(match value {
            Value::Null => Self::Null,
            Value::Bool(it) => Self::Bool(it),
            Value::Number(it) => Self::Number(it),
            Value::String(it) => Self::String(it.into()),
            Value::Array(items) => {
                let depth = depth.checked_sub(1).ok_or(Refusal::TooDeep)?;
                let items = items.into_iter().map(|it| Self::from_value(it, depth));
                Self::Array(Arc::new(items.collect::<Result<_, _>>()?))
            }
            Value::Object(members) if members.is_empty() && depth > 0 => Self::empty_object(),
            Value::Object(members) => {
                let depth = depth.checked_sub(1).ok_or(Refusal::TooDeep)?;
                let members = members
                    .into_iter()
                    .map(|(key, it)| Ok((key.into(), Self::from_value(it, depth)?)));
                Self::Object(Arc::new(members.collect::<Result<_, _>>()?))
            }
        })
    }

    pub(super) fn to_value(&self) -> Value {
        match self {
            Self::Null => Value::Null,
            Self::Bool(it) => Value::Bool(*it),
            Self::Number(it) => Value::Number(it.clone()),
            Self::String(it) => Value::String(it.as_ref().to_owned()),
            Self::Array(items) => items.iter().map(Self::to_value).collect(),
            Self::Object(members) => {
                members.iter().map(|(key, it)| (key.as_ref(), it.to_value())).collect()
            }
        }
    }

    pub(super) fn get(&self, path: &StashPath) -> Option<&Self> {
        path.steps().iter().try_fold(self, |node, step| match node {
            Self::Object(members) => members.get(step.key()),
            Self::Array(items) => items.get(step.index()?),
            _ => None,
        })
    }

    /// Stores `value` at `path`, creates missing containers, and returns the value that it replaced. Changes nothing if
    /// it fails.
    pub(super) fn put(
        &mut self,
        path: &StashPath,
        value: Self,
    ) -> Result<Option<Self>, StashError> {
        self.check_put(path)?;
        // `check_put` found a container or nothing at every step, so every step has a slot.
        let slot = path.steps().iter().try_fold(self, Self::slot);
        Ok(slot.map(|slot| std::mem::replace(slot, value)))
    }

    /// Whether [`StashNode::put`] can succeed. Looks only, so that a failure copies nothing.
    fn check_put(&self, path: &StashPath) -> Result<(), StashError> {
        let steps = path.steps();
        if steps.is_empty() {
            return Err(StashError::EmptyPath);
        }
        // A container at the end of the path would be one level below the last step.
        if steps.len() > MAX_DEPTH {
            return Err(StashError::TooDeep { path: path.clone() });
        }
        let mut node = Some(self);
        for (at, step) in steps.iter().enumerate() {
            let len = match node {
                Some(Self::Object(members)) => {
                    node = members.get(step.key());
                    continue;
                }
                Some(Self::Array(items)) => items.len(),
                // Missing: an index makes an array, anything else an object.
                None if step.index().is_some() => 0,
                None => continue,
                Some(scalar) => {
                    return Err(StashError::NotAContainer {
                        path: path.clone(),
                        at: path.prefix(at),
                        found: scalar.kind(),
                    });
                }
            };
            let Some(index) = step.index() else {
                let at = path.prefix(at + 1);
                return Err(StashError::NotAnIndex { path: path.clone(), at });
            };
            if index > len.max(MAX_GAP_INDEX) {
                let at = path.prefix(at + 1);
                return Err(StashError::IndexTooLarge { path: path.clone(), at });
            }
            node = match node {
                Some(Self::Array(items)) => items.get(index),
                _ => None,
            };
        }
        Ok(())
    }

    /// The place of one step below this node, made if it is missing. A null becomes the container
    /// that the step asks for: it is a place that was just made, never a stored null.
    fn slot(&mut self, step: &StashSegment) -> Option<&mut Self> {
        if matches!(self, Self::Null) {
            *self = match step.index() {
                Some(_) => Self::Array(Arc::default()),
                None => Self::Object(Arc::default()),
            };
        }
        match self {
            Self::Object(members) => {
                let members = Arc::make_mut(members);
                Some(members.entry(Arc::clone(step.key())).or_insert(Self::Null))
            }
            Self::Array(items) => {
                let items = Arc::make_mut(items);
                let index = step.index()?;
                if index >= items.len() {
                    items.resize(index + 1, Self::Null);
                }
                items.get_mut(index)
            }
            _ => None,
        }
    }

    /// Removes and returns the value at `path`; later elements of an array move up.
    pub(super) fn take(&mut self, path: &StashPath) -> Option<Self> {
        // Looking first spares the copy of shared containers if there is nothing to take.
        self.get(path)?;
        let (last, parents) = path.steps().split_last()?;
        match parents.iter().try_fold(self, Self::slot)? {
            Self::Object(members) => Arc::make_mut(members).shift_remove(last.key()),
            Self::Array(items) => {
                let index = last.index().filter(|index| *index < items.len())?;
                Some(Arc::make_mut(items).remove(index))
            }
            _ => None,
        }
    }

    /// Adds the paths of all leaves below this node: everything but objects, in insertion order.
    pub(super) fn leaves(&self, at: &mut Vec<StashSegment>, out: &mut Vec<StashPath>) {
        if let Self::Object(members) = self {
            for (key, member) in members.iter() {
                at.push(StashSegment::new(Arc::clone(key)));
                member.leaves(at, out);
                at.pop();
            }
        } else {
            out.push(at.iter().cloned().collect());
        }
    }
}
