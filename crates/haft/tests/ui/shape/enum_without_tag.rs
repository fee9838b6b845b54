use haft::ToolArgs;

#[derive(ToolArgs)]
enum Shape {
    Circle { radius: f64 },
    Point,
}

#[derive(ToolArgs)]
#[arg(content = "value")]
enum Content {
    A,
    B,
}

fn main() {}
