use haft::ToolArgs;

#[derive(ToolArgs)]
struct Nothing;

#[derive(ToolArgs)]
struct Pair(String, String);

#[derive(ToolArgs)]
struct Empty();

fn main() {}
