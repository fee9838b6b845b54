//! Files and commands from a Markdown text.
//!
//! - `<!-- file: path -->` above a fence writes its content to that path.
//! - A `console` fence has `$ command` lines, `> ` lines that continue them, `? 4` for an exit status other than 0, and
//!   the expected output. A comment that begins with `<!-- console` is such a fence that readers of a page do not see.
//! - `toml` with a `system` prompt and `yaml` with `steps` are checked as an agent and as a script.
//! - `<!-- norun: reason -->` above a fence leaves it out. `sh` fences need it, because nothing says what they print.

#[cfg(test)]
mod tests;

use crate::includes::Line;

/// What a text asks for, in order.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Item {
    /// Writes a file.
    File {
        /// The path from the directory of the scenario.
        path: String,
        /// What it contains.
        content: String,
        /// The line of the text, from 1.
        line: usize,
    },
    /// Runs a command.
    Command(Command),
    /// Checks that an agent file is accepted.
    Agent {
        /// The agent file.
        content: String,
        /// The line of the text, from 1.
        line: usize,
    },
    /// Checks that a script is accepted.
    Script {
        /// The script.
        content: String,
        /// The line of the text, from 1.
        line: usize,
    },
}

/// A command with what it should print.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Command {
    /// What the shell executes.
    pub text: String,
    /// The expected exit status.
    pub status: i32,
    /// The expected output.
    pub expected: String,
    /// The line of the command, from 1.
    pub line: usize,
    /// The first and the last line of its output, from 1; the second is smaller if there is none.
    pub output_lines: (usize, usize),
    /// Whether another file contains it.
    pub is_included: bool,
}

/// What the comment above a fence says.
#[derive(Clone, Debug, PartialEq)]
enum Directive {
    File(String),
    NoRun,
}

/// A fence that is open.
#[derive(Debug)]
struct Fence {
    language: String,
    /// The sign and the white space before it, which its lines have, too.
    mark: String,
    indent: usize,
    directive: Option<Directive>,
    line: usize,
    content: Vec<(usize, String)>,
    /// Whether a part of it comes from another file.
    is_included: bool,
}

/// Reads the lines of a text.
///
/// # Errors
///
/// Fences cannot be run, and do not say why they should not be. The error names all of them.
pub fn read(lines: &[Line]) -> Result<Vec<Item>, String> {
    let mut items = Vec::new();
    let mut problems = Vec::new();
    let mut fence: Option<Fence> = None;
    let mut directive = None;
    for line in lines {
        let number = line.number;
        let text = line.text.as_str();
        if let Some(open) = &mut fence {
            if open.is_closed_by(text) {
                let closed = fence.take().map_or_else(|| Ok(Vec::new()), Fence::into_items);
                closed.map_or_else(|it| problems.push(it), |it| items.extend(it));
            } else {
                open.push(line);
            }
        } else if let Some(found) = Fence::open(line) {
            fence = Some(Fence { directive: directive.take(), ..found });
        } else {
            match read_directive(text, number) {
                Ok(Some(found)) => directive = Some(found),
                Ok(None) if directive.is_some() && !text.trim().is_empty() => {
                    directive = None;
                    problems.push(format!("line {number}: the comment above belongs to a fence"));
                }
                Ok(None) => {}
                Err(problem) => problems.push(problem),
            }
        }
    }
    problems.extend(fence.map(|it| format!("line {}: the fence does not end", it.line)));
    if problems.is_empty() { Ok(items) } else { Err(problems.join("\n")) }
}

impl Fence {
    fn open(line: &Line) -> Option<Self> {
        let trimmed = line.text.trim_start();
        let (language, mark) = if trimmed == "<!-- console" {
            ("console".to_owned(), "-->".to_owned())
        } else {
            let sign = trimmed.chars().next().filter(|it| matches!(it, '`' | '~'))?;
            let mark: String = trimmed.chars().take_while(|it| *it == sign).collect();
            let info = trimmed.strip_prefix(&mark)?.trim();
            if mark.len() < 3 || info.contains('`') {
                return None;
            }
            (info.split([',', ' ', '{']).next().unwrap_or_default().to_owned(), mark)
        };
        let indent = line.text.len() - trimmed.len();
        let content = Vec::new();
        let is_included = line.is_included;
        Some(Self {
            language,
            mark,
            indent,
            directive: None,
            line: line.number,
            content,
            is_included,
        })
    }

    fn push(&mut self, line: &Line) {
        let indent = line.text.len() - line.text.trim_start().len();
        let text = line.text.get(self.indent.min(indent)..).unwrap_or_default();
        self.content.push((line.number, text.to_owned()));
        self.is_included |= line.is_included;
    }

    fn is_closed_by(&self, line: &str) -> bool {
        let line = line.trim();
        let is_run = |mark: &str| mark.chars().all(|it| self.mark.starts_with(it));
        line.starts_with(&self.mark) && (line == self.mark || is_run(line))
    }

    fn text(&self) -> String {
        self.content.iter().flat_map(|(_, line)| [line.as_str(), "\n"]).collect()
    }

    fn into_items(self) -> Result<Vec<Item>, String> {
        let line = self.line;
        let content = self.text();
        match self.directive {
            Some(Directive::NoRun) => return Ok(Vec::new()),
            Some(Directive::File(path)) => return Ok(vec![Item::File { path, content, line }]),
            None => {}
        }
        let has_key = |key: &str| content.lines().any(|it| it.starts_with(key));
        match self.language.as_str() {
            "console" => read_console(&self.content, self.is_included),
            "sh" | "bash" | "shell" => Err(format!(
                "line {line}: write `console` with the output, or `<!-- norun: reason -->` above it"
            )),
            "toml" if has_key("system =") => Ok(vec![Item::Agent { content, line }]),
            "yaml" if has_key("steps:") => Ok(vec![Item::Script { content, line }]),
            "rust" if !self.is_included => Err(format!(
                "line {line}: include the program from an example that runs, or write \
                 `<!-- norun: reason -->` above it"
            )),
            _ => Ok(Vec::new()),
        }
    }
}

fn read_directive(line: &str, number: usize) -> Result<Option<Directive>, String> {
    let Some(comment) = line.trim().strip_prefix("<!--").and_then(|it| it.strip_suffix("-->"))
    else {
        return Ok(None);
    };
    match comment.trim().split_once(':') {
        Some(("file", path)) if !path.trim().is_empty() => {
            Ok(Some(Directive::File(path.trim().to_owned())))
        }
        Some(("norun", reason)) if reason.trim().len() > 2 => Ok(Some(Directive::NoRun)),
        Some(("file" | "norun", _)) => Err(format!("line {number}: say what follows the colon")),
        _ => Ok(None),
    }
}

fn read_console(lines: &[(usize, String)], is_included: bool) -> Result<Vec<Item>, String> {
    let mut commands: Vec<Command> = Vec::new();
    let mut is_output = false;
    for (number, line) in lines {
        if let Some(text) = line.strip_prefix("$ ") {
            let text = text.to_owned();
            let line = *number;
            let output_lines = (number + 1, *number);
            let command = Command { text, line, output_lines, is_included, ..Command::default() };
            commands.push(command);
            is_output = false;
            continue;
        }
        let Some(command) = commands.last_mut() else {
            if line.trim().is_empty() || line.starts_with('#') {
                continue;
            }
            return Err(format!("line {number}: a command begins with `$ `"));
        };
        match line.strip_prefix("> ").or_else(|| line.strip_prefix("? ")) {
            Some(rest) if !is_output && line.starts_with('>') => {
                command.text.push('\n');
                command.text.push_str(rest);
                command.output_lines = (number + 1, *number);
            }
            Some(rest) if !is_output => {
                let status = rest.trim().parse();
                command.status = status.map_err(|_| format!("line {number}: no exit status"))?;
                command.output_lines = (number + 1, *number);
                is_output = true;
            }
            _ => {
                is_output = true;
                command.expected.push_str(line);
                command.expected.push('\n');
                command.output_lines.1 = *number;
            }
        }
    }
    Ok(commands.into_iter().map(Item::Command).collect())
}

/// The text with the output of commands replaced: `outputs` names the first and the last line, and the new lines.
#[must_use]
pub fn replace_outputs(text: &str, outputs: &[((usize, usize), String)]) -> String {
    let mut replaced = String::new();
    for (number, line) in (1..).zip(text.lines()) {
        for ((first, last), output) in outputs {
            if *first == number {
                replaced.push_str(output);
                // Blank lines between two commands stay.
                let was_blank = text.lines().nth(last.wrapping_sub(1)).is_some_and(str::is_empty);
                if last >= first && was_blank {
                    replaced.push('\n');
                }
            }
        }
        if !outputs.iter().any(|((first, last), _)| (*first..=*last).contains(&number)) {
            replaced.push_str(line);
            replaced.push('\n');
        }
    }
    replaced
}
