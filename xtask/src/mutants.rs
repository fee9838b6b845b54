//! `cargo xtask mutants`: changes the code in small ways, and lists the changes that no test notices.
//!
//! The mutants are those of one part of the code. The core is what promises are made of: tools, registry, calls, gates,
//! trust and schemas, and the loop of turns. The edge (`--edge`) is what users and other programs meet: the MCP server,
//! the HTTP API, the command line, the dialects of model APIs, leases and prices.
//!
//! A sample of them is drawn with a seed, so that a run can be repeated; `--list` prints it, `--only gate` takes those of
//! one module, and `--skip 100 --sample 100` the second hundred, so that a sample can be tried in parts. The modules of the
//! edge have equal shares, because some of them are small. At least nine in ten mutants that compile have to be caught.

mod areas;

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};

use crate::tools;

pub(crate) use areas::Part;
use areas::{Area, Tests};

/// How many mutants are tried, which ones, and whether they are only printed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Sample {
    pub(crate) count: usize,
    /// How many mutants are left out that would come first.
    pub(crate) skipped: usize,
    pub(crate) seed: u64,
    pub(crate) lists: bool,
    /// The only module whose mutants are tried.
    pub(crate) only: Option<String>,
    pub(crate) part: Part,
}

impl Sample {
    /// The sample of `cargo xtask soak`.
    pub(crate) const SOAK: Self =
        Self { count: 300, skipped: 0, seed: 1, lists: false, only: None, part: Part::Core };

    /// Reads the options of the command.
    pub(crate) fn parse(args: &[&str]) -> Option<Self> {
        let mut sample = Self::SOAK;
        let mut args = args.iter();
        while let Some(arg) = args.next() {
            match *arg {
                "--sample" => sample.count = args.next()?.parse().ok()?,
                "--skip" => sample.skipped = args.next()?.parse().ok()?,
                "--seed" => sample.seed = args.next()?.parse().ok()?,
                "--list" => sample.lists = true,
                "--edge" => sample.part = Part::Edge,
                "--only" => sample.only = Some((*args.next()?).to_owned()),
                _ => return None,
            }
        }
        Some(sample)
    }
}

/// Tries a sample of the mutants, and fails if too few of them are caught.
pub(crate) fn run(root: &Path, sample: &Sample) -> ExitCode {
    match try_sample(root, sample) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn try_sample(root: &Path, sample: &Sample) -> io::Result<bool> {
    let program = tools::MUTANTS.install()?;
    let areas = areas::of(sample.part);
    let all = list_mutants(root, &program, areas, sample.only.as_deref())?;
    let chosen = draw(&all, sample);
    println!("{} of {} mutants, seed {}", chosen.len(), all.len(), sample.seed);
    if sample.lists {
        chosen.iter().for_each(|(_, name)| println!("{name}"));
        return Ok(true);
    }
    let mut total = Tally::default();
    for (index, area) in areas.iter().enumerate() {
        let names: Vec<&str> =
            chosen.iter().filter(|(it, _)| *it == index).map(|(_, name)| name.as_str()).collect();
        if !names.is_empty() {
            total.add(&test_mutants(root, &program, area, &names)?);
        }
    }
    total.print();
    Ok(total.caught.len() * 10 >= total.viable() * 9)
}

/// The mutants of all areas, or those of one module, with the indexes of their areas.
fn list_mutants(
    root: &Path,
    program: &Path,
    areas: &[Area],
    only: Option<&str>,
) -> io::Result<Vec<(usize, String)>> {
    let mut all = Vec::new();
    for (index, area) in areas.iter().enumerate() {
        let mut command = Command::new(program);
        command.current_dir(root).args(["mutants", "--list", "--package", area.package]);
        for source in area.sources {
            command.args(["--file", source]);
        }
        let output = command.stderr(Stdio::inherit()).output()?;
        let list = String::from_utf8_lossy(&output.stdout).into_owned();
        let chosen = list.lines().filter(|name| only.is_none_or(|it| module_of(name) == it));
        all.extend(chosen.map(|name| (index, name.to_owned())));
    }
    Ok(all)
}

/// The module that a mutant belongs to: `gate` for `crates/haft-core/src/gate/grant.rs:3:5: …`.
fn module_of(name: &str) -> &str {
    let path = name.split(':').next().unwrap_or_default();
    let path = path.split_once("/src/").map_or(path, |(_, path)| path);
    let path = path.strip_prefix("turn/").unwrap_or(path);
    path.split(['/', '.']).next().unwrap_or_default()
}

/// Runs the tests of an area against each of these mutants. What one package misses is tried with the next.
fn test_mutants(root: &Path, program: &Path, area: &Area, names: &[&str]) -> io::Result<Tally> {
    let missed = names.iter().map(|it| (*it).to_owned()).collect();
    let mut total = Tally { caught: Vec::new(), missed };
    for tests in area.tests {
        if total.missed.is_empty() {
            break;
        }
        let mut tally = run_stage(root, program, (area, tests), &total.missed)?;
        tally.caught.append(&mut total.caught);
        total = tally;
    }
    Ok(total)
}

/// Runs the tests of one package against each of these mutants.
fn run_stage(
    root: &Path,
    program: &Path,
    (area, Tests { packages, target, filter }): (&Area, &Tests),
    names: &[String],
) -> io::Result<Tally> {
    let stage = format!("{}-{}{}", area.package, packages.join("-"), target.concat());
    let output = root.join("target/mutants").join(stage);
    std::fs::create_dir_all(&output)?;
    let mut command = Command::new(program);
    command.current_dir(root).args(["mutants", "--package", area.package, "--all-features"]);
    // Shared by all stages, so that the dependencies are built once.
    command.env("CARGO_TARGET_DIR", root.join("target/mutants/build"));
    // A copy of the tree has no packages of others beside it, and tests that need them would be left out.
    if area.needs_packages {
        command.arg("--in-place");
    }
    // A test that fails has caught the mutant: neither the smallest example nor the other tests matter.
    command.env("PROPTEST_MAX_SHRINK_ITERS", "0");
    // Regular expressions do not select all kinds of mutants, files do.
    let sources: BTreeSet<&str> = names.iter().filter_map(|it| it.split(':').next()).collect();
    for source in sources {
        command.args(["--file", source]);
    }
    for name in names {
        command.arg("--re").arg(format!("^{}$", escape(name)));
    }
    command.args(packages.iter().map(|it| format!("--test-package={it}")));
    command.args(["--test-tool=nextest", "--timeout=300"]);
    command.args(["--no-shuffle", "--colors=never", "--output"]).arg(&output);
    // For building as well: other targets of the package would be built in vain.
    command.args(target.iter().map(|it| format!("--cargo-arg={it}")));
    command.arg("--").args(["--max-fail=1:immediate", "--ignore-default-filter"]);
    command.args(["--filterset", filter]);
    // Its exit code says that mutants were missed, which the lists say as well.
    command.stdin(Stdio::null()).status()?;
    Tally::read(&output.join("mutants.out"), names)
}

/// What became of some mutants. Those that do not compile do not count.
#[derive(Debug, Default)]
struct Tally {
    caught: Vec<String>,
    missed: Vec<String>,
}

impl Tally {
    /// Reads what cargo-mutants wrote about the mutants of these names. It adds some of its own to every selection.
    fn read(dir: &Path, names: &[String]) -> io::Result<Self> {
        let lines = |file: &str| -> io::Result<Vec<String>> {
            let text = std::fs::read_to_string(dir.join(file))?;
            let chosen = text.lines().filter(|line| names.iter().any(|name| name == line));
            Ok(chosen.map(str::to_owned).collect())
        };
        // A test that never ends has noticed the change.
        let mut caught = lines("caught.txt")?;
        caught.append(&mut lines("timeout.txt")?);
        Ok(Self { caught, missed: lines("missed.txt")? })
    }

    fn add(&mut self, other: &Self) {
        self.caught.extend(other.caught.iter().cloned());
        self.missed.extend(other.missed.iter().cloned());
    }

    /// How many mutants compile.
    fn viable(&self) -> usize {
        self.caught.len() + self.missed.len()
    }

    fn print(&self) {
        let mut modules: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
        for (names, is_caught) in [(&self.caught, 1), (&self.missed, 0)] {
            for name in names {
                let (caught, viable) = modules.entry(module_of(name)).or_default();
                (*caught, *viable) = (*caught + is_caught, *viable + 1);
            }
        }
        for (module, (caught, viable)) in modules {
            println!("{module}: {caught} of {viable}");
        }
        let caught = self.caught.len();
        let viable = self.viable();
        println!("{caught} of {viable} mutants that compile were caught; missed:");
        self.missed.iter().for_each(|name| println!("  {name}"));
    }
}

/// Draws mutants without repetition: those whose hashes with the seed are the smallest. A mutant that is added or removed
/// elsewhere changes the sample little. At the edge, the first of every module come before the second of any.
fn draw(all: &[(usize, String)], sample: &Sample) -> Vec<(usize, String)> {
    let mut hashed: BTreeSet<(u64, &(usize, String))> = BTreeSet::new();
    for mutant in all {
        // Without the line, which changes with every edit above it.
        let place: String =
            mutant.1.splitn(4, ':').enumerate().fold(String::new(), |text, (part, it)| {
                if part == 1 || part == 2 { text } else { text + it }
            });
        hashed.insert((hash(&place, sample.seed), mutant));
    }
    let mut drawn: Vec<&(usize, String)> = hashed.into_iter().map(|(_, mutant)| mutant).collect();
    if sample.part == Part::Edge {
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        drawn.sort_by_cached_key(|(_, name)| {
            let rank = counts.entry(module_of(name)).or_default();
            *rank += 1;
            *rank
        });
    }
    drawn.into_iter().skip(sample.skipped).take(sample.count).cloned().collect()
}

/// FNV-1a, which is the same in every version of the compiler.
fn hash(text: &str, seed: u64) -> u64 {
    let start = 0xcbf2_9ce4_8422_2325 ^ seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    text.bytes().fold(start, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3))
}

/// Escapes what means something in a regular expression.
fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        if r"\.+*?()|[]{}^$#&-~".contains(character) {
            escaped.push('\\');
        }
        escaped.push(character);
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::{Part, Sample, draw, escape, module_of};

    #[test]
    fn a_sample_is_the_same_for_a_seed_and_survives_edits_elsewhere() {
        let mutants = |line: usize| -> Vec<(usize, String)> {
            (0..100)
                .map(|n| (0, format!("src/a.rs:{}:9: replace f{n} with ()", n + line)))
                .collect()
        };
        let names = |line: usize, seed: u64| -> Vec<String> {
            let sample = Sample { count: 10, seed, ..Sample::SOAK };
            let drawn = draw(&mutants(line), &sample);
            drawn.into_iter().map(|(_, name)| name.rsplit(':').next().unwrap().to_owned()).collect()
        };
        assert_eq!(names(1, 1).len(), 10);
        assert_eq!(names(1, 1), names(500, 1));
        assert_ne!(names(1, 1), names(1, 2));
        let part = |skipped, count| draw(&mutants(1), &Sample { count, skipped, ..Sample::SOAK });
        assert_eq!([part(0, 4), part(4, 6)].concat(), part(0, 10));
    }

    #[test]
    fn the_modules_of_the_edge_have_equal_shares() {
        let mutants = |module: &str, count: usize| -> Vec<(usize, String)> {
            let name = |n| format!("crates/a/src/{module}.rs:{n}:9: replace f{n} with ()");
            (0..count).map(|n| (0, name(n))).collect()
        };
        let all = [mutants("large", 1000), mutants("small", 5), mutants("tiny", 1)].concat();
        let sample = Sample { count: 10, part: Part::Edge, ..Sample::SOAK };
        let drawn = draw(&all, &sample);
        let count = |module| drawn.iter().filter(|(_, it)| module_of(it) == module).count();
        assert_eq!(["large", "small", "tiny"].map(count), [5, 4, 1]);
    }

    #[test]
    fn names_are_matched_to_the_letter() {
        assert_eq!(
            escape("a.rs:1:2: replace f -> Vec<u8> with vec![]"),
            r"a\.rs:1:2: replace f \-> Vec<u8> with vec!\[\]"
        );
    }

    #[test]
    fn options_are_read() {
        let only = Some("gate".to_owned());
        let part = Part::Core;
        let sample = Sample { count: 40, skipped: 3, seed: 7, lists: true, only, part };
        let args = ["--sample", "40", "--skip", "3", "--seed", "7", "--list", "--only", "gate"];
        assert_eq!(Sample::parse(&args), Some(sample));
        let edge = Sample { part: Part::Edge, ..Sample::SOAK };
        assert_eq!(Sample::parse(&["--edge"]), Some(edge));
        assert_eq!(Sample::parse(&[]), Some(Sample::SOAK));
        assert_eq!(Sample::parse(&["--sample"]), None);
        assert_eq!(Sample::parse(&["--all"]), None);
    }

    #[test]
    fn mutants_belong_to_modules() {
        for (name, module) in [
            ("crates/haft-core/src/gate/grant.rs:3:5: replace a with b", "gate"),
            ("crates/haft-core/src/trust.rs:3:5: replace a with b", "trust"),
            ("crates/haft/src/turn/log/stored.rs:3:5: replace a with b", "log"),
            ("crates/haft-mcp/src/server/definitions.rs:3:5: replace a with b", "server"),
            ("crates/haft-server/src/error.rs:3:5: replace a with b", "error"),
        ] {
            assert_eq!(module_of(name), module);
        }
    }
}
