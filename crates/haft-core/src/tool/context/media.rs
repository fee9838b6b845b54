//! The media of a turn, by the names that the model sees.

use std::fmt;

use super::TurnContext;
use crate::call::{RecordId, ToolCall, ToolResults};
use crate::error::{Coded, ErrorCode, codes};
use crate::media::{Media, MediaId};

/// How many ids the error for an unknown one lists.
const MOST_LISTED: usize = 8;
/// How many characters of an id an error shows.
const MOST_SHOWN: usize = 100;

/// No media item of the turn has this id.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct UnknownMedia {
    /// The id that was given.
    pub id: String,
    /// The ids of the newest media of the turn, as the model sees them.
    pub known: Vec<String>,
}

impl TurnContext {
    /// The media item with this id: one that a call returned, or an attachment of a message.
    ///
    /// The id is the text of the marker that the model reads (`[media id: … | …]`), or the whole [`MediaId`]. If
    /// several media items have the same id, the oldest is returned, so that a later tool cannot take over the name of
    /// an item that the model has already seen.
    ///
    /// # Errors
    ///
    /// No media item of the turn has this id.
    pub fn media(&self, id: &str) -> Result<Media, UnknownMedia> {
        let of_call = || {
            let (owner, n) = MediaId::split(id)?;
            let record = self.artifacts().call_of(owner).or_else(|| owner.parse().ok())?;
            let whole = MediaId::of_call(record, n);
            let call = self.tool_calls().get(&record)?;
            media_of(&call).iter().find(|media| media.id() == Some(&whole)).cloned()
        };
        of_call().or_else(|| self.find_media(id)).ok_or_else(|| self.unknown_media(id))
    }

    /// The id of a media item as the model sees it: the digits of a call are shortened to the handle of the call.
    #[must_use]
    pub fn shown_media_id(&self, media: &Media) -> Option<String> {
        let id = media.id()?.as_str();
        let of_call = MediaId::split(id).and_then(|(owner, n)| {
            let record: RecordId = owner.parse().ok()?;
            self.tool_calls().get(&record)?;
            Some(format!("{}/media/{n}", self.artifacts().handle(record)))
        });
        Some(of_call.unwrap_or_else(|| id.to_owned()))
    }

    fn find_media(&self, id: &str) -> Option<Media> {
        let is_named = |media: &&Media| media.id().is_some_and(|it| it.as_str() == id);
        let messages = self.messages().all();
        let attached = messages.iter().find_map(|it| it.attachments().iter().find(is_named));
        attached.cloned().or_else(|| {
            let calls = self.tool_calls().all();
            calls.iter().find_map(|call| media_of(call).iter().find(is_named)).cloned()
        })
    }

    fn unknown_media(&self, id: &str) -> UnknownMedia {
        let messages = self.messages().all();
        let calls = self.tool_calls().all();
        let attached = messages.iter().rev().flat_map(|it| it.attachments());
        let returned = calls.iter().rev().flat_map(|call| media_of(call));
        let known = returned.chain(attached).filter_map(|media| self.shown_media_id(media));
        UnknownMedia { id: cut(id), known: known.take(MOST_LISTED).map(|id| cut(&id)).collect() }
    }
}

fn media_of(call: &ToolCall) -> &[Media] {
    match &call.results {
        Some(ToolResults::Media(all)) => all,
        _ => &[],
    }
}

fn cut(id: &str) -> String {
    id.chars().filter(|it| !it.is_control()).take(MOST_SHOWN).collect()
}

impl std::error::Error for UnknownMedia {}

impl fmt::Display for UnknownMedia {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "there is no medium `{}` in this turn", self.id)?;
        match self.known.as_slice() {
            [] => f.write_str("; there are no media"),
            known => write!(f, "; the newest are: `{}`", known.join("`, `")),
        }
    }
}

impl Coded for UnknownMedia {
    fn code(&self) -> ErrorCode {
        codes::UNKNOWN_MEDIA
    }
}
