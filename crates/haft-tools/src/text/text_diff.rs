//! The tool `text_diff`.

use haft_core::tool::ToolFailure;
use similar::{ChangeTag, TextDiff};

use haft_macros::{ToolArgs, tool};

#[derive(ToolArgs)]
pub(crate) struct TextDiffArgs {
    /// The text before
    #[arg(max_len = 200000, example = "one\ntwo\n")]
    before: String,
    /// The text after
    #[arg(max_len = 200000, example = "one\n2\n")]
    after: String,
    /// What is compared
    #[arg(default = "lines")]
    by: By,
    /// How many equal lines to show around a difference
    #[arg(default = 3, max = 20)]
    context: usize,
}

#[derive(ToolArgs)]
pub(crate) enum By {
    /// Whole lines, shown as a unified diff
    Lines,
    /// Words, shown within the text as [-removed-] and {+added+}
    Words,
}

/// Compares two texts and shows exactly what differs, by lines (a unified diff) or by words.
///
/// Returns text. The first line counts what was added and removed, or says that the texts are equal.
#[tool(read_only)]
pub(super) fn text_diff(args: TextDiffArgs) -> Result<String, ToolFailure> {
    let TextDiffArgs { before, after, by, context } = args;
    if before == after {
        return Ok("the texts are equal".to_owned());
    }
    match by {
        By::Lines => {
            few(before.lines().count().max(after.lines().count()), "lines")?;
            let diff = TextDiff::from_lines(&before, &after);
            let unified = diff.unified_diff().context_radius(context).to_string();
            let (added, removed) = counts(&diff);
            Ok(format!("{added} lines added, {removed} removed\n{unified}"))
        }
        By::Words => {
            let words = |text: &str| text.split_whitespace().count();
            few(words(&before).max(words(&after)), "words")?;
            let diff = TextDiff::from_words(&before, &after);
            let (added, removed) = counts(&diff);
            Ok(format!("{added} words added, {removed} removed\n{}", marked(&diff)))
        }
    }
}

/// Comparing takes time by the square of what differs.
fn few(count: usize, what: &str) -> Result<(), ToolFailure> {
    if count > MOST {
        return Err(ToolFailure::new(format!(
            "a text has {count} {what}, and at most {MOST} are compared; compare parts of it"
        )));
    }
    Ok(())
}

/// How many pieces that are not only white space were added and removed.
fn counts<'t>(diff: &TextDiff<'t, 't, '_, str>) -> (usize, usize) {
    let count = |tag| {
        let changes = diff.iter_all_changes().filter(|it| it.tag() == tag);
        changes.filter(|it| !it.value().trim().is_empty() || it.value().contains('\n')).count()
    };
    (count(ChangeTag::Insert), count(ChangeTag::Delete))
}

/// The text with marks; neighbours share one pair.
fn marked<'t>(diff: &TextDiff<'t, 't, '_, str>) -> String {
    let mut out = String::new();
    let mut last = ChangeTag::Equal;
    for change in diff.iter_all_changes() {
        if change.tag() != last {
            out.push_str(closing(last));
            out.push_str(match change.tag() {
                ChangeTag::Equal => "",
                ChangeTag::Delete => "[-",
                ChangeTag::Insert => "{+",
            });
            last = change.tag();
        }
        out.push_str(change.value());
    }
    out + closing(last)
}

const fn closing(tag: ChangeTag) -> &'static str {
    match tag {
        ChangeTag::Equal => "",
        ChangeTag::Delete => "-]",
        ChangeTag::Insert => "+}",
    }
}

const MOST: usize = 5_000;
