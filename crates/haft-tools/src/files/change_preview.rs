//! Shows what a call would change in a file.

use haft_core::tool::CallPreview;
use similar::TextDiff;

use crate::preview;

/// How many lines are compared. Comparing takes time by the square of what differs.
const MAX_CHANGED_LINES: usize = 5_000;

/// The change from one content of a file to another, as a unified diff. A file that is not there has no content.
pub(super) fn preview_change(path: &str, before: Option<&str>, after: &str) -> CallPreview {
    let old = before.unwrap_or_default();
    let new = after;
    let path = preview(path);
    if before == Some(after) {
        return CallPreview::text(format!("`{path}` stays as it is\n"));
    }
    let (removed, added) = changed_lines(old, new);
    if removed.max(added) > MAX_CHANGED_LINES {
        let text = format!("`{path}`: {removed} lines are replaced by {added} lines\n");
        return CallPreview::text(text);
    }
    let from = if before.is_some() { format!("a/{path}") } else { "/dev/null".to_owned() };
    let diff = TextDiff::from_lines(old, new);
    let unified = diff.unified_diff().header(&from, &format!("b/{path}")).to_string();
    CallPreview::diff(unified)
}

/// How many lines of either text stand between the equal lines at the beginning and at the end.
fn changed_lines(old: &str, new: &str) -> (usize, usize) {
    let same_start = old.lines().zip(new.lines()).take_while(|(old, new)| old == new).count();
    let old_lines = old.lines().count();
    let new_lines = new.lines().count();
    let rest = old_lines.min(new_lines) - same_start;
    let same_end =
        old.lines().rev().zip(new.lines().rev()).take(rest).take_while(|(a, b)| a == b).count();
    (old_lines - same_start - same_end, new_lines - same_start - same_end)
}

#[cfg(test)]
mod tests {
    use haft_core::tool::PreviewKind;

    use super::preview_change;

    #[test]
    fn changes_are_unified_diffs() {
        let shown = preview_change("a.txt", Some("one\ntwo\nthree\n"), "one\n2\nthree\n");
        let expected = "--- a/a.txt\n+++ b/a.txt\n@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n";
        assert_eq!((shown.kind, shown.text.as_str()), (PreviewKind::Diff, expected));
        let new = preview_change("a.txt", None, "one\n");
        assert_eq!(new.text, "--- /dev/null\n+++ b/a.txt\n@@ -0,0 +1 @@\n+one\n");
        let same = preview_change("a.txt", Some("one"), "one");
        assert_eq!(
            (same.kind, same.text.as_str()),
            (PreviewKind::Text, "`a.txt` stays as it is\n")
        );
    }

    #[test]
    fn a_change_in_a_long_file_is_a_short_diff_and_a_long_change_is_counted() {
        let lines = |n: usize| (0..n).map(|at| format!("line {at}\n")).collect::<String>();
        let long = lines(100_000);
        let shown = preview_change("a", Some(&long), &long.replace("line 70000\n", ""));
        assert_eq!(shown.kind, PreviewKind::Diff);
        assert!(shown.text.contains("-line 70000\n") && !shown.is_cut, "{}", shown.text);
        let shown = preview_change("a", Some(&long), &long.replace("line", "row"));
        assert_eq!(shown.text, "`a`: 100000 lines are replaced by 100000 lines\n");
        let shown = preview_change("a", None, &lines(4_000));
        assert!(shown.is_cut && shown.kind == PreviewKind::Diff);
    }
}
