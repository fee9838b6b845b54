use haft::tool;

/// Unknown.
#[tool(efect = "once", nme = "x")]
fn unknown() {}

/// Wrong.
#[tool(
    name = 5,
    effect = "readonly",
    concurrency = "keyed:city",
    artifact = "toml",
    on_collision = "merge",
    trusted = true,
    strict,
    strict
)]
fn wrong() {}

/// Missing.
#[tool(name)]
fn missing() {}

fn main() {}
