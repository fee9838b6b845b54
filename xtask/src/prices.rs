//! The table of the prices of models, made from the data of a Python package.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use crate::setup::{pip, succeed};

/// Where the table is.
const TABLE: &str = "crates/haft/src/turn/prices/table.txt";

/// The program that prints the table.
const PROGRAM: &str = include_str!("prices.py");

/// Downloads the package and writes the table.
pub(crate) fn write(root: &Path) -> ExitCode {
    match download(root).and_then(|(dir, version)| print_table(&dir, &version)) {
        Ok(table) => match fs::write(root.join(TABLE), &table) {
            Ok(()) => {
                println!("wrote {TABLE}: {} lines", table.lines().count());
                ExitCode::SUCCESS
            }
            Err(error) => fail(&format!("cannot write {TABLE}: {error}")),
        },
        Err(error) => fail(&error.to_string()),
    }
}

fn fail(error: &str) -> ExitCode {
    eprintln!("error: {error}");
    ExitCode::FAILURE
}

/// Downloads and unpacks the package. Returns its directory and its version.
fn download(root: &Path) -> io::Result<(PathBuf, String)> {
    let list = root.join("xtask/registry/prices.txt");
    let text = fs::read_to_string(&list)?;
    let pinned = text.lines().find_map(|line| line.strip_prefix("genai-prices=="));
    let version = pinned.and_then(|it| it.split_whitespace().next());
    let version = version.ok_or_else(|| io::Error::other("prices.txt names no version"))?;
    let dir = root.join("target/prices").join(version);
    fs::create_dir_all(&dir)?;
    let mut pip = pip("download");
    pip.args(["--only-binary", ":all:", "--dest"]).arg(&dir);
    succeed(pip.arg("--requirement").arg(&list))?;
    let wheel = dir.join(format!("genai_prices-{version}-py3-none-any.whl"));
    let mut unpack = Command::new("python3");
    succeed(unpack.args(["-m", "zipfile", "--extract"]).arg(wheel).arg(&dir))?;
    Ok((dir, version.to_owned()))
}

fn print_table(dir: &Path, version: &str) -> io::Result<String> {
    let mut python = Command::new("python3");
    let output = python.args(["-c", PROGRAM]).arg(dir).arg(version).output()?;
    if !output.status.success() {
        return Err(io::Error::other(String::from_utf8_lossy(&output.stderr).into_owned()));
    }
    String::from_utf8(output.stdout).map_err(io::Error::other)
}
