//! Runs the files and commands of a Markdown text.
//!
//! One shell executes all commands, so that variables stay. The output of each goes to a file of its own, where both
//! streams are interleaved as at a terminal.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, anyhow, bail};

use crate::includes;
use crate::markdown::{self, Command, Item};
use crate::matcher;
use crate::sandbox::{Ended, Sandbox};

/// Runs a text and returns the number of its files and commands. `SNAPSHOTS=overwrite` corrects the expected output in
/// `file`.
///
/// # Errors
///
/// Something differs from what the text expects.
pub fn run(file: &Path, text: &str, sandbox: &Sandbox) -> Result<usize> {
    let lines = includes::expand(file, text)?;
    let items = markdown::read(&lines).map_err(|it| anyhow!("{}: {it}", file.display()))?;
    let steps = write_steps(&items, sandbox)?;
    let mut shell = sandbox.command("/bin/sh");
    shell.arg(sandbox.root().join("steps/script"));
    let ended = sandbox.run(shell)?;
    if std::env::var_os("SNAPSHOTS").is_some_and(|it| it == "overwrite") {
        overwrite(file, text, &steps, sandbox)?;
        return Ok(items.len());
    }
    let problems: Vec<String> = steps
        .iter()
        .filter_map(|it| it.problem(&ended, sandbox).transpose())
        .collect::<Result<_>>()?;
    let name = file.display();
    if problems.is_empty() {
        let lost = steps.iter().find(|it| !it.place.with_extension("status").exists());
        return match lost {
            None => Ok(items.len()),
            Some(it) => bail!("{name}:{}: was not run: {}", it.command.line, ended.output),
        };
    }
    bail!("{}", problems.iter().map(|it| format!("{name}:{it}")).collect::<Vec<_>>().join("\n"))
}

/// A command with the place of its output.
#[derive(Debug)]
struct Step {
    command: Command,
    /// Whether the output was expected, and can be corrected.
    has_output: bool,
    place: PathBuf,
}

impl Step {
    fn output(&self) -> Result<String> {
        let bytes = fs::read(self.place.with_extension("output")).unwrap_or_default();
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// What is wrong, with the line of the command before it.
    fn problem(&self, ended: &Ended, sandbox: &Sandbox) -> Result<Option<String>> {
        let Command { text, status, line, expected, .. } = &self.command;
        let output = self.output()?;
        let found = fs::read_to_string(self.place.with_extension("status"));
        let Ok(found) = found else {
            let was_started = self.place.with_extension("output").exists();
            if !was_started {
                return Ok(None);
            }
            let why = match ended.status {
                None => format!("did not end within {} s", sandbox.limit().as_secs()),
                Some(status) => format!("ended the shell ({status}) {}", ended.output.trim_end()),
            };
            return Ok(Some(format!("{line}: `{text}` {why}; it printed\n{}", indented(&output))));
        };
        let mut problem = String::new();
        if found.trim() != status.to_string() {
            problem = format!("    exit status {} instead of {status}\n", found.trim());
        }
        if self.has_output {
            if let Err(difference) = matcher::compare(expected, &output, &sandbox.values()) {
                problem.push_str(&difference);
            }
        } else if !problem.is_empty() {
            problem.push_str(&indented(&output));
        }
        Ok((!problem.is_empty()).then(|| format!("{line}: `{text}`\n{problem}")))
    }
}

/// Writes the script that performs all items.
fn write_steps(items: &[Item], sandbox: &Sandbox) -> Result<Vec<Step>> {
    let dir = sandbox.root().join("steps");
    fs::create_dir(&dir)?;
    let mut script = String::new();
    let mut steps = Vec::new();
    for (number, item) in items.iter().enumerate() {
        let place = dir.join(number.to_string());
        let (command, has_output) = match item {
            Item::Command(command) => (command.clone(), true),
            Item::File { path, content, .. } => {
                let content = fill_variables(content, sandbox);
                fs::write(&place, content)?;
                let target = sandbox.work().join(path);
                let parent = target.parent().context("a file needs a directory")?;
                let parent = quoted(parent);
                let target = quoted(&target);
                script.push_str(&format!("mkdir -p {parent}; cp {} {target}\n", quoted(&place)));
                continue;
            }
            Item::Agent { content, line } => (check_agent(&place, content, None, *line)?, false),
            Item::Script { content, line } => {
                let agent = "system = 'x'\nscript = 'script.yaml'\n[tools.files]\n[tools.time]\n";
                (check_agent(&place, agent, Some(content), *line)?, false)
            }
        };
        fs::write(place.with_extension("command"), &command.text)?;
        let part = |extension: &str| quoted(&place.with_extension(extension));
        script.push_str(&format!(
            "exec >{} 2>&1\neval \"$(cat {})\"\necho $? >{}\n",
            part("output"),
            part("command"),
            part("status")
        ));
        steps.push(Step { command, has_output, place });
    }
    fs::write(dir.join("script"), script)?;
    Ok(steps)
}

/// The command that checks an agent of a page, which lies outside of the working directory.
fn check_agent(place: &Path, agent: &str, script: Option<&str>, line: usize) -> Result<Command> {
    let dir = place.with_extension("agent");
    fs::create_dir(&dir)?;
    fs::write(dir.join("agent.toml"), agent)?;
    if let Some(script) = script {
        fs::write(dir.join("script.yaml"), script)?;
    }
    let text = format!("haft check {}", quoted(&dir));
    Ok(Command { text, line, ..Command::default() })
}

/// Inserts the addresses of servers and directories into a file: `[$NAME]` is the value of a variable.
fn fill_variables(content: &str, sandbox: &Sandbox) -> String {
    let mut text = content.to_owned();
    for (name, value) in sandbox.env() {
        text = text.replace(&format!("[${name}]"), value);
    }
    text
}

fn overwrite(file: &Path, text: &str, steps: &[Step], sandbox: &Sandbox) -> Result<()> {
    let mut outputs = Vec::new();
    for step in steps.iter().filter(|it| it.has_output) {
        let expected = &step.command.expected;
        let output = step.output()?;
        if matcher::compare(expected, &output, &sandbox.values()).is_ok() {
            continue;
        }
        if step.command.is_included {
            bail!("{}:{}: correct the file that is included", file.display(), step.command.line);
        }
        let output = matcher::rewrite(expected, &output, &sandbox.values());
        outputs.push((step.command.output_lines, output.map_err(|it| anyhow!(it))?));
    }
    fs::write(file, markdown::replace_outputs(text, &outputs))?;
    Ok(())
}

fn quoted(path: &Path) -> String {
    format!("'{}'", path.display().to_string().replace('\'', "'\\''"))
}

fn indented(text: &str) -> String {
    text.lines().map(|line| format!("    {line}\n")).collect()
}
