use haft::ToolArgs;

#[derive(ToolArgs)]
struct Weather {
    #[arg(min = 1)]
    city: String,
    #[arg(multiple_of = 2)]
    degrees: f64,
    #[arg(max_len = 3)]
    days: u8,
    #[arg(pattern = "^a")]
    hours: Vec<String>,
    #[arg(unique)]
    name: Option<String>,
}

#[derive(ToolArgs)]
#[arg(min = 3)]
struct City(String);

fn main() {}
