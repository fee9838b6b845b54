//! The tools that are forged for a model, asked by a person.

use std::num::NonZeroUsize;
use std::sync::Arc;

use anyhow::Result;
use haft::artifact::{ArtifactKind, Budget, SpooledArtifact};
use haft::registry::ToolRegistry;
use haft::stores::FileSpoolReader;
use haft::tool::ArtifactSet;
use haft::trust::TrustLabel;
use haft::{DispatchContext, ToolOutput, artifacts};
use serde_json::Value;

use crate::failure::Failure;

/// The tools for one file.
pub(super) struct Forged {
    tools: ToolRegistry,
    ctx: DispatchContext,
}

/// The name of the only artifact.
const FILE: &str = "file";

impl Forged {
    pub(super) fn new(reader: FileSpoolReader, kind: ArtifactKind) -> Result<Self> {
        let artifacts = Arc::new(ArtifactSet::new());
        let file = SpooledArtifact::new(kind, Arc::new(reader), TrustLabel::UNTRUSTED);
        artifacts.put_retrieved(FILE, file)?;
        // A person can page; a model has to be spared.
        let budget = Budget::new().lines(NonZeroUsize::MAX).bytes(64 << 20).line_bytes(64 << 20);
        let tools = artifacts::standard()?.budget(budget).forge(&artifacts)?;
        let ctx = DispatchContext::builder("artifact").artifacts(artifacts).build();
        Ok(Self { tools, ctx })
    }

    pub(super) async fn ask(&self, tool: &str, mut args: Value) -> Result<String> {
        if let Some(args) = args.as_object_mut() {
            args.insert("callId".to_owned(), FILE.into());
        }
        let done = self.tools.find(tool)?.executor(&self.ctx).call(args).await;
        match done.outcome {
            Ok(ToolOutput::Answer { text, .. } | ToolOutput::Text(text)) => Ok(text),
            Ok(_) => Err(Failure::new("the answer is no text").into()),
            Err(error) => Err(Failure::new(error.to_string()).into()),
        }
    }
}
