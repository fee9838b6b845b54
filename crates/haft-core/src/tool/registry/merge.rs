//! Several registries into one.

use std::sync::{Arc, RwLock};

use indexmap::map::Entry as MapEntry;

use super::{Entries, ToolEntry, ToolRegistry, ToolRegistryError};
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
        let mut merged = Entries::default();
        for registry in registries {
            for incoming in registry.read().registered() {
                let name = incoming.tool.name();
                match merged.tools.entry(name.clone()) {
                    MapEntry::Vacant(entry) => {
                        entry.insert(unplaced(incoming));
                    }
                    MapEntry::Occupied(mut entry) => {
                        match policy(incoming.tool.on_collision(), otherwise) {
                            OnCollision::Replace => {
                                entry.insert(unplaced(incoming));
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

/// An entry as a registry has it that was never offered.
fn unplaced(entry: &ToolEntry) -> ToolEntry {
    ToolEntry { status: entry.status, ..ToolEntry::new(entry.tool.clone()) }
}

fn policy(own: OnCollision, otherwise: OnCollision) -> OnCollision {
    match own {
        OnCollision::Throw => otherwise,
        decided => decided,
    }
}
