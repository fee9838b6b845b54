//! Several registries into one.

use indexmap::map::Entry as MapEntry;

use super::{Entries, ToolRegistry, ToolRegistryError};
use crate::tool::OnCollision;

impl ToolRegistry {
    /// Merges registries from left to right into a new one.
    ///
    /// When a name comes again, the incoming tool's own policy decides: `Replace` and `Keep` do what
    /// they say, `Throw` leaves it to `otherwise`. The first occurrence fixes the position, whichever
    /// tool wins.
    ///
    /// # Errors
    ///
    /// A name occurs twice and the collision policy does not allow it.
    pub fn merge<'r>(
        registries: impl IntoIterator<Item = &'r Self>,
        otherwise: OnCollision,
    ) -> Result<Self, ToolRegistryError> {
        let mut merged = Entries::default();
        for incoming in registries.into_iter().flat_map(Self::all) {
            match merged.tools.entry(incoming.name().clone()) {
                MapEntry::Vacant(entry) => {
                    entry.insert(incoming);
                }
                MapEntry::Occupied(mut entry) => {
                    let policy = match incoming.on_collision() {
                        OnCollision::Throw => otherwise,
                        own => own,
                    };
                    match policy {
                        OnCollision::Replace => drop(entry.insert(incoming)),
                        OnCollision::Keep => {}
                        OnCollision::Throw => {
                            let tool = incoming.name().clone();
                            return Err(ToolRegistryError::AlreadyRegistered { tool });
                        }
                    }
                }
            }
        }
        let registry = Self::default();
        registry.change(|entries| *entries = merged);
        Ok(registry)
    }
}
