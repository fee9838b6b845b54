use std::collections::BTreeSet;
use std::sync::Arc;

use bytes::Bytes;
use haft::BoxFuture;
use haft::artifacts::Budget;
use haft::artifacts::text::{GrepOptions, PageLimit, TextError, TextPage, TextView};
use haft::error::Coded;
use haft::stores::{LineIndex, MemorySpoolStore, SpoolError, SpoolReader, SpoolStore};
use haft::turn::Cancellation;
use proptest::prelude::*;

use super::{lines, model, run, view_of};

fn plain(page: &TextPage) -> Vec<(u64, String, bool)> {
    page.lines.iter().map(|it| (it.number, it.text.clone(), it.truncated)).collect()
}

fn budget() -> impl Strategy<Value = Budget> {
    let sizes = (1_usize..40, 0_usize..200, 0_usize..40);
    sizes.prop_map(|(count, bytes, line)| {
        Budget::new().lines(lines(count)).bytes(bytes).line_bytes(line)
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(haft_testkit::cases(150)))]

    #[test]
    fn ranges_equal_the_model(
        content in model::content(),
        block in 1_u32..50,
        budget in budget(),
        start in 0_u64..40,
        len in 0_u64..40,
    ) {
        run(async {
            let view = view_of(&content, block, 64).await.budget(budget);
            let texts = model::texts(&content);
            let count = texts.len();
            assert_eq!(view.byte_length(), content.len() as u64);
            assert_eq!(view.count_lines().await.unwrap(), count as u64);

            let from = usize::try_from(start).unwrap().min(count);
            let to = usize::try_from(start + len).unwrap().min(count);
            let page = view.cat(start..start + len).await.unwrap();
            let expect = model::page(&texts, from..to, budget);
            assert_eq!(plain(&page), expect);
            let left = (to.max(from) - from - expect.len()) as u64;
            assert_eq!(page.next.as_ref().map_or(0, |it| it.omitted.unwrap()), left);

            let head = view.head(len).await.unwrap();
            let until = usize::try_from(len).unwrap().min(count);
            assert_eq!(plain(&head), model::page(&texts, 0..until, budget));

            let tail = view.tail(len).await.unwrap();
            let mut expect = model::page(&texts, (count - until..count).rev(), budget);
            expect.reverse();
            assert_eq!(plain(&tail), expect);
            if let Some(next) = &tail.next {
                let shown = expect.first().map_or(count as u64, |it| it.0);
                assert_eq!((next.start, next.end), ((count - until) as u64, Some(shown)));
            } else {
                assert_eq!(expect.len(), until);
            }
            for line in tail.lines.iter().chain(&head.lines).chain(&page.lines) {
                let number = usize::try_from(line.number).unwrap();
                let raw = content.split(|byte| *byte == b'\n').nth(number).unwrap();
                assert_eq!(line.bytes, raw.len() as u64);
            }
        });
    }

    #[test]
    fn following_a_range_shows_every_line_once(
        content in model::content(),
        block in 1_u32..50,
        budget in budget(),
    ) {
        run(async {
            let view = view_of(&content, block, 64).await.budget(budget);
            let mut numbers = Vec::new();
            let mut next = Some((0, u64::MAX));
            while let Some((start, end)) = next {
                let page = view.cat(start..end).await.unwrap();
                numbers.extend(page.lines.iter().map(|line| line.number));
                next = page.next.map(|next| (next.start, next.end.unwrap()));
            }
            let count = model::texts(&content).len() as u64;
            assert_eq!(numbers, (0..count).collect::<Vec<_>>());
        });
    }

    #[test]
    fn searches_equal_the_model(
        content in model::content(),
        pattern in model::pattern(),
        (block, window) in (1_u32..50, 1_usize..100),
        budget in budget(),
        options in options(),
    ) {
        run(async {
            let view = view_of(&content, block, window).await.budget(budget);
            let texts = model::texts(&content);
            let mut expect = model::matches(&content, pattern, &options);
            expect.retain(|line| *line as u64 >= options.start_line);
            let all: Vec<u64> = expect.iter().map(|it| *it as u64).collect();
            if let Some(limit) = options.max_matches {
                expect.truncate(limit.get());
            }
            let page = view.grep(pattern, options.clone()).await.unwrap();
            assert_eq!(plain(&page), model::page(&texts, expect.into_iter(), budget));

            // Page by page every match comes once.
            let mut numbers = Vec::new();
            let mut next = Some(options.start_line);
            while let Some(start) = next {
                let page = view.grep(pattern, options.clone().start_line(start)).await.unwrap();
                numbers.extend(page.lines.iter().map(|line| line.number));
                next = page.next.map(|next| next.start);
            }
            assert_eq!(numbers, all);
        });
    }

    #[test]
    fn searches_of_bounded_work_find_everything_in_the_end(
        content in model::content(),
        pattern in model::pattern(),
        (block, window) in (1_u32..50, 1_usize..100),
        work in 0_u64..100,
    ) {
        run(async {
            let view = view_of(&content, block, window).await;
            let mut numbers = Vec::new();
            let mut next = Some(0);
            while let Some(start) = next {
                let options = GrepOptions::new().start_line(start).max_search_bytes(work);
                let page = view.grep(pattern, options).await.unwrap();
                numbers.extend(page.lines.iter().map(|line| line.number));
                next = page.next.map(|next| next.start);
            }
            let expect = model::matches(&content, pattern, &GrepOptions::new());
            assert_eq!(numbers, expect.into_iter().map(|it| it as u64).collect::<Vec<_>>());
        });
    }

    #[test]
    fn context_is_what_lies_around(
        content in model::content(),
        pattern in model::pattern(),
        (block, window) in (1_u32..50, 1_usize..100),
        (before, after) in (0_u64..4, 0_u64..4),
    ) {
        run(async {
            let budget = Budget::new().bytes(1 << 20);
            let view = view_of(&content, block, window).await.budget(budget);
            let found = model::matches(&content, pattern, &GrepOptions::new());
            let found: BTreeSet<u64> = found.into_iter().map(|it| it as u64).collect();
            let expect: Vec<(u64, bool)> = (0..model::texts(&content).len() as u64)
                .filter(|line| found.range(line.saturating_sub(after)..=line + before).next().is_some())
                .map(|line| (line, !found.contains(&line)))
                .collect();
            let options = GrepOptions::new().context(before, after);
            let page = view.grep(pattern, options).await.unwrap();
            let got: Vec<_> = page.lines.iter().map(|it| (it.number, it.context)).collect();
            assert_eq!(got, expect);
            assert_eq!(page.next, None);
        });
    }

    #[test]
    fn context_never_stops_the_progress(
        content in model::content(),
        budget in budget(),
        around in 0_u64..50,
    ) {
        run(async {
            let view = view_of(&content, 16, 64).await.budget(budget);
            let mut numbers = Vec::new();
            let mut next = Some(0);
            while let Some(start) = next {
                let options = GrepOptions::new().start_line(start).context(around, around);
                let page = view.grep("a", options).await.unwrap();
                let found = page.lines.iter().filter(|line| !line.context);
                numbers.extend(found.map(|line| line.number).filter(|it| *it >= start));
                next = page.next.map(|next| next.start);
                assert!(next.is_none_or(|next| next > start));
            }
            let expect = model::matches(&content, "a", &GrepOptions::new());
            assert_eq!(numbers, expect.into_iter().map(|it| it as u64).collect::<Vec<_>>());
        });
    }

    #[test]
    fn lines_that_are_too_long_are_counted_and_the_others_searched(
        content in model::content(),
        pattern in model::pattern(),
        (block, window, longest) in (1_u32..20, 1_usize..30, 1_usize..60),
    ) {
        run(async {
            let view = view_of(&content, block, window).await.max_line_bytes(longest);
            let page = view.grep(pattern, GrepOptions::new()).await.unwrap();
            let unmarked = content.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&content);
            let lines = unmarked.split(|byte| *byte == b'\n').enumerate();
            let long: BTreeSet<usize> =
                lines.filter(|(_, line)| line.len() > longest).map(|(number, _)| number).collect();
            let mut expect = model::matches(&content, pattern, &GrepOptions::new());
            expect.retain(|line| !long.contains(line));
            let got: Vec<u64> = page.lines.iter().map(|line| line.number).collect();
            assert_eq!(got, expect.into_iter().map(|it| it as u64).collect::<Vec<_>>());
            assert_eq!(page.unsearched_lines, long.len() as u64);
            assert_eq!(page.first_unsearched_line, long.first().map(|it| *it as u64));
        });
    }
}

fn options() -> impl Strategy<Value = GrepOptions> {
    let flags = (any::<bool>(), any::<bool>(), any::<bool>());
    (flags, prop::option::of(1_usize..5), 0_u64..20).prop_map(|((i, m, s), limit, start)| {
        let mut options = GrepOptions::new().start_line(start);
        (options.ignore_case, options.multi_line, options.dot_all) = (i, m, s);
        if let Some(limit) = limit { options.max_matches(limit) } else { options }
    })
}

#[test]
fn the_worked_examples_come_out() {
    run(async {
        let view = view_of(b"alpha\nbeta\ngamma\ndelta\nepsilon", 8, 16).await;
        assert_eq!(view.head(1).await.unwrap().text(), "alpha");
        assert_eq!(view.tail(2).await.unwrap().text(), "delta\nepsilon");
        assert_eq!(view.cat(1..4).await.unwrap().text(), "beta\ngamma\ndelta");
        assert_eq!(view.cat(3..100).await.unwrap().text(), "delta\nepsilon");
        let found = view.grep("a$", GrepOptions::new()).await.unwrap();
        assert_eq!(found.text(), "alpha\nbeta\ngamma\ndelta");
        let found = view.grep("ALPHA", GrepOptions::new().ignore_case()).await.unwrap();
        assert_eq!(found.text(), "alpha");
        assert_eq!((view.byte_length(), view.count_lines().await.unwrap()), (30, 5));
    });
}

#[test]
fn one_line_of_ten_megabytes_is_searched_and_cut() {
    run(async {
        let mut content = vec![b'x'; 10_000_000];
        content.extend(b"needle\nlast");
        let view = view_of(&content, 64 * 1024, 256 * 1024).await;
        let page = view.grep("needle$", GrepOptions::new()).await.unwrap();
        assert_eq!((page.lines.len(), page.unsearched_lines), (1, 0));
        let line = &page.lines[0];
        assert_eq!((line.text.len(), line.truncated, line.bytes), (4096, true, 10_000_006));
        let page = view.tail(1).await.unwrap();
        assert_eq!((page.text().as_str(), page.lines[0].number), ("last", 1));
        let page = view.head(2).await.unwrap();
        assert_eq!(page.lines[1].text, "last");
    });
}

#[test]
fn a_cap_says_what_was_left_out() {
    run(async {
        let content = "line\n".repeat(1000);
        let page = view_of(content.as_bytes(), 64, 64).await.cat(..).await.unwrap();
        let next = page.next.unwrap();
        assert_eq!((page.lines.len(), page.total_lines, page.total_bytes), (200, 1001, 5000));
        assert_eq!(
            next.to_string(),
            "801 lines were left out (an answer has a limited number of lines); go on with start 201 and end 1001"
        );
    });
}

#[test]
fn patterns_that_cannot_be_used_say_what_to_do() {
    #[track_caller]
    fn check(pattern: &str, expect: &str) {
        let view = run(view_of(b"a", 8, 8));
        let error = run(view.grep(pattern, GrepOptions::new())).unwrap_err();
        assert!(matches!(error, TextError::Pattern { .. }), "{error:?}");
        assert_eq!((error.code().as_str(), error.retryable()), ("E_INVALID_TOOL_ARGS", false));
        assert!(error.to_string().contains(expect), "{error}");
    }
    check("a(?=b)", "look-around does not exist here");
    check(r"(a)\1", "back-references do not exist here");
    check("a(b", "put `\\` before a character");
    check("[a", "put `\\` before a character");
    check(r"(\w{1000}){1000}", "smaller counts");
    check(&"a".repeat(5000), "search for a part");
    check(&"(".repeat(200), "cannot be used");
}

#[test]
fn a_cancelled_query_stops() {
    run(async {
        let cancellation = Cancellation::new();
        let view = view_of(b"a\nb", 8, 8).await.cancellation(cancellation.clone());
        cancellation.cancel("enough");
        let error = view.grep("a", GrepOptions::new()).await.unwrap_err();
        assert_eq!(error.code(), "E_TOOL_CANCELLED");
        assert_eq!(error.to_string(), "reading was cancelled: enough");
        assert!(matches!(view.head(1).await, Err(SpoolError::Cancelled { .. })));
    });
}

/// A reader that is not on this machine, and counts what is read.
#[derive(Debug)]
pub(super) struct Remote {
    pub(super) inner: Arc<dyn SpoolReader>,
    pub(super) read: std::sync::atomic::AtomicU64,
}

impl SpoolReader for Remote {
    fn byte_length(&self) -> u64 {
        self.inner.byte_length()
    }

    fn read_at(&self, offset: u64, len: usize) -> BoxFuture<'_, Result<Bytes, SpoolError>> {
        self.read.fetch_add(len as u64, std::sync::atomic::Ordering::Relaxed);
        self.inner.read_at(offset, len)
    }

    fn index(&self) -> BoxFuture<'_, Result<Arc<LineIndex>, SpoolError>> {
        self.inner.index()
    }
}

#[test]
fn content_elsewhere_is_read_no_more_than_needed() {
    run(async {
        let content =
            format!("{}needle\n{}", "some line\n".repeat(50_000), "other\n".repeat(50_000));
        let store = MemorySpoolStore::new();
        let inner = store.write("k".into(), content.as_str().into()).await.unwrap();
        let remote = Arc::new(Remote { inner, read: 0.into() });
        let view = TextView::new(Arc::clone(&remote) as Arc<dyn SpoolReader>);
        let read = || remote.read.swap(0, std::sync::atomic::Ordering::Relaxed);

        let page = view.grep("^needle$", GrepOptions::new().max_matches(1)).await.unwrap();
        assert_eq!(page.lines[0].number, 50_000);
        assert_eq!(page.next.unwrap().limit, PageLimit::Matches);
        assert_eq!(read(), 512 * 1024);
        assert_eq!(view.cat(70_000..70_001).await.unwrap().text(), "other");
        assert!(read() <= 128 * 1024);
        assert_eq!(view.tail(2).await.unwrap().text(), "other\n");
        assert!(read() <= 128 * 1024);
        assert_eq!(view.head(1).await.unwrap().text(), "some line");
        assert!(read() <= 64 * 1024);
    });
}
