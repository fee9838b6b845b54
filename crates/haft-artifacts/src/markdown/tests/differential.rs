//! The index finds what pulldown-cmark finds, whatever the document and however it is cut.

use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use pulldown_cmark::{CodeBlockKind, Event, Parser, Tag, TagEnd};

use crate::markdown::{MarkdownIndex, plain};

/// Headings (depth, text, line) and code blocks (language, first line, last line).
#[derive(Debug, PartialEq, Eq, Default)]
pub(super) struct Found {
    headings: Vec<(u8, String, usize)>,
    code_blocks: Vec<(Option<String>, usize, usize)>,
}

impl Found {
    pub(super) fn ours(index: &MarkdownIndex) -> Self {
        Self {
            headings: (index.headings().iter())
                .map(|it| (it.depth, it.text.clone().into(), it.start_line))
                .collect(),
            code_blocks: (index.code_blocks().iter())
                .map(|it| (it.lang.clone().map(Into::into), it.start_line, it.end_line))
                .collect(),
        }
    }

    pub(super) fn oracle(document: &str) -> Self {
        let line_of =
            |at: usize| document.as_bytes()[..at].iter().filter(|&&it| it == b'\n').count();
        let mut found = Self::default();
        let mut heading: Option<(u8, String, usize)> = None;
        for (event, range) in Parser::new_ext(document, plain::OPTIONS).into_offset_iter() {
            match event {
                Event::Start(Tag::Heading { level, .. }) => {
                    heading = Some((level as u8, String::new(), line_of(range.start)));
                }
                Event::End(TagEnd::Heading(_)) => {
                    let heading = heading.take();
                    found.headings.extend(
                        heading.map(|(depth, text, line)| (depth, plain::one_line(&text), line)),
                    );
                }
                Event::Start(Tag::CodeBlock(kind)) => {
                    let lang = match kind {
                        CodeBlockKind::Fenced(info) => {
                            info.split_ascii_whitespace().next().map(str::to_owned)
                        }
                        CodeBlockKind::Indented => None,
                    };
                    let last = range.end.max(range.start + 1) - 1;
                    found.code_blocks.push((lang, line_of(range.start), line_of(last)));
                }
                event => {
                    if let Some((_, text, _)) = &mut heading {
                        plain::push_inline(text, &event);
                    }
                }
            }
        }
        found
    }
}

/// A line, most often one that is close to being something else.
fn line() -> impl Strategy<Value = String> {
    let prefix = prop::sample::select(vec![
        "", "", "", "", "", "", " ", "  ", "   ", "    ", "     ", "\t", " \t", "> ", ">", "> > ",
        ">> ", ">\t", "- ", "* ", "+ ", "-\t", "1. ", "2. ", "10) ", "1) ", "  - ", "   1. ",
        "-   ", "-     ", "> - ", "- > ", "- - ", "1. - ", "    - ",
    ]);
    let body = prop::sample::select(vec![
        "",
        "",
        "",
        "",
        "text",
        "text",
        "two words",
        "# one",
        "## two ##",
        "### three #",
        "#",
        "######",
        "####### seven",
        "#nospace",
        "# *em* `code` [link](u)",
        "\\# no",
        "# esc \\#",
        "# a\\",
        "#\ttab",
        "===",
        "=",
        "---",
        "--",
        "-",
        "- - -",
        "***",
        "* * *",
        "___",
        "=== ",
        "--- -",
        "+",
        "*",
        "1.",
        "= =",
        "```",
        "```",
        "````",
        "~~~",
        "~~~~",
        "``` rust",
        "```rust x",
        "~~~ a`b",
        "``` a`b",
        "``",
        "~~~&amp;x",
        "<div>",
        "</div>",
        "<!-- c",
        "-->",
        "<!-- c -->",
        "<?php",
        "?>",
        "<!X",
        ">",
        "<![CDATA[",
        "]]>",
        "<script>",
        "</script>",
        "<a href=\"x\">",
        "<b>",
        "</b>",
        "<b> x",
        "<x-y a=b c='d'/>",
        "[a]: /u",
        "[a]: /u \"t\"",
        "[b]:",
        "/u",
        "\"title\"",
        "\"title",
        "[c]: <x y> 't'",
        "[d]: /u junk",
        "[a]",
        "[a][b]",
        "[e",
        "f]: /u",
        "[\\]]: x",
        "(t)",
        "[a]: /u (x",
        "y)",
        "a | b",
        "|a|b|",
        "|---|---|",
        "---|---",
        "|-|",
        "| a |",
        "|",
        "||",
        ":-:|-",
        "a \\| b",
        "|a\\|b|",
        "-|",
        "x\\",
        "x  ",
        "*em*",
        "`co",
        "de`",
        "![i](u)",
        "<u@e.org>",
        "a&amp;b",
        "äöü 中",
        "1986. x",
        "0. z",
        "_a_",
        "__b",
        "text ===",
        "[foo]: /url 'a",
        "b' c",
    ]);
    (prefix, body).prop_map(|(prefix, body)| format!("{prefix}{body}"))
}

fn document() -> impl Strategy<Value = String> {
    (prop::collection::vec(line(), 0..14), any::<bool>()).prop_map(|(lines, ends)| {
        let mut text = lines.join("\n");
        if ends {
            text.push('\n');
        }
        text
    })
}

/// The same documents each time, or as many new ones as `HAFT_CASES` says.
fn config() -> ProptestConfig {
    let wanted = std::env::var_os("HAFT_CASES").and_then(|it| it.to_str()?.parse().ok());
    let rng_seed = if wanted.is_some() { RngSeed::Random } else { RngSeed::Fixed(31) };
    let cases = wanted.unwrap_or(5_000);
    ProptestConfig { cases, rng_seed, failure_persistence: None, ..ProptestConfig::default() }
}

/// Documents that pulldown-cmark reads in another way than the specification, or that are not all Markdown.
fn is_known_difference(document: &str) -> bool {
    let lines: Vec<&str> = document.lines().collect();
    // Inside a container, an underline outside of it is text and so may be a part of a definition.
    let lazy_underline = lines.windows(2).any(|pair| {
        let is_inside = !pair[0].trim_start().starts_with('[') && pair[0].contains(['[', ']']);
        is_inside && pair[1].trim_matches(['=', '-', ' ', '\t', '>']).is_empty()
    });
    // Indented under a paragraph it is inline HTML, which there takes the next line's marker for its end.
    let inline_html = lines.iter().any(|it| it.starts_with([' ', '\t']) && it.contains(['?', '!']));
    let is_front_matter = document.starts_with("---") || document.starts_with("+++");
    lazy_underline || inline_html || is_front_matter
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn finds_what_the_oracle_finds(document in document()) {
        if is_known_difference(&document) {
            return Ok(());
        }
        let ours = Found::ours(&MarkdownIndex::parse(&document));
        prop_assert_eq!(ours, Found::oracle(&document), "document:\n{}", document);
    }

    #[test]
    fn any_chunking_gives_the_same_index(
        document in document(),
        cuts in prop::collection::vec(1_usize..7, 1..40),
    ) {
        let whole = MarkdownIndex::parse(&document);
        let mut builder = MarkdownIndex::builder();
        let mut rest = document.as_bytes();
        for cut in cuts.iter().cycle() {
            let (chunk, after) = rest.split_at((*cut).min(rest.len()));
            builder.push(chunk);
            rest = after;
            if rest.is_empty() {
                break;
            }
        }
        let cut = builder.finish();
        prop_assert_eq!(cut.headings(), whole.headings());
        prop_assert_eq!(cut.code_blocks(), whole.code_blocks());
        prop_assert_eq!(cut.line_count(), whole.line_count());
    }
}
