//! A server on this machine that gives each connection one response.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

pub(crate) struct Server {
    address: SocketAddr,
    requests: Arc<Mutex<Vec<String>>>,
}

/// What a connection sends after the request.
pub(crate) enum Reply {
    /// These bytes, and then the end of the connection.
    Bytes(String),
    /// These bytes, and then nothing until the client closes the connection.
    Stall(String),
    /// These bytes, and then the second ones again and again until the client closes the connection.
    Endless(String, String),
}

impl Server {
    pub(crate) fn start(replies: impl IntoIterator<Item = Reply>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let requests = Arc::new(Mutex::new(Vec::new()));
        let (replies, seen): (Vec<_>, _) = (replies.into_iter().collect(), Arc::clone(&requests));
        thread::spawn(move || {
            for reply in replies {
                let (connection, _) = listener.accept().unwrap();
                let seen = Arc::clone(&seen);
                thread::spawn(move || serve(connection, &reply, &seen));
            }
        });
        Self { address, requests }
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    pub(crate) fn host(&self) -> String {
        self.address.to_string()
    }

    pub(crate) fn requests(&self) -> Vec<String> {
        self.requests.lock().unwrap().clone()
    }
}

/// A response with a length.
pub(crate) fn response(head: &str, body: &str) -> Reply {
    let length = body.len();
    Reply::Bytes(format!(
        "HTTP/1.1 {head}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}"
    ))
}

/// The head of a response in chunks, with one of them.
pub(crate) fn chunked(chunk: &str) -> String {
    format!("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n{:x}\r\n{chunk}\r\n", chunk.len())
}

fn serve(mut connection: TcpStream, reply: &Reply, requests: &Mutex<Vec<String>>) {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") {
        if connection.read_exact(&mut byte).is_err() {
            return;
        }
        head.push(byte[0]);
    }
    requests.lock().unwrap().push(String::from_utf8(head).unwrap());
    // A client may close the connection at any time.
    match reply {
        Reply::Bytes(bytes) => drop(connection.write_all(bytes.as_bytes())),
        Reply::Stall(bytes) => {
            drop(connection.write_all(bytes.as_bytes()));
            drop(connection.read(&mut byte));
        }
        Reply::Endless(head, bytes) => {
            drop(connection.write_all(head.as_bytes()));
            while connection.write_all(bytes.as_bytes()).is_ok() {}
        }
    }
}
