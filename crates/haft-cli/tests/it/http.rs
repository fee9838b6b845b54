//! Addresses of the web as tools, asked of a server on this machine.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{Ipv4Addr, TcpListener};
use std::path::Path;
use std::sync::mpsc::{Receiver, channel};
use std::thread;

use insta::assert_snapshot;

use super::{haft, ran, shown};

/// Answers every request the same way. Gives its port, and the requests as they came.
pub(super) fn serve(answer: String) -> (u16, Receiver<String>) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    let (send, requests) = channel();
    thread::spawn(move || {
        for connection in listener.incoming() {
            let mut reader = BufReader::new(connection.unwrap());
            let mut request = String::new();
            let mut length = 0;
            loop {
                let mut line = String::new();
                if reader.read_line(&mut line).unwrap_or(0) == 0 || line == "\r\n" {
                    break;
                }
                let lower = line.to_ascii_lowercase();
                if let Some(count) = lower.strip_prefix("content-length:") {
                    length = count.trim().parse().unwrap();
                }
                request.push_str(&line);
            }
            let mut body = vec![0; length];
            reader.read_exact(&mut body).unwrap();
            request.push_str(&String::from_utf8(body).unwrap());
            let _ = send.send(request);
            let _ = reader.into_inner().write_all(answer.as_bytes());
        }
    });
    (port, requests)
}

pub(super) fn answer(head: &str, body: &str) -> String {
    let length = body.len();
    format!("HTTP/1.1 {head}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}")
}

fn agent(folder: &Path, text: &str) {
    std::fs::create_dir_all(folder.join("a")).unwrap();
    std::fs::write(folder.join("a/agent.toml"), format!("system = 'x'\n{text}")).unwrap();
}

/// A tool that asks the server of a test.
fn tool(folder: &Path, url: &str, rest: &str) {
    agent(folder, &format!("[tools.http.t]\ndescription = 'T.'\nurl = '{url}'\n{rest}"));
}

fn call(folder: &Path, args: &str) -> String {
    let mut command = haft(folder);
    command.env("API_KEY", "sk-hidden").args(["call", "a", "t", args]);
    shown(&command.output().unwrap())
}

#[test]
fn get_fills_the_path_and_the_query() {
    let folder = tempfile::tempdir().unwrap();
    let (port, requests) = serve(answer("200 OK", "sunny"));
    tool(
        folder.path(),
        &format!("http://127.0.0.1:{port}/v1/{{city}}/now"),
        "private = true\nenv = ['API_KEY']\nquery = { units = '{units}', lang = 'en' }\n\
         headers = { Authorization = 'Bearer {env.API_KEY}' }\nargs.city.required = true\nargs.units = {}",
    );
    assert_eq!(call(folder.path(), r#"{"city": "São Paulo?x=1#y"}"#), "exit 0\n--- out\nsunny");
    let request = requests.recv().unwrap();
    let first = "GET /v1/S%C3%A3o%20Paulo%3Fx%3D1%23y/now?lang=en HTTP/1.1";
    assert_eq!(request.lines().next(), Some(first));
    assert!(request.contains("authorization: Bearer sk-hidden"), "{request}");
    assert_eq!(
        call(folder.path(), r#"{"city": "x", "units": "a&b=c"}"#).lines().next(),
        Some("exit 0")
    );
    let request = requests.recv().unwrap();
    assert_eq!(request.lines().next(), Some("GET /v1/x/now?lang=en&units=a%26b%3Dc HTTP/1.1"));
    for hostile in ["..", ".", "", "../../admin", "a\\\\b", "a\\nb"] {
        let refused = call(folder.path(), &format!(r#"{{"city": "{hostile}"}}"#));
        assert!(refused.starts_with("exit 1"), "{hostile}: {refused}");
    }
    assert!(requests.try_recv().is_err(), "nothing was asked for what was refused");
}

#[test]
fn post_sends_json() {
    let folder = tempfile::tempdir().unwrap();
    let (port, requests) = serve(answer("201 Created", "{\"id\": 7}"));
    let url = format!("http://127.0.0.1:{port}/notes");
    let rest = "method = 'POST'\nprivate = true\nartifact = 'json'\nargs.title.required = true\n\
                env = ['API_KEY']\nheaders = { X-Key = '{env.API_KEY}' }\nargs.count.type = 'integer'\nbody = { note = { title = '{title}', n = '{count}' }, by = 'haft: {title}' }";
    tool(folder.path(), &url, rest);
    let done = call(folder.path(), r#"{"title": "a\"b{count}", "count": 3}"#);
    assert!(done.starts_with("exit 0") && done.contains("\"id\": 7"), "{done}");
    let request = requests.recv().unwrap();
    assert!(request.starts_with("POST /notes HTTP/1.1"), "{request}");
    assert!(request.contains("content-type: application/json"), "{request}");
    assert!(request.contains("x-key: sk-hidden"), "{request}");
    let body = request.lines().last().unwrap();
    let body: serde_json::Value = serde_json::from_str(body).unwrap();
    let title = "a\"b{count}";
    let expected =
        serde_json::json!({"note": {"title": title, "n": 3}, "by": format!("haft: {title}")});
    assert_eq!(body, expected);
    // Without a body of the file, the arguments are the body.
    tool(folder.path(), &url, "method = 'POST'\nprivate = true\nargs.q.required = true");
    assert!(call(folder.path(), r#"{"q": "x"}"#).starts_with("exit 0"));
    assert!(requests.recv().unwrap().ends_with(r#"{"q":"x"}"#));
}

/// Nothing of what only this machine reaches is asked, however it is named.
#[test]
fn private_addresses_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let (port, requests) = serve(answer("200 OK", "secret"));
    for method in ["GET", "POST"] {
        let method = format!("method = '{method}'");
        // By number: refused when the file is read.
        for host in [
            "127.0.0.1",
            "[::1]",
            "[::ffff:127.0.0.1]",
            "2130706433",
            "0x7f.1",
            "0",
            "10.0.0.1",
            "172.16.0.1",
            "192.168.1.1",
            "169.254.169.254",
            "100.64.0.1",
            "[fe80::1]",
            "[fd00::1]",
        ] {
            tool(folder.path(), &format!("http://{host}:{port}/"), &method);
            let refused = ran(folder.path(), &["check", "a"]);
            assert!(refused.starts_with("exit 1") && refused.contains("not public"), "{refused}");
            assert!(call(folder.path(), "{}").contains("not public"), "{host}");
        }
        // By name: refused when it is resolved.
        for host in ["localhost", "LOCALHOST"] {
            tool(folder.path(), &format!("http://{host}:{port}/"), &method);
            let refused = call(folder.path(), "{}");
            assert!(refused.starts_with("exit 1") && refused.contains("not public"), "{refused}");
        }
    }
    assert!(requests.try_recv().is_err(), "nothing was asked");
}

#[test]
fn redirects_lead_nowhere_else() {
    let folder = tempfile::tempdir().unwrap();
    let (inside, secrets) = serve(answer("200 OK", "secret"));
    let away = |to: &str| serve(answer(&format!("302 Found\r\nlocation: {to}"), ""));
    // To another host: refused, although this one is allowed to be private.
    let (port, _requests) = away(&format!("http://localhost:{inside}/"));
    let headers = "private = true\nenv = ['API_KEY']\nheaders = { X-Key = '{env.API_KEY}' }";
    tool(folder.path(), &format!("http://127.0.0.1:{port}/"), headers);
    let refused = call(folder.path(), "{}");
    assert!(refused.starts_with("exit 1") && refused.contains("is refused"), "{refused}");
    assert!(secrets.try_recv().is_err(), "nothing was asked there");
    // To another port of the host: another origin, which does not get the headers.
    let (port, _requests) = away(&format!("http://127.0.0.1:{inside}/"));
    tool(folder.path(), &format!("http://127.0.0.1:{port}/"), headers);
    assert!(call(folder.path(), "{}").starts_with("exit 0"));
    assert!(!secrets.recv().unwrap().contains("sk-hidden"));
    // What was sent was meant for one address.
    tool(
        folder.path(),
        &format!("http://127.0.0.1:{port}/"),
        &format!("method = 'POST'\n{headers}"),
    );
    let refused = call(folder.path(), "{}");
    assert!(refused.starts_with("exit 1") && refused.contains("redirect"), "{refused}");
    assert!(secrets.try_recv().is_err(), "nothing was sent on");
}

#[test]
fn answers_are_bounded_and_failures_tell_no_secrets() {
    let folder = tempfile::tempdir().unwrap();
    let (port, _requests) = serve(answer("200 OK", &"x".repeat(2000)));
    let url = format!("http://127.0.0.1:{port}/");
    for method in ["GET", "POST"] {
        let rest = format!("method = '{method}'\nprivate = true\nmax_bytes = 1000");
        tool(folder.path(), &url, &rest);
        let large = call(folder.path(), "{}");
        assert!(large.starts_with("exit 1") && large.contains("more than 1000 bytes"), "{large}");
    }
    let headers = "private = true\nenv = ['API_KEY']\nheaders = { X-Key = '{env.API_KEY}' }";
    let (port, _requests) = serve(answer("500 Oh", "no"));
    for method in ["GET", "POST"] {
        for url in [format!("http://127.0.0.1:{port}/"), "http://127.0.0.1:1/".to_owned()] {
            tool(folder.path(), &url, &format!("method = '{method}'\n{headers}"));
            let failed = call(folder.path(), "{}");
            assert!(failed.starts_with("exit 1") && !failed.contains("sk-hidden"), "{failed}");
        }
    }
    let unset = ran(folder.path(), &["call", "a", "t", "{}"]);
    assert!(
        unset.contains("the variable `API_KEY`, which the request needs, is not set"),
        "{unset}"
    );
    let warned = ran(folder.path(), &["check", "a"]);
    assert!(warned.starts_with("exit 0") && warned.contains("warning: "), "{warned}");
}

#[test]
fn mistakes_in_addresses_are_explained() {
    let folder = tempfile::tempdir().unwrap();
    let check = |url: &str, rest: &str| {
        tool(folder.path(), url, rest);
        ran(folder.path(), &["check", "a"])
    };
    assert_snapshot!(check("https://{host}/", "args.host.required = true"), @r"
    exit 1
    --- err
    error: a/agent.toml:4: `tools.http.t.url`: `https://{host}/` has an argument in its host
    hint: the host is fixed
    ");
    assert_snapshot!(check("https://example.org/{x}", ""), @r"
    exit 1
    --- err
    error: a/agent.toml:4: `tools.http.t.url`: `{x}` names `x`, which is none of its `args`
    ");
    assert_snapshot!(check("https://example.org/{x}", "args.x = {}"), @r"
    exit 1
    --- err
    error: a/agent.toml:5: `tools.http.t.args.x`: a part of the path is one value that every call has
    hint: make it `required = true`, or give it a `default`
    ");
    assert_snapshot!(check("https://example.org/?q={x}", "args.x = {}"), @r"
    exit 1
    --- err
    error: a/agent.toml:4: `tools.http.t.url`: `https://example.org/?q={x}` has more than a path
    hint: put what follows `?` into `query`
    ");
    assert_snapshot!(check("https://u:p@example.org/", ""), @r"
    exit 1
    --- err
    error: a/agent.toml:4: `tools.http.t.url`: the address has a user name or a password
    hint: use `headers` with a variable of the environment
    ");
    assert_snapshot!(check("http://127.1:8080/", "private = true"), @r"
    exit 1
    --- err
    error: a/agent.toml:4: `tools.http.t.url`: `http://127.1:8080/` is another spelling of `http://127.0.0.1:8080/`
    hint: write the address that is meant
    ");
    assert_snapshot!(check("https://example.org:0443/", ""), @r"
    exit 1
    --- err
    error: a/agent.toml:4: `tools.http.t.url`: `https://example.org:0443/` has a port that is no number, or begins with a zero
    ");
    assert_snapshot!(check("https://example.org/", "method = 'PUT'"), @r"
    exit 1
    --- err
    error: a/agent.toml:5: `tools.http.t.method`: unknown variant `PUT`
    hint: did you mean `POST`?
    ");
    assert_snapshot!(check("https://example.org/", "body = { a = 1 }"), @r#"
    exit 1
    --- err
    error: a/agent.toml:5: `tools.http.t.body`: GET sends nothing
    hint: say `method = "POST"`, or use `query`
    "#);
    assert_snapshot!(check("https://example.org/", "headers = { X-Key = '{env.KEY}' }"), @r#"
    exit 1
    --- err
    error: a/agent.toml:5: `tools.http.t.headers.X-Key`: the variable `KEY` is not listed in `env`
    hint: add it: env = ["KEY"]
    "#);
    assert_snapshot!(check("https://example.org/", "headers = { Host = 'x' }"), @r"
    exit 1
    --- err
    error: a/agent.toml:5: `tools.http.t.headers.Host`: `Host` follows from the request
    ");
    assert_snapshot!(check("https://example.org/", "query = { q = '{nope}' }\nargs.hope = {}"), @r"
    exit 1
    --- err
    error: a/agent.toml:5: `tools.http.t.query.q`: `{nope}` names `nope`, which is none of its `args`
    hint: did you mean `hope`?
    ");
    assert_snapshot!(check("https://example.org/", "timeout = 0"), @r"
    exit 1
    --- err
    error: a/agent.toml:5: `tools.http.t.timeout`: nothing is done in no time
    hint: say seconds
    ");
    assert_snapshot!(check("https://example.org/", "artifact = 'jsn'"), @r"
    exit 1
    --- err
    error: a/agent.toml:5: `tools.http.t.artifact`: `jsn` is no kind of artifact
    hint: did you mean `json`?
    ");
}
