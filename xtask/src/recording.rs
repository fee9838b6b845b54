//! The picture of a terminal in the README, made of what the real program prints.
//!
//! Commands run in an empty directory next to the examples, with colours and without a model. What differs in every run is
//! replaced: ids of turns are elided, durations are left out, and results of parallel calls are sorted. The picture is an SVG
//! whose lines appear one after the other.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

/// The commands of the picture.
const COMMANDS: [&str; 2] = [
    "haft run examples/document-reader",
    "haft artifact grep 165a34eb 'bleed screw' --turn last --limit 2",
];

/// Where the picture is.
const PICTURE: &str = "docs/book/src/pictures/recording.svg";

/// How many characters a line has.
const COLUMNS: usize = 118;

/// The width of a character, the height of a line and the margin, in pixels.
const CHARACTER: usize = 8;
const LINE: usize = 18;
const MARGIN: usize = 16;

/// Runs the commands and writes the picture.
pub(crate) fn write(root: &Path) -> ExitCode {
    match record(root) {
        Ok(lines) => {
            let picture = draw(&lines);
            match std::fs::write(root.join(PICTURE), picture) {
                Ok(()) => {
                    println!("wrote {PICTURE}: {} lines", lines.len());
                    ExitCode::SUCCESS
                }
                Err(error) => fail(&format!("cannot write {PICTURE}: {error}")),
            }
        }
        Err(error) => fail(&error),
    }
}

fn fail(error: &str) -> ExitCode {
    eprintln!("error: {error}");
    ExitCode::FAILURE
}

/// Builds the program, runs the commands, and returns what a terminal would show.
fn record(root: &Path) -> Result<Vec<String>, String> {
    let built = Command::new("cargo")
        .args(["build", "--quiet", "--package", "haft-cli"])
        .current_dir(root)
        .status()
        .map_err(|error| format!("cargo: {error}"))?;
    if !built.success() {
        return Err("the program cannot be built".to_owned());
    }
    let target =
        std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
    let dir = std::env::temp_dir().join(format!("haft-recording-{}", std::process::id()));
    let io = |error: std::io::Error| format!("{}: {error}", dir.display());
    std::fs::create_dir_all(&dir).map_err(io)?;
    let mut link = Command::new("ln");
    link.arg("-s").arg(root.join("examples")).arg(dir.join("examples")).status().map_err(io)?;
    let mut lines = Vec::new();
    let recorded = COMMANDS.iter().try_for_each(|command| {
        lines.push(format!("\u{1b}[32m$\u{1b}[0m \u{1b}[1m{command}\u{1b}[0m"));
        let printed = run(command, &dir, &target.join("debug"))?;
        let mut printed: Vec<String> = printed.lines().map(normalize).collect();
        sort_results(&mut printed);
        lines.extend(printed.iter().flat_map(|line| wrap(line)));
        lines.push(String::new());
        Ok::<_, String>(())
    });
    let _ = std::fs::remove_dir_all(&dir);
    recorded?;
    lines.pop();
    Ok(lines)
}

/// Runs one command with both of its outputs in one, as a terminal shows them.
fn run(command: &str, dir: &Path, programs: &Path) -> Result<String, String> {
    let mut path = programs.as_os_str().to_owned();
    if let Some(others) = std::env::var_os("PATH") {
        path.push(":");
        path.push(others);
    }
    let output = Command::new("sh")
        .args(["-c", &format!("{command} 2>&1")])
        .current_dir(dir)
        .env("PATH", path)
        .env("XDG_CONFIG_HOME", dir.join("config"))
        .env("XDG_STATE_HOME", dir.join("state"))
        .env("CLICOLOR_FORCE", "1")
        .env_remove("NO_COLOR")
        .env_remove("HAFT_MODEL")
        .output()
        .map_err(|error| format!("`{command}`: {error}"))?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    if output.status.success() { Ok(text) } else { Err(format!("`{command}` failed:\n{text}")) }
}

/// Elides the id of a turn and leaves out its duration.
fn normalize(line: &str) -> String {
    let Some((start, rest)) = line.split_once("turn ") else { return line.to_owned() };
    let Some((id, outcome)) = rest.split_once(' ') else { return line.to_owned() };
    if id.len() != 36 {
        return line.to_owned();
    }
    let end = if outcome.ends_with("\u{1b}[0m") { "\u{1b}[0m" } else { "" };
    let outcome = outcome.rsplit_once(", ").map_or(outcome, |(it, _)| it);
    format!("{start}turn … {outcome}{end}")
}

/// Sorts the results that follow each other: parallel calls end in any order.
fn sort_results(lines: &mut [String]) {
    let is_result = |line: &String| line.contains("← ");
    for run in lines.chunk_by_mut(|a, b| is_result(a) && is_result(b)) {
        run.sort();
    }
}

/// Breaks a line at the width of the picture. Escape sequences have no width.
fn wrap(line: &str) -> Vec<String> {
    let mut lines = Vec::new();
    let mut current = String::new();
    let mut width = 0;
    let mut is_escape = false;
    for character in line.chars() {
        is_escape = is_escape || character == '\u{1b}';
        if !is_escape && width == COLUMNS {
            lines.push(std::mem::take(&mut current));
            width = 0;
        }
        current.push(character);
        if is_escape {
            is_escape = character != 'm';
        } else {
            width += 1;
        }
    }
    lines.push(current);
    lines
}

/// A piece of a line with one style.
#[derive(Debug, PartialEq, Eq)]
struct Span {
    class: &'static str,
    text: String,
}

/// Splits a line at its escape sequences.
fn spans(line: &str) -> Vec<Span> {
    let mut all = Vec::new();
    let mut class = "";
    for (n, part) in line.split("\u{1b}[").enumerate() {
        let text = match part.split_once('m') {
            Some((code, text)) if n > 0 => {
                class = class_of(code);
                text
            }
            _ => part,
        };
        if !text.is_empty() {
            all.push(Span { class, text: text.to_owned() });
        }
    }
    all
}

/// The class of a style.
fn class_of(code: &str) -> &'static str {
    match code {
        "1" => "bold",
        "2" => "dim",
        "31" => "red",
        "32" => "green",
        "33" => "yellow",
        "36" => "cyan",
        _ => "",
    }
}

const STYLE: &str = "\
text{font:13px ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;fill:#d6deeb;white-space:pre;animation:appear .01s both}\
.dim{fill:#7f8c98}.bold{font-weight:700}.red{fill:#ff6b6b}.green{fill:#7fd88f}.yellow{fill:#e5c07b}.cyan{fill:#56c8d8}\
@keyframes appear{from{opacity:0}to{opacity:1}}\
@media (prefers-reduced-motion:reduce){text{animation:none}}";

/// Draws lines that appear one after the other.
fn draw(lines: &[String]) -> String {
    let width = COLUMNS * CHARACTER + 2 * MARGIN;
    let height = lines.len() * LINE + 2 * MARGIN;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\">\n\
         <style>{STYLE}</style>\n<rect width=\"100%\" height=\"100%\" rx=\"8\" fill=\"#10151c\"/>\n"
    );
    for (n, line) in lines.iter().enumerate().filter(|(_, line)| !line.is_empty()) {
        let y = MARGIN + LINE * (n + 1) - 5;
        let delay = n * 12;
        // Writing to a string does not fail.
        let _ = write!(
            svg,
            "<text x=\"{MARGIN}\" y=\"{y}\" style=\"animation-delay:{}.{:02}s\">",
            delay / 100,
            delay % 100
        );
        for Span { class, text } in spans(line) {
            let text = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
            let _ = match class {
                "" => write!(svg, "<tspan>{text}</tspan>"),
                class => write!(svg, "<tspan class=\"{class}\">{text}</tspan>"),
            };
        }
        svg.push_str("</text>\n");
    }
    svg.push_str("</svg>\n");
    svg
}

#[cfg(test)]
mod tests {
    use super::{COLUMNS, Span, draw, normalize, sort_results, spans, wrap};

    #[test]
    fn what_differs_from_run_to_run_is_left_out() {
        let line = "\u{1b}[2mturn 01a1e99d-cf4b-7021-a03d-21f31032f63a completed: 5 steps, 7 calls, 38 ms\u{1b}[0m";
        assert_eq!(normalize(line), "\u{1b}[2mturn … completed: 5 steps, 7 calls\u{1b}[0m");
        assert_eq!(
            normalize("open the bleed screw by half a turn, fill"),
            "open the bleed screw by half a turn, fill"
        );
    }

    #[test]
    fn results_of_parallel_calls_have_one_order() {
        let mut lines = ["→ b", "→ a", "← b", "← a", "over"].map(str::to_owned);
        sort_results(&mut lines);
        assert_eq!(lines, ["→ b", "→ a", "← a", "← b", "over"]);
    }

    #[test]
    fn styles_become_classes_and_text_is_escaped() {
        let bold = Span { class: "bold", text: "a".to_owned() };
        let plain = Span { class: "", text: " <b>".to_owned() };
        assert_eq!(spans("\u{1b}[1ma\u{1b}[0m <b>"), [bold, plain]);
        let svg = draw(&["\u{1b}[1ma\u{1b}[0m <b>".to_owned()]);
        assert!(svg.contains("<tspan class=\"bold\">a</tspan><tspan> &lt;b&gt;</tspan>"), "{svg}");
    }

    #[test]
    fn long_lines_are_wrapped_without_counting_escapes() {
        let line = format!("\u{1b}[2m{}\u{1b}[0m", "x".repeat(COLUMNS + 1));
        let wrapped = wrap(&line);
        assert_eq!(wrapped.len(), 2);
        assert_eq!(
            wrapped.first().map(|it| it.chars().filter(|it| *it == 'x').count()),
            Some(COLUMNS)
        );
    }
}
