//! The titles of conversations.

use std::collections::{BTreeMap, HashMap};

use haft_core::store::TurnSummary;

/// A conversation: its tenant and its id.
pub(super) type ConversationKey = (String, String);

/// The titles of conversations. A title is removed with the last turn of its conversation, so the turns of
/// conversations with titles are counted.
#[derive(Default)]
pub(super) struct ConversationTitles {
    titles: HashMap<ConversationKey, CountedTitle>,
}

struct CountedTitle {
    title: String,
    turns: usize,
}

impl ConversationTitles {
    /// Sets or removes the title of a conversation.
    pub(super) fn set<'t>(
        &mut self,
        key: ConversationKey,
        title: Option<String>,
        turns: impl Iterator<Item = &'t TurnSummary>,
    ) {
        let Some(title) = title else {
            self.titles.remove(&key);
            return;
        };
        if let Some(counted) = self.titles.get_mut(&key) {
            counted.title = title;
            return;
        }
        let is_of =
            |it: &&TurnSummary| it.tenant == key.0 && it.conversation.as_ref() == Some(&key.1);
        let turns = turns.filter(is_of).count();
        self.titles.insert(key, CountedTitle { title, turns });
    }

    /// The titles of those of these conversations that have one.
    pub(super) fn find(
        &self,
        tenant: &str,
        conversations: Vec<String>,
    ) -> BTreeMap<String, String> {
        let found = conversations.into_iter().filter_map(|id| {
            let key = (tenant.to_owned(), id);
            let title = self.titles.get(&key)?.title.clone();
            Some((key.1, title))
        });
        found.collect()
    }

    pub(super) fn note_insertion(&mut self, turn: &TurnSummary) {
        if let Some((_, counted)) = self.find_of(turn) {
            counted.turns += 1;
        }
    }

    pub(super) fn note_removal(&mut self, turn: &TurnSummary) {
        if let Some((key, counted)) = self.find_of(turn) {
            counted.turns = counted.turns.saturating_sub(1);
            if counted.turns == 0 {
                self.titles.remove(&key);
            }
        }
    }

    fn find_of(&mut self, turn: &TurnSummary) -> Option<(ConversationKey, &mut CountedTitle)> {
        // Most stores have no titles, and need no key.
        if self.titles.is_empty() {
            return None;
        }
        let key = (turn.tenant.clone(), turn.conversation.clone()?);
        let counted = self.titles.get_mut(&key)?;
        Some((key, counted))
    }
}
