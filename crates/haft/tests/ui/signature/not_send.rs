use std::rc::Rc;

use haft::{Args, CallContext, tool};

async fn pause() {}

/// Holds an `Rc` across an await.
#[tool]
async fn plain(args: Args) -> String {
    let shared = Rc::new(args);
    pause().await;
    shared.to_string()
}

/// Holds an `Rc` across an await.
#[tool]
async fn with_context(args: Args, _ctx: &CallContext) -> String {
    let shared = Rc::new(args);
    pause().await;
    shared.to_string()
}

fn main() {}
