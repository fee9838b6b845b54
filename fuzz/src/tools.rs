//! Ready-made tools.

use std::future::Future;
use std::pin::pin;
use std::sync::OnceLock;
use std::task::{Context, Poll, Waker};

use haft::artifacts::ArtifactKind;
use haft::schema::json::Document;
use haft::tools::{FilesOptions, Pack, PackOptions};
use haft::tools::{ToolError, ToolOutput, ToolRole};
use haft::{DispatchContext, Tool};

/// The first byte chooses a tool and the rest are its arguments: no panic, and JSON where JSON is promised.
pub fn tools(data: &[u8]) {
    static TOOLS: OnceLock<Vec<Tool>> = OnceLock::new();
    let tools = TOOLS.get_or_init(all);
    let Some((first, rest)) = data.split_first() else { return };
    let Ok(args) = str::from_utf8(rest) else { return };
    let tool = &tools[usize::from(*first) % tools.len()];
    let ctx = DispatchContext::builder("turn").build();
    let executor = tool.executor(&ctx);
    let outcome = now(executor.call(args)).outcome;
    match outcome {
        Err(ToolError::Panicked { panic, .. }) => panic!("{} {args}: {panic}", tool.name()),
        Ok(ToolOutput::Text(text) | ToolOutput::Answer { text, .. })
            if *tool.role() == ToolRole::Standard(ArtifactKind::JSON) =>
        {
            assert!(Document::parse(&text).is_ok(), "{} {args}: not JSON: {text}", tool.name());
        }
        _ => {}
    }
}

/// The packs that reach nothing outside, and the tools that read files, on a folder with one file.
fn all() -> Vec<Tool> {
    let folder = std::env::temp_dir().join("haft-fuzz-tools");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("a.txt"), "one\ntwo\n").unwrap();
    let files = FilesOptions::new(folder).unwrap().read_only();
    let options = PackOptions::default().files(files);
    let packs = Pack::ALL.into_iter().filter(|it| *it != Pack::Web);
    packs.flat_map(|it| it.build(&options).unwrap()).collect()
}

/// The value of a future that never waits.
fn now<T>(future: impl Future<Output = T>) -> T {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => value,
        Poll::Pending => panic!("a tool waits for something"),
    }
}
