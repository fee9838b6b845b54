//! Contents that no memory should have to hold: 16 MiB here, one GiB in `cargo xtask soak`.

use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use futures_core::Stream;
use haft::ToolFailure;
use haft::artifacts::text::{GrepOptions, TextView};
use haft::stores::DirSpoolStore;
use haft::stores::{SpoolPayload, SpoolStore};
use haft::tools::ByteStream;

use super::run;

const LINE: u64 = 64;

/// Lines of 64 bytes with their numbers, made as they are read.
struct Lines {
    next: u64,
    end: u64,
}

impl Stream for Lines {
    type Item = Result<Bytes, ToolFailure>;

    fn poll_next(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let from = self.next;
        if from == self.end {
            return Poll::Ready(None);
        }
        self.next = self.end.min(from + 4096);
        let lines: String = (from..self.next).map(|it| format!("{}\n", text(it))).collect();
        Poll::Ready(Some(Ok(Bytes::from(lines))))
    }
}

fn text(line: u64) -> String {
    format!("line {line:0>58}")
}

#[test]
fn a_large_content_is_stored_and_queried() {
    let count = haft_testkit::large_bytes(16 << 20) / LINE;
    let dir = tempfile::tempdir().unwrap();
    let store = DirSpoolStore::open(dir.path()).unwrap();
    let content = SpoolPayload::Stream(ByteStream::new(Lines { next: 0, end: count }));
    run(async {
        let reader = store.write("large".into(), content).await.unwrap();
        let view = TextView::new(reader);
        assert_eq!(view.byte_length(), count * LINE);
        // The content ends with a line break, after which there is an empty line.
        assert_eq!(view.count_lines().await.unwrap(), count + 1);
        for at in [0, count / 2, count - 1] {
            let page = view.cat(at..=at).await.unwrap();
            assert_eq!(page.lines[0].text, text(at));
            let found = view.grep(&text(at), GrepOptions::new()).await.unwrap();
            assert_eq!(found.lines.iter().map(|it| it.number).collect::<Vec<_>>(), [at]);
        }
    });
}
