//! Tools that say what a call would change.

use std::sync::Arc;

use super::{Tool, ToolBuilder, ToolFailure};
use crate::preview::CallPreview;
use crate::schema::args::{Args, FromArgs};

pub(super) type Previewer = Arc<dyn Fn(&Args) -> Result<CallPreview, ToolFailure> + Send + Sync>;

impl ToolBuilder {
    /// Says what a call would change, for the person who approves it. The function gets the accepted arguments, changes
    /// nothing and may block. Gates carry its [`CallPreview`].
    ///
    /// ```
    /// use haft_core::tool::{CallPreview, ToolFailure};
    /// use haft_core::{Args, Tool};
    ///
    /// let tool = Tool::builder("rename")
    ///     .description("Renames the project.")
    ///     .requires_approval("May it be renamed?")
    ///     .preview(|_: Args| Ok(CallPreview::diff("-name = \"old\"\n+name = \"new\"\n")))
    ///     .handler(|| "renamed")
    ///     .build()?;
    /// assert!(tool.preview_call(&Args::empty()).is_some_and(|it| it.is_ok()));
    /// # Ok::<(), haft_core::tool::InvalidTool>(())
    /// ```
    pub fn preview<A, F>(mut self, preview: F) -> Self
    where
        A: FromArgs,
        F: Fn(A) -> Result<CallPreview, ToolFailure> + Send + Sync + 'static,
    {
        self.previewer = Some(Arc::new(move |args| {
            let args = A::from_args(args).map_err(|error| ToolFailure::new(error.to_string()))?;
            preview(args)
        }));
        self
    }
}

impl Tool {
    /// Whether the tool can say what a call would change.
    #[must_use]
    pub fn has_preview(&self) -> bool {
        self.0.previewer.is_some()
    }

    /// Says what a call with these accepted arguments would change, without making it. It may read files: call it where
    /// blocking is allowed. Returns nothing for a tool that cannot tell.
    ///
    /// # Errors
    ///
    /// What would be changed cannot be found out. The call itself would most likely fail as well.
    #[must_use]
    pub fn preview_call(&self, args: &Args) -> Option<Result<CallPreview, ToolFailure>> {
        self.0.previewer.as_ref().map(|previewer| previewer(args))
    }
}
