//! What the views of all formats have in common.

use std::fmt;
use std::sync::Arc;

use crate::jsonpath::{SelectionLimits, VisitBudget};
use haft_core::artifact::Budget;
use haft_core::cancel::Cancellation;
use haft_core::forge::QueryContext;
use haft_core::spool::{SpoolError, SpoolReader};

use crate::scan::{ChunkScan, ContentScan, run_scan};

/// Stored content, the budget of the results, the token that cancels queries, and how much is read at
/// once. Every view of a format contains one.
#[derive(Clone)]
pub(crate) struct ContentView {
    pub(crate) reader: Arc<dyn SpoolReader>,
    pub(crate) budget: Budget,
    pub(crate) cancellation: Cancellation,
    pub(crate) window_bytes: usize,
}

impl ContentView {
    /// The content of a reader, with the default budget and window, and a token that nothing cancels.
    pub(crate) fn new(reader: Arc<dyn SpoolReader>) -> Self {
        let budget = Budget::new();
        let cancellation = Cancellation::new();
        Self { reader, budget, cancellation, window_bytes: DEFAULT_WINDOW_BYTES }
    }

    /// The content of the queried artifact, with the budget and the token of the query.
    pub(crate) fn of_query(asked: &QueryContext) -> Self {
        Self {
            reader: Arc::clone(asked.artifact.reader()),
            budget: asked.budget,
            cancellation: asked.cancellation.clone(),
            window_bytes: DEFAULT_WINDOW_BYTES,
        }
    }

    pub(crate) fn byte_length(&self) -> u64 {
        self.reader.byte_length()
    }

    /// How many values the paths of one query may look at.
    #[cfg(feature = "formats")]
    pub(crate) fn visit_budget(&self) -> VisitBudget {
        visit_budget(self.byte_length())
    }

    /// Runs a scan of the content to its end.
    pub(crate) async fn run_scan<S: ContentScan>(&self, scan: S) -> Result<S, SpoolError> {
        run_scan(&self.reader, &self.cancellation, scan).await
    }

    /// Hands the whole content to `take`, chunk by chunk, and returns the state that it collected.
    pub(crate) async fn fold_chunks<S: Send + 'static>(
        &self,
        state: S,
        take: fn(&mut S, &[u8]),
    ) -> Result<S, SpoolError> {
        let scan = ChunkScan::new(self.byte_length(), self.window_bytes, state, take);
        Ok(self.run_scan(scan).await?.into_state())
    }
}

/// How many values the paths of one query may look at in content of this size: enough to look at each value several
/// times, which every sensible path does, and few enough for seconds.
pub(crate) fn visit_budget(content_bytes: u64) -> VisitBudget {
    let base = SelectionLimits::default().max_nodes_visited;
    VisitBudget::new(content_bytes.saturating_mul(VISITS_PER_BYTE).saturating_add(base))
}

/// Each value has a byte at least, and most have ten or more.
const VISITS_PER_BYTE: u64 = 2;

impl fmt::Debug for ContentView {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ContentView")
            .field("reader", &self.reader)
            .field("budget", &self.budget)
            .field("window_bytes", &self.window_bytes)
            .finish_non_exhaustive()
    }
}

/// How much is read at once by default.
const DEFAULT_WINDOW_BYTES: usize = 256 * 1024;

/// The options that every view of content has, for an `impl` block of a type with a field
/// `content: ContentView`.
macro_rules! content_view_options {
    () => {
        /// Bounds the results of queries.
        #[must_use]
        pub fn budget(mut self, budget: haft_core::artifact::Budget) -> Self {
            self.content.budget = budget;
            self
        }

        /// Stops queries before their next read once this token is cancelled.
        #[must_use]
        pub fn cancellation(mut self, cancellation: haft_core::cancel::Cancellation) -> Self {
            self.content.cancellation = cancellation;
            self
        }

        /// Reads about this many bytes at once instead of 256 KiB.
        #[must_use]
        pub fn window_bytes(mut self, bytes: usize) -> Self {
            self.content.window_bytes = bytes;
            self
        }
    };
}

pub(crate) use content_view_options;
