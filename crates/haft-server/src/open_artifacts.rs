//! Artifacts that clients look at. The most recent ones stay open, and their content is verified in the background, so
//! that the first lines of a large artifact appear at once.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use haft::artifacts::SpooledArtifact;
use haft::stores::{ContentState, SpoolError, SpoolReader, TurnId};
use tokio::sync::watch;
use tokio::task::AbortHandle;

use crate::wire::ArtifactState;

/// How many artifacts stay open.
const MAX_OPEN: usize = 16;

/// The artifacts that were opened last.
#[derive(Default)]
pub(crate) struct OpenArtifacts {
    open: Mutex<VecDeque<(TurnId, String, OpenArtifact)>>,
}

impl OpenArtifacts {
    pub(crate) fn get(&self, turn: &TurnId, handle: &str) -> Option<OpenArtifact> {
        let open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.iter().find(|(id, name, _)| id == turn && name == handle).map(|it| it.2.clone())
    }

    /// Adds an artifact. One that was opened long ago is closed for it.
    pub(crate) fn insert(
        &self,
        turn: &TurnId,
        handle: &str,
        artifact: SpooledArtifact,
    ) -> OpenArtifact {
        let opened = OpenArtifact { artifact, verification: Arc::default() };
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.push_back((turn.clone(), handle.to_owned(), opened.clone()));
        if open.len() > MAX_OPEN {
            open.pop_front();
        }
        opened
    }
}

/// An artifact, and the verification of its content.
#[derive(Clone)]
pub(crate) struct OpenArtifact {
    pub(crate) artifact: SpooledArtifact,
    verification: Arc<OnceLock<Verification>>,
}

/// A verification in the background. It ends when nothing uses the artifact any more.
struct Verification {
    /// Its outcome, or `None` while it runs.
    outcome: watch::Receiver<Option<(ArtifactState, Option<String>)>>,
    task: AbortHandle,
}

impl Drop for Verification {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl OpenArtifact {
    /// Begins to verify the content, unless that was done before.
    pub(crate) fn start_verification(&self) {
        if self.artifact.content_state() == ContentState::Unverified {
            self.verification.get_or_init(|| spawn_verification(self.artifact.clone()));
        }
    }

    /// Whether the content is the one that was stored, and what is wrong with it.
    pub(crate) fn state(&self) -> (ArtifactState, Option<String>) {
        let outcome = self.verification.get().and_then(|it| it.outcome.borrow().clone());
        outcome.unwrap_or_else(|| match self.artifact.content_state() {
            ContentState::Verified => (ArtifactState::Verified, None),
            ContentState::Changed => (ArtifactState::Changed, None),
            ContentState::NoDigest => (ArtifactState::NoDigest, None),
            _ => (ArtifactState::Unverified, None),
        })
    }

    /// Waits until the content is verified, but no longer than this.
    pub(crate) async fn await_verification(&self, limit: Duration) {
        let Some(verification) = self.verification.get() else { return };
        let mut outcome = verification.outcome.clone();
        let _ = tokio::time::timeout(limit, outcome.wait_for(Option::is_some)).await;
    }

    /// The content for a person who is told its state. While its hash is being compared, reads do not wait for that.
    pub(crate) fn shown_reader(&self) -> (ArtifactState, &Arc<dyn SpoolReader>) {
        let is_running = self.verification.get().is_some_and(|it| it.outcome.borrow().is_none());
        match is_running {
            true => (ArtifactState::Unverified, self.artifact.unverified_reader()),
            false => (self.state().0, self.artifact.reader()),
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "the task is aborted with its artifact")]
fn spawn_verification(artifact: SpooledArtifact) -> Verification {
    let (sender, outcome) = watch::channel(None);
    let task = tokio::spawn(async move {
        let end = match artifact.verify().await {
            Ok(()) => (ArtifactState::Verified, None),
            Err(error @ SpoolError::Changed { .. }) => {
                (ArtifactState::Changed, Some(error.to_string()))
            }
            Err(error) => (ArtifactState::Unverified, Some(error.to_string())),
        };
        sender.send_replace(Some(end));
    });
    Verification { outcome, task: task.abort_handle() }
}
