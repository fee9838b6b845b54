//! From the state of a turn to what a request says.
//!
//! Everything goes through the trust funnel, in an order that follows from the records alone: the same state gives the
//! same prompt, byte by byte. What the model did in one iteration (thoughts, words and calls) is one entry, and the
//! results of its calls are the next, one for each call, whatever became of it.

mod media;
mod media_cache;
mod results;
mod system;
mod timeline;

use haft_core::error::codes;
use std::collections::HashSet;
use std::sync::Arc;

use haft_core::call::RecordId;
use haft_core::context::DispatchContext;
use haft_core::error::{Coded, ErrorCode};
use haft_core::media::{MediaError, MediaKind};
use haft_core::spool::SpoolError;
use haft_core::tokens::EvaluatorInvalid;
use haft_core::trust::PromptRenderer;
use serde::{Deserialize, Serialize};

pub use self::media_cache::MediaCache;
use self::results::Queries;
use self::timeline::Timeline;
use super::dialect::{Dialect, Note};
use super::names::{WireIds, WireNames};
use super::prompt::{Bucket, OfferedTool, Prompt};
use super::summary::Recalled;

/// How a prompt is put together.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct How {
    /// The buckets that are shown, in order. Those behind the timeline stand behind it; without a timeline nothing
    /// that was said or done is shown.
    pub bucket_order: Vec<Bucket>,
    /// The identifier by which records name this agent.
    pub self_identity: Arc<str>,
    /// Which thoughts are shown.
    pub thoughts: ThoughtSurfacing,
    /// Tags of thoughts that may be shown as text although another provider made them.
    pub replay_compatibility: Vec<String>,
    /// What becomes of media that the provider cannot show.
    pub unsupported_media: UnsupportedMedia,
    /// Most bytes of one medium.
    pub media_bytes: u64,
    /// What is left out to save room.
    pub omit: Omit,
    /// What stands for what was left out of the beginning of the timeline.
    pub(super) summary: Option<Recalled>,
    /// Media that were encoded already; nothing is kept if not said.
    pub media_cache: MediaCache,
}

impl Default for How {
    fn default() -> Self {
        Self {
            bucket_order: vec![
                Bucket::StandingInstructions,
                Bucket::Memories,
                Bucket::Retrievables,
                Bucket::Timeline,
            ],
            self_identity: "assistant".into(),
            thoughts: ThoughtSurfacing::default(),
            replay_compatibility: Vec::new(),
            unsupported_media: UnsupportedMedia::default(),
            media_bytes: 20 * 1024 * 1024,
            omit: Omit::default(),
            summary: None,
            media_cache: MediaCache::default(),
        }
    }
}

/// Which thoughts are shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum ThoughtSurfacing {
    /// All of this agent.
    #[default]
    AllSelf,
    /// The last one of this agent.
    LatestSelf,
    /// All of all agents.
    All,
}

/// What becomes of media that the provider cannot show.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum UnsupportedMedia {
    /// There is no request.
    #[default]
    Throw,
    /// A text of the medium's stash stands for it, found under these keys in order, or else a description.
    FallbackStash(Vec<String>),
    /// A description of its file stands for it.
    SyntheticDescription,
}

/// What is left out of a prompt to save room.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Omit {
    /// Results that are left out, by their calls. That they were is said in their place.
    pub results: HashSet<RecordId>,
    /// Retrieved records, by id.
    pub retrievables: HashSet<String>,
    /// Memories, by id.
    pub memories: HashSet<String>,
    /// Thoughts that are shown as text and were put on the shelf before this number.
    pub thoughts_before: u64,
    /// What was put on the shelves before this number is left out of the timeline.
    pub before: u64,
    /// Thoughts that were put there before this number, and that only the provider understands, are left out.
    pub replays_before: u64,
}

/// A prompt, and what there is to say about it.
#[derive(Debug)]
#[non_exhaustive]
pub struct Assembled {
    /// The prompt.
    pub prompt: Prompt,
    /// What was changed or left out.
    pub notes: Vec<Note>,
    /// The names of tools, and back.
    pub names: WireNames,
    /// For each entry of the timeline, the number of the record that it begins with; the largest number for one that
    /// belongs to the entry before it.
    pub numbers: Vec<u64>,
}

/// A turn that cannot be put into a prompt.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AssembleError {
    /// A text could not be made.
    #[error(transparent)]
    Text(#[from] EvaluatorInvalid),
    /// Nothing may stand for a medium that cannot be shown.
    #[error(
        "the provider cannot show `{filename}` ({kind:?}, {mime_type}); set `unsupportedMediaPolicy` to let a text stand for it"
    )]
    UnsupportedMedia {
        /// What it is.
        kind: MediaKind,
        /// Its type.
        mime_type: String,
        /// Its name.
        filename: String,
    },
    /// The bytes of a medium could not be read.
    #[error(transparent)]
    Media(#[from] MediaError),
    /// Content that is to be shown in full could not be read.
    #[error(transparent)]
    Spool(#[from] SpoolError),
}

impl Coded for AssembleError {
    fn code(&self) -> ErrorCode {
        match self {
            Self::Text(error) => error.code(),
            Self::UnsupportedMedia { .. } => codes::UNSUPPORTED_MEDIA_MODALITY,
            Self::Media(error) => error.code(),
            Self::Spool(error) => error.code(),
        }
    }
}

/// Puts a turn into a prompt.
///
/// # Errors
///
/// A text or a medium could not be read, or a medium cannot be shown and nothing may stand for it.
pub async fn assemble<D: Dialect + ?Sized>(
    ctx: &DispatchContext,
    dialect: &D,
    renderer: &PromptRenderer,
    how: &How,
) -> Result<Assembled, AssembleError> {
    let tools = ctx.tools().visible();
    let all = ctx.tools().all();
    let calls = ctx.turn().tool_calls().all();
    let known = all.iter().map(|tool| tool.name().as_str());
    let names = WireNames::of(known.chain(calls.iter().map(|call| call.tool())));
    let queries = Queries::of(&tools, &names);
    let shows: &(dyn Fn(MediaKind, &str, super::prompt::Place) -> bool + Sync) =
        &|kind, mime_type, place| dialect.shows(kind, mime_type, place);
    let funnel = Funnel {
        ctx,
        renderer,
        how,
        shows,
        replays: dialect.replays(),
        names: &names,
        queries: &queries,
    };
    let mut notes = Vec::new();
    let order = how.bucket_order.as_slice();
    let at = order.iter().position(|it| *it == Bucket::Timeline);
    let (before, behind) = order.split_at_checked(at.unwrap_or(order.len())).unwrap_or_default();
    let mut prompt = Prompt { system: funnel.system_prompt()?, ..Prompt::default() };
    prompt.system.extend(funnel.buckets(before, &mut notes).await?);
    prompt.trailing = funnel.buckets(behind, &mut notes).await?;
    let mut numbers = Vec::new();
    if at.is_some() {
        let mut timeline = Timeline::new(&funnel, WireIds::default());
        timeline.tell(&mut notes).await?;
        (prompt.timeline, numbers) = timeline.finish(&mut notes);
    }
    let offered = tools.into_iter();
    prompt.tools = offered
        .map(|tool| OfferedTool { wire_name: names.wire(tool.name().as_str()), tool })
        .collect();
    Ok(Assembled { prompt, notes, names, numbers })
}

/// What all parts of the assembly need.
struct Funnel<'a> {
    ctx: &'a DispatchContext,
    renderer: &'a PromptRenderer,
    how: &'a How,
    shows: &'a (dyn Fn(MediaKind, &str, super::prompt::Place) -> bool + Sync),
    replays: &'a [&'a str],
    names: &'a WireNames,
    queries: &'a Queries,
}
