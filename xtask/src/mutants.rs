//! `cargo xtask mutants`: changes the code in small ways, and lists the changes that no test notices.
//!
//! The mutants are those of the code that promises are made of: tools, registry, calls, gates, trust and schemas of the
//! core, and the machine of turns. A sample of them is drawn with a seed, so that a run can be repeated; `--list` prints
//! it. At least nine in ten mutants that compile have to be caught.

use std::collections::BTreeSet;
use std::io;
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};

use crate::tools;

/// What is changed, and the tests that must notice it.
const AREAS: [Area; 2] = [
    Area {
        package: "haft-core",
        sources: &[
            "crates/haft-core/src/tool/**",
            "crates/haft-core/src/tool.rs",
            "crates/haft-core/src/call/**",
            "crates/haft-core/src/call.rs",
            "crates/haft-core/src/gate/**",
            "crates/haft-core/src/gate.rs",
            "crates/haft-core/src/trust/**",
            "crates/haft-core/src/trust.rs",
            "crates/haft-core/src/schema/**",
            "crates/haft-core/src/schema.rs",
        ],
        // The tests of the crate build fast and catch most; the others are tried with what they missed.
        tests: &[
            ("haft-core", "all()"),
            ("haft", "test(/turn::|tool|artifacts|agreement|derive|providers::hostile/)"),
        ],
    },
    Area {
        package: "haft",
        sources: &["crates/haft/src/turn/machine/**", "crates/haft/src/turn/machine.rs"],
        tests: &[("haft", "test(/turn/)")],
    },
];

struct Area {
    package: &'static str,
    sources: &'static [&'static str],
    /// Packages with tests, and the tests as nextest selects them, one after the other.
    tests: &'static [(&'static str, &'static str)],
}

/// How many mutants are tried, which ones, and whether they are only printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sample {
    pub(crate) count: usize,
    pub(crate) seed: u64,
    pub(crate) lists: bool,
}

impl Sample {
    /// The sample of `cargo xtask soak`.
    pub(crate) const SOAK: Self = Self { count: 300, seed: 1, lists: false };

    /// Reads the options of the command.
    pub(crate) fn parse(args: &[&str]) -> Option<Self> {
        let mut sample = Self::SOAK;
        let mut args = args.iter();
        while let Some(arg) = args.next() {
            match *arg {
                "--sample" => sample.count = args.next()?.parse().ok()?,
                "--seed" => sample.seed = args.next()?.parse().ok()?,
                "--list" => sample.lists = true,
                _ => return None,
            }
        }
        Some(sample)
    }
}

/// Tries a sample of the mutants, and fails if too few of them are caught.
pub(crate) fn run(root: &Path, sample: Sample) -> ExitCode {
    match try_sample(root, sample) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn try_sample(root: &Path, sample: Sample) -> io::Result<bool> {
    let program = tools::MUTANTS.install()?;
    let mut all = Vec::new();
    for (index, area) in AREAS.iter().enumerate() {
        let mut command = Command::new(&program);
        command.current_dir(root).args(["mutants", "--list", "--package", area.package]);
        for source in area.sources {
            command.args(["--file", source]);
        }
        let output = command.stderr(Stdio::inherit()).output()?;
        let list = String::from_utf8_lossy(&output.stdout).into_owned();
        all.extend(list.lines().map(|name| (index, name.to_owned())));
    }
    let chosen = draw(&all, sample);
    println!("{} of {} mutants, seed {}", chosen.len(), all.len(), sample.seed);
    if sample.lists {
        chosen.iter().for_each(|(_, name)| println!("{name}"));
        return Ok(true);
    }
    let mut total = Tally::default();
    for (index, area) in AREAS.iter().enumerate() {
        let names: Vec<&str> =
            chosen.iter().filter(|(it, _)| *it == index).map(|(_, name)| name.as_str()).collect();
        if !names.is_empty() {
            total.add(&test_mutants(root, &program, area, &names)?);
        }
    }
    let (caught, viable) = (total.caught, total.caught + total.missed.len());
    println!("{caught} of {viable} mutants that compile were caught; missed:");
    total.missed.iter().for_each(|name| println!("  {name}"));
    Ok(caught * 10 >= viable * 9)
}

/// Runs the tests of an area against each of these mutants. What one package misses is tried with the next.
fn test_mutants(root: &Path, program: &Path, area: &Area, names: &[&str]) -> io::Result<Tally> {
    let mut total = Tally { caught: 0, missed: names.iter().map(|it| (*it).to_owned()).collect() };
    for tests in area.tests.iter().filter(|_| !names.is_empty()) {
        if total.missed.is_empty() {
            break;
        }
        let tally = run_stage(root, program, (area, tests), &total.missed)?;
        total = Tally { caught: total.caught + tally.caught, missed: tally.missed };
    }
    Ok(total)
}

/// Runs the tests of one package against each of these mutants.
fn run_stage(
    root: &Path,
    program: &Path,
    (area, (package, filter)): (&Area, &(&str, &str)),
    names: &[String],
) -> io::Result<Tally> {
    let output = root.join("target/mutants").join(format!("{}-{package}", area.package));
    std::fs::create_dir_all(&output)?;
    let mut command = Command::new(program);
    command.current_dir(root).args(["mutants", "--package", area.package, "--all-features"]);
    for source in area.sources {
        command.args(["--file", source]);
    }
    for name in names {
        command.arg("--re").arg(format!("^{}$", escape(name)));
    }
    command.args(["--test-package", package, "--test-tool=nextest", "--timeout=300"]);
    command.args(["--no-shuffle", "--colors=never", "--output"]).arg(&output);
    command.args(["--", "--filterset", filter]);
    // Its exit code says that mutants were missed, which the lists say as well.
    command.stdin(Stdio::null()).status()?;
    Tally::read(&output.join("mutants.out"), names)
}

/// What became of some mutants. Those that do not compile do not count.
#[derive(Debug, Default)]
struct Tally {
    caught: usize,
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
        let caught = lines("caught.txt")?.len() + lines("timeout.txt")?.len();
        Ok(Self { caught, missed: lines("missed.txt")? })
    }

    fn add(&mut self, other: &Self) {
        self.caught += other.caught;
        self.missed.extend(other.missed.iter().cloned());
    }
}

/// Draws mutants without repetition: those whose hashes with the seed are the smallest. A mutant that is added or removed
/// elsewhere changes the sample little.
fn draw(all: &[(usize, String)], sample: Sample) -> Vec<(usize, String)> {
    let mut hashed: BTreeSet<(u64, &(usize, String))> = BTreeSet::new();
    for mutant in all {
        // Without the line, which changes with every edit above it.
        let place: String =
            mutant.1.splitn(4, ':').enumerate().fold(String::new(), |text, (part, it)| {
                if part == 1 || part == 2 { text } else { text + it }
            });
        hashed.insert((hash(&place, sample.seed), mutant));
    }
    hashed.into_iter().take(sample.count).map(|(_, mutant)| mutant.clone()).collect()
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
    use super::{Sample, draw, escape};

    #[test]
    fn a_sample_is_the_same_for_a_seed_and_survives_edits_elsewhere() {
        let mutants = |line: usize| -> Vec<(usize, String)> {
            (0..100)
                .map(|n| (0, format!("src/a.rs:{}:9: replace f{n} with ()", n + line)))
                .collect()
        };
        let names = |line: usize, seed: u64| -> Vec<String> {
            let sample = Sample { count: 10, seed, ..Sample::SOAK };
            let drawn = draw(&mutants(line), sample);
            drawn.into_iter().map(|(_, name)| name.rsplit(':').next().unwrap().to_owned()).collect()
        };
        assert_eq!(names(1, 1).len(), 10);
        assert_eq!(names(1, 1), names(500, 1));
        assert_ne!(names(1, 1), names(1, 2));
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
        let sample = Sample { count: 40, seed: 7, lists: true };
        assert_eq!(Sample::parse(&["--sample", "40", "--seed", "7", "--list"]), Some(sample));
        assert_eq!(Sample::parse(&[]), Some(Sample::SOAK));
        assert_eq!(Sample::parse(&["--sample"]), None);
        assert_eq!(Sample::parse(&["--all"]), None);
    }
}
