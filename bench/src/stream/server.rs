//! The other side: a process of its own that streams the response to its client.
//!
//! It is started with [`COMMAND`], prints its port, and ends with its standard input.

use std::io::{self, BufRead as _, BufReader, Read as _, Write};
use std::net::{TcpListener, TcpStream};
use std::{process, thread};

use super::{data, ours};

/// The word that starts the server instead of a benchmark.
pub(crate) const COMMAND: &str = "stream-server";

/// Serves until nobody holds the other end of its input.
///
/// # Errors
///
/// When it cannot listen.
#[expect(
    clippy::exit,
    reason = "the process that started it is gone, and nothing is left to be done"
)]
pub(crate) fn run(out: &mut dyn Write) -> Result<(), String> {
    let text = |error: io::Error| error.to_string();
    let listener = TcpListener::bind("127.0.0.1:0").map_err(text)?;
    let port = listener.local_addr().map_err(text)?.port();
    writeln!(out, "{port}").and_then(|()| out.flush()).map_err(text)?;
    thread::spawn(|| {
        let _ = io::stdin().read_to_end(&mut Vec::new());
        process::exit(0);
    });
    let long = chunked(&data::events());
    let brief = chunked(&[ours::BRIEF.to_owned()]);
    for connection in listener.incoming() {
        // Who hangs up has seen enough.
        let _ = connection.and_then(|connection| serve(connection, &long, &brief));
    }
    Ok(())
}

/// The answer on the wire, with each event in a chunk of its own, as servers flush them.
fn chunked(events: &[String]) -> Vec<u8> {
    let mut all = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\ntransfer-encoding: chunked\r\n\r\n".to_vec();
    for event in events {
        all.extend_from_slice(format!("{:x}\r\n{event}\r\n", event.len()).as_bytes());
    }
    all.extend_from_slice(b"0\r\n\r\n");
    all
}

fn serve(mut connection: TcpStream, long: &[u8], brief: &[u8]) -> io::Result<()> {
    let mut reader = BufReader::new(connection.try_clone()?);
    let mut line = String::new();
    let mut length = 0;
    while reader.read_line(&mut line)? > 2 {
        let header = line.to_ascii_lowercase();
        if let Some(value) = header.strip_prefix("content-length:") {
            length = value.trim().parse().map_err(io::Error::other)?;
        }
        line.clear();
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    connection.write_all(if ours::is_second(&body) { brief } else { long })
}
