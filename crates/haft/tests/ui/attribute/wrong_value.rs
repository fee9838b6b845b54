use haft::ToolArgs;

#[derive(ToolArgs)]
#[arg(rename_all = "camel-case")]
struct Weather {
    #[arg(rename = town)]
    city: String,
    #[arg(min, unique = true)]
    days: u8,
    #[arg(default = 99999999999999999999)]
    big: u64,
    #[arg(default = 1e999)]
    huge: f64,
    #[arg(default = 1, default = 2, min = 1, min = 2)]
    twice: u8,
}

#[derive(ToolArgs)]
#[arg(crate = 5)]
struct Elsewhere {}

#[derive(ToolArgs)]
struct Broken {
    #[arg(min 5)]
    days: u8,
}

fn main() {}
