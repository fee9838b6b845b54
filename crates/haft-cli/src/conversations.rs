//! Finds the conversations of a store.

use std::collections::HashMap;

use anyhow::Result;
use haft::stores::{OpenStores, TurnQuery, TurnSummary};

use crate::user_error::{FailureCode, UserError};

/// A conversation, and its turns from the newest to the oldest.
pub(crate) struct Conversation {
    pub(crate) id: String,
    pub(crate) turns: Vec<TurnSummary>,
}

/// The most turns whose conversations are listed.
const MAX_TURNS: usize = 10_000;

/// Lists the conversations of a store, the one with the newest turn first.
pub(crate) async fn list_conversations(stores: &OpenStores) -> Result<Vec<Conversation>> {
    let mut query = TurnQuery::default().limit(1000);
    let (mut index, mut all) = (HashMap::<String, usize>::new(), Vec::<Conversation>::new());
    let mut read = 0;
    while read < MAX_TURNS {
        let page = stores.turns().turns(query.clone()).await?;
        let Some(last) = page.last() else { break };
        query.before = Some(last.id.clone());
        read += page.len();
        for turn in page {
            let Some(id) = turn.conversation.clone() else { continue };
            let at = *index.entry(id.clone()).or_insert_with(|| {
                all.push(Conversation { id, turns: Vec::new() });
                all.len() - 1
            });
            if let Some(conversation) = all.get_mut(at) {
                conversation.turns.push(turn);
            }
        }
    }
    Ok(all)
}

/// Lists the turns of a conversation, from the newest to the oldest.
pub(crate) async fn list_turns_of(stores: &OpenStores, id: &str) -> Result<Vec<TurnSummary>> {
    let mut query = TurnQuery::default().conversation(id).limit(1000);
    let mut all = Vec::new();
    loop {
        let page = stores.turns().turns(query.clone()).await?;
        let Some(last) = page.last() else { return Ok(all) };
        query.before = Some(last.id.clone());
        all.extend(page);
    }
}

/// Finds the conversation with the newest turn.
async fn find_newest(stores: &OpenStores) -> Result<Option<String>> {
    let mut query = TurnQuery::default().limit(20);
    loop {
        let page = stores.turns().turns(query.clone()).await?;
        let Some(last) = page.last() else { return Ok(None) };
        query.before = Some(last.id.clone());
        if let Some(id) = page.into_iter().find_map(|turn| turn.conversation) {
            return Ok(Some(id));
        }
    }
}

/// What the ids of conversations begin with that `haft chat` starts; a UUID follows.
pub(crate) const CHAT: &str = "chat-";

/// The short form of a conversation's id, which [`find_conversation`] understands. An id that a program has chosen stays as
/// it is.
pub(crate) fn short_conversation(id: &str) -> &str {
    let is_of_chat = id.len() == CHAT.len() + 36 && id.starts_with(CHAT);
    id.get(..CHAT.len() + 8).filter(|_| is_of_chat).unwrap_or(id)
}

/// Finds the conversation with this id, or the only one whose id starts with the text, with or without `chat-`. `last` is the
/// one with the newest turn.
pub(crate) async fn find_conversation(stores: &OpenStores, text: &str) -> Result<String> {
    let missing = || {
        let error = UserError::new(format!("there is no conversation `{text}`"));
        error.hint("`haft conversations` lists them").code(FailureCode::NotFound)
    };
    if text == "last" {
        let none = || {
            let error = UserError::new("the store has no conversations");
            error.hint("`haft chat AGENT` starts one").code(FailureCode::NotFound)
        };
        return Ok(find_newest(stores).await?.ok_or_else(none)?);
    }
    let exact = TurnQuery::default().conversation(text).limit(1);
    if !stores.turns().turns(exact).await?.is_empty() {
        return Ok(text.to_owned());
    }
    let all = list_conversations(stores).await?;
    let is_named = |id: &String| {
        let short = id.strip_prefix(CHAT).unwrap_or(id);
        !text.is_empty() && (id.starts_with(text) || short.starts_with(text))
    };
    let mut found = all.into_iter().map(|it| it.id).filter(is_named);
    match (found.next(), found.next()) {
        (Some(id), None) => Ok(id),
        (Some(first), Some(second)) => {
            let error = UserError::new(format!("more than one conversation starts with `{text}`"));
            Err(error.hint(format!("use more of its id: `{first}` or `{second}`")).into())
        }
        _ => Err(missing().into()),
    }
}
