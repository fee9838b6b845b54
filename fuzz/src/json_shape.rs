//! Which notation content is in.

use std::sync::Arc;

use haft::artifacts::json::{JsonError, JsonNotation, JsonView};
use haft::stores::MemorySpoolStore;
use haft::stores::SpoolStore;
use haft_core::json::Document;

/// The shape of any content is that which trees of it have, however it is cut into windows, and no query
/// of it panics. What is wrong has a place within the content.
///
/// The first byte is the size of the windows, the second that of the largest tree.
pub fn json_shape(data: &[u8]) {
    let [window, value, content @ ..] = data else { return };
    let (window, value) = (usize::from(*window) + 1, usize::from(*value) + 1);
    let store = MemorySpoolStore::new();
    let written = now(store.write("k".into(), content.to_vec().into()));
    let reader = written.expect("content in memory is kept");
    let view = |strict| {
        let view = JsonView::new(Arc::clone(&reader));
        view.window_bytes(window).max_value_bytes(value).max_validated_bytes(strict)
    };
    let strict = view(u64::MAX);
    match now(strict.detect_notation()) {
        Ok(shape) => assert_shape(shape, content),
        Err(JsonError::Content(error)) => {
            assert!(error.offset <= content.len() as u64, "{error}");
            assert!(error.line > 0 && error.column > 0, "{error}");
            if let Ok(text) = str::from_utf8(content) {
                let text = text.strip_prefix('\u{feff}').unwrap_or(text);
                assert!(Document::parse(text).is_err(), "JSON is refused: {error}");
            }
        }
        Err(other) => panic!("content in memory is not read: {other}"),
    }
    for view in [strict, view(0)] {
        let _ = now(view.list_keys(0));
        let _ = now(view.count_records());
        let _ = now(view.get("$..*", 0));
        let _ = now(view.get("$[?@.a > 1][-1]", 1));
        let _ = now(view.get("$[1:-1]", 0));
        let _ = now(view.sql("SELECT a, count(*) FROM data WHERE a > 1 GROUP BY a ORDER BY 2", 0));
    }
}

fn assert_shape(shape: JsonNotation, content: &[u8]) {
    let Ok(text) = str::from_utf8(content) else { return };
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let whole = Document::parse(text).is_ok();
    assert_eq!(shape == JsonNotation::Json, whole, "JSON is not what has a tree");
    let blank = |line: &str| line.trim_matches([' ', '\t', '\r', '\n']).is_empty();
    let mut lines = text.split('\n').filter(|line| !blank(line)).peekable();
    let records = lines.peek().is_some() && lines.all(|line| Document::parse(line).is_ok());
    assert_eq!(shape == JsonNotation::Jsonl, !whole && records, "lines are not what have trees");
}

/// Work on memory is done where it is asked for when there is no runtime.
fn now<T>(future: impl Future<Output = T>) -> T {
    let mut future = std::pin::pin!(future);
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    match future.as_mut().poll(&mut context) {
        std::task::Poll::Ready(done) => done,
        std::task::Poll::Pending => panic!("content in memory is waited for"),
    }
}
