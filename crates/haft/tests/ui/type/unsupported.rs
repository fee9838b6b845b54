use std::collections::HashMap;
use std::rc::Rc;

use haft::ToolArgs;

#[derive(ToolArgs)]
struct Weather {
    big: u128,
    text: &'static str,
    shared: Rc<String>,
    by_number: HashMap<u32, String>,
    list: Vec<Elsewhere>,
}

struct Elsewhere;

#[derive(ToolArgs)]
struct Wrapper(u128);

#[derive(ToolArgs)]
#[arg(tag = "type", content = "value")]
enum Shape {
    Circle { radius: u128 },
    One(u128),
    Two(u8, u128),
}

fn main() {}
