use haft::tool;

#[tool]
fn ping() -> String {
    String::from("pong")
}

fn main() {
    let _ = ping();
}
