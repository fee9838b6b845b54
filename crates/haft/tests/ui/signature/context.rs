use haft::Args;
use haft::tool;

/// The context is something else.
#[tool]
async fn waiting(_args: Args, _ctx: &String) -> String {
    String::new()
}

/// The context is something else.
#[tool]
fn plain(_args: Args, _ctx: u8) -> String {
    String::new()
}

fn main() {}
