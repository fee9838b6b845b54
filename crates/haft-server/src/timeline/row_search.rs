//! Searches the rows of a timeline.

use std::borrow::Cow;

use haft::records::ToolCall;
use haft::schema::RawArgs;

use super::ReadTurn;
use super::rows::RowPlace;
use crate::stored::ShownRecord;
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
                self.records.get(*record).is_some_and(|it| matches_words(it, &words))
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

fn matches_words(record: &ShownRecord, words: &str) -> bool {
    let has_words = |text: &str| text.to_lowercase().contains(words);
    match record.as_call() {
        Some(call) => texts_of(call).any(|text| has_words(&text)),
        None => record.text().is_some_and(has_words),
    }
}

/// What is stored of a call as text.
fn texts_of(call: &ToolCall) -> impl Iterator<Item = Cow<'_, str>> {
    let error = call.error.as_ref().map(|it| Cow::from(it.message.as_str()));
    let edited = call.edited.as_deref().map(RawArgs::to_text);
    let id = Cow::from(call.id().to_string());
    let all = [Some(call.tool().into()), Some(id), Some(call.raw().to_text())];
    all.into_iter().chain([edited, call.text().map(Cow::from), error]).flatten()
}
