//! A server on this machine that gives each connection one response.

use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread;
use std::time::Duration;

/// How long an event of the server is awaited.
const PATIENCE: Duration = Duration::from_secs(10);

/// What a connection sends.
pub(super) enum Reply {
    /// These bytes, and then the end of the connection.
    Bytes(Vec<u8>),
    /// These bytes, and then nothing until the client closes the connection.
    Stall(Vec<u8>),
}

/// What happened at the server.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum ServerEvent {
    /// A request arrived: head and body.
    Request(String),
    /// The client closed the connection.
    Closed,
}

pub(super) struct LoopbackServer {
    address: SocketAddr,
    events: Receiver<ServerEvent>,
}

impl LoopbackServer {
    /// Listens on a free port and serves one connection.
    pub(super) fn start(reply: Reply) -> io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let address = listener.local_addr()?;
        let (sender, events) = mpsc::channel();
        thread::spawn(move || {
            // A failure shows as an event that is missing.
            let _ =
                listener.accept().and_then(|(connection, _)| serve(connection, &reply, &sender));
        });
        Ok(Self { address, events })
    }

    pub(super) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// Waits for the next event.
    pub(super) fn next_event(&self) -> Result<ServerEvent, RecvTimeoutError> {
        self.events.recv_timeout(PATIENCE)
    }
}

/// A port on which nothing listens.
pub(super) fn closed_url() -> io::Result<String> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    Ok(format!("http://{}/", listener.local_addr()?))
}

/// A response with a length.
pub(super) fn response(head: &str, body: &str) -> Vec<u8> {
    let length = body.len();
    format!("HTTP/1.1 {head}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}").into()
}

fn serve(connection: TcpStream, reply: &Reply, events: &Sender<ServerEvent>) -> io::Result<()> {
    connection.set_read_timeout(Some(PATIENCE))?;
    let mut writer = connection.try_clone()?;
    let mut reader = BufReader::new(connection);
    let request = read_request(&mut reader)?;
    let _ = events.send(ServerEvent::Request(request));
    match reply {
        Reply::Bytes(bytes) => writer.write_all(bytes),
        Reply::Stall(bytes) => {
            writer.write_all(bytes)?;
            let closed = reader.read(&mut [0]).is_ok_and(|read| read == 0);
            if closed {
                let _ = events.send(ServerEvent::Closed);
            }
            Ok(())
        }
    }
}

fn read_request(reader: &mut BufReader<TcpStream>) -> io::Result<String> {
    let mut request = String::new();
    let mut length = 0;
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line)? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        if let Some((name, value)) = line.split_once(':')
            && name.eq_ignore_ascii_case("content-length")
        {
            length = value.trim().parse().unwrap_or(0);
        }
        let is_end = line == "\r\n";
        request.push_str(&line);
        if is_end {
            break;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    request.push_str(&String::from_utf8_lossy(&body));
    Ok(request)
}
