//! An HTTP server on this machine that behaves, or not.

use std::collections::BTreeMap;
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

/// What a path answers.
#[derive(Clone)]
pub(super) enum Answer {
    /// These bytes, and then the end of the connection.
    Raw(Vec<u8>),
    /// These bytes, and then nothing until the other side hangs up.
    Stall(Vec<u8>),
    /// These bytes, and then the second ones again and again until the other side hangs up.
    Endless(Vec<u8>, Vec<u8>),
}

pub(super) struct Server {
    address: SocketAddr,
    shared: Arc<Shared>,
    hung_up: Mutex<Receiver<()>>,
}

struct Shared {
    answers: Mutex<BTreeMap<String, Answer>>,
    requests: Mutex<Vec<String>>,
    hung_up: Mutex<Sender<()>>,
}

impl Server {
    pub(super) fn start() -> Arc<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let (sender, receiver) = channel();
        let shared = Arc::new(Shared {
            answers: Mutex::default(),
            requests: Mutex::default(),
            hung_up: Mutex::new(sender),
        });
        let served = Arc::clone(&shared);
        thread::spawn(move || {
            for connection in listener.incoming() {
                let served = Arc::clone(&served);
                let connection = connection.unwrap();
                thread::spawn(move || served.serve(connection));
            }
        });
        Arc::new(Self { address, shared, hung_up: Mutex::new(receiver) })
    }

    /// Lets a path answer, and gives its URL.
    pub(super) fn put(&self, path: &str, answer: Answer) -> String {
        self.shared.answers.lock().unwrap().insert(path.to_owned(), answer);
        format!("{}{path}", self.origin())
    }

    /// Lets a path answer with a status, headers and a body.
    pub(super) fn answer(&self, path: &str, head: &str, body: &[u8]) -> String {
        self.put(path, Answer::Raw(whole(head, body)))
    }

    /// Lets a path answer with a media item.
    pub(super) fn serve(&self, path: &str, body: &[u8]) -> String {
        self.answer(path, &format!("200 OK\r\ncontent-length: {}", body.len()), body)
    }

    pub(super) fn origin(&self) -> String {
        format!("http://{}", self.address)
    }

    pub(super) fn port(&self) -> u16 {
        self.address.port()
    }

    /// The heads of all requests so far.
    pub(super) fn requests(&self) -> Vec<String> {
        self.shared.requests.lock().unwrap().clone()
    }

    /// Waits until a client has hung up on an answer that does not end by itself.
    pub(super) fn wait_for_hang_up(&self) {
        self.hung_up.lock().unwrap().recv_timeout(Duration::from_secs(30)).unwrap();
    }
}

/// An answer of this status, these headers and this body.
pub(super) fn whole(head: &str, body: &[u8]) -> Vec<u8> {
    let mut bytes = format!("HTTP/1.1 {head}\r\nconnection: close\r\n\r\n").into_bytes();
    bytes.extend_from_slice(body);
    bytes
}

impl Shared {
    /// Clients may hang up at any point, so that nothing here is an error.
    fn serve(&self, mut connection: TcpStream) {
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            let mut byte = [0];
            match connection.read(&mut byte) {
                Ok(1) => head.push(byte[0]),
                _ => return,
            }
        }
        let head = String::from_utf8(head).unwrap();
        // What is not read of a request can break off the answer to it.
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
        let mut body = vec![0; length.map_or(0, |it| it.parse().unwrap())];
        if connection.read_exact(&mut body).is_err() {
            return;
        }
        let path = head.split(' ').nth(1).unwrap().to_owned();
        self.requests.lock().unwrap().push(head);
        let answer = self.answers.lock().unwrap().get(&path).cloned();
        match answer
            .unwrap_or_else(|| Answer::Raw(whole("404 Not Found\r\ncontent-length: 0", b"")))
        {
            Answer::Raw(bytes) => {
                let _ = connection.write_all(&bytes);
            }
            Answer::Stall(bytes) => {
                let _ = connection.write_all(&bytes);
                let _ = connection.read(&mut [0]);
                let _ = self.hung_up.lock().unwrap().send(());
            }
            Answer::Endless(head, bytes) => {
                let _ = connection.write_all(&head);
                while connection.write_all(&bytes).is_ok() {}
                let _ = self.hung_up.lock().unwrap().send(());
            }
        }
    }
}
