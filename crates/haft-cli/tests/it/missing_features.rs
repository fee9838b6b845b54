//! What a binary without some of its features says. `cargo xtask ci` runs this in a build without any.

use super::support::{run_haft, write_agent};

#[track_caller]
fn check_missing(feature: &str, said: &str) {
    let error = format!("this haft was built without the feature `{feature}`");
    // Nothing is published, so only the repository has the sources.
    let hint = format!("cargo install --path crates/haft-cli --features {feature}");
    assert!(said.starts_with("exit 1\n--- err\n"), "{feature}: {said}");
    assert!(said.contains(&error) && said.ends_with(&hint), "{feature}: {said}");
}

#[test]
fn a_part_that_was_left_out_says_so() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("text"), "one two").unwrap();
    write_agent(dir.path(), "system = 'x'\nprompt = 'Go.'\nmodel = 'ollama:m'\n");
    let secret = "postgres://ada@127.0.0.1:1/haft";
    let cases: [(&str, bool, &[&str]); 6] = [
        ("inspector", cfg!(feature = "inspector"), &["web", "--no-open"]),
        ("mcp", cfg!(feature = "mcp"), &["mcp", "serve", "a", "--http", "127.0.0.1:0"]),
        ("object-store", cfg!(feature = "object-store"), &["run", "a", "--spool", "s3://b/p"]),
        ("postgres", cfg!(feature = "postgres"), &["turns", "--store", secret]),
        ("postgres", cfg!(feature = "postgres"), &["run", "a", "--store", secret]),
        ("tokens", cfg!(feature = "tokens"), &["artifact", "tokens", "text"]),
    ];
    for (feature, is_there, words) in cases {
        if !is_there {
            check_missing(feature, &run_haft(dir.path(), words));
        }
    }
}

#[cfg(not(feature = "mcp"))]
#[test]
fn an_agent_with_mcp_servers_is_refused_unless_they_are_optional() {
    let dir = tempfile::tempdir().unwrap();
    let agent =
        "system = 'x'\nprompt = 'Go.'\nscript = 'script.yaml'\n[tools.mcp.shop]\nargv = ['true']\n";
    write_agent(dir.path(), agent);
    super::support::write_script(dir.path(), "steps:\n  - say: Hello.\n");
    for command in ["run", "check", "tools"] {
        let said = run_haft(dir.path(), &[command, "a"]);
        check_missing("mcp", &said);
        assert!(said.contains("a/agent.toml:4: `tools.mcp.shop`: "), "{command}: {said}");
    }
    write_agent(dir.path(), format!("{agent}optional = true\n"));
    let said = run_haft(dir.path(), &["run", "a"]);
    assert!(said.starts_with("exit 0\n--- out\nHello."), "{said}");
    let warning = "warning: a/agent.toml:4: `tools.mcp.shop`: this haft was built without";
    assert!(said.contains(warning), "{said}");
}
