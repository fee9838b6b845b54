use haft::ToolArgs;

#[derive(ToolArgs)]
struct Weather {
    #[arg(default)]
    city: Option<String>,
    #[arg(flatten, default, rename = "x")]
    place: Place,
    #[arg(rename = "day")]
    first: u8,
    day: u8,
}

#[derive(ToolArgs)]
struct Place {}

#[derive(ToolArgs)]
#[arg(tag = "type")]
enum Shape {
    Circle { r#type: u8 },
    #[arg(rename = "circle")]
    Round,
}

#[derive(ToolArgs)]
enum Units {
    Celsius,
    #[arg(rename = "celsius")]
    Centigrade,
}

fn main() {}
