use haft::ToolArgs;

#[derive(ToolArgs)]
enum Units {
    Celsius,
}

#[derive(ToolArgs)]
struct Weather {
    #[arg(flatten)]
    units: Units,
}

#[derive(ToolArgs)]
#[arg(tag = "type")]
enum Shape {
    Unit(Units),
}

fn main() {
    let _ = haft::schema::InputSchema::of::<Units>();
}
