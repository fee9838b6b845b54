//! Tables of Markdown, in columns.

use anstyle::Style;

use crate::text_width::{display_width, pad_both, pad_end, pad_start};

/// The most bytes of a table that is held back until it is complete. A longer one is written as it stands.
const MAX_TABLE: usize = 64 * 1024;

/// What a text that starts with `|` is.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum TableStart<'t> {
    /// A table, in columns, and the text behind it.
    Table(String, &'t str),
    /// More text is needed to decide.
    Unknown,
    NoTable,
}

/// How a column is aligned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Alignment {
    Left,
    Right,
    Centre,
}

/// Reads the table that a text starts with.
pub(super) fn read_table(text: &str, is_end: bool) -> TableStart<'_> {
    let mut rows: Vec<&str> = Vec::new();
    let mut rest = text;
    let is_complete = loop {
        let (line, after) = match rest.split_once('\n') {
            Some(parts) => parts,
            None if is_end => (rest, ""),
            // The line may still become a row.
            None => break !rest.trim_start().is_empty() && !is_row(rest),
        };
        if !is_row(line) {
            break true;
        }
        rows.push(line);
        rest = after;
        if rest.is_empty() {
            break is_end;
        }
    };
    let alignments = rows.get(1).map(|row| read_alignments(row));
    match alignments {
        Some(None) => TableStart::NoTable,
        _ if text.len() > MAX_TABLE => TableStart::NoTable,
        _ if !is_complete => TableStart::Unknown,
        Some(Some(alignments)) => TableStart::Table(write_table(&rows, &alignments), rest),
        None => TableStart::NoTable,
    }
}

fn is_row(line: &str) -> bool {
    line.trim_start().starts_with('|')
}

/// The cells of a row, without the markers of emphasis and code.
fn split_row(row: &str) -> Vec<String> {
    let row = row.trim();
    let row = row.strip_prefix('|').unwrap_or(row);
    let row = row.strip_suffix('|').filter(|it| !it.ends_with('\\')).unwrap_or(row);
    let mut cells = Vec::new();
    let mut cell = String::new();
    let mut previous = '\0';
    for character in row.chars() {
        match (previous, character) {
            ('\\', '|') => {
                cell.pop();
                cell.push('|');
            }
            (_, '|') => cells.push(std::mem::take(&mut cell)),
            _ => cell.push(character),
        }
        previous = character;
    }
    cells.push(cell);
    cells.iter().map(|it| it.trim().replace("**", "").replace('`', "")).collect()
}

/// The alignments of the second row; nothing if it is another row than that of a table.
fn read_alignments(row: &str) -> Option<Vec<Alignment>> {
    let read = |cell: &String| {
        let starts = cell.starts_with(':');
        let ends = cell.ends_with(':');
        let dashes = cell.trim_matches(':');
        (!dashes.is_empty() && dashes.chars().all(|it| it == '-')).then_some(match (starts, ends) {
            (true, true) => Alignment::Centre,
            (false, true) => Alignment::Right,
            _ => Alignment::Left,
        })
    };
    split_row(row).iter().map(read).collect()
}

fn write_table(rows: &[&str], alignments: &[Alignment]) -> String {
    let body = rows.iter().skip(2).map(|row| split_row(row));
    let cells: Vec<Vec<String>> =
        rows.iter().take(1).map(|row| split_row(row)).chain(body).collect();
    let widths: Vec<usize> = (0..alignments.len())
        .map(|column| {
            let widths = cells.iter().filter_map(|row| row.get(column)).map(|it| display_width(it));
            widths.max().unwrap_or_default().max(1)
        })
        .collect();
    let mut out = String::new();
    for (number, row) in cells.iter().enumerate() {
        let columns = widths.iter().zip(alignments).enumerate();
        let line: Vec<String> = columns
            .map(|(at, (width, alignment))| {
                let cell = row.get(at).map_or("", String::as_str);
                match alignment {
                    Alignment::Left => pad_end(cell, *width),
                    Alignment::Right => pad_start(cell, *width),
                    Alignment::Centre => pad_both(cell, *width),
                }
            })
            .collect();
        let line = line.join(" │ ");
        if number > 0 {
            out.push_str(&format!("{}\n", line.trim_end()));
            continue;
        }
        let bold = Style::new().bold();
        let rule = widths.iter().map(|width| "─".repeat(*width));
        let rule = rule.collect::<Vec<_>>().join("─┼─");
        out.push_str(&format!("{bold}{}{bold:#}\n{rule}\n", line.trim_end()));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::{TableStart, read_table};

    #[test]
    fn columns_are_aligned() {
        let text = "| name | n |\n|:-----|--:|\n| **a** | 1 |\n| longer \\| b | `200` |\n\nafter\n";
        let TableStart::Table(table, rest) = read_table(text, false) else { panic!("no table") };
        assert_eq!(rest, "\nafter\n");
        let expected = "name       │   n\n───────────┼────\na          │   1\nlonger | b │ 200\n";
        assert_eq!(anstream::adapter::strip_str(&table).to_string(), expected);
    }

    #[test]
    fn a_table_is_written_when_it_has_ended() {
        for text in
            ["| a |", "| a |\n", "| a |\n| - |\n", "| a |\n|---|\n| 1 |\n| 2", "| a |\n|---|\n  "]
        {
            assert_eq!(read_table(text, false), TableStart::Unknown, "{text:?}");
        }
        assert_eq!(read_table("| a |\n| b |\n", false), TableStart::NoTable);
        assert_eq!(read_table("| a |\ntext", false), TableStart::NoTable);
        assert_eq!(read_table("| a |", true), TableStart::NoTable);
        assert!(matches!(read_table("| a |\n|---|", true), TableStart::Table(_, "")));
        let long = format!("| a |\n|---|\n{}", "| 1 |\n".repeat(20_000));
        assert_eq!(read_table(&long, false), TableStart::NoTable);
    }

    /// Ideographs and emoji take two columns each.
    #[test]
    fn columns_are_aligned_as_a_terminal_shows_them() {
        let text = "| 都市 | n |\n|:-----|--:|\n| Ulm | 1 |\n| 東京都 🙂 | 漢 |\nx";
        let TableStart::Table(table, _) = read_table(text, false) else { panic!("no table") };
        let plain = anstream::adapter::strip_str(&table).to_string();
        let expected = "都市      │  n\n──────────┼───\nUlm       │  1\n東京都 🙂 │ 漢\n";
        assert_eq!(plain, expected);
    }

    /// Rows may have fewer or more cells than the header.
    #[test]
    fn ragged_rows_are_cut_to_the_header() {
        let text = "|a|b|\n|-|-|\n|1|\n|1|2|3|\nx";
        let TableStart::Table(table, _) = read_table(text, false) else { panic!("no table") };
        let plain = anstream::adapter::strip_str(&table).to_string();
        assert_eq!(plain, "a │ b\n──┼──\n1 │\n1 │ 2\n");
    }
}
