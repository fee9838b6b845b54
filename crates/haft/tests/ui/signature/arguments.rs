use haft::CallContext;
use haft::tool;

struct Weather;

/// Not derived.
#[tool]
fn plain(_args: Weather) -> String {
    String::new()
}

/// Not derived, async.
#[tool]
async fn waiting(_args: Weather) -> String {
    String::new()
}

/// Not derived, with a context.
#[tool]
async fn with_context(_args: Weather, _ctx: &CallContext) -> String {
    String::new()
}

/// Not an object.
#[tool]
async fn text(args: String) -> String {
    args
}

fn main() {}
