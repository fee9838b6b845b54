//! Servers that tests start themselves. They listen on the loopback address, and end with the value that stands for them.

use std::fs;
use std::io;
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::chown;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use crate::record_skip;

/// A PostgreSQL server with an empty database.
#[derive(Debug)]
pub struct PostgresServer {
    programs: PathBuf,
    dir: PathBuf,
    port: u16,
    /// Whether commits reach the disk.
    is_durable: bool,
    child: Option<Child>,
}

impl PostgresServer {
    /// Starts a server. Records a skip if none is installed.
    ///
    /// # Panics
    ///
    /// If a server that is installed does not start.
    #[must_use]
    pub fn start() -> Option<Self> {
        Self::start_with(false)
    }

    /// Starts a server whose commits reach the disk, as [`start`](Self::start) does: for figures.
    ///
    /// # Panics
    ///
    /// If a server that is installed does not start.
    #[must_use]
    pub fn start_durable() -> Option<Self> {
        Self::start_with(true)
    }

    fn start_with(is_durable: bool) -> Option<Self> {
        let Some(programs) = find_postgres() else {
            record_skip("program:postgres", "`cargo xtask setup` installs it");
            return None;
        };
        let dir = std::env::temp_dir().join(format!(
            "haft-postgres-{}-{}",
            std::process::id(),
            free_port()
        ));
        let mut server = Self { programs, dir, port: free_port(), is_durable, child: None };
        server.create_database();
        server.run();
        Some(server)
    }

    /// The address of the database.
    #[must_use]
    pub fn url(&self) -> String {
        format!("postgres://haft@127.0.0.1:{}/postgres?sslmode=disable", self.port)
    }

    /// The address of the database for another role.
    #[must_use]
    pub fn url_of(&self, role: &str) -> String {
        self.url().replace("haft@", &format!("{role}@"))
    }

    /// Runs SQL as the owner of the database, and returns what it prints.
    ///
    /// # Panics
    ///
    /// If the server refuses it.
    #[must_use]
    #[expect(clippy::panic, reason = "a server that refuses the statement fails the test")]
    pub fn run_sql(&self, sql: &str) -> String {
        let mut psql = self.command("psql");
        psql.args(["-X", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-d", &self.url(), "-c", sql]);
        match psql.output() {
            Ok(output) if output.status.success() => {
                String::from_utf8_lossy(&output.stdout).trim().to_owned()
            }
            failed => panic!("psql: {failed:?}"),
        }
    }

    /// Lets the role `ada` with the password `secret` connect, over TLS only and with SCRAM. Returns its address, and the
    /// certificate that a client has to trust. Records a skip if there is no `openssl`.
    ///
    /// # Panics
    ///
    /// If the server cannot be set up so.
    #[must_use]
    pub fn enable_tls(&mut self) -> Option<(String, PathBuf)> {
        if !crate::has_program("openssl") {
            return None;
        }
        let _ = self.run_sql("CREATE ROLE ada LOGIN SUPERUSER PASSWORD 'secret'");
        let mut shell = self.command_at(Path::new("/bin/sh"));
        let output = shell.args(["-ec", TLS_SCRIPT]).output();
        assert!(output.as_ref().is_ok_and(|it| it.status.success()), "openssl: {output:?}");
        self.restart();
        let url = format!("postgres://ada:secret@127.0.0.1:{}/postgres?sslmode=require", self.port);
        Some((url, self.dir.join("ca.crt")))
    }

    /// Stops the server at once, as a crash does, and starts it again.
    pub fn restart(&mut self) {
        self.stop();
        self.run();
    }

    #[expect(
        clippy::panic,
        reason = "a server that is installed and does not start fails the test"
    )]
    fn create_database(&self) {
        let created = fs::create_dir_all(&self.dir).and_then(|()| match is_root() {
            true => chown(&self.dir, Some(NOBODY), Some(NOBODY)),
            false => Ok(()),
        });
        let data = self.dir.join("data");
        let output = created.and_then(|()| {
            let mut initdb = self.command("initdb");
            initdb.arg("-D").arg(data);
            initdb.args(["-U", "haft", "--auth=trust", "-E", "UTF8", "--no-locale", "-N"]).output()
        });
        match output {
            Ok(output) if output.status.success() => {}
            failed => panic!("initdb: {failed:?}"),
        }
    }

    #[expect(
        clippy::panic,
        reason = "a server that is installed and does not start fails the test"
    )]
    fn run(&mut self) {
        let mut postgres = self.command("postgres");
        postgres.arg("-D").arg(self.dir.join("data")).arg("-k").arg(&self.dir);
        let fsync = if self.is_durable { "fsync=on" } else { "fsync=off" };
        postgres.args(["-h", "127.0.0.1", "-p", &self.port.to_string(), "-c", fsync]);
        let child = postgres.stdout(Stdio::null()).stderr(Stdio::null()).spawn();
        self.child = Some(child.unwrap_or_else(|error| panic!("postgres: {error}")));
        let ready = || {
            self.command("pg_isready")
                .args(["-q", "-h", "127.0.0.1", "-p", &self.port.to_string()])
                .status()
        };
        assert!(wait_until(|| ready().is_ok_and(|it| it.success())), "postgres does not start");
    }

    fn stop(&mut self) {
        let mut stop = self.command("pg_ctl");
        stop.arg("stop").arg("-D").arg(self.dir.join("data")).args(["-m", "immediate", "-w", "-s"]);
        let _ = stop.status();
        if let Some(mut child) = self.child.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }

    /// A program of the server, which refuses to be run by root.
    fn command(&self, name: &str) -> Command {
        self.command_at(&self.programs.join(name))
    }

    fn command_at(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command.current_dir(&self.dir).stdin(Stdio::null()).env("LC_ALL", "C");
        if is_root() {
            command.uid(NOBODY).gid(NOBODY);
        }
        command
    }
}

/// Makes a certificate of the server, signed by one of its own, and asks for it and for SCRAM.
const TLS_SCRIPT: &str = "
openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=authority -keyout ca.key -out ca.crt
openssl req -newkey rsa:2048 -nodes -subj /CN=server -keyout data/server.key -out server.csr
printf 'subjectAltName=IP:127.0.0.1\\nbasicConstraints=CA:FALSE\\n' > extensions
openssl x509 -req -in server.csr -CA ca.crt -CAkey ca.key -CAcreateserial -days 2 -extfile extensions -out data/server.crt
chmod 600 data/server.key
printf 'hostssl all ada 127.0.0.1/32 scram-sha-256\\nhost all ada all reject\\n' > hba
cat data/pg_hba.conf >> hba
cat hba > data/pg_hba.conf
printf 'ssl = on\\n' >> data/postgresql.conf
";

impl Drop for PostgresServer {
    fn drop(&mut self) {
        self.stop();
        let _ = fs::remove_dir_all(&self.dir);
    }
}

/// A server that speaks S3, with an empty bucket `bucket`.
#[derive(Debug)]
pub struct S3Server {
    child: Child,
    port: u16,
}

impl S3Server {
    /// Starts a server. Records a skip if none is installed.
    ///
    /// # Panics
    ///
    /// If a server that is installed does not start.
    #[must_use]
    #[expect(
        clippy::panic,
        reason = "a server that is installed and does not start fails the test"
    )]
    pub fn start() -> Option<Self> {
        let servers = crate::server("moto", "python/moto/server.py")?;
        let port = free_port();
        let mut command = Command::new("python3");
        command.args(["-m", "moto.server", "-H", "127.0.0.1", "-p", &port.to_string()]);
        command.env("PYTHONPATH", servers.join("python")).env("PYTHONDONTWRITEBYTECODE", "1");
        let child =
            command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
        let child = child.unwrap_or_else(|error| panic!("moto: {error}"));
        let server = Self { child, port };
        let has_bucket = || server.request("PUT", "/bucket").is_ok();
        assert!(wait_until(has_bucket), "moto does not start");
        Some(server)
    }

    /// The address of the server.
    #[must_use]
    pub fn endpoint(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// What the server responds to a request for a path, such as `/bucket?uploads`.
    ///
    /// # Errors
    ///
    /// The server cannot be reached, or refuses the request.
    pub fn get(&self, path: &str) -> io::Result<String> {
        self.request("GET", path)
    }

    fn request(&self, method: &str, path: &str) -> io::Result<String> {
        use std::io::{Read as _, Write as _};
        let mut stream = TcpStream::connect(("127.0.0.1", self.port))?;
        stream.set_read_timeout(Some(Duration::from_secs(5)))?;
        let request = format!(
            "{method} {path} HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nContent-Length: 0\r\nConnection: close\r\n\
             Authorization: AWS4-HMAC-SHA256 Credential=test/20260101/us-east-1/s3/aws4_request, \
             SignedHeaders=host, Signature=test\r\n\r\n",
            self.port
        );
        stream.write_all(request.as_bytes())?;
        let mut response = String::new();
        stream.read_to_string(&mut response)?;
        match response.starts_with("HTTP/1.1 200") {
            true => Ok(response),
            false => Err(io::Error::other(response)),
        }
    }
}

impl Drop for S3Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A Restate server without deployments.
#[derive(Debug)]
pub struct RestateServer {
    child: Child,
    dir: PathBuf,
    ingress: u16,
    admin: u16,
}

impl RestateServer {
    /// Starts a server. Records a skip if none is installed.
    ///
    /// # Panics
    ///
    /// If a server that is installed does not start.
    #[must_use]
    #[expect(
        clippy::panic,
        reason = "a server that is installed and does not start fails the test"
    )]
    pub fn start() -> Option<Self> {
        let system = if cfg!(target_os = "macos") { "darwin" } else { "linux" };
        let machine = if cfg!(target_arch = "aarch64") { "arm64" } else { "x64" };
        let package = format!("node_modules/@restatedev/restate-server-{system}-{machine}");
        let program = format!("{package}/bin/restate-server");
        let program = crate::server("restate", &program)?.join(program);
        let ingress = free_port();
        let admin = free_port();
        let dir =
            std::env::temp_dir().join(format!("haft-restate-{}-{ingress}", std::process::id()));
        let mut command = Command::new(program);
        command.arg("--base-dir").arg(&dir).args(["--bind-ip", "127.0.0.1", "--no-logo"]);
        command.env("RESTATE_DISABLE_TELEMETRY", "true").env("RESTATE_LISTEN_MODE", "tcp");
        command.env("RESTATE_BIND_PORT", free_port().to_string());
        command.env("RESTATE_INGRESS__BIND_PORT", ingress.to_string());
        command.env("RESTATE_ADMIN__BIND_PORT", admin.to_string());
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let child = command.spawn().unwrap_or_else(|error| panic!("restate-server: {error}"));
        let server = Self { child, dir, ingress, admin };
        let is_ready = || {
            let ports = [server.ingress, server.admin];
            ports.iter().all(|port| TcpStream::connect(("127.0.0.1", *port)).is_ok())
        };
        assert!(wait_until(is_ready), "restate-server does not start");
        Some(server)
    }

    /// The address at which handlers are called.
    #[must_use]
    pub fn ingress(&self) -> String {
        format!("http://127.0.0.1:{}", self.ingress)
    }

    /// The address at which deployments are registered.
    #[must_use]
    pub fn admin(&self) -> String {
        format!("http://127.0.0.1:{}", self.admin)
    }
}

impl Drop for RestateServer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = fs::remove_dir_all(&self.dir);
    }
}

/// The directory with the programs of the newest PostgreSQL.
fn find_postgres() -> Option<PathBuf> {
    let of_debian = fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let mut found: Vec<PathBuf> = of_debian.map(|entry| entry.path().join("bin")).collect();
    found.sort();
    let path = std::env::var_os("PATH").unwrap_or_default();
    found.splice(0..0, std::env::split_paths(&path));
    let has_programs = |dir: &PathBuf| {
        ["initdb", "postgres", "pg_ctl", "pg_isready"].iter().all(|it| dir.join(it).is_file())
    };
    found.into_iter().rfind(has_programs)
}

fn is_root() -> bool {
    use std::os::unix::fs::MetadataExt as _;
    fs::metadata(Path::new("/proc/self")).is_ok_and(|it| it.uid() == 0)
}

/// A port that nothing listens on.
#[expect(clippy::panic, reason = "a machine without a free port runs no test")]
fn free_port() -> u16 {
    let bound = TcpListener::bind(("127.0.0.1", 0)).and_then(|it| it.local_addr());
    bound.unwrap_or_else(|error| panic!("no port is free: {error}")).port()
}

/// Asks for a minute, twenty times a second.
fn wait_until(mut is_ready: impl FnMut() -> bool) -> bool {
    (0..1200).any(|_| {
        let ready = is_ready();
        if !ready {
            std::thread::sleep(Duration::from_millis(50));
        }
        ready
    })
}

/// The user and the group that own nothing.
const NOBODY: u32 = 65534;
