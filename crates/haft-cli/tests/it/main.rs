//! The binary as people use it: what is typed, what is printed, how it exits.

#[cfg(test)]
mod agents;
#[cfg(test)]
mod artifacts;
#[cfg(test)]
mod checks;
#[cfg(test)]
mod examples;
#[cfg(test)]
mod gates;
#[cfg(test)]
mod hostile;
#[cfg(test)]
mod http;
#[cfg(test)]
mod models;
#[cfg(test)]
mod packs;
#[cfg(test)]
mod readme;
#[cfg(test)]
mod stored_versions;
#[cfg(test)]
mod stores;
#[cfg(test)]
mod terminal;
#[cfg(test)]
mod tools;
#[cfg(test)]
mod usage;

#[cfg(test)]
use std::path::Path;
#[cfg(test)]
use std::process::{Command, Output, Stdio};

/// `haft` in a folder, without colours and with a cache of its own.
#[cfg(test)]
fn haft(folder: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_haft"));
    command.current_dir(folder).env("XDG_CACHE_HOME", folder.join(".cache"));
    command.env("USER", "ada").env("NO_COLOR", "1").stdin(Stdio::null());
    command
}

/// What was printed and how it ended, in one text.
#[cfg(test)]
fn ran(folder: &Path, words: &[&str]) -> String {
    shown(&haft(folder).args(words).output().unwrap())
}

#[cfg(test)]
fn shown(output: &Output) -> String {
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

/// An agent `a` with this file.
#[cfg(test)]
fn agent(folder: &Path, text: impl AsRef<[u8]>) {
    std::fs::create_dir_all(folder.join("a")).unwrap();
    std::fs::write(folder.join("a/agent.toml"), text).unwrap();
}

/// An agent `a` that wants leave to make a file, and asks this question.
#[cfg(test)]
fn asking_agent(folder: &Path, question: &str) {
    let text = r#"
        system = "x"
        prompt = "Go."
        script = "script.yaml"
        [tools.command.touch]
        description = "Makes a file."
        argv = ["touch", "{name}"]
        args.name.required = true
        approval = "QUESTION"
    "#;
    agent(folder, text.replace("QUESTION", question));
    let script = "steps:\n  - call: { touch: { name: made } }\n  - say: over\n";
    std::fs::write(folder.join("a/script.yaml"), script).unwrap();
}
