use haft::ToolArgs;

#[derive(ToolArgs)]
struct Borrowed<'a> {
    city: &'a str,
}

fn main() {}
