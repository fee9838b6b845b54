//! Tools of which only some calls require approval.

use std::sync::Arc;

use super::{Tool, ToolBuilder};
use crate::schema::args::Args;

pub(super) type ApprovalFilter = Arc<dyn Fn(&Args) -> bool + Send + Sync>;

impl ToolBuilder {
    /// Of a tool that requires approval, only the calls whose accepted arguments this function selects wait for it.
    ///
    /// ```
    /// use haft_core::schema::{object, string};
    /// use haft_core::{Args, Tool};
    ///
    /// let tool = Tool::builder("publish")
    ///     .description("Publishes a page.")
    ///     .input(object().field("to", string().required()))
    ///     .requires_approval("May it be published for everyone?")
    ///     .approval_only_for(|args: &Args| args.to_value()["to"] == "everyone")
    ///     .handler(|_: Args| "published")
    ///     .build()?;
    /// assert_eq!(tool.approval_question(&Args::empty()), None);
    /// # Ok::<(), haft_core::tool::InvalidTool>(())
    /// ```
    pub fn approval_only_for(
        mut self,
        selects: impl Fn(&Args) -> bool + Send + Sync + 'static,
    ) -> Self {
        self.approval_filter = Some(Arc::new(selects));
        self
    }
}

impl Tool {
    /// The question to ask before a call with these accepted arguments is made, if it requires approval.
    #[must_use]
    pub fn approval_question(&self, args: &Args) -> Option<&str> {
        let is_asked = self.0.approval_filter.as_ref().is_none_or(|selects| selects(args));
        self.requires_approval().filter(|_| is_asked)
    }

    /// Whether every call requires approval.
    #[must_use]
    pub fn always_requires_approval(&self) -> bool {
        self.requires_approval().is_some() && self.0.approval_filter.is_none()
    }
}
