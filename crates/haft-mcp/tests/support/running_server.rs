//! Servers of other projects that listen on this machine.

use std::process::Stdio;
use std::time::Duration;

use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{Child, Command};
use tokio::task::JoinSet;
use tokio::time::timeout;

/// A server that listens. It ends with this value.
pub(crate) struct RunningServer {
    _child: Child,
    _lines: JoinSet<()>,
}

/// Starts a server that listens, and waits until it says so.
pub(crate) async fn start_server(mut command: Command, ready: &str) -> RunningServer {
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).kill_on_drop(true);
    let mut child = command.spawn().unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    let mut seen = String::new();
    while let Some(line) = timeout(MAX_START, lines.next_line()).await.unwrap().unwrap() {
        seen.push_str(&line);
        if line.contains(ready) {
            let mut rest = JoinSet::new();
            rest.spawn(async move { while let Ok(Some(_)) = lines.next_line().await {} });
            return RunningServer { _child: child, _lines: rest };
        }
    }
    panic!("{seen}");
}

/// The limit only ends a broken test.
const MAX_START: Duration = Duration::from_secs(60);

/// A port that nothing listens on.
pub(crate) fn free_port() -> u16 {
    std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}
