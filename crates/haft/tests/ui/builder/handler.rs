use std::rc::Rc;

use haft::{Args, DispatchContext, Tool};

struct Weather;

async fn pause() {}

async fn not_derived(_args: Weather) -> String {
    String::new()
}

async fn no_result(_args: Args) -> u32 {
    5
}

async fn not_send(args: Args) -> String {
    let shared = Rc::new(args);
    pause().await;
    shared.to_string()
}

fn three(_args: Args, _ctx: &DispatchContext, _days: u8) -> String {
    String::new()
}

fn main() {
    let _ = Tool::builder("a").handler(not_derived);
    let _ = Tool::builder("b").handler(no_result);
    let _ = Tool::builder("c").handler(not_send);
    let _ = Tool::builder("d").handler(three);
    let _ = Tool::builder("e").handler("text");
}
