//! The data: the same bytes in every run.

use std::fmt::Write as _;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use haft::stores::DirSpoolStore;
use haft::stores::{SpoolPayload, SpoolStore};

use super::job::{FileStream, wait};

/// A spool with a log in it, and documents of other formats beside it.
#[derive(Debug)]
pub(crate) struct Data {
    folder: tempfile::TempDir,
    /// How many newlines the log has.
    pub(crate) lines: u64,
    /// How many items the JSON list has.
    pub(crate) items: u64,
}

impl Data {
    pub(crate) fn make(bytes: u64) -> Result<Self, String> {
        let folder = tempfile::Builder::new().prefix("haft-bench-").tempdir();
        let data = Self { folder: folder.map_err(text)?, lines: 0, items: 0 };
        let source = data.folder().join("source");
        let lines = write(&source, |out| log(out, bytes))?;
        let store = DirSpoolStore::open(data.folder().join("spool")).map_err(text)?;
        let stream = SpoolPayload::Stream(FileStream::open(&source)?);
        wait(store.write("log".into(), stream))?.map_err(text)?;
        let items = write(&source, |out| items(out, (bytes / 2).min(500_000_000)))?;
        let stream = SpoolPayload::Stream(FileStream::open(&source)?);
        wait(store.write("items".into(), stream))?.map_err(text)?;
        std::fs::remove_file(source).map_err(text)?;
        write(&data.markdown(), |out| markdown(out, (bytes / 5).min(50_000_000)))?;
        write(&data.prose(), |out| markdown(out, (bytes / 25).min(10_000_000)))?;
        Ok(Self { lines, items, ..data })
    }

    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// The folder of the spool store; the log has the key `log`.
    pub(crate) fn spool(&self) -> PathBuf {
        self.folder().join("spool")
    }

    /// The bytes of the log: a spool keeps them as they are, so that others can read them as well.
    pub(crate) fn log(&self) -> PathBuf {
        self.spool().join("k-log.spool")
    }

    /// The bytes of the JSON document, key `items` of the spool.
    pub(crate) fn json(&self) -> PathBuf {
        self.spool().join("k-items.spool")
    }

    pub(crate) fn markdown(&self) -> PathBuf {
        self.folder().join("document.md")
    }

    pub(crate) fn prose(&self) -> PathBuf {
        self.folder().join("prose.md")
    }

    /// Leaves the data where it is.
    pub(crate) fn keep(self) -> PathBuf {
        self.folder.keep()
    }
}

fn write<T>(
    path: &Path,
    content: impl FnOnce(&mut BufWriter<File>) -> std::io::Result<T>,
) -> Result<T, String> {
    let mut out = BufWriter::with_capacity(256 * 1024, File::create(path).map_err(text)?);
    let told = content(&mut out).map_err(text)?;
    out.flush().map_err(text)?;
    Ok(told)
}

/// A server's log of about so many bytes, 1 % of its lines with a status of 5xx, ten with the word
/// `needle`, a hundred that only an expression finds. Gives the number of lines.
fn log(out: &mut impl Write, bytes: u64) -> std::io::Result<u64> {
    let mut random = Random(1);
    let mut line = String::new();
    let mut written = 0;
    let mut lines = 0;
    let needle = (bytes / 11).max(1);
    let rare = (bytes / 101).max(1);
    let mut next_needle = needle;
    let mut next_rare = rare;
    while written < bytes {
        line.clear();
        let status = if random.below(100) == 0 { 500 + random.below(5) } else { 200 };
        let day = random.below(28) + 1;
        let minute = lines / 60_000 % 60;
        let milli = lines % 60_000;
        let method = if random.below(4) == 0 { "POST" } else { "GET" };
        // Writing to a string cannot fail.
        let _ = write!(
            line,
            "2026-03-{day:02}T12:{minute:02}:{:02}.{:03}Z {method} /api/v1/items/{} status={status} user=u{} took={}ms",
            milli / 1000,
            milli % 1000,
            random.below(1_000_000_000),
            random.below(1_000_000),
            random.below(5_000),
        );
        if written > next_needle {
            next_needle += needle;
            line.push_str(" needle");
        }
        if written > next_rare {
            next_rare += rare;
            let _ = write!(line, " retry={}of9", random.below(9));
        }
        line.push('\n');
        out.write_all(line.as_bytes())?;
        written += line.len() as u64;
        lines += 1;
    }
    Ok(lines)
}

/// An object with a list of about so many bytes. Gives the number of its elements.
fn items(out: &mut impl Write, bytes: u64) -> std::io::Result<u64> {
    let mut random = Random(3);
    let mut item = String::new();
    let mut written = 0;
    let mut count = 0;
    out.write_all(b"{\"items\": [\n")?;
    while written < bytes {
        item.clear();
        let comma = if count == 0 { "" } else { ",\n" };
        // Some are found by their price, however few there are.
        let price = (random.below(1000), random.below(100));
        let (whole, cents) = if count % 50_000 == 7 { (999, 99) } else { price };
        let _ = write!(
            item,
            "{comma}  {{\"id\": {count}, \"name\": \"item {count}\", \"price\": {whole}.{cents:02}, \"tags\": [\"a{}\", \"b\\\"{}\"], \"note\": \"{}\"}}",
            random.below(10),
            random.below(10),
            "x".repeat(200 + random.below(200) as usize),
        );
        out.write_all(item.as_bytes())?;
        written += item.len() as u64;
        count += 1;
    }
    out.write_all(b"\n]}\n")?;
    Ok(count)
}

/// A document of about so many bytes: headings of both kinds, prose, lists, code in fences.
fn markdown(out: &mut impl Write, bytes: u64) -> std::io::Result<()> {
    let mut random = Random(2);
    let mut text = String::new();
    let mut written = 0;
    while written < bytes {
        text.clear();
        let number = random.below(100_000);
        let _ = match random.below(8) {
            0 => write!(text, "{} Section {number}\n\n", "#".repeat(1 + number as usize % 6)),
            1 => write!(text, "Chapter {number}\n-----------\n\n"),
            2 => write!(text, "```rust\n# fn main() {{ println!(\"{number}\"); }}\n```\n\n"),
            3 => write!(
                text,
                "- one item\n- another, with [a link](https://example.org/{number})\n\n"
            ),
            _ => Ok(()),
        };
        if text.is_empty() {
            for _ in 0..10 + random.below(50) {
                let word = random.below(WORDS.len() as u64) as usize;
                text.push_str(WORDS.get(word).copied().unwrap_or("word"));
                text.push(if random.below(12) == 0 { '\n' } else { ' ' });
            }
            text.push_str("\n\n");
        }
        out.write_all(text.as_bytes())?;
        written += text.len() as u64;
    }
    Ok(())
}

/// The same numbers in every run.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }
}

fn text(error: impl std::fmt::Display) -> String {
    error.to_string()
}

const WORDS: [&str; 24] = [
    "the",
    "reader",
    "finds",
    "a",
    "line",
    "by",
    "its",
    "index",
    "and",
    "*never*",
    "reads",
    "what",
    "stands",
    "before",
    "it,",
    "`spool`",
    "Größe",
    "日本語",
    "because",
    "every",
    "answer",
    "is",
    "bounded.",
    "**So**",
];
