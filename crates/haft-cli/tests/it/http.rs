//! HTTP endpoints as tools, against a server on this machine.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{Ipv4Addr, TcpListener};
use std::path::Path;
use std::sync::mpsc::{Receiver, channel};
use std::thread;

use insta::assert_snapshot;

use super::support::{haft, run_haft, transcript, write_agent, write_scripted_agent};

/// Starts a server that sends the same response to every request. Returns its port and the requests.
pub(super) fn serve(response: String) -> (u16, Receiver<String>) {
    serve_responses(vec![response])
}

/// Serves responses one after the other, the last one to every further request.
pub(super) fn serve_all(responses: Vec<String>) -> u16 {
    serve_responses(responses).0
}

pub(super) fn serve_responses(responses: Vec<String>) -> (u16, Receiver<String>) {
    let mut responses = responses.into_iter().peekable();
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
            let response = responses.next().unwrap();
            if responses.peek().is_none() {
                responses = vec![response.clone()].into_iter().peekable();
            }
            let _ = reader.into_inner().write_all(response.as_bytes());
        }
    });
    (port, requests)
}

pub(super) fn response(head: &str, body: &str) -> String {
    let length = body.len();
    format!("HTTP/1.1 {head}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}")
}

/// Writes an agent whose tool `t` calls a URL.
fn write_tool(dir: &Path, url: &str, rest: &str) {
    write_agent(
        dir,
        format!("system = 'x'\n[tools.http.t]\ndescription = 'T.'\nurl = '{url}'\n{rest}"),
    );
}

fn call_tool(dir: &Path, args: &str) -> String {
    let mut command = haft(dir);
    command.env("API_KEY", "sk-hidden").args(["call", "a", "t", args]);
    transcript(&command.output().unwrap())
}

#[test]
fn get_fills_the_path_and_the_query() {
    let dir = tempfile::tempdir().unwrap();
    let (port, requests) = serve(response("200 OK", "sunny"));
    write_tool(
        dir.path(),
        &format!("http://127.0.0.1:{port}/v1/{{city}}/now"),
        "private = true\nenv = ['API_KEY']\nquery = { units = '{units}', lang = 'en' }\n\
         headers = { Authorization = 'Bearer {env.API_KEY}' }\nargs.city.required = true\nargs.units = {}",
    );
    assert_eq!(call_tool(dir.path(), r#"{"city": "São Paulo?x=1#y"}"#), "exit 0\n--- out\nsunny");
    let request = requests.recv().unwrap();
    let first = "GET /v1/S%C3%A3o%20Paulo%3Fx%3D1%23y/now?lang=en HTTP/1.1";
    assert_eq!(request.lines().next(), Some(first));
    assert!(request.contains("authorization: Bearer sk-hidden"), "{request}");
    assert_eq!(
        call_tool(dir.path(), r#"{"city": "x", "units": "a&b=c"}"#).lines().next(),
        Some("exit 0")
    );
    let request = requests.recv().unwrap();
    assert_eq!(request.lines().next(), Some("GET /v1/x/now?lang=en&units=a%26b%3Dc HTTP/1.1"));
    for hostile in ["..", ".", "", "../../admin", "a\\\\b", "a\\nb"] {
        let refused = call_tool(dir.path(), &format!(r#"{{"city": "{hostile}"}}"#));
        assert!(refused.starts_with("exit 1"), "{hostile}: {refused}");
    }
    assert!(requests.try_recv().is_err(), "nothing was asked for what was refused");
}

/// What a model needs to correct its request, and nothing that it could take for more.
#[test]
fn the_body_of_an_error_is_shown() {
    let dir = tempfile::tempdir().unwrap();
    let call = |head: &str, body: &str, method: &str| {
        let (port, _requests) = serve(response(head, body));
        write_tool(
            dir.path(),
            &format!("http://127.0.0.1:{port}/orders"),
            &format!("method = '{method}'\nprivate = true"),
        );
        call_tool(dir.path(), "{}").replace(&port.to_string(), "PORT")
    };
    for method in ["GET", "POST", "PUT", "PATCH", "DELETE"] {
        assert_eq!(
            call("404 Not Found", "{\"error\": \"no such order\"}", method),
            "exit 1\n--- err\nerror: `t` failed: `http://127.0.0.1:PORT/orders` answered with status 404 Not Found: \
             {\"error\": \"no such order\"}"
        );
    }
    let large = call("422 No", &"x".repeat(100_000), "PUT");
    assert!(large.contains("… (truncated)") && large.len() < 3500, "{large}");
    let escape = call("400 No", "\u{1b}[31mred", "GET");
    assert!(escape.contains("red") && !escape.contains('\u{1b}'), "{escape}");
    let binary = call("500 No\r\ncontent-type: image/png", "\0", "GET");
    assert!(binary.contains("and a body that is not text (`image/png`)"), "{binary}");
    let nothing = call("500 No", "", "GET");
    assert!(nothing.ends_with("status 500 Internal Server Error and no body"), "{nothing}");
}

#[test]
fn the_effect_of_a_tool_follows_its_method() {
    let dir = tempfile::tempdir().unwrap();
    for (method, effect) in [
        ("GET", "read-only"),
        ("HEAD", "read-only"),
        ("OPTIONS", "read-only"),
        ("PUT", "idempotent"),
        ("DELETE", "idempotent"),
        ("POST", "once"),
        ("PATCH", "once"),
    ] {
        for (rest, expected) in [("", effect), ("\neffect = 'read-only'", "read-only")] {
            write_tool(dir.path(), "https://example.org/", &format!("method = '{method}'{rest}"));
            let shown = run_haft(dir.path(), &["describe", "a", "t"]);
            assert!(shown.contains(&format!("effect: {expected}\n")), "{method}: {shown}");
        }
    }
}

/// Arguments that the path or the query has are not sent twice.
#[test]
fn put_and_patch_send_nested_arguments() {
    let dir = tempfile::tempdir().unwrap();
    let (port, requests) = serve(response("204 No Content", ""));
    let body = |request: String| {
        serde_json::from_str::<serde_json::Value>(request.lines().last().unwrap()).unwrap()
    };
    for method in ["PUT", "PATCH", "POST"] {
        write_tool(
            dir.path(),
            &format!("http://127.0.0.1:{port}/orders/{{id}}"),
            &format!(
                "method = '{method}'\nprivate = true\nquery = {{ dry = '{{dry}}' }}\n\
                 args.id = {{ type = 'integer', required = true }}\nargs.dry = {{ type = 'boolean' }}\n\
                 args.to = {{ type = 'object', properties = {{ city = {{ required = true }} }} }}\n\
                 args.lines = {{ type = 'list', min_items = 1, items = {{ type = 'object', properties = {{ n = \
                 {{ type = 'number', min = 0.5 }} }} }} }}"
            ),
        );
        let args = r#"{"id": 7, "dry": true, "to": {"city": "Bern"}, "lines": [{"n": 1.5}, {}]}"#;
        assert!(call_tool(dir.path(), args).starts_with("exit 0"), "{method}");
        let request = requests.recv().unwrap();
        assert!(request.starts_with(&format!("{method} /orders/7?dry=true HTTP/1.1")), "{request}");
        let expected = serde_json::json!({"to": {"city": "Bern"}, "lines": [{"n": 1.5}, {}]});
        assert_eq!(body(request), expected);
        for (wrong, place) in [
            (r#"{"id": 7, "lines": []}"#, "lines"),
            (r#"{"id": 7, "lines": [{"n": 0.25}]}"#, "/lines/0/n"),
            (r#"{"id": 7, "to": {}}"#, "/to/city"),
            (r#"{"id": 7, "to": {"city": "x", "zip": 1}}"#, "zip"),
        ] {
            let refused = call_tool(dir.path(), wrong);
            assert!(refused.starts_with("exit 1") && refused.contains(place), "{refused}");
        }
        assert!(requests.try_recv().is_err(), "nothing was sent for what was refused");
    }
}

#[test]
fn post_sends_json() {
    let dir = tempfile::tempdir().unwrap();
    let (port, requests) = serve(response("201 Created", "{\"id\": 7}"));
    let url = format!("http://127.0.0.1:{port}/notes");
    let rest = "method = 'POST'\nprivate = true\nartifact = 'json'\nargs.title.required = true\n\
                env = ['API_KEY']\nheaders = { X-Key = '{env.API_KEY}' }\nargs.count.type = 'integer'\nbody = { note = { title = '{title}', n = '{count}' }, by = 'haft: {title}' }";
    write_tool(dir.path(), &url, rest);
    let done = call_tool(dir.path(), r#"{"title": "a\"b{count}", "count": 3}"#);
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
    // Without `body`, the arguments are the body.
    write_tool(dir.path(), &url, "method = 'POST'\nprivate = true\nargs.q.required = true");
    assert!(call_tool(dir.path(), r#"{"q": "x"}"#).starts_with("exit 0"));
    assert!(requests.recv().unwrap().ends_with(r#"{"q":"x"}"#));
}

/// Addresses that are not public are never requested, in any spelling.
#[test]
fn private_addresses_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let (port, requests) = serve(response("200 OK", "secret"));
    for method in ["GET", "POST"] {
        let method = format!("method = '{method}'");
        // An IP address is rejected when the file is read.
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
            write_tool(dir.path(), &format!("http://{host}:{port}/"), &method);
            let refused = run_haft(dir.path(), &["check", "a"]);
            assert!(refused.starts_with("exit 1") && refused.contains("not public"), "{refused}");
            assert!(call_tool(dir.path(), "{}").contains("not public"), "{host}");
        }
        // A host name is rejected when it is resolved.
        for host in ["localhost", "LOCALHOST"] {
            write_tool(dir.path(), &format!("http://{host}:{port}/"), &method);
            let refused = call_tool(dir.path(), "{}");
            assert!(refused.starts_with("exit 1") && refused.contains("not public"), "{refused}");
        }
    }
    assert!(requests.try_recv().is_err(), "nothing was asked");
}

#[test]
fn redirects_lead_nowhere_else() {
    let dir = tempfile::tempdir().unwrap();
    let (inside, secrets) = serve(response("200 OK", "secret"));
    let away = |to: &str| serve(response(&format!("302 Found\r\nlocation: {to}"), ""));
    // A redirect to another host is rejected, although the first host may be private.
    let (port, _requests) = away(&format!("http://localhost:{inside}/"));
    let headers = "private = true\nenv = ['API_KEY']\nheaders = { X-Key = '{env.API_KEY}' }";
    write_tool(dir.path(), &format!("http://127.0.0.1:{port}/"), headers);
    let refused = call_tool(dir.path(), "{}");
    assert!(refused.starts_with("exit 1") && refused.contains("is refused"), "{refused}");
    assert!(secrets.try_recv().is_err(), "nothing was asked there");
    // Another port of the host is another origin: one private service must not choose what is read from another.
    let (port, _requests) = away(&format!("http://127.0.0.1:{inside}/"));
    write_tool(dir.path(), &format!("http://127.0.0.1:{port}/"), headers);
    let refused = call_tool(dir.path(), "{}");
    assert!(refused.starts_with("exit 1") && refused.contains("another scheme, host or port"));
    assert!(secrets.try_recv().is_err(), "nothing was asked there");
    // A POST request follows no redirect.
    write_tool(
        dir.path(),
        &format!("http://127.0.0.1:{port}/"),
        &format!("method = 'POST'\n{headers}"),
    );
    let refused = call_tool(dir.path(), "{}");
    assert!(refused.starts_with("exit 1") && refused.contains("redirect"), "{refused}");
    assert!(secrets.try_recv().is_err(), "nothing was sent on");
}

#[test]
fn answers_are_bounded_and_failures_tell_no_secrets() {
    let dir = tempfile::tempdir().unwrap();
    let (port, _requests) = serve(response("200 OK", &"x".repeat(2000)));
    let url = format!("http://127.0.0.1:{port}/");
    for method in ["GET", "POST"] {
        let rest = format!("method = '{method}'\nprivate = true\nmax_bytes = 1000");
        write_tool(dir.path(), &url, &rest);
        let large = call_tool(dir.path(), "{}");
        assert!(large.starts_with("exit 1") && large.contains("more than 1000 bytes"), "{large}");
    }
    let headers = "private = true\nenv = ['API_KEY']\nheaders = { X-Key = '{env.API_KEY}' }";
    let (port, _requests) = serve(response("500 Oh", "no"));
    for method in ["GET", "POST"] {
        for url in [format!("http://127.0.0.1:{port}/"), "http://127.0.0.1:1/".to_owned()] {
            write_tool(dir.path(), &url, &format!("method = '{method}'\n{headers}"));
            let failed = call_tool(dir.path(), "{}");
            assert!(failed.starts_with("exit 1") && !failed.contains("sk-hidden"), "{failed}");
        }
    }
    let unset = run_haft(dir.path(), &["call", "a", "t", "{}"]);
    assert!(
        unset.contains("the variable `API_KEY`, which the request needs, is not set"),
        "{unset}"
    );
    let warned = run_haft(dir.path(), &["check", "a"]);
    assert!(warned.starts_with("exit 0") && warned.contains("warning: "), "{warned}");
}

#[test]
fn mistakes_in_addresses_are_explained() {
    let dir = tempfile::tempdir().unwrap();
    let check = |url: &str, rest: &str| {
        write_tool(dir.path(), url, rest);
        run_haft(dir.path(), &["check", "a"])
    };
    assert_snapshot!(check("https://{host}/", "args.host.required = true"), @r"
    exit 1
    --- err
    error: a/agent.toml:4: `tools.http.t.url`: `https://{host}/` has a placeholder in its host
    hint: the host must be fixed
    ");
    assert_snapshot!(check("https://example.org/{x}", ""), @r"
    exit 1
    --- err
    error: a/agent.toml:4: `tools.http.t.url`: `{x}` uses `x`, which is not in `args`
    ");
    assert_snapshot!(check("https://example.org/{x}", "args.x = {}"), @r"
    exit 1
    --- err
    error: a/agent.toml:5: `tools.http.t.args.x`: an argument in the path must be set in every call, and be neither a list nor an object
    hint: set `required = true` or a `default`
    ");
    assert_snapshot!(check("https://example.org/?q={x}", "args.x = {}"), @r"
    exit 1
    --- err
    error: a/agent.toml:4: `tools.http.t.url`: `https://example.org/?q={x}` has a query, a fragment or an invalid character
    hint: set query parameters in `query`
    ");
    assert_snapshot!(check("https://u:p@example.org/", ""), @r"
    exit 1
    --- err
    error: a/agent.toml:4: `tools.http.t.url`: the URL contains a user name or a password
    hint: use `headers` with an environment variable
    ");
    assert_snapshot!(check("http://127.1:8080/", "private = true"), @r"
    exit 1
    --- err
    error: a/agent.toml:4: `tools.http.t.url`: `http://127.1:8080/` is another spelling of `http://127.0.0.1:8080/`
    hint: use the canonical spelling
    ");
    assert_snapshot!(check("https://example.org:0443/", ""), @r"
    exit 1
    --- err
    error: a/agent.toml:4: `tools.http.t.url`: `https://example.org:0443/` has an invalid port
    ");
    assert_snapshot!(check("https://example.org/", "method = 'PUTT'"), @r"
    exit 1
    --- err
    error: a/agent.toml:5: `tools.http.t.method`: unknown variant `PUTT`
    hint: did you mean `PUT`?
    ");
    assert_snapshot!(check("https://example.org/", "body = { a = 1 }"), @r#"
    exit 1
    --- err
    error: a/agent.toml:5: `tools.http.t.body`: a GET request has no body
    hint: set `method = "POST"`, or use `query`
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
    error: a/agent.toml:5: `tools.http.t.headers.Host`: the HTTP client sets `Host` itself
    ");
    assert_snapshot!(check("https://example.org/", "query = { q = '{nope}' }\nargs.hope = {}"), @r"
    exit 1
    --- err
    error: a/agent.toml:5: `tools.http.t.query.q`: `{nope}` uses `nope`, which is not in `args`
    hint: did you mean `hope`?
    ");
    assert_snapshot!(check("https://example.org/", "timeout = 0"), @r"
    exit 1
    --- err
    error: a/agent.toml:5: `tools.http.t.timeout`: the timeout must not be 0
    hint: set it to a number of seconds
    ");
    assert_snapshot!(check("https://example.org/", "artifact = 'jsn'"), @r"
    exit 1
    --- err
    error: a/agent.toml:5: `tools.http.t.artifact`: unknown artifact kind `jsn`
    hint: did you mean `json`?
    ");
}

/// The server does its work, and the connection breaks before the whole answer is there.
#[test]
fn a_request_that_must_not_be_repeated_is_unknown_when_its_answer_is_lost() {
    for (answer, effect, expected) in [
        (String::new(), "once", "what it did is not known, do not repeat it blindly"),
        (response("200 OK", "paid").replace(": 4", ": 9"), "once", "what it did is not known"),
        (response("402 Payment Required", "no"), "once", "answered with status 402"),
        (String::new(), "idempotent", "could not be reached"),
    ] {
        let dir = tempfile::tempdir().unwrap();
        let (port, requests) = serve(answer);
        let text = format!(
            "[tools.http.t]\ndescription = 'T.'\nurl = 'http://127.0.0.1:{port}/pay'\nprivate = true\n\
             method = 'POST'\neffect = '{effect}'\n"
        );
        let script = "steps:\n  - call: { t: {} }\n  - say: \"{{ last.t }}\"\n";
        write_scripted_agent(dir.path(), &text, script);
        let run = run_haft(dir.path(), &["run", "a", "Pay.", "--yes"]);
        assert!(run.starts_with("exit 0\n") && run.contains(expected), "{run}");
        assert_eq!(requests.try_iter().count(), 1, "{run}");
    }
}
