use haft::{Args, Tool};

/// Cannot be cloned.
struct Pool;

fn main() {
    // What an async closure captures is cloned for each call.
    let pool = Pool;
    let _ = Tool::builder("a").handler(async move |_: Args| {
        let _pool = &pool;
        "x"
    });
}
