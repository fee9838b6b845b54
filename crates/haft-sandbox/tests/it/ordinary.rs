//! Ordinary things that work in a sandbox.

use std::fs;
use std::path::Path;
use std::process::Command;

use haft_sandbox::Policy;

use crate::confined::{can_confine, run_script};

#[track_caller]
fn check(script: &str, expected: &str) {
    let dir = tempfile::tempdir().unwrap();
    let policy = Policy::new(dir.path()).write(".");
    assert_eq!(run_script(&policy, script), (Some(0), expected.to_owned()), "{script}");
}

#[test]
fn ordinary_things_work() {
    if !can_confine() {
        return;
    }
    check(
        "echo a > b && cat b && mkdir c && mv b c/d && ln c/d e && rm e && chmod 755 c/d && ls c",
        "a\nd",
    );
    check("echo a > /tmp/x && cat /tmp/x && echo b > /dev/null && mktemp >/dev/null", "a");
    check("(echo a; echo b >&2) 2>&1 | sort -r | tee f", "b\na");
    check("sleep 100 & kill $!; wait $! ; echo $?", "143\nTerminated");
    check("ulimit -c; test ! -t 0 && test -r /etc/passwd && echo yes", "0\nyes");
    check(
        "git init -q x && cd x && git -c user.name=a -c user.email=b commit -q --allow-empty -m c && git log --format=%s",
        "c",
    );
    check("printf 'int main(){return 7;}' > a.c && gcc a.c -o a && ./a; echo $?", "7");
    check("tar cf a.tar --files-from /dev/null && gzip a.tar && ls", "a.tar.gz");
    check(
        &python(
            "import sqlite3; c = sqlite3.connect('x.db'); c.execute('create table t(a)'); c.commit(); print(1)",
        ),
        "1",
    );
    check(&python("import multiprocessing as m; print(m.Pool(2).map(abs, [-1, -2]))"), "[1, 2]");
    check(
        &python(
            "import multiprocessing as m; q = m.Queue(); p = m.Process(target=q.put, args=(5,)); p.start(); print(q.get()); p.join()",
        ),
        "5",
    );
    check(
        &python(
            "import multiprocessing.shared_memory as s; m = s.SharedMemory(create=True, size=9); print(len(m.buf) >= 9); m.unlink()",
        ),
        "True",
    );
    check(
        &python(
            "import subprocess; print(subprocess.run(['echo', 'a'], capture_output=True).stdout)",
        ),
        "b'a\\n'",
    );
    check(
        &python(
            "import threading; t = threading.Thread(target=print, args=(1,)); t.start(); t.join()",
        ),
        "1",
    );
    check(&python("import asyncio; print(asyncio.run(asyncio.sleep(0, 3)))"), "3");
    check(
        &python(
            "import pty, os; p, m = pty.fork(); (p == 0) and os._exit(0); print(os.waitpid(p, 0)[1])",
        ),
        "0",
    );
    check(&python(LOOPBACK), "b'hello'");
    check(
        &python(&LOOPBACK.replace("AF_INET", "AF_INET6").replace("127.0.0.1", "::1")),
        "b'hello'",
    );
}

fn python(code: &str) -> String {
    format!("/usr/bin/python3 -c \"{code}\"")
}

const LOOPBACK: &str = "
import socket
s = socket.socket(socket.AF_INET)
s.bind(('127.0.0.1', 0))
s.listen()
c = socket.socket(socket.AF_INET)
c.connect(s.getsockname())
c.send(b'hello')
print(s.accept()[0].recv(9))
";

#[test]
fn npm_test_works() {
    if !can_confine() || !haft_testkit::has_program("npm") {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let package = r#"{"name": "fixture", "version": "1.0.0", "scripts": {"test": "node --test"}}"#;
    fs::write(dir.path().join("package.json"), package).unwrap();
    fs::write(dir.path().join("sum.test.js"), NODE_TEST).unwrap();
    let policy = Policy::new(dir.path()).write(".");
    let (code, output) = run_script(&policy, "HOME=/tmp npm test 2>&1");
    assert_eq!(code, Some(0), "{output}");
    assert!(output.contains("pass 2"), "{output}");
}

const NODE_TEST: &str = "
const test = require('node:test');
const assert = require('node:assert');
const http = require('node:http');
test('adds', () => assert.strictEqual(1 + 1, 2));
test('serves', async () => {
  const server = http.createServer((_, answer) => answer.end('hello')).listen(0, '127.0.0.1');
  await new Promise(done => server.on('listening', done));
  const answer = await fetch(`http://127.0.0.1:${server.address().port}`);
  assert.strictEqual(await answer.text(), 'hello');
  server.close();
});
";

#[test]
fn cargo_test_works() {
    if !can_confine() || !haft_testkit::has_program("cargo") {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    write_workspace(dir.path());
    let cargo = std::env::var_os("CARGO").map(|it| it.into_string().unwrap());
    let cargo = cargo.unwrap_or_else(|| "cargo".to_owned());
    let policy = Policy::new(dir.path()).write("target");
    let resolved = Command::new(&cargo)
        .args(["generate-lockfile", "--offline"])
        .current_dir(dir.path())
        .status();
    assert!(resolved.unwrap().success());
    let (code, output) =
        run_script(&policy, &format!("{cargo} test --offline --workspace --quiet 2>&1"));
    assert_eq!(code, Some(0), "{output}");
    assert_eq!(output.matches("1 passed").count(), 3, "{output}");
}

fn write_workspace(dir: &Path) {
    fs::write(
        dir.join("Cargo.toml"),
        "[workspace]\nmembers = [\"a\", \"b\", \"c\"]\nresolver = \"3\"\n",
    )
    .unwrap();
    for name in ["a", "b", "c"] {
        let manifest =
            format!("[package]\nname = \"{name}\"\nversion = \"0.1.0\"\nedition = \"2024\"\n");
        fs::create_dir_all(dir.join(name).join("src")).unwrap();
        fs::write(dir.join(name).join("Cargo.toml"), manifest).unwrap();
        let code = "#[test]\nfn adds() { assert_eq!(1 + 1, 2); }\n";
        fs::write(dir.join(name).join("src/lib.rs"), code).unwrap();
    }
}
