//! An HTTP server on this machine that answers one request after the other, well or badly.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use tokio::sync::Semaphore;

/// What a connection answers.
pub(super) enum Answer {
    /// These bytes, and then the end of the connection.
    Raw(Vec<u8>),
    /// These bytes, and then nothing until the other side hangs up.
    Stall(Vec<u8>),
    /// These bytes, and then the second ones again and again until the other side hangs up.
    Endless(Vec<u8>, Vec<u8>),
    /// These bytes without reading the body of the request, so that the system resets the connection.
    Reset(Vec<u8>),
}

pub(super) struct Server {
    address: SocketAddr,
    requests: Arc<Mutex<Vec<String>>>,
    hung_up: Arc<Semaphore>,
}

/// The authority that the server's certificate is from.
pub(super) const AUTHORITY: &[u8] = include_bytes!("tls/ca.pem");

impl Server {
    /// Gives each connection one answer, in order, and refuses further ones.
    pub(super) fn start(answers: impl IntoIterator<Item = Answer>) -> Self {
        Self::serve(answers.into_iter().collect(), None)
    }

    /// The same over TLS.
    pub(super) fn start_tls(answers: impl IntoIterator<Item = Answer>) -> Self {
        let chain = vec![CertificateDer::from_pem_slice(include_bytes!("tls/server.pem")).unwrap()];
        let key = PrivateKeyDer::from_pem_slice(include_bytes!("tls/server.key")).unwrap();
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(chain, key)
            .unwrap();
        Self::serve(answers.into_iter().collect(), Some(Arc::new(config)))
    }

    fn serve(answers: Vec<Answer>, tls: Option<Arc<ServerConfig>>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let hung_up = Arc::new(Semaphore::new(0));
        let counted = Arc::clone(&hung_up);
        let requests = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&requests);
        thread::spawn(move || {
            for answer in answers {
                let (connection, _) = listener.accept().unwrap();
                let kept = Arc::clone(&kept);
                let counted = Arc::clone(&counted);
                let tls = tls.clone();
                thread::spawn(move || match tls {
                    None => serve(connection, answer, &kept, &counted),
                    Some(config) => {
                        let connection =
                            StreamOwned::new(ServerConnection::new(config).unwrap(), connection);
                        serve(connection, answer, &kept, &counted)
                    }
                });
            }
        });
        Self { address, requests, hung_up }
    }

    pub(super) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    pub(super) fn host(&self) -> String {
        self.address.to_string()
    }

    /// Heads and bodies of all requests so far.
    pub(super) fn requests(&self) -> Vec<String> {
        self.requests.lock().unwrap().clone()
    }

    /// Waits until a client has hung up on an answer that does not end by itself.
    pub(super) async fn wait_for_hang_up(&self) {
        let hung_up = tokio::time::timeout(Duration::from_secs(30), self.hung_up.acquire()).await;
        hung_up.expect("nobody hangs up").unwrap().forget();
    }
}

/// An answer of this status and these headers, with the length of its body.
pub(super) fn whole(head: &str, body: &str) -> Answer {
    let length = body.len();
    let head = format!("HTTP/1.1 {head}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n");
    Answer::Raw((head + body).into_bytes())
}

/// The beginning of an answer in chunks, with one of them.
pub(super) fn chunked(chunk: &str) -> Vec<u8> {
    let head = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";
    format!("{head}{:x}\r\n{chunk}\r\n", chunk.len()).into_bytes()
}

/// Clients may hang up at any point, so that nothing here is an error.
fn serve(
    mut connection: impl Read + Write,
    answer: Answer,
    requests: &Mutex<Vec<String>>,
    hung_up: &Semaphore,
) {
    let Ok(mut request) = head(&mut connection) else { return };
    if !matches!(answer, Answer::Reset(_)) {
        let lower = request.to_ascii_lowercase();
        let length = lower.split("\r\ncontent-length: ").nth(1);
        let length = length.map_or(0, |it| it.split('\r').next().unwrap().parse().unwrap());
        let mut body = vec![0; length];
        if connection.read_exact(&mut body).is_err() {
            return;
        }
        request += &String::from_utf8(body).unwrap();
    }
    requests.lock().unwrap().push(request);
    match answer {
        Answer::Raw(bytes) | Answer::Reset(bytes) => {
            let _ = connection.write_all(&bytes);
            let _ = connection.flush();
        }
        Answer::Stall(bytes) => {
            let _ = connection.write_all(&bytes);
            let _ = connection.flush();
            let _ = connection.read(&mut [0]);
            hung_up.add_permits(1);
        }
        Answer::Endless(head, bytes) => {
            let _ = connection.write_all(&head);
            while connection.write_all(&bytes).is_ok() {}
            hung_up.add_permits(1);
        }
    }
}

fn head(connection: &mut impl Read) -> io::Result<String> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        connection.read_exact(&mut byte)?;
        head.push(byte[0]);
    }
    Ok(String::from_utf8(head).unwrap())
}

/// A port where nobody listens.
pub(super) fn closed_port() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    format!("http://{}/", listener.local_addr().unwrap())
}

/// A socket that takes connections and never says anything on them.
pub(super) fn silent() -> (TcpListener, String) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("https://{}/", listener.local_addr().unwrap());
    (listener, url)
}
