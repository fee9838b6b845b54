//! `cargo xtask dist`: builds the archive of a release for this machine, below `target/dist`.
//!
//! The archive has the stripped binary, manual pages, completions, licences and the README. On Linux
//! the binary is linked against [`GLIBC`] by the C compiler of the package `ziglang`, so that it runs on systems older
//! than the one that builds it, and then it is run in a Debian that has nothing else ([`bare_root`]).

mod bare_root;
mod glibc;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use crate::ci::command;
use crate::setup::{pip, succeed};

/// The oldest glibc that the binary runs with: that of Debian 10 and RHEL 8.
const GLIBC: (u32, u32) = (2, 28);

const SHELLS: [&str; 5] = ["bash", "elvish", "fish", "powershell", "zsh"];

/// Which features the binary has.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Edition {
    /// Everything for one machine.
    Default,
    /// Also what several machines share.
    Cluster,
}

impl Edition {
    const fn features(self) -> &'static [&'static str] {
        match self {
            Self::Default => &[],
            Self::Cluster => &["--features", "cluster"],
        }
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Default => "haft",
            Self::Cluster => "haft-cluster",
        }
    }
}

/// Builds and checks the archive.
pub(crate) fn run(root: &Path, edition: Edition) -> ExitCode {
    match make(root, edition) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

/// The binary as [`run`] unpacks it from its archive.
pub(crate) fn unpacked_program(root: &Path, edition: Edition) -> io::Result<PathBuf> {
    Ok(unpacked(root).join(archive_name(root, edition)?).join("haft"))
}

fn make(root: &Path, edition: Edition) -> io::Result<()> {
    let name = archive_name(root, edition)?;
    let program = build(root, edition)?;
    if cfg!(target_os = "linux") {
        let highest = glibc::check(&fs::read(&program)?, GLIBC)?;
        println!("needs glibc {}.{}", highest.0, highest.1);
    }
    let archive = pack(root, &name, &program)?;
    unpack(root, &archive)?;
    let program = unpacked_program(root, edition)?;
    let bytes = fs::metadata(&program)?.len();
    let packed = fs::metadata(&archive)?.len();
    println!("{}: {packed} bytes, the binary {bytes} bytes", archive.display());
    bare_root::try_archive(root, &archive)
}

fn dist(root: &Path) -> PathBuf {
    root.join("target/dist")
}

fn unpacked(root: &Path) -> PathBuf {
    dist(root).join("unpacked")
}

/// `haft-VERSION-TARGET`: what `cargo binstall` looks for.
fn archive_name(root: &Path, edition: Edition) -> io::Result<String> {
    let manifest = fs::read_to_string(root.join("Cargo.toml"))?;
    let version = manifest.lines().find_map(|line| line.strip_prefix("version = \""));
    let version = version.and_then(|it| it.strip_suffix('"'));
    let version = version.ok_or_else(|| io::Error::other("Cargo.toml names no version"))?;
    Ok(format!("{}-{version}-{}", edition.name(), target()?))
}

/// The target of the compiler in use: archives are made for the machine that can run them.
fn target() -> io::Result<String> {
    let output = Command::new("rustc").arg("-vV").output()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let target = text.lines().find_map(|line| line.strip_prefix("host: "));
    target.map(str::to_owned).ok_or_else(|| io::Error::other("`rustc -vV` names no host"))
}

/// Builds the binary and returns its path.
fn build(root: &Path, edition: Edition) -> io::Result<PathBuf> {
    let target = target()?;
    let mut cargo = command("cargo");
    if cfg!(target_os = "linux") {
        let tools = install_linker(root)?;
        // The linker is chosen by `cargo zigbuild`, which cargo finds on the path.
        let path = std::env::var_os("PATH").unwrap_or_default();
        let path = std::iter::once(tools.join("bin")).chain(std::env::split_paths(&path));
        let path = std::env::join_paths(path).map_err(io::Error::other)?;
        let zig = tools.join("ziglang/zig");
        cargo.env("PATH", path).env("CARGO_ZIGBUILD_ZIG_PATH", zig);
        let (major, minor) = GLIBC;
        cargo.args(["zigbuild", "--target", &format!("{target}.{major}.{minor}")]);
    } else {
        cargo.args(["build", "--target", &target]);
    }
    cargo.args(["--release", "--locked", "--package", "haft-cli"]);
    cargo.args(edition.features());
    succeed(&mut cargo)?;
    Ok(root.join("target").join(target).join("release/haft"))
}

/// Installs the C compiler from its package, each file held to its hash, and returns the directory.
fn install_linker(root: &Path) -> io::Result<PathBuf> {
    let list = root.join("xtask/registry/dist.txt");
    let dir = dist(root).join("tools");
    crate::setup::once(&dir, "dist", &list, || {
        let mut pip = pip("install");
        pip.args(["--only-binary", ":all:", "--upgrade", "--target"]).arg(&dir);
        succeed(pip.arg("--requirement").arg(&list))
    })?;
    Ok(dir)
}

/// Writes the archive and its checksum.
fn pack(root: &Path, name: &str, program: &Path) -> io::Result<PathBuf> {
    let staging = dist(root).join("staging");
    remove_dir(&staging)?;
    let dir = staging.join(name);
    fs::create_dir_all(dir.join("completions"))?;
    for file in ["README.md", "LICENSE-MIT", "LICENSE-APACHE"] {
        fs::copy(root.join(file), dir.join(file))?;
    }
    let haft = dir.join("haft");
    fs::copy(program, &haft)?;
    for shell in SHELLS {
        let output = Command::new(&haft).args(["completions", shell]).output()?;
        if !output.status.success() {
            return Err(io::Error::other(format!("`haft completions {shell}` failed")));
        }
        fs::write(dir.join("completions").join(format!("haft.{shell}")), output.stdout)?;
    }
    succeed(Command::new(&haft).args(["man", "--dir"]).arg(dir.join("man")))?;
    let archive = dist(root).join(format!("{name}.tar.gz"));
    let mut tar = Command::new("tar");
    tar.arg("--directory").arg(&staging).arg("-czf").arg(&archive);
    succeed(tar.arg(name))?;
    write_checksum(root, name)?;
    Ok(archive)
}

/// Writes the checksum next to the archive, as `sha256sum --check` reads it.
fn write_checksum(root: &Path, name: &str) -> io::Result<()> {
    let archive = format!("{name}.tar.gz");
    let mut sum = match cfg!(target_os = "macos") {
        true => {
            let mut shasum = Command::new("shasum");
            shasum.args(["-a", "256"]);
            shasum
        }
        false => Command::new("sha256sum"),
    };
    let output = sum.current_dir(dist(root)).arg(&archive).output()?;
    if !output.status.success() {
        return Err(io::Error::other(String::from_utf8_lossy(&output.stderr).into_owned()));
    }
    fs::write(dist(root).join(format!("{archive}.sha256")), output.stdout)
}

/// Unpacks the archive, so that what is tried is what users get.
fn unpack(root: &Path, archive: &Path) -> io::Result<()> {
    let dir = unpacked(root);
    remove_dir(&dir)?;
    fs::create_dir_all(&dir)?;
    let mut tar = Command::new("tar");
    succeed(tar.arg("--directory").arg(dir).arg("-xzf").arg(archive))
}

fn remove_dir(dir: &Path) -> io::Result<()> {
    match fs::remove_dir_all(dir) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}
