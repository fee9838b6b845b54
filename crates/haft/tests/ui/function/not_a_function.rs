use haft::tool;

/// A struct.
#[tool]
struct Weather;

/// A module.
#[tool]
mod weather {
    fn inner() {}
}

fn main() {}
