//! Runs a variant as a process, and says how long it took and how much memory it had.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use super::job::{self, Job, Report};

/// One way of doing the work.
#[derive(Debug)]
pub(crate) struct Variant {
    pub(crate) name: &'static str,
    pub(crate) work: Work,
    /// Whether its answer must be that of the others.
    pub(crate) compared: bool,
}

/// What is run.
#[derive(Debug)]
pub(crate) enum Work {
    /// This binary.
    Ours(Job),
    /// A peer; its answer is made of what it prints.
    Program { program: &'static str, args: Vec<OsString>, answer: fn(&str) -> String },
}

impl Variant {
    pub(crate) fn ours(name: &'static str, job: Job) -> Self {
        Self { name, work: Work::Ours(job), compared: true }
    }

    pub(crate) fn program(
        name: &'static str,
        program: &'static str,
        args: impl IntoIterator<Item = impl Into<OsString>>,
        answer: fn(&str) -> String,
    ) -> Self {
        let args = args.into_iter().map(Into::into).collect();
        Self { name, work: Work::Program { program, args, answer }, compared: true }
    }

    /// The same variant, whose answer says nothing.
    pub(crate) fn unanswered(self) -> Self {
        Self { compared: false, ..self }
    }
}

/// Which time counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Clock {
    /// From start to end of the process.
    Process,
    /// What our side takes inside of its process; a program's is still that of its process.
    Inside,
}

/// One run of a variant.
#[derive(Debug)]
pub(crate) struct Measured {
    process: Duration,
    inside: Option<f64>,
    pub(crate) answer: String,
    pub(crate) peak_kib: Option<u64>,
}

impl Measured {
    pub(crate) fn seconds(&self, clock: Clock) -> f64 {
        let process = self.process.as_secs_f64();
        if clock == Clock::Inside { self.inside.unwrap_or(process) } else { process }
    }
}

/// Runs variants.
#[derive(Debug)]
pub(crate) struct Runner {
    this: PathBuf,
    /// Where they print to: a file, because some stop early when nobody can see what they print.
    output: PathBuf,
}

impl Runner {
    pub(crate) fn new(folder: &Path) -> Result<Self, String> {
        let this = std::env::current_exe().map_err(|error| error.to_string())?;
        Ok(Self { this, output: folder.join("output") })
    }

    /// Runs a variant and looks at its memory all the while; nothing if it is not installed.
    pub(crate) fn watch(&self, variant: &Variant) -> Result<Option<Measured>, String> {
        self.run(variant, |child| {
            let mut peak = None;
            while !matches!(child.try_wait(), Ok(Some(_)) | Err(_)) {
                peak = job::peak_kib(&child.id().to_string()).max(peak);
                thread::sleep(Duration::from_micros(200));
            }
            peak
        })
    }

    /// Runs a variant undisturbed; nothing if it is not installed.
    pub(crate) fn time(&self, variant: &Variant) -> Result<Option<Measured>, String> {
        self.run(variant, |_| None)
    }

    fn run(
        &self,
        variant: &Variant,
        watch: impl FnOnce(&mut Child) -> Option<u64>,
    ) -> Result<Option<Measured>, String> {
        let text = |error: std::io::Error| error.to_string();
        let mut command = match &variant.work {
            Work::Ours(job) => {
                let mut command = Command::new(&self.this);
                command.arg(job::COMMAND).arg(job.to_text());
                command
            }
            Work::Program { program, args, .. } => {
                let mut command = Command::new(program);
                command.args(args).env("LC_ALL", "C").env_remove("RIPGREP_CONFIG_PATH");
                command
            }
        };
        command.stdin(Stdio::null()).stdout(File::create(&self.output).map_err(text)?);
        command.stderr(Stdio::piped());
        let start = now();
        let mut child = match command.spawn() {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            child => child.map_err(text)?,
        };
        let peak_kib = watch(&mut child);
        let ended = child.wait_with_output().map_err(text)?;
        let process = start.elapsed();
        let complaint = String::from_utf8_lossy(&ended.stderr);
        if complaint.contains(MISSING) {
            return Ok(None);
        }
        // A search that finds nothing ends with 1.
        if !matches!(ended.status.code(), Some(0 | 1)) {
            return Err(format!("{}: {}", ended.status, complaint.trim()));
        }
        let output = fs::read(&self.output).map_err(text)?;
        let output = String::from_utf8_lossy(&output);
        Ok(Some(match &variant.work {
            Work::Ours(_) => {
                let report = Report::parse(&output).ok_or_else(|| complaint.trim().to_owned())?;
                let Report { seconds, answer, peak_kib } = report;
                Measured { process, inside: Some(seconds), answer, peak_kib }
            }
            Work::Program { answer, .. } => {
                Measured { process, inside: None, answer: answer(&output), peak_kib }
            }
        }))
    }
}

/// What a script says to tell that something it needs is not installed.
pub(crate) const MISSING: &str = "haft-bench: not installed";

#[expect(clippy::disallowed_methods, reason = "measuring is what this program is for")]
pub(crate) fn now() -> Instant {
    Instant::now()
}
