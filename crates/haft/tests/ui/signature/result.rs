use haft::{Args, CallContext, tool};

/// Plain.
#[tool]
fn plain() -> u32 {
    5
}

/// Async.
#[tool]
async fn waiting(_args: Args) -> Option<String> {
    None
}

/// With a context.
#[tool]
async fn with_context(_args: Args, _ctx: &CallContext) -> u32 {
    5
}

/// An error that is none.
#[tool]
async fn error(_args: Args) -> Result<String, u32> {
    Ok(String::new())
}

/// Context only.
#[tool]
async fn only(_ctx: &CallContext) -> u32 {
    5
}

fn main() {}
