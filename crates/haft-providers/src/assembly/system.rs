//! The system prompt and the sections around the timeline.

use std::ops::Range;
use std::sync::Arc;

use haft_core::artifact::SpooledArtifact;
use haft_core::context::DispatchContext;
use haft_core::record::{Memory, MessageRole, Retrievable, RetrievableContent};
use haft_core::trust::{ArtifactHandle, DeveloperText, PromptText, RetrievedBody};

use super::render_cache::RenderedParts;
use super::results::read_inline_text;
use super::{AssembleError, Funnel};
use crate::dialect::RequestNote;
use crate::prompt::{PromptSection, SystemPart};

impl Funnel<'_> {
    /// The words of the developer and, if there are tools, what envelopes are.
    pub(super) fn system_prompt(&self) -> Vec<SystemPart> {
        let turn = self.ctx.turn();
        let notice = if self.has_tools { turn.content_notice() } else { "" };
        let texts = [turn.system_prompt().as_str(), notice];
        let texts =
            texts.map(|text| self.renderer.system_prompt(&DeveloperText::from_developer(text)));
        part(PromptSection::SystemPrompt, PromptText::blocks(texts)).into_iter().collect()
    }

    /// The sections around the timeline, without those that are empty. Of memories and retrieved records those with these
    /// numbers are in them; instructions are not late.
    pub(super) async fn sections(
        &self,
        numbers: Range<u64>,
        rendered: &mut RenderedParts,
        notes: &mut Vec<RequestNote>,
    ) -> Result<Vec<SystemPart>, AssembleError> {
        let mut parts = Vec::new();
        if numbers.start == 0 {
            parts.extend(part(PromptSection::StandingInstructions, self.render_instructions()));
        }
        let memories = self.render_memories(&numbers, rendered);
        parts.extend(part(PromptSection::Memories, memories));
        let retrieved = self.retrievables(&numbers, rendered, notes).await?;
        parts.extend(part(PromptSection::Retrievables, retrieved));
        Ok(parts)
    }

    fn render_instructions(&self) -> PromptText {
        let rules = self.ctx.turn().instructions().all();
        let rules: Vec<_> = rules.iter().map(|rule| rule.developer_text()).collect();
        self.renderer.instructions(&rules, None)
    }

    fn render_memories(&self, numbers: &Range<u64>, rendered: &mut RenderedParts) -> PromptText {
        let memories = self.ctx.turn().memories().numbered().into_iter();
        let shown: Vec<Arc<Memory>> = memories
            .filter(|(number, _)| numbers.contains(number))
            .map(|(_, memory)| memory)
            .filter(|it| !self.options.omissions.memories.contains(it.id().as_str()))
            .collect();
        let at = (PromptSection::Memories, numbers.start == 0);
        if shown.is_empty() {
            return PromptText::default();
        }
        if let Some(known) = rendered.memories.get(at, shown.iter()) {
            return known;
        }
        let text = self.renderer.memories(shown.iter().map(|memory| &**memory));
        rendered.memories.insert(at, shown.iter(), &text);
        text
    }

    async fn retrievables(
        &self,
        numbers: &Range<u64>,
        rendered: &mut RenderedParts,
        notes: &mut Vec<RequestNote>,
    ) -> Result<PromptText, AssembleError> {
        let records = self.ctx.turn().retrievables().numbered().into_iter();
        let records: Vec<Arc<Retrievable>> = records
            .filter(|(number, _)| numbers.contains(number))
            .map(|(_, record)| record)
            .filter(|it| !self.options.omissions.retrievables.contains(it.id().as_str()))
            .collect();
        if records.is_empty() {
            return Ok(PromptText::default());
        }
        let at = (PromptSection::Retrievables, numbers.start == 0);
        if let Some(known) = rendered.retrievables.get(at, records.iter()) {
            return Ok(known);
        }
        let known_notes = notes.len();
        let mut shown = Vec::new();
        for record in &records {
            shown.push(self.shown_retrievable(Arc::clone(record), notes).await?);
        }
        let mut lists: Vec<Vec<&str>> = Vec::new();
        for record in &shown {
            let is_first = lists.iter().all(Vec::is_empty);
            lists.push(match record.queried().filter(|_| is_first) {
                Some((handle, artifact)) => self.queries.for_handle(handle, artifact.kind()),
                None => Vec::new(),
            });
        }
        let bodies = shown.iter().zip(&lists).map(|(it, tools)| (&*it.record, it.body(tools)));
        let text = self.renderer.retrieved(&bodies.collect::<Vec<_>>());
        // What needs a note is rendered again, with its note; a handle may come to have a count of lines.
        if notes.len() == known_notes && shown.iter().all(ShownRetrievable::is_final) {
            rendered.retrievables.insert(at, records.iter(), &text);
        }
        Ok(text)
    }

    async fn shown_retrievable(
        &self,
        record: Arc<Retrievable>,
        notes: &mut Vec<RequestNote>,
    ) -> Result<ShownRetrievable, AssembleError> {
        let RetrievableContent::Artifact(artifact) = record.content() else {
            return Ok(ShownRetrievable { record, body: RetrievableBody::RecordText });
        };
        let handle = self.ctx.artifacts().handle_of_retrieved(record.id().as_str());
        let body = match handle.filter(|_| !record.inline()) {
            Some(handle) => RetrievableBody::Handle {
                handle,
                lines: artifact.count_lines().await.ok(),
                preview: self.read_preview(artifact).await,
            },
            None => RetrievableBody::Text(
                read_inline_text(artifact, record.id().as_str(), notes).await?,
            ),
        };
        Ok(ShownRetrievable { record, body })
    }
}

/// The number of the first record that the model made since the user's last message. Memories and retrieved records
/// with higher numbers arrived while the model worked.
pub(super) fn first_late_number(ctx: &DispatchContext) -> u64 {
    let messages = ctx.turn().messages().numbered();
    let is_user = |role| role == MessageRole::User;
    let last = messages.iter().rev().find(|(_, it)| is_user(it.role())).map(|(number, _)| *number);
    let said = messages.iter().filter(|(_, it)| !is_user(it.role())).map(|(number, _)| *number);
    let calls = ctx.turn().tool_calls().numbered();
    let made = said.chain(calls.iter().map(|(number, _)| *number));
    made.filter(|number| last.is_none_or(|last| *number > last)).min().unwrap_or(u64::MAX)
}

/// A retrieved record, and what is shown of it.
struct ShownRetrievable {
    record: Arc<Retrievable>,
    body: RetrievableBody,
}

enum RetrievableBody {
    /// The text that the record has.
    RecordText,
    /// The text that its artifact has.
    Text(String),
    Handle {
        handle: String,
        lines: Option<u64>,
        preview: String,
    },
}

impl ShownRetrievable {
    /// Whether another request shows the same as long as the record is the same.
    fn is_final(&self) -> bool {
        !matches!(self.body, RetrievableBody::Handle { lines: None, .. })
    }

    /// The handle of content that can be queried, and the content.
    fn queried(&self) -> Option<(&str, &SpooledArtifact)> {
        match (&self.body, self.record.content()) {
            (RetrievableBody::Handle { handle, .. }, RetrievableContent::Artifact(artifact)) => {
                Some((handle, artifact))
            }
            _ => None,
        }
    }

    fn body<'a>(&'a self, tools: &'a [&'a str]) -> RetrievedBody<'a> {
        match (&self.body, self.record.content()) {
            (
                RetrievableBody::Handle { handle, lines, preview },
                RetrievableContent::Artifact(artifact),
            ) => RetrievedBody::Handle(ArtifactHandle {
                handle,
                artifact,
                line_count: *lines,
                tools,
                preview,
            }),
            (RetrievableBody::Text(text), _) => RetrievedBody::Text(text),
            (_, RetrievableContent::Text(text)) => RetrievedBody::Text(text.as_str()),
            _ => RetrievedBody::Text(""),
        }
    }
}

fn part(section: PromptSection, text: PromptText) -> Option<SystemPart> {
    (!text.is_empty()).then_some(SystemPart { section, text })
}
