use haft::ToolArgs;

#[derive(ToolArgs)]
#[arg(renameall = "camelCase")]
struct Weather {
    #[arg(defualt = "Paris", min_length = 1)]
    city: String,
}

#[derive(ToolArgs)]
#[arg(rename = "x")]
enum Units {
    #[arg(alias = "c")]
    Celsius,
}

#[derive(ToolArgs)]
#[arg(tag = "type")]
enum Shape {
    #[arg(min = 1)]
    Circle { radius: f64 },
    Other(#[arg(note = "x")] Weather),
}

#[derive(ToolArgs)]
#[arg(rename_all = "camelCase")]
struct City(#[arg(default = "Paris")] String);

fn main() {}
