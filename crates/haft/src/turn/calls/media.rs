//! Media that other processes could not open, such as files that a tool has read: their bytes are stored.

use std::sync::Arc;

use haft_core::call::RecordId;
use haft_core::media::Media;
use haft_core::spool::SpoolKey;
use haft_core::tool::ToolFailure;
use haft_core::tool::{Invocation, ToolEffect, ToolError, ToolOutput};
use haft_tools::readers::store_media;

use super::CallRunner;

impl CallRunner {
    /// Stores the bytes of media that a process without this tool could not open. If that fails, the call does.
    pub(super) async fn store_media(&self, call: RecordId, done: &mut Invocation) {
        let Ok(ToolOutput::Media(all)) = &mut done.outcome else { return };
        let turn = self.ctx.turn();
        let spooler = turn.spooler().unwrap_or(&self.agent.spooler);
        for (number, media) in all.iter_mut().enumerate() {
            let key = spooler.media_key(turn.turn_id(), call, number);
            if let Err(failure) = self.store_medium(media, key).await {
                let failure = match done.tool.effect() {
                    ToolEffect::Once => failure.outcome_unknown(),
                    _ => failure,
                };
                let tool = done.tool.name().to_string();
                done.outcome = Err(ToolError::Downstream { tool, failure });
                return;
            }
        }
    }

    async fn store_medium(&self, media: &mut Media, key: SpoolKey) -> Result<(), ToolFailure> {
        if media.is_readable_by(&self.agent.readers) {
            return Ok(());
        }
        *media = store_media(media, Arc::clone(&self.agent.spools), key).await?;
        Ok(())
    }
}
