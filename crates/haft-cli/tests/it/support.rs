//! Runs `haft` and writes the agents that the tests run.

use std::path::Path;
use std::process::{Command, Output, Stdio};

use super::redaction::note_begin;

/// Variables of a developer's machine that would change what the tests see.
const AMBIENT_VARIABLES: &[&str] = &[
    "HAFT_CONFIG",
    "HAFT_LOG",
    "HAFT_LEDGER",
    "HAFT_MODEL",
    "HAFT_SPOOL",
    "HAFT_STORE",
    "HAFT_STORE_SECRET",
    "HAFT_STORE_SECRET_FILE",
    "OTEL_EXPORTER_OTLP_ENDPOINT",
    "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT",
    "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
    "OTEL_SERVICE_NAME",
    "HTTPS_PROXY",
    "HTTP_PROXY",
    "ALL_PROXY",
    "NO_PROXY",
    "OPENAI_API_KEY",
    "OPENAI_BASE_URL",
    "OPENAI_ORG_ID",
    "OPENAI_PROJECT_ID",
    "ANTHROPIC_API_KEY",
    "ANTHROPIC_AUTH_TOKEN",
    "ANTHROPIC_BASE_URL",
    "OLLAMA_API_KEY",
    "OLLAMA_BASE_URL",
    "OLLAMA_HOST",
];

/// The command `haft` in a directory, without colours and with a cache of its own.
pub(crate) fn haft(dir: &Path) -> Command {
    note_begin();
    let mut command = Command::new(env!("CARGO_BIN_EXE_haft"));
    command.current_dir(dir).env("XDG_CACHE_HOME", dir.join(".cache"));
    command.env("XDG_STATE_HOME", dir.join(".state"));
    command.env("XDG_CONFIG_HOME", dir.join(".config"));
    for name in AMBIENT_VARIABLES {
        command.env_remove(name).env_remove(name.to_lowercase());
    }
    command.env("USER", "ada").env("NO_COLOR", "1").stdin(Stdio::null());
    command
}

/// Runs `haft` in a directory and returns the transcript.
pub(crate) fn run_haft(dir: &Path, words: &[&str]) -> String {
    transcript(&haft(dir).args(words).output().unwrap())
}

/// The exit code, standard output and standard error in one text.
pub(crate) fn transcript(output: &Output) -> String {
    let (out, err) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    let code = output.status.code().map_or_else(|| "none".to_owned(), |it| it.to_string());
    let mut text = format!("exit {code}\n");
    for (name, part) in [("out", out), ("err", err)] {
        if !part.is_empty() {
            text.push_str(&format!("--- {name}\n{}\n", part.trim_end()));
        }
    }
    text.trim_end().to_owned()
}

/// The first string member of this name in JSON output.
#[track_caller]
pub(crate) fn json_string<'t>(text: &'t str, name: &str) -> &'t str {
    let (_, rest) = text.split_once(&format!("\"{name}\":\"")).unwrap();
    rest.split('"').next().unwrap()
}

/// Writes the agent file of the agent `a`.
pub(crate) fn write_agent(dir: &Path, text: impl AsRef<[u8]>) {
    std::fs::create_dir_all(dir.join("a")).unwrap();
    std::fs::write(dir.join("a/agent.toml"), text).unwrap();
}

/// Writes the script of the agent `a`.
pub(crate) fn write_script(dir: &Path, text: &str) {
    std::fs::create_dir_all(dir.join("a")).unwrap();
    std::fs::write(dir.join("a/script.yaml"), text).unwrap();
}

/// Writes the agent `a` with a system prompt, a script and the rest of its file.
pub(crate) fn write_scripted_agent(dir: &Path, text: &str, script: &str) {
    write_agent(dir, format!("system = 'x'\nscript = 'script.yaml'\n{text}"));
    write_script(dir, script);
}

/// Writes an agent `a` that needs approval to create a file, and asks this question.
pub(crate) fn write_asking_agent(dir: &Path, question: &str) {
    let script = "steps:\n  - call: { touch: { name: made } }\n  - say: over\n";
    let text = format!("prompt = \"Go.\"{TOUCH_TOOL}approval = \"{question}\"\n");
    write_scripted_agent(dir, &text, script);
}

/// A tool that makes a file.
pub(crate) const TOUCH_TOOL: &str = r#"
[tools.command.touch]
description = "Makes a file."
argv = ["touch", "{name}"]
args.name.required = true
"#;
