//! The text of the compiler, without what differs between machines and between unrelated versions of the sources.

use std::path::Path;

/// How lines of the compiler begin that say nothing about one mistake.
const SUMMARIES: [&str; 3] =
    ["error: aborting due to", "For more information about", "Some errors have detailed"];

/// Replaces directories by names, and leaves out the numbers of lines in other files than the program, how many types
/// more there are, and what sums up.
pub(super) fn normalize(said: &str, root: &Path) -> String {
    let said = said.replace(&*root.to_string_lossy(), "$WORKSPACE");
    let mut lines: Vec<String> = Vec::new();
    let mut is_elsewhere = false;
    for line in said.lines().filter(|line| !SUMMARIES.iter().any(|it| line.starts_with(it))) {
        // A suggestion is about the program, unless it names another place.
        is_elsewhere &= !line.starts_with("help: ");
        let gutter = Gutter::read(line);
        if let Some(Gutter { rest, .. }) = &gutter
            && let Some(place) = rest.strip_prefix("--> ").or_else(|| rest.strip_prefix("::: "))
        {
            is_elsewhere = !place.starts_with(super::CASES);
        }
        lines.push(gutter.map_or_else(|| hide_count(line), |it| it.show(is_elsewhere)));
    }
    format!("{}\n", lines.join("\n").trim_end())
}

/// A line with the column that contains the numbers of lines. Its width depends on the largest of them.
struct Gutter<'a> {
    number: &'a str,
    rest: &'a str,
}

impl<'a> Gutter<'a> {
    fn read(line: &'a str) -> Option<Self> {
        let text = line.trim_start();
        let digits = text.bytes().take_while(u8::is_ascii_digit).count();
        let (number, rest) = text.split_at(digits);
        let is_indented = line.len() > text.len();
        let rest = rest.trim_start();
        let marks: &[&str] =
            if number.is_empty() { &["|", "= ", "--> ", "::: "] } else { &["|", "+", "-", "~"] };
        let has_mark = marks.iter().any(|it| rest.starts_with(it));
        (has_mark && (is_indented || digits > 0)).then_some(Self { number, rest })
    }

    fn show(&self, is_elsewhere: bool) -> String {
        let Self { number, rest } = self;
        let is_place = rest.starts_with("--> ") || rest.starts_with("::: ");
        match (is_place, is_elsewhere) {
            (true, true) => format!("   {}", without_position(rest)),
            (true, false) => format!("   {rest}"),
            (false, true) => format!("    {rest}"),
            (false, false) => format!("{number:>3} {}", hide_count(rest)),
        }
    }
}

/// A place in a file without its line and column.
fn without_position(place: &str) -> &str {
    let is_position = |it: char| it.is_ascii_digit() || it == ':';
    place.trim_end_matches(is_position)
}

/// The line, with `$N` in `and 12 others`.
fn hide_count(line: &str) -> String {
    let count = line.trim_start().strip_prefix("and ").and_then(|it| it.strip_suffix(" others"));
    match count {
        Some(count) if count.bytes().all(|it| it.is_ascii_digit()) => line.replace(count, "$N"),
        _ => line.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::normalize;

    #[test]
    fn what_differs_between_machines_is_left_out() {
        let said = "\
error[E0277]: `Units` is no object
  --> crates/haft/tests/ui/type/a.rs:11:12
   |
11 |     units: Units,
   |            ^^^^^ not an object
   |
note: required by a bound in `InputSchema::of`
  --> /home/me/haft/crates/haft-core/src/schema/input.rs:123:18
   |
123 |     pub fn of<T: ToolArgs>() -> Result {
    |                  ^^^^^^^^ required by this bound
...
456 |     of!(A);
    |     ------ in this macro invocation
help: consider this
   |
 9 + #[derive(Default)]
10 | struct Weather;
   |
   = help: the following other types implement it:
             u16
           and 12 others

error: aborting due to 1 previous error

For more information about this error, try `rustc --explain E0277`.
";
        let expect = "\
error[E0277]: `Units` is no object
   --> crates/haft/tests/ui/type/a.rs:11:12
    |
 11 |     units: Units,
    |            ^^^^^ not an object
    |
note: required by a bound in `InputSchema::of`
   --> $WORKSPACE/crates/haft-core/src/schema/input.rs
    |
    |     pub fn of<T: ToolArgs>() -> Result {
    |                  ^^^^^^^^ required by this bound
...
    |     of!(A);
    |     ------ in this macro invocation
help: consider this
    |
  9 + #[derive(Default)]
 10 | struct Weather;
    |
    = help: the following other types implement it:
             u16
           and $N others
";
        assert_eq!(normalize(said, Path::new("/home/me/haft")), expect);
    }

    #[test]
    fn other_numbers_stay() {
        let said = "error: 3 - 4 is no limit\n --> crates/haft/tests/ui/a.rs:1:2\n  |\n1 | x\n";
        let expect =
            "error: 3 - 4 is no limit\n   --> crates/haft/tests/ui/a.rs:1:2\n    |\n  1 | x\n";
        assert_eq!(normalize(said, Path::new("/home/me/haft")), expect);
    }
}
