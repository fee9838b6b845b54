//! Assembles the prompt of a request from the state of a turn.
//!
//! Everything goes through the trust funnel, in an order that follows from the records alone: the same state gives the
//! same prompt, byte by byte. What the model generated in one iteration (thoughts, text and calls) is one entry, and the
//! results of its calls are the next, one for each call, whatever its outcome.

mod media;
mod media_cache;
mod render_cache;
mod results;
mod system;
mod timeline;

use std::collections::HashSet;

use haft_core::call::RecordId;
use haft_core::context::DispatchContext;
use haft_core::error::{Coded, ErrorCode, codes};
use haft_core::media::{MediaError, MediaKind};
use haft_core::record::{Identifier, Identity, MessageRole};
use haft_core::spool::SpoolError;
use haft_core::tool::BlockTool;
use haft_core::trust::{PromptRenderer, PromptText};
use serde::Deserialize;

pub use self::media_cache::MediaCache;
pub use self::render_cache::RenderCache;
use self::render_cache::RenderedParts;
use self::results::ArtifactQueries;
use self::timeline::TimelineBuilder;
use crate::dialect::{Dialect, RequestNote};
use crate::prompt::{OfferedTool, Prompt};
use crate::wire_names::{WireIds, WireNames};

/// How a prompt is assembled.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct AssemblyOptions {
    /// What replaces media that the provider does not support.
    pub unsupported_media: UnsupportedMedia,
    /// The maximum number of bytes of one attachment.
    pub media_bytes: u64,
    /// What is left out to save space.
    pub omissions: Omissions,
    /// The summary that replaces the beginning of the timeline.
    pub summary: Option<PromptText>,
    /// A cache of encoded media; empty by default.
    pub media_cache: MediaCache,
    /// A cache of rendered parts; empty by default.
    pub render_cache: RenderCache,
}

impl Default for AssemblyOptions {
    fn default() -> Self {
        Self {
            unsupported_media: UnsupportedMedia::default(),
            media_bytes: 20 * 1024 * 1024,
            omissions: Omissions::default(),
            summary: None,
            media_cache: MediaCache::default(),
            render_cache: RenderCache::default(),
        }
    }
}

/// What replaces media that the provider does not support.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum UnsupportedMedia {
    /// The request fails.
    #[default]
    Throw,
    /// The text that stands for it, such as a transcript, or else a description of the file.
    SyntheticDescription,
}

/// What is left out of a prompt to save space.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Omissions {
    /// Results, by their calls. A notice replaces them.
    pub results: HashSet<RecordId>,
    /// Retrieved records, by id.
    pub retrievables: HashSet<String>,
    /// Memories, by id.
    pub memories: HashSet<String>,
    /// Thoughts that are shown as text and were recorded before this number.
    pub thoughts_before: u64,
    /// All records of the timeline before this number.
    pub before: u64,
    /// Opaque thoughts that were recorded before this number.
    pub replays_before: u64,
}

/// A prompt with what is known about it.
#[derive(Debug)]
#[non_exhaustive]
pub struct AssembledPrompt {
    /// The prompt.
    pub prompt: Prompt,
    /// What was changed or left out.
    pub notes: Vec<RequestNote>,
    /// The names of tools on the wire.
    pub names: WireNames,
    /// For each entry of the timeline, the number of the record that it begins with; the largest number for an entry that
    /// belongs to the one before it.
    pub numbers: Vec<u64>,
    /// How many records and sections of records were rendered for it; the others were rendered for an earlier request.
    pub rendered_parts: usize,
}

/// A turn from which no prompt can be assembled.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AssembleError {
    /// The provider does not support the media, and the policy allows no replacement.
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
    /// The bytes of media could not be read.
    #[error(transparent)]
    Media(#[from] MediaError),
    /// Content that is shown in full could not be read.
    #[error(transparent)]
    Spool(#[from] SpoolError),
}

impl Coded for AssembleError {
    fn code(&self) -> ErrorCode {
        match self {
            Self::UnsupportedMedia { .. } => codes::UNSUPPORTED_MEDIA_MODALITY,
            Self::Media(error) => error.code(),
            Self::Spool(error) => error.code(),
        }
    }
}

/// Assembles the prompt of a turn.
///
/// # Errors
///
/// A text or media could not be read, or media are not supported and the policy allows no replacement.
pub async fn assemble_prompt(
    ctx: &DispatchContext,
    dialect: &dyn Dialect,
    renderer: &PromptRenderer,
    options: &AssemblyOptions,
) -> Result<AssembledPrompt, AssembleError> {
    let block = ctx.tools().tool_block();
    let all = ctx.tools().all();
    let calls = ctx.turn().tool_calls().all();
    let offered =
        block.iter().map(|it| &it.tool).filter(|tool| !ctx.tools().has(tool.name().as_str()));
    let known = all.iter().chain(offered).map(|tool| tool.name().as_str());
    let names = WireNames::new(known.chain(calls.iter().map(|call| call.tool())));
    let queries = ArtifactQueries::new(&block, &names);
    let supports_media: &(dyn Fn(MediaKind, &str, crate::prompt::MediaPosition) -> bool + Sync) =
        &|kind, mime_type, place| dialect.supports_media(kind, mime_type, place);
    let funnel = Funnel {
        ctx,
        renderer,
        options,
        supports_media,
        replay_tags: dialect.replay_tags(),
        names: &names,
        queries: &queries,
        has_tools: !block.is_empty(),
    };
    let mut rendered =
        options.render_cache.take(ctx.turn_id(), renderer.fingerprint(), queries.definitions());
    let (prompt, notes, numbers) = funnel.assemble(&mut rendered).await?;
    let rendered_parts = rendered.rendered();
    options.render_cache.put_back(ctx.turn_id(), rendered);
    let offered = block.into_iter().map(|BlockTool { tool, added_at, .. }| OfferedTool {
        wire_name: names.wire_name(tool.name().as_str()),
        tool,
        added_at,
    });
    let prompt = Prompt { tools: offered.collect(), ..prompt };
    Ok(AssembledPrompt { prompt, notes, names, numbers, rendered_parts })
}

/// The trust funnel: what every part of the assembly needs.
struct Funnel<'a> {
    ctx: &'a DispatchContext,
    renderer: &'a PromptRenderer,
    options: &'a AssemblyOptions,
    supports_media: &'a (dyn Fn(MediaKind, &str, crate::prompt::MediaPosition) -> bool + Sync),
    replay_tags: &'a [&'a str],
    names: &'a WireNames,
    queries: &'a ArtifactQueries,
    has_tools: bool,
}

impl Funnel<'_> {
    /// Assembles everything but the tools: the prompt, notes, and the numbers of its entries.
    async fn assemble(
        &self,
        rendered: &mut RenderedParts,
    ) -> Result<(Prompt, Vec<RequestNote>, Vec<u64>), AssembleError> {
        let mut notes = Vec::new();
        let mut prompt = Prompt { system: self.system_prompt(), ..Prompt::default() };
        let first_late = system::first_late_number(self.ctx);
        let early = self.sections(0..first_late, rendered, &mut notes).await?;
        prompt.system.extend(early);
        // What was recorded while the model worked stands behind the timeline, whose cached beginning stays as it was.
        prompt.trailing = self.sections(first_late..u64::MAX, rendered, &mut notes).await?;
        let mut timeline = TimelineBuilder::new(self, WireIds::default(), rendered);
        timeline.add_records(&mut notes).await?;
        let numbers;
        (prompt.timeline, numbers) = timeline.finish(&mut notes);
        Ok((prompt, notes, numbers))
    }
}

/// Whether records of this identity are the agent's own, and not those of another agent.
pub(crate) fn is_own_identity(identity: &Identity) -> bool {
    matches!(identity.identifier(), Identifier::Text(text) if **text == *MessageRole::Assistant.as_str())
}
