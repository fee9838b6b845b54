use haft::tool;

/// Unknown.
#[tool(readonly, nme = "x")]
fn unknown() {}

/// Wrong.
#[tool(
    name = 5,
    read_only,
    idempotent,
    concurrency = Keyed("city"),
    artifact = Toml,
    on_collision = Merge,
    trusted = true,
    strict,
    strict
)]
fn wrong() {}

/// Missing.
#[tool(name)]
fn missing() {}

fn main() {}
