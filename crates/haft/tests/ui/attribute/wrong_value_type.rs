use haft::ToolArgs;

const LIMIT: usize = 5;

#[derive(ToolArgs)]
struct Weather {
    #[arg(default = String::from("three"))]
    days: u8,
    #[arg(example = Some(5))]
    hours: u8,
    #[arg(max = LIMIT)]
    limited: u8,
    #[arg(default)]
    units: Units,
}

#[derive(ToolArgs)]
enum Units {
    Celsius,
}

fn main() {}
