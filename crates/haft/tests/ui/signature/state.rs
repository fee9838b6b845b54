use haft::{Args, State, Tool, tool};

/// Cannot be cloned.
struct Pool;

#[derive(Clone)]
struct Client;

/// Its state cannot be shared.
#[tool]
async fn not_clone(_args: Args, State(_pool): State<Pool>) -> String {
    String::new()
}

/// Its state is missing where the tool is created.
#[tool]
async fn search(_args: Args, State(_client): State<Client>) -> String {
    String::new()
}

fn main() {
    let _ = search();
    // The state was not given.
    let _ = Tool::builder("a").handler(async |_: Args, State(_client): State<Client>| "x");
}
