use haft::ToolArgs;

#[derive(ToolArgs)]
#[arg(tag = "type")]
enum Shape {
    Line(f64, f64),
}

#[derive(ToolArgs)]
#[arg(tag = "type", content = "type")]
enum Same {
    Line(f64, f64),
    None(),
}

fn main() {}
