//! The tool `text_analyze`.

use std::collections::HashMap;

use serde::Serialize;

use haft_core::tool::Json;
use haft_macros::{ToolArgs, tool};

#[derive(ToolArgs)]
pub(crate) struct TextAnalyzeArgs {
    /// The text
    #[arg(max_len = 500000, example = "To be, or not to be.")]
    text: String,
    /// How many of the most frequent words to list
    #[arg(default = 5, max = 50)]
    top_words: usize,
}

#[derive(Serialize)]
pub(super) struct Counts {
    characters: usize,
    characters_without_spaces: usize,
    bytes: usize,
    words: usize,
    unique_words: usize,
    lines: usize,
    empty_lines: usize,
    sentences: usize,
    paragraphs: usize,
    longest_line: usize,
    mean_word_length: f64,
    ascii_only: bool,
    top_words: Vec<Frequency>,
}

#[derive(Serialize)]
struct Frequency {
    word: String,
    count: usize,
}

/// Counts what a text has: characters (Unicode scalar values), bytes, words, different words, lines, sentences,
/// paragraphs, the longest line, and the most frequent words. Use it instead of counting by eye.
///
/// Returns JSON.
#[tool(read_only, artifact = Json)]
#[expect(clippy::cast_precision_loss, reason = "a mean is rounded")]
pub(super) fn text_analyze(args: TextAnalyzeArgs) -> Json<Counts> {
    let text = args.text.as_str();
    let words = || {
        text.split(|it: char| !it.is_alphanumeric() && !matches!(it, '\'' | '’'))
            .filter(|it| it.chars().any(char::is_alphanumeric))
    };
    let mut counts: HashMap<String, usize> = HashMap::new();
    for word in words() {
        *counts.entry(word.to_lowercase()).or_default() += 1;
    }
    let all = counts.values().sum::<usize>();
    let letters: usize = words().map(|it| it.chars().count()).sum();
    let empty = text.lines().filter(|it| it.trim().is_empty()).count();
    Json(Counts {
        characters: text.chars().count(),
        characters_without_spaces: text.chars().filter(|it| !it.is_whitespace()).count(),
        bytes: text.len(),
        words: all,
        unique_words: counts.len(),
        lines: text.lines().count(),
        empty_lines: empty,
        sentences: sentences(text),
        paragraphs: paragraphs(text),
        longest_line: text.lines().map(|it| it.chars().count()).max().unwrap_or(0),
        mean_word_length: (letters as f64 / all.max(1) as f64 * 100.0).round() / 100.0,
        ascii_only: text.is_ascii(),
        top_words: most_frequent(counts, args.top_words),
    })
}

/// Runs of text that end with a mark, and what is left at the end.
fn sentences(text: &str) -> usize {
    let parts = text.split(['.', '!', '?', '。', '！', '？', '…']);
    parts.filter(|it| it.chars().any(char::is_alphanumeric)).count()
}

fn paragraphs(text: &str) -> usize {
    let blank = |line: &str| line.trim().is_empty();
    let mut before = true;
    let starts = text.lines().filter(|line| {
        let starts = before && !blank(line);
        before = blank(line);
        starts
    });
    starts.count()
}

fn most_frequent(counts: HashMap<String, usize>, most: usize) -> Vec<Frequency> {
    let mut all: Vec<_> =
        counts.into_iter().map(|(word, count)| Frequency { word, count }).collect();
    all.sort_by(|a, b| b.count.cmp(&a.count).then_with(|| a.word.cmp(&b.word)));
    all.truncate(most);
    all
}
