//! Several registries into one.

use std::sync::{Arc, RwLock};

use indexmap::map::Entry as MapEntry;

use super::{Entries, ToolRegistry, ToolRegistryError};
use crate::tool::OnCollision;

impl ToolRegistry {
    /// Merges registries from left to right into a new one.
    ///
    /// When a name comes again, the incoming tool's own policy decides: `Replace` and `Keep` do what
    /// they say, `Throw` leaves it to `otherwise`. The first occurrence fixes the position, whichever
    /// tool wins; whether the name is hidden comes from the winner's entry.
    ///
    /// # Errors
    ///
    /// A name occurs twice and the collision policy does not allow it.
    pub fn merge<'r>(
        registries: impl IntoIterator<Item = &'r Self>,
        otherwise: OnCollision,
    ) -> Result<Self, ToolRegistryError> {
        let mut merged = Entries::new();
        for registry in registries {
            for (name, incoming) in registry.read().iter() {
                match merged.entry(name.clone()) {
                    MapEntry::Vacant(entry) => {
                        entry.insert(incoming.clone());
                    }
                    MapEntry::Occupied(mut entry) => {
                        match policy(incoming.tool.on_collision(), otherwise) {
                            OnCollision::Replace => {
                                entry.insert(incoming.clone());
                            }
                            OnCollision::Keep => {}
                            OnCollision::Throw => {
                                let tool = name.clone();
                                return Err(ToolRegistryError::AlreadyRegistered { tool });
                            }
                        }
                    }
                }
            }
        }
        Ok(Self { entries: RwLock::new(Arc::new(merged)) })
    }
}

fn policy(own: OnCollision, otherwise: OnCollision) -> OnCollision {
    match own {
        OnCollision::Throw => otherwise,
        decided => decided,
    }
}
