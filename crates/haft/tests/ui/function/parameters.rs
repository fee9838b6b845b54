use haft::tool;

struct Server;

impl Server {
    /// A method.
    #[tool]
    fn method(&self, args: haft::Args) -> String {
        args.to_string()
    }
}

/// Three parameters.
#[tool]
fn three(city: haft::Args, ctx: &haft::CallContext, days: u8) -> String {
    String::new()
}

/// Borrowed arguments.
#[tool]
async fn borrowed(args: &haft::Args, ctx: &mut haft::CallContext) -> String {
    String::new()
}

/// Any arguments.
#[tool]
fn anything(args: impl Into<String>) -> String {
    String::new()
}

/// Generic.
#[tool]
fn generic<A: haft::ToolArgs>(args: A) -> String {
    String::new()
}

/// Modifiers.
#[tool]
const unsafe extern "C" fn modified() {}

fn main() {}
