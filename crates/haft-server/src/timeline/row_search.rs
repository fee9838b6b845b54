//! Searches the rows of a timeline.

use super::ReadTurn;
use super::rows::RowPlace;
use crate::stored::{StoredCall, StoredRecord, StoredResults};
use crate::wire::RowMatches;

/// How many places a search returns at most.
const MAX_PLACES: usize = 2000;

impl ReadTurn {
    /// The places of the rows that have these words.
    pub(crate) fn find_rows(&self, words: &str) -> RowMatches {
        let words = words.trim().to_lowercase();
        if words.is_empty() {
            return RowMatches { places: Vec::new(), total: 0 };
        }
        let has_words = |place: &RowPlace| match place {
            RowPlace::Step(_) => false,
            RowPlace::Item { record, .. } => {
                self.records.get(*record).is_some_and(|(_, _, it)| matches_words(it, &words))
            }
        };
        let mut matches = RowMatches { places: Vec::new(), total: 0 };
        for (at, _) in self.rows.iter().enumerate().filter(|(_, place)| has_words(place)) {
            matches.total += 1;
            if matches.places.len() < MAX_PLACES {
                matches.places.push(at);
            }
        }
        matches
    }
}

fn matches_words(record: &StoredRecord, words: &str) -> bool {
    let has_words = |text: &str| text.to_lowercase().contains(words);
    match record {
        StoredRecord::Message(text) | StoredRecord::Thought(text) => {
            text.content.as_deref().is_some_and(has_words)
        }
        StoredRecord::Call(call) => texts_of(call).any(has_words),
    }
}

/// What is stored of a call as text.
fn texts_of(call: &StoredCall) -> impl Iterator<Item = &str> {
    let result = match &call.results {
        Some(StoredResults::Text(text)) => Some(text.as_str()),
        _ => None,
    };
    let error = call.error.as_ref().map(|it| it.message.as_str());
    let all = [Some(call.tool.as_str()), Some(call.id.as_str()), Some(call.raw.as_str())];
    all.into_iter().chain([call.edited.as_deref(), result, error]).flatten()
}
