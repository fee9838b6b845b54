//! Commands and workers on a PostgreSQL server and an S3 server, which the tests start.

use std::path::Path;
use std::process::Command;

use haft_testkit::{PostgresServer, S3Server};
use serde_json::Value;

use super::support::{haft, transcript, write_asking_agent, write_scripted_agent};
use super::workers::WorkerProcess;

/// The servers, and the directory with the agent `a`.
struct SharedStores {
    postgres: PostgresServer,
    s3: S3Server,
    dir: tempfile::TempDir,
}

impl SharedStores {
    fn start() -> Option<Self> {
        let (postgres, s3) = (PostgresServer::start()?, S3Server::start()?);
        Some(Self { postgres, s3, dir: tempfile::tempdir().unwrap() })
    }

    fn path(&self) -> &Path {
        self.dir.path()
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = haft(self.path());
        command.args(words);
        command.env("HAFT_STORE", self.postgres.url()).env("HAFT_SPOOL", "s3://bucket/results");
        command.env("HAFT_STORE_SECRET", "5a".repeat(32)).env("AWS_ENDPOINT", self.s3.endpoint());
        command.env("AWS_ALLOW_HTTP", "true").env("AWS_REGION", "us-east-1");
        command.env("AWS_ACCESS_KEY_ID", "test").env("AWS_SECRET_ACCESS_KEY", "test");
        command
    }

    fn run(&self, words: &[&str]) -> String {
        transcript(&self.command(words).output().unwrap())
    }

    fn start_worker(&self) -> WorkerProcess {
        WorkerProcess::start_command(self.command(&["worker", "--agents", "a"])).0
    }
}

#[test]
fn a_worker_stores_results_in_s3_and_memories_and_titles_in_postgres() {
    let Some(stores) = SharedStores::start() else { return };
    let text = "[tools.memory]\n[tools.command.numbers]\ndescription = 'Counts.'\n\
                argv = ['seq', '1', '200000']\n";
    let script = "steps:\n  \
        - call: { numbers: {} }\n  \
        - call: { artifact_info: { callId: '{{ handle.numbers }}' } }\n  \
        - call: { list_memories: {} }\n  \
        - call: { store_memory: { content: 'Counted for {{ user }}.' } }\n  \
        - say: '{{ last.artifact_info }} {{ last.list_memories }}'\n";
    write_scripted_agent(stores.path(), text, script);
    let worker = stores.start_worker();
    for (user, remembers) in [("Ada", false), ("Grace", true)] {
        let submitted = stores.run(&["submit", "a", user, "--conversation", "talk"]);
        assert!(submitted.starts_with("exit 0"), "{submitted}");
        let watched = stores.run(&["watch", "last"]);
        assert!(watched.starts_with("exit 0"), "{watched}");
        let said = watched.split("--- err").next().unwrap();
        assert!(said.contains(" 200001 lines"), "{watched}");
        assert_eq!(said.contains("Counted for Ada."), remembers, "{watched}");
    }
    let listed = stores.s3.get("/bucket?list-type=2&prefix=results").unwrap();
    assert!(listed.matches("<Key>").count() >= 4, "content and index of two results: {listed}");
    // Another process reads them through its own stores.
    let shown = stores.run(&["show", "last"]);
    assert!(shown.starts_with("exit 0") && shown.contains("numbers"), "{shown}");
    let renamed = stores.run(&["conversations", "rename", "talk", "Numbers"]);
    assert_eq!(renamed, "exit 0\n--- err\nrenamed talk: Numbers");
    assert!(stores.run(&["conversations"]).contains("2 turns  Numbers"));
    let exported = stores.run(&["conversations", "export", "talk"]);
    assert!(exported.contains("# Numbers"), "{exported}");
    let (code, said) = worker.stop();
    assert_eq!(code, Some(0), "{said}");
}

#[test]
fn standing_approvals_hold_for_workers_of_a_shared_store() {
    let Some(stores) = SharedStores::start() else { return };
    write_asking_agent(stores.path(), "May I?");
    let worker = stores.start_worker();
    assert!(stores.run(&["grants"]).contains("no standing approvals"));
    assert!(stores.run(&["submit", "a"]).starts_with("exit 0"));
    let waits = stores.run(&["watch", "last"]);
    assert!(waits.starts_with("exit 4"), "{waits}");
    let (_, rest) = waits.split_once("haft approve ").unwrap();
    let gate = rest.split(' ').next().unwrap();
    let approved = stores.run(&["approve", gate, "--always", "agent", "--expires", "1h"]);
    assert!(approved.starts_with("exit 0"), "{approved}");
    let watched = stores.run(&["watch", "last"]);
    assert!(watched.starts_with("exit 0"), "{watched}");
    // The next turn does not ask.
    assert!(stores.run(&["submit", "a"]).starts_with("exit 0"));
    let watched = stores.run(&["watch", "last"]);
    assert!(watched.starts_with("exit 0\n--- out\nover"), "{watched}");
    let listed = stores.run(&["grants", "--json"]);
    let grant: Value = serde_json::from_str(listed.lines().nth(2).unwrap()).unwrap();
    assert_eq!((&grant["tool"], &grant["isValid"]), (&"touch".into(), &true.into()), "{listed}");
    let id = grant["grant"].as_str().unwrap();
    assert!(stores.run(&["grants", "revoke", id]).starts_with("exit 0"));
    assert!(stores.run(&["submit", "a"]).starts_with("exit 0"));
    let waits = stores.run(&["watch", "last"]);
    assert!(waits.starts_with("exit 4"), "{waits}");
    let (code, said) = worker.stop();
    assert_eq!(code, Some(0), "{said}");
}

#[test]
fn a_server_is_reached_over_tls_with_channel_binding() {
    let Some(mut server) = PostgresServer::start() else { return };
    let Some((url, certificate)) = server.enable_tls() else { return };
    let dir = tempfile::tempdir().unwrap();
    let list = |url: &str, certificate: &Path| {
        let mut command = haft(dir.path());
        command.args(["turns", "--store", url, "--spool", "results"]);
        command.env("HAFT_STORE_SECRET", "5a".repeat(32)).env("SSL_CERT_FILE", certificate);
        transcript(&command.output().unwrap())
    };
    let bound = format!("{url}&channel_binding=require");
    let listed = list(&bound, &certificate);
    assert!(listed.contains("no turns") && !listed.contains("error"), "{listed}");
    let untrusted = list(&bound, Path::new("/dev/null"));
    assert!(untrusted.starts_with("exit 1"), "{untrusted}");
    let plain = list(&url.replace("sslmode=require", "sslmode=disable"), &certificate);
    assert!(plain.starts_with("exit 1"), "{plain}");
    assert!(![listed, untrusted, plain].join("").contains("secret@"));
}
