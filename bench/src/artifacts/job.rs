//! Our side of a measurement, in a process of its own.
//!
//! The process is started with [`COMMAND`] and a [`Job`] as JSON, and prints a [`Report`].

use std::fs::{self, File};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{Read, Write};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use futures_core::Stream;
use haft::artifacts::Budget;
use haft::artifacts::json::JsonView;
use haft::artifacts::markdown::MarkdownIndex;
use haft::artifacts::text::{GrepOptions, TextView};
use haft::artifacts::tokens::Encoding;
use haft::artifacts::tokens::StreamCounter;
use haft::stores::DirSpoolStore;
use haft::stores::{SpoolPayload, SpoolReader, SpoolStore};
use haft::tools::ByteStream;
use haft::tools::Spooler;
use haft::{DispatchContext, Tool, ToolFailure};
use serde::{Deserialize, Serialize};

use super::process::now;

/// The word that starts a job instead of a benchmark.
pub(crate) const COMMAND: &str = "artifact-job";

/// What to do. `spool` is the folder of a store with the key `log`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) enum Job {
    Idle,
    /// Streams a file into a new store.
    Spool {
        source: PathBuf,
        folder: PathBuf,
    },
    /// Writes a file's bytes to another and brings them to the disk.
    Copy {
        source: PathBuf,
        target: PathBuf,
    },
    /// Counts lines without an index.
    Count {
        spool: PathBuf,
    },
    Head {
        spool: PathBuf,
        lines: u64,
    },
    Tail {
        spool: PathBuf,
        lines: u64,
    },
    Cat {
        spool: PathBuf,
        start: u64,
        end: u64,
    },
    /// Reads so many lines from all over, by threads of a runtime or right here.
    RandomLines {
        spool: PathBuf,
        count: u64,
        runtime: bool,
    },
    Grep {
        spool: PathBuf,
        pattern: String,
    },
    /// Searches until an answer is full.
    GrepPage {
        spool: PathBuf,
        pattern: String,
    },
    /// The first page, of a file with its index beside it or without.
    FirstPage {
        spool: PathBuf,
        index: bool,
    },
    Headings {
        path: PathBuf,
    },
    #[cfg(feature = "peers")]
    HeadingsByPulldownCmark {
        path: PathBuf,
    },
    Tokens {
        path: PathBuf,
    },
    /// Lets a tool return a file as a stream, keeps its record, and asks the forged tools ten questions.
    Handler {
        source: PathBuf,
        folder: PathBuf,
    },
    /// Asks a JSON artifact for what a path finds, so many times; the time is that of the last.
    JsonGet {
        spool: PathBuf,
        path: String,
        times: u32,
    },
    /// Asks a JSON artifact for the elements of its list that meet a condition.
    JsonCount {
        spool: PathBuf,
        path: String,
    },
}

impl Job {
    pub(crate) fn to_text(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }
}

/// What a job found, and at what cost.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Report {
    pub(crate) seconds: f64,
    pub(crate) answer: String,
    pub(crate) peak_kib: Option<u64>,
}

impl Report {
    pub(crate) fn parse(text: &str) -> Option<Self> {
        serde_json::from_str(text).ok()
    }
}

/// Does a job and prints the report.
///
/// # Errors
///
/// When the job is not understood or fails.
pub(crate) fn run(job: Option<&str>, out: &mut dyn Write) -> Result<(), String> {
    let job = job.ok_or("no job")?;
    let job: Job = serde_json::from_str(job).map_err(text)?;
    let here = matches!(job, Job::RandomLines { runtime: false, .. });
    let (seconds, answer) = if here { ready(work(job))? } else { wait(work(job))? }?;
    let report = Report { seconds, answer, peak_kib: peak_kib("self") };
    writeln!(out, "{}", serde_json::to_string(&report).map_err(text)?).map_err(text)
}

async fn work(job: Job) -> Result<(f64, String), String> {
    let start = now();
    let answer = match job {
        Job::Idle => String::new(),
        Job::Spool { source, folder } => {
            let store = DirSpoolStore::open(&folder).map_err(text)?;
            let stream = SpoolPayload::Stream(FileStream::open(&source)?);
            let reader = store.write("copy".into(), stream).await.map_err(text)?;
            let seconds = start.elapsed().as_secs_f64();
            let answer = reader.byte_length().to_string();
            fs::remove_dir_all(folder).map_err(text)?;
            return Ok((seconds, answer));
        }
        Job::Copy { source, target } => {
            let bytes = copy(&source, &target).map_err(text)?;
            let seconds = start.elapsed().as_secs_f64();
            fs::remove_file(target).map_err(text)?;
            return Ok((seconds, bytes.to_string()));
        }
        Job::Count { spool } => {
            without_index(&spool);
            (view(&spool).await?.count_lines().await.map_err(text)? - 1).to_string()
        }
        Job::Head { spool, lines } => {
            digest(view(&spool).await?.head(lines).await.map_err(text)?.text())
        }
        Job::Tail { spool, lines } => {
            // The log ends with an LF, after which we see one more line, an empty one.
            let page = view(&spool).await?.tail(lines + 1).await.map_err(text)?;
            digest(page.text())
        }
        Job::Cat { spool, start, end } => {
            digest(view(&spool).await?.cat(start..end).await.map_err(text)?.text())
        }
        Job::RandomLines { spool, count, .. } => return random_lines(&spool, count).await,
        Job::Grep { spool, pattern } => {
            let budget = Budget::new().lines(NonZeroUsize::MAX).bytes(usize::MAX);
            let view = view(&spool).await?.budget(budget);
            let page = view.grep(&pattern, GrepOptions::new()).await.map_err(text)?;
            numbers(page.lines.iter().map(|line| line.number + 1))
        }
        Job::GrepPage { spool, pattern } => {
            let page = view(&spool).await?.grep(&pattern, GrepOptions::new()).await;
            numbers(page.map_err(text)?.lines.iter().map(|line| line.number + 1))
        }
        Job::FirstPage { spool, index } => {
            if !index {
                without_index(&spool);
            }
            digest(view(&spool).await?.head(100).await.map_err(text)?.text())
        }
        Job::Headings { path } => {
            let mut builder = MarkdownIndex::builder();
            each_piece(&path, |piece| builder.push(piece)).map_err(text)?;
            builder.finish().headings().len().to_string()
        }
        #[cfg(feature = "peers")]
        Job::HeadingsByPulldownCmark { path } => {
            let document = fs::read_to_string(path).map_err(text)?;
            let is_heading = |event: &pulldown_cmark::Event<'_>| {
                matches!(event, pulldown_cmark::Event::Start(pulldown_cmark::Tag::Heading { .. }))
            };
            pulldown_cmark::Parser::new(&document).filter(is_heading).count().to_string()
        }
        Job::Tokens { path } => {
            let mut counter = StreamCounter::new(Encoding::O200kBase);
            each_piece(&path, |piece| counter.push(piece)).map_err(text)?;
            counter.finish().tokens.to_string()
        }
        Job::Handler { source, folder } => return handler(&source, &folder).await,
        Job::JsonGet { spool, path, times } => {
            let view = JsonView::new(stored(&spool, "items").await?);
            for _ in 1..times {
                let _ = view.get(&path, 0).await.map_err(text)?;
            }
            let last = now();
            let answer = view.get(&path, 0).await.map_err(text)?;
            return Ok((last.elapsed().as_secs_f64(), digest(answer.as_str())));
        }
        Job::JsonCount { spool, path } => {
            let view = JsonView::new(stored(&spool, "items").await?);
            digest(view.get(&path, 0).await.map_err(text)?.as_str())
        }
    };
    Ok((start.elapsed().as_secs_f64(), answer))
}

/// A result of any size from a handler to ten answers.
async fn handler(source: &Path, folder: &Path) -> Result<(f64, String), String> {
    let start = now();
    let path = source.to_owned();
    let tool = Tool::builder("read_log")
        .description("Reads the log.")
        .handler(move || FileStream::open(&path).map_err(ToolFailure::new))
        .build()
        .map_err(text)?;
    let ctx = DispatchContext::builder("turn").build();
    let spooler = Spooler::new(Arc::new(DirSpoolStore::open(folder).map_err(text)?));
    let formats = haft::artifacts::standard_formats();
    let done = tool.executor(&ctx).call("{}").await;
    let call =
        spooler.complete_call("turn", done.to_requested(std::num::NonZeroU32::MIN), done).await;
    ctx.artifacts().put_call(&call).map_err(text)?;
    let handle = ctx.artifacts().handles_of(call.id()).pop().ok_or("there is no artifact")?;
    let tools = formats.forge(ctx.artifacts()).map_err(text)?;
    let mut answers = String::new();
    for (name, more) in QUESTIONS {
        let args = format!(r#"{{"callId":"{handle}"{more}}}"#);
        let done = tools.find(name).map_err(text)?.executor(&ctx).call(args.as_str()).await;
        match done.outcome.map_err(text)? {
            haft::ToolOutput::Answer { text, .. } => answers.push_str(&text),
            other => return Err(format!("`{name}` gave {other:?}")),
        }
    }
    let seconds = start.elapsed().as_secs_f64();
    fs::remove_dir_all(folder).map_err(text)?;
    Ok((seconds, digest(answers)))
}

const QUESTIONS: [(&str, &str); 10] = [
    ("artifact_info", ""),
    ("artifact_read", r#","end":1"#),
    ("artifact_read", r#","end":10"#),
    ("artifact_read", r#","start":-10"#),
    ("artifact_read", r#","start":1000000,"end":1000100"#),
    ("artifact_grep", r#","pattern":"needle""#),
    ("artifact_grep", r#","pattern":"retry=[0-8]of9$","context":1"#),
    ("artifact_grep", r#","pattern":"NEEDLE","ignoreCase":true,"limit":5"#),
    ("artifact_grep", r#","pattern":"status=5[0-9]{2} user","start":500000"#),
    ("artifact_read", r#","start":5,"end":6,"offset":10"#),
];

async fn view(spool: &Path) -> Result<TextView, String> {
    Ok(TextView::new(reader(spool).await?))
}

async fn reader(spool: &Path) -> Result<Arc<dyn SpoolReader>, String> {
    stored(spool, "log").await
}

async fn stored(spool: &Path, key: &str) -> Result<Arc<dyn SpoolReader>, String> {
    let store = DirSpoolStore::open(spool).map_err(text)?;
    store.read(key.into()).await.map_err(text)?.ok_or_else(|| format!("there is no `{key}`"))
}

/// Removes the index, as if none had been written.
fn without_index(spool: &Path) {
    let _ = fs::remove_file(spool.join("k-log.idx"));
}

/// The time of one line, when the view is open.
async fn random_lines(spool: &Path, count: u64) -> Result<(f64, String), String> {
    let view = view(spool).await?;
    let lines = view.count_lines().await.map_err(text)?;
    let (mut line, mut bytes) = (0, 0);
    let start = now();
    for _ in 0..count {
        line = (line * 31 + 7_919) % lines;
        bytes += view.cat(line..=line).await.map_err(text)?.text().len();
    }
    let seconds = start.elapsed().as_secs_f64() / count as f64;
    Ok((seconds, bytes.to_string()))
}

/// Reads, writes and syncs in the pieces in which our side gets its bytes.
fn copy(source: &Path, target: &Path) -> std::io::Result<u64> {
    let mut to = File::create(target)?;
    let mut written = 0;
    let mut failed = Ok(());
    each_piece(source, |piece| {
        if failed.is_ok() {
            failed = to.write_all(piece);
            written += piece.len() as u64;
        }
    })?;
    failed?;
    to.sync_all()?;
    Ok(written)
}

fn each_piece(path: &Path, mut take: impl FnMut(&[u8])) -> std::io::Result<()> {
    let mut file = File::open(path)?;
    let mut buffer = vec![0; PIECE];
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok(()),
            read => take(buffer.get(..read).unwrap_or_default()),
        }
    }
}

/// A file as the output of a handler.
pub(crate) struct FileStream(File);

impl FileStream {
    pub(crate) fn open(path: &Path) -> Result<ByteStream, String> {
        Ok(ByteStream::new(Self(File::open(path).map_err(text)?)))
    }
}

impl Stream for FileStream {
    type Item = Result<Bytes, ToolFailure>;

    fn poll_next(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let mut piece = vec![0; PIECE];
        Poll::Ready(match self.0.read(&mut piece) {
            Ok(0) => None,
            Ok(read) => {
                piece.truncate(read);
                Some(Ok(piece.into()))
            }
            Err(error) => Some(Err(ToolFailure::new(error.to_string()))),
        })
    }
}

/// Waits for a future on a runtime with one worker and threads for work that blocks.
pub(crate) fn wait<T>(future: impl Future<Output = T>) -> Result<T, String> {
    let runtime = tokio::runtime::Builder::new_current_thread().build().map_err(text)?;
    Ok(runtime.block_on(future))
}

/// Polls once: without a runtime our side does its work at once.
fn ready<T>(future: impl Future<Output = T>) -> Result<T, String> {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(done) => Ok(done),
        Poll::Pending => Err("it was not done at once".to_owned()),
    }
}

/// How much memory a process has had at most, where the system tells.
pub(crate) fn peak_kib(process: &str) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().strip_suffix("kB")?.trim().parse().ok()
}

/// The number of lines and a hash of their numbers.
pub(crate) fn numbers(lines: impl Iterator<Item = u64>) -> String {
    let (mut hash, mut count) = (DefaultHasher::new(), 0_u64);
    for line in lines {
        line.hash(&mut hash);
        count += 1;
    }
    format!("{count} lines, {:016x}", hash.finish())
}

/// A hash of a text, without the LF at its end.
pub(crate) fn digest(text: impl AsRef<str>) -> String {
    let mut hash = DefaultHasher::new();
    text.as_ref().trim_end_matches('\n').hash(&mut hash);
    format!("{:016x}", hash.finish())
}

fn text(error: impl std::fmt::Display) -> String {
    error.to_string()
}

const PIECE: usize = 256 * 1024;
