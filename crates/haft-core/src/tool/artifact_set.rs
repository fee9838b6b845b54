//! The artifacts of a turn.

#[cfg(test)]
mod tests;

use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use indexmap::{IndexMap, IndexSet};

use crate::artifact::{ArtifactKind, SpooledArtifact};
use crate::call::{CallId, Handle, HandleTable, RecordId, ToolCall, ToolResults};
use crate::error::{Coded, ErrorCode, codes};
use crate::invariant::OrReport as _;

/// The artifacts that the model can query in a turn, by handle.
///
/// A call contributes the artifacts among its results, and a retrieved record the one that is its
/// content. Results of queries are never artifacts themselves.
#[derive(Debug, Default)]
pub struct ArtifactSet {
    live: RwLock<Live>,
}

#[derive(Debug, Default)]
struct Live {
    handles: HandleTable,
    calls: IndexMap<RecordId, Vec<ArtifactEntry>>,
    /// By handle.
    retrieved: IndexMap<String, Retrieved>,
    /// Every kind that an artifact of the set has had, in order of appearance.
    kinds: IndexSet<ArtifactKind>,
}

/// An artifact that can be queried.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct LiveArtifact {
    /// How the model names it.
    pub handle: String,
    /// The artifact.
    pub artifact: SpooledArtifact,
    /// The call that made it, or `None` for the content of a retrieved record.
    pub call: Option<RecordId>,
}

#[derive(Clone, Debug)]
struct ArtifactEntry {
    handle: String,
    artifact: SpooledArtifact,
}

#[derive(Clone, Debug)]
struct Retrieved {
    id: String,
    artifact: SpooledArtifact,
}

/// A call and a retrieved record would have the same name, so that a query could read the wrong one.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{id}` names both a tool call and a retrieved record of this turn; give the record another id"
)]
#[non_exhaustive]
pub struct ArtifactIdCollision {
    /// The id.
    pub id: String,
}

impl Coded for ArtifactIdCollision {
    fn code(&self) -> ErrorCode {
        codes::ARTIFACT_ID_COLLISION
    }
}

impl ArtifactSet {
    /// An empty set.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds the artifacts of a call, or replaces its earlier ones. A query, a call whose results are shown in full and
    /// one without artifacts contribute none.
    ///
    /// A call with several artifacts has a handle for each: that of the call, and `.0`, `.1`, …
    ///
    /// # Errors
    ///
    /// A retrieved record has the id or the handle of the call. The set is unchanged then.
    pub fn put_call(&self, call: &ToolCall) -> Result<(), ArtifactIdCollision> {
        let artifacts = match &call.results {
            Some(ToolResults::Artifacts(all)) if !call.from_artifact_tool && !call.inline => {
                all.as_slice()
            }
            _ => &[],
        };
        let mut live = self.write();
        let handle = live.check_call(call.id())?;
        if artifacts.is_empty() {
            // A call takes its place when it is proposed, so that the order does not depend on which one ends first.
            live.calls.insert(call.id(), Vec::new());
            return Ok(());
        }
        live.kinds.extend(artifacts.iter().map(|artifact| artifact.kind().clone()));
        let single = artifacts.len() == 1;
        let entries = artifacts.iter().enumerate().map(|(part, artifact)| ArtifactEntry {
            handle: if single { handle.to_string() } else { format!("{handle}.{part}") },
            artifact: artifact.clone(),
        });
        let entries = entries.collect();
        live.calls.insert(call.id(), entries);
        Ok(())
    }

    /// Checks that the artifacts of a call can be added.
    ///
    /// # Errors
    ///
    /// A retrieved record has its id or its handle.
    pub fn check_call(&self, call: RecordId) -> Result<(), ArtifactIdCollision> {
        self.write().check_call(call).map(drop)
    }

    /// Forgets the artifacts of a call.
    pub fn remove_call(&self, id: RecordId) {
        self.write().calls.shift_remove(&id);
    }

    /// Adds the content of a retrieved record, or replaces its earlier content. The handle is the id, or a hash of the
    /// id if that is not a plain word: handles appear in schemas, which must not contain text from other sources.
    ///
    /// # Errors
    ///
    /// A call of the turn has the id as its own or as its handle. The set is unchanged then.
    pub fn put_retrieved(
        &self,
        id: &str,
        artifact: SpooledArtifact,
    ) -> Result<(), ArtifactIdCollision> {
        self.check_retrieved(id)?;
        let mut live = self.write();
        live.kinds.insert(artifact.kind().clone());
        live.retrieved.insert(handle_of(id), Retrieved { id: id.to_owned(), artifact });
        Ok(())
    }

    /// Checks that the content of a retrieved record can be added.
    ///
    /// # Errors
    ///
    /// A call of the turn has the id as its own or as its handle.
    pub fn check_retrieved(&self, id: &str) -> Result<(), ArtifactIdCollision> {
        let live = self.read();
        let base = id.split('.').next().unwrap_or(id);
        let is_call = live.handles.resolve(id).or_else(|| live.handles.resolve(base)).is_some()
            || id.parse::<RecordId>().is_ok_and(|id| live.handles.knows(id));
        if is_call { Err(ArtifactIdCollision { id: id.to_owned() }) } else { Ok(()) }
    }

    /// Forgets the content of a retrieved record.
    pub fn remove_retrieved(&self, id: &str) {
        self.write().retrieved.shift_remove(&handle_of(id));
    }

    /// The artifact that a handle names now.
    #[must_use]
    pub fn get(&self, handle: &str) -> Option<SpooledArtifact> {
        let live = self.read();
        let base = handle.split_once('.').map_or(handle, |(base, _)| base);
        let call = live.handles.resolve(base).and_then(|id| live.calls.get(&id));
        let of_call = call.into_iter().flatten().find(|entry| entry.handle == handle);
        let of_record = || live.retrieved.get(handle).map(|it| &it.artifact);
        of_call.map(|entry| &entry.artifact).or_else(of_record).cloned()
    }

    /// The handles of the artifacts of a call, in their order.
    #[must_use]
    pub fn handles_of(&self, call: RecordId) -> Vec<String> {
        let live = self.read();
        live.calls.get(&call).into_iter().flatten().map(|entry| entry.handle.clone()).collect()
    }

    /// The handle of the content of a retrieved record, or `None` if it has none that can be queried.
    #[must_use]
    pub fn handle_of_retrieved(&self, id: &str) -> Option<String> {
        let handle = handle_of(id);
        self.read().retrieved.get(&handle).is_some().then_some(handle)
    }

    /// Every handle and its artifact: those of calls in the order of the calls, then those of retrieved
    /// records.
    #[must_use]
    pub fn all(&self) -> Vec<(String, SpooledArtifact)> {
        self.live().into_iter().map(|it| (it.handle, it.artifact)).collect()
    }

    /// Every artifact that can be queried, in the order of [`all`](Self::all), with the call that made it.
    #[must_use]
    pub fn live(&self) -> Vec<LiveArtifact> {
        let live = self.read();
        let of_call = |(id, entries): (&RecordId, &Vec<ArtifactEntry>)| {
            let call = Some(*id);
            let entries = entries.iter().map(move |it| LiveArtifact {
                handle: it.handle.clone(),
                artifact: it.artifact.clone(),
                call,
            });
            entries.collect::<Vec<_>>()
        };
        let retrieved = live.retrieved.iter().map(|(handle, it)| LiveArtifact {
            handle: handle.clone(),
            artifact: it.artifact.clone(),
            call: None,
        });
        live.calls.iter().flat_map(of_call).chain(retrieved).collect()
    }

    /// Every kind that an artifact of the turn has had, from the one at this position on, in order of appearance. The
    /// cost does not depend on the number of artifacts.
    #[must_use]
    pub fn kinds_since(&self, position: usize) -> Vec<ArtifactKind> {
        self.read().kinds.iter().skip(position).cloned().collect()
    }

    /// The call that a handle names.
    #[must_use]
    pub fn call_of(&self, handle: &str) -> Option<RecordId> {
        self.read().handles.resolve(handle)
    }

    /// The handle of a call, which it keeps for the whole turn.
    #[must_use]
    pub fn handle(&self, call: RecordId) -> Handle {
        self.write().handles.insert(call)
    }

    fn read(&self) -> RwLockReadGuard<'_, Live> {
        self.live.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Live> {
        self.live.write().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Live {
    /// The handle of a call that can be taken up.
    fn check_call(&mut self, call: RecordId) -> Result<Handle, ArtifactIdCollision> {
        // The handle is taken from now on, also from who comes while the call is being kept.
        let handle = self.handles.insert(call);
        let id = call.to_string();
        let clash = |it: &Retrieved| it.id == id || is_of(&it.id, handle.as_str());
        if self.retrieved.values().any(clash) {
            return Err(ArtifactIdCollision { id });
        }
        Ok(handle)
    }
}

/// Whether a text is the handle of a call or of one of its parts.
fn is_of(text: &str, handle: &str) -> bool {
    text.strip_prefix(handle).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

/// How the model names a retrieved record.
fn handle_of(id: &str) -> String {
    let is_plain = |it: u8| it.is_ascii_alphanumeric() || b"_-.:#/".contains(&it);
    if (1..=64).contains(&id.len()) && id.bytes().all(is_plain) {
        return id.to_owned();
    }
    let hash = CallId::of_text("retrieved", id).to_string();
    format!("r-{}", hash.get(..16).or_report("a hash has 64 digits", &hash))
}
