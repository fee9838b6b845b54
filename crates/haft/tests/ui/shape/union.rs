use haft::ToolArgs;

#[derive(ToolArgs)]
union Either {
    whole: u32,
    parts: u8,
}

fn main() {}
