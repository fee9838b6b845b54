//! What an escape is after: files, processes and servers outside of a sandbox.

use std::collections::BTreeMap;
use std::fs;
use std::io::{ErrorKind, Read as _};
use std::net::{TcpListener, UdpSocket};
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _, symlink};
use std::os::unix::net::{SocketAddr, UnixDatagram, UnixListener};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use haft_sandbox::Policy;

/// What must not be read.
pub(crate) const TOKEN: &str = "TOKEN-5fb1c0de";

/// One world for one program. Its name says what it needs beyond the usual.
pub(crate) struct World {
    base: tempfile::TempDir,
    victim: Child,
    key: String,
    tcp: TcpListener,
    udp: UdpSocket,
    path_stream: UnixListener,
    path_datagrams: UnixDatagram,
    name_stream: UnixListener,
    name_datagrams: UnixDatagram,
    fifo: fs::File,
    before: BTreeMap<PathBuf, String>,
}

impl World {
    pub(crate) fn new() -> Self {
        let base = tempfile::tempdir().unwrap();
        make_files(base.path());
        let outside = base.path().join("outside");
        assert!(Command::new("mkfifo").arg(outside.join("fifo")).status().unwrap().success());
        let fifo = fs::OpenOptions::new()
            .read(true)
            .write(true)
            .custom_flags(libc_nonblock())
            .open(outside.join("fifo"))
            .unwrap();
        let (victim, key) = start_victim(&outside);
        let pid = victim.id();
        fs::write(format!("/dev/shm/haft-escape-{pid}"), TOKEN).unwrap();
        let name = |end: &str| SocketAddr::from_abstract_name(format!("haft-{pid}{end}")).unwrap();
        let mut world = Self {
            victim,
            key,
            tcp: TcpListener::bind("0.0.0.0:0").unwrap(),
            udp: UdpSocket::bind("127.0.0.1:0").unwrap(),
            path_stream: UnixListener::bind(outside.join("socket")).unwrap(),
            path_datagrams: UnixDatagram::bind(outside.join("datagrams")).unwrap(),
            name_stream: UnixListener::bind_addr(&name("")).unwrap(),
            name_datagrams: UnixDatagram::bind_addr(&name("-datagrams")).unwrap(),
            fifo,
            before: BTreeMap::new(),
            base,
        };
        world.tcp.set_nonblocking(true).unwrap();
        world.udp.set_nonblocking(true).unwrap();
        world.path_stream.set_nonblocking(true).unwrap();
        world.path_datagrams.set_nonblocking(true).unwrap();
        world.name_stream.set_nonblocking(true).unwrap();
        world.name_datagrams.set_nonblocking(true).unwrap();
        world.before = world.snapshot();
        world
    }

    /// Everything that the agent file of a usual agent protects and hides.
    pub(crate) fn policy(&self) -> Policy {
        let outside = self.path("outside");
        Policy::new(self.path("agent"))
            .write(".")
            .write(self.path("work"))
            .read(&outside)
            .protect("agent.toml")
            .protect("prompts/system.md")
            .reserve(".haft")
            .reserve(self.path("work/.haft"))
            .hide(outside.join("hidden.txt"))
            .hide(outside.join("home/.ssh"))
    }

    /// The variables that the programs use.
    pub(crate) fn variables(&self) -> Vec<(&'static str, String)> {
        let pid = self.victim.id().to_string();
        let path = |name: &str| self.path(name).display().to_string();
        vec![
            ("A", path("agent")),
            ("W", path("work")),
            ("O", path("outside")),
            ("NAME", format!("haft-{pid}")),
            ("VICTIM", pid),
            ("KEY", self.key.clone()),
            ("PORT", self.tcp.local_addr().unwrap().port().to_string()),
            ("UDP", self.udp.local_addr().unwrap().port().to_string()),
            ("PATH", "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin".to_owned()),
        ]
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.base.path().canonicalize().unwrap().join(name)
    }

    /// What shows that something has left the sandbox, apart from its output.
    pub(crate) fn evidence(&mut self) -> Option<String> {
        let after = self.snapshot();
        if after != self.before {
            let changed = after.iter().find(|(path, it)| self.before.get(*path) != Some(*it));
            return Some(format!("changed: {changed:?}"));
        }
        let pid = self.victim.id();
        if self.victim.try_wait().unwrap().is_some() {
            return Some("the other process has ended".to_owned());
        }
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
        if stat.rsplit_once(") ").unwrap().1.starts_with(['T', 't']) {
            return Some("the other process has stopped".to_owned());
        }
        let mut buffer = [0; 64];
        let received = [
            self.tcp.accept().map(drop),
            self.udp.recv(&mut buffer).map(drop),
            self.path_stream.accept().map(drop),
            self.path_datagrams.recv(&mut buffer).map(drop),
            self.name_stream.accept().map(drop),
            self.name_datagrams.recv(&mut buffer).map(drop),
            self.fifo.read(&mut buffer).map(drop),
        ];
        for (at, result) in received.into_iter().enumerate() {
            match result {
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                other => return Some(format!("server {at} was reached: {other:?}")),
            }
        }
        None
    }

    fn snapshot(&self) -> BTreeMap<PathBuf, String> {
        let pid = self.victim.id();
        let mut found = BTreeMap::new();
        let names = [
            "outside",
            "agent/agent.toml",
            "agent/prompts/system.md",
            "agent/.haft",
            "agent/.git/config",
            "agent/.git/commondir",
            "agent/.git/hooks",
            "agent/.git/modules/lib/config",
            "agent/.git/modules/lib/hooks",
            "agent/nested/.git",
            "work/.git",
            "work/.haft",
        ];
        let paths = names.iter().map(|it| self.path(it));
        for path in paths.chain(LEFT_BEHIND.iter().map(|it| format!("{it}{pid}").into())) {
            describe(&path, &mut found);
        }
        found
    }
}

impl Drop for World {
    fn drop(&mut self) {
        let _ = self.victim.kill();
        let _ = self.victim.wait();
        let pid = self.victim.id();
        for path in LEFT_BEHIND.iter().chain(&["/dev/shm/haft-escape-"]) {
            let _ = fs::remove_file(format!("{path}{pid}"));
        }
        let _ = Command::new("ipcrm").args(["-M", &self.key]).stderr(Stdio::null()).status();
    }
}

fn make_files(base: &Path) {
    let files = [
        ("agent/own.txt", "own"),
        ("agent/agent.toml", "system = \"x\""),
        ("agent/prompts/system.md", "prompt"),
        ("agent/.env", TOKEN),
        ("agent/sub/.env.local", TOKEN),
        ("agent/.haft/key", TOKEN),
        ("agent/.haft/TOKEN-5fb1c0de", ""),
        ("agent/.git/HEAD", "ref: refs/heads/main\n"),
        ("agent/.git/config", "[core]\n\trepositoryformatversion = 0\n"),
        ("agent/.git/objects/x", ""),
        ("agent/.git/refs/x", ""),
        ("agent/.git/hooks/post-checkout", ""),
        ("agent/.git/modules/lib/HEAD", "ref: refs/heads/main\n"),
        ("agent/.git/modules/lib/config", ""),
        ("agent/.git/modules/lib/hooks/x", ""),
        ("agent/nested/.git", "gitdir: ../.git/modules/lib"),
        ("work/a.txt", ""),
        ("outside/victim.txt", "unchanged"),
        ("outside/dir/other.txt", "unchanged"),
        ("outside/hidden.txt", TOKEN),
        ("outside/home/.ssh/id", TOKEN),
    ];
    for (name, text) in files {
        let path = base.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    symlink(base.join("outside/victim.txt"), base.join("agent/link.txt")).unwrap();
    symlink(base.join("outside/dir"), base.join("agent/linked")).unwrap();
}

/// Another program of the same user. It has a secret in its environment, its arguments, its memory and in an open file.
fn start_victim(outside: &Path) -> (Child, String) {
    let key = (0x4a00_0000 + std::process::id() * 64 + next_number()).to_string();
    let mut victim = Command::new("/usr/bin/python3");
    victim.args(["-I", "-S", "-c", VICTIM, TOKEN, &key]).current_dir(outside);
    victim.env_clear().env("SECRET", TOKEN).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = victim.spawn().unwrap();
    let mut ready = [0; 1];
    child.stdout.as_mut().unwrap().read_exact(&mut ready).unwrap();
    (child, key)
}

const VICTIM: &str = "
import ctypes, os, sys
os.dup2(os.open('hidden.txt', os.O_RDONLY), 9)
libc = ctypes.CDLL(None)
libc.shmat.restype = ctypes.c_void_p
at = libc.shmat(libc.shmget(int(sys.argv[2]), 4096, 0o1600), 0, 0)
ctypes.memmove(at, sys.argv[1].encode(), len(sys.argv[1]))
os.write(1, b'.')
os.read(0, 1)
";

fn next_number() -> u32 {
    use std::sync::atomic::{AtomicU32, Ordering};
    static NEXT: AtomicU32 = AtomicU32::new(0);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

/// `O_NONBLOCK`.
const fn libc_nonblock() -> i32 {
    0o4000
}

/// Describes a file, and all that is below a directory.
fn describe(path: &Path, found: &mut BTreeMap<PathBuf, String>) {
    let Ok(meta) = fs::symlink_metadata(path) else { return };
    let text = match meta.is_file() {
        true => fs::read_to_string(path).unwrap_or_default(),
        false => String::new(),
    };
    let (mode, size, changed) = (meta.mode(), meta.size(), (meta.ctime(), meta.ctime_nsec()));
    // Whoever reads the names of a directory does not change it.
    found.insert(path.to_owned(), format!("{mode:o} {size} {changed:?} {text}"));
    if meta.is_dir() {
        for entry in fs::read_dir(path).unwrap() {
            describe(&entry.unwrap().path(), found);
        }
    }
}

/// Where some programs leave a file, with the number of the other process at the end.
const LEFT_BEHIND: [&str; 3] =
    ["/tmp/haft-escape-", "/etc/haft-escape-", "/usr/local/bin/haft-escape-"];
