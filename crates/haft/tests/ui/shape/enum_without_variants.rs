use haft::ToolArgs;

#[derive(ToolArgs)]
enum Never {}

fn main() {}
