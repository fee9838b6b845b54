//! The archive in a Debian that has nothing but its base system: no compiler, no certificates, no Python.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::setup::succeed;

/// The release of Debian, and the directory below `target/dist`.
const RELEASE: &str = "bookworm";
const DIRECTORY: &str = "debian-12";

/// What a newcomer types first. Each command must succeed.
const COMMANDS: &str = "
tar -xzf /archive.tar.gz -C /opt --strip-components=1
export PATH=/opt:/usr/bin:/bin
cd /root
haft --version
haft new hello
haft check hello
haft run hello
haft show last
haft test hello
echo '{\"a\": [1, 2]}' > some.json
haft artifact query some.json '$.a[1]'
";

/// Runs the archive in the bare system, or says why that cannot be done here.
pub(super) fn try_archive(root: &Path, archive: &Path) -> io::Result<()> {
    if let Some(reason) = obstacle() {
        println!("left out: a run in a bare Debian 12: {reason}");
        return Ok(());
    }
    let system = install(root)?;
    for dir in ["root", "opt", "tmp"] {
        let dir = system.join(dir);
        fs::remove_dir_all(&dir)?;
        fs::create_dir(&dir)?;
    }
    fs::copy(archive, system.join("archive.tar.gz"))?;
    // The process sees itself in `/proc`, and nothing of it stays mounted.
    let enter = "mount -t proc proc \"$0/proc\" && exec chroot \"$0\" /usr/bin/env -i HOME=/root sh -ec \"$1\"";
    let mut unshare = Command::new("unshare");
    unshare.args(["--mount", "--pid", "--net", "--fork", "sh", "-c", enter]);
    succeed(unshare.arg(&system).arg(COMMANDS))?;
    println!("ran in a bare Debian 12");
    Ok(())
}

/// Why the bare system cannot be made or entered on this machine.
fn obstacle() -> Option<&'static str> {
    let ask = |args: &[&str]| {
        let [name, args @ ..] = args else { return false };
        let mut command = Command::new(name);
        command.args(args).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command.status().is_ok_and(|it| it.success())
    };
    if !cfg!(target_os = "linux") {
        return Some("this is not Linux");
    }
    if !ask(&["debootstrap", "--version"]) {
        return Some("debootstrap is not installed");
    }
    if !ask(&["unshare", "--mount", "--pid", "--net", "--fork", "true"]) {
        return Some("only root may make device files and change the root directory");
    }
    None
}

/// Installs the base system once.
fn install(root: &Path) -> io::Result<PathBuf> {
    let dir = super::dist(root).join(DIRECTORY);
    if dir.is_dir() {
        return Ok(dir);
    }
    println!("installing {}; this is done once", dir.display());
    // A run that was interrupted leaves a directory of another name.
    let partial = dir.with_extension("partial");
    super::remove_dir(&partial)?;
    let mut debootstrap = Command::new("debootstrap");
    debootstrap.args(["--variant=minbase", RELEASE]).arg(&partial).stdout(Stdio::null());
    succeed(&mut debootstrap)?;
    fs::rename(&partial, &dir)?;
    Ok(dir)
}
