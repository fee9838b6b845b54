//! Programs as tools.

use std::collections::{BTreeMap, VecDeque};
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::process::{ExitStatus, Stdio};
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use futures_core::Stream;
use haft::artifact::ArtifactKind;
use haft::tool::{ByteStream, Effect};
use haft::{Args, Tool, ToolFailure, ToolOutput, schema};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncReadExt as _, ReadBuf};
use tokio::process::{Child, ChildStdout, Command};

use super::medium::Medium;
use super::place::Fault;
use super::schema::Argument;

/// A program that the model may run. There is no shell: the words of `argv` are the words of the program, and a
/// value never becomes more than one of them.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct CommandTool {
    /// What the model reads when it chooses: what the tool does, and what it returns.
    description: String,
    /// The program and its arguments. `{name}` stands for an argument of the call.
    argv: Vec<String>,
    /// The arguments of a call, by their names.
    #[serde(default)]
    args: BTreeMap<String, Argument>,
    /// The folder to run in; the agent's if not said.
    folder: Option<PathBuf>,
    /// The variables of the environment that the program sees, beside `PATH`.
    #[serde(default)]
    env: Vec<String>,
    /// How long it may run, in seconds; 60 if not said.
    #[serde(default = "minute")]
    timeout: u64,
    /// What running it does to the world, which decides what may be repeated after a crash.
    #[serde(default)]
    effect: EffectWord,
    /// How its output is read: `text`, `json`, `jsonl`, `ndjson`, `json5`, `markdown`, `csv`, `yaml`
    /// or `xml`; `text` if not said.
    artifact: Option<String>,
    /// What its output is if it is no text: a MIME type such as `image/png`. The model is shown the picture, the
    /// sound or the document then.
    media: Option<String>,
    /// The question that somebody has to say yes to before each run.
    approval: Option<String>,
}

fn minute() -> u64 {
    60
}

/// What calling a tool does to the world.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(super) enum EffectWord {
    /// It changes nothing.
    ReadOnly,
    /// It may be repeated.
    Idempotent,
    /// It must not be repeated.
    #[default]
    Once,
}

impl From<EffectWord> for Effect {
    fn from(word: EffectWord) -> Self {
        match word {
            EffectWord::ReadOnly => Self::ReadOnly,
            EffectWord::Idempotent => Self::Idempotent,
            EffectWord::Once => Self::Once,
        }
    }
}

impl CommandTool {
    /// The tool of this name.
    pub(super) fn build(&self, name: &str, folder: &Path) -> Result<Tool, Fault> {
        let program = Arc::new(self.program(folder)?);
        let medium = self.medium(name)?.map(Arc::new);
        let mut tool = Tool::builder(name)
            .description(&self.description)
            .input(input(&self.args)?)
            .artifact(artifact(self.artifact.as_deref())?)
            .effect(self.effect.into())
            .timeout(seconds(self.timeout)?)
            .handler(move |args: Args| {
                let (program, medium) = (Arc::clone(&program), medium.clone());
                async move {
                    let output = program.run(&args)?;
                    match medium {
                        Some(medium) => medium.made_of(output).await,
                        None => Ok(ToolOutput::Stream(output)),
                    }
                }
            });
        if let Some(question) = &self.approval {
            tool = tool.requires_approval(question);
        }
        tool.build().map_err(|error| refused(&error))
    }

    fn medium(&self, name: &str) -> Result<Option<Medium>, Fault> {
        let Some(mime) = &self.media else { return Ok(None) };
        if self.artifact.is_some() {
            let fault = Fault::at(["media"], "`media` and `artifact` exclude each other");
            return Err(fault.hint("keep one of them"));
        }
        Medium::new(name, mime).map(Some).map_err(|what| Fault::at(["media"], what))
    }

    fn program(&self, folder: &Path) -> Result<Program, Fault> {
        let wrong = |what: String| Fault::at(["argv"], what);
        if self.argv.iter().any(|word| word.contains('\0')) {
            return Err(wrong("a word cannot have a NUL character in it".to_owned()));
        }
        let words = self.argv.iter().map(|word| Word::parse(word, &self.args));
        let words: Vec<Word> = words.collect::<Result<_, _>>().map_err(wrong)?;
        let Some(Word::Fixed(program)) = words.first().filter(|it| !it.is_empty()) else {
            let fault = wrong("`argv` begins with the program, which is fixed".to_owned());
            return Err(fault.hint("such as argv = [\"ls\", \"-1\", \"{folder}\"]"));
        };
        Ok(Program {
            path: resolved(program, folder),
            words: words.into_iter().skip(1).collect(),
            folder: self.folder.as_ref().map_or_else(|| folder.to_owned(), |it| folder.join(it)),
            env: self.env.iter().cloned().chain(["PATH".to_owned()]).collect(),
        })
    }

    /// Whether it asks by itself.
    pub(super) const fn asks(&self) -> bool {
        self.approval.is_some()
    }

    /// What keeps it from running on this machine, if anything does.
    pub(super) fn missing(&self, folder: &Path) -> Option<Fault> {
        let program = self.program(folder).ok()?;
        if !program.folder.as_os_str().is_empty() && !program.folder.is_dir() {
            let what = format!("`{}` is no folder", program.folder.display());
            return Some(Fault::at(["folder"], what));
        }
        absent(&program.path).map(|what| Fault::at(["argv"], what).hint(INSTALL))
    }
}

/// A file as it is named from every folder: programs do not run where `haft` does.
pub(super) fn runnable(program: &Path) -> PathBuf {
    match program.components().count() {
        0 | 1 => program.to_owned(),
        _ => std::path::absolute(program).unwrap_or_else(|_| program.to_owned()),
    }
}

/// What to do about a program that is not there.
pub(super) const INSTALL: &str = "install it, or name another";

/// What is said of a program that is not there.
pub(super) fn absent(program: &Path) -> Option<String> {
    let shown = program.display();
    if program.components().count() > 1 {
        return (!executable(program)).then(|| format!("`{shown}` is no program"));
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path).any(|it| executable(&it.join(program)));
    (!found).then(|| format!("no program is called `{shown}`"))
}

fn executable(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::metadata(path).is_ok_and(|it| it.is_file() && it.permissions().mode() & 0o111 != 0)
}

/// The schema of the arguments.
pub(super) fn input(args: &BTreeMap<String, Argument>) -> Result<schema::ObjectSchema, Fault> {
    let mut input = schema::object();
    for (name, rules) in args {
        let field = rules.field().map_err(|it| it.below(["args", name.as_str()]))?;
        input = input.field(name, field);
    }
    Ok(input)
}

/// The kind of artifact that a word means.
pub(super) fn artifact(word: Option<&str>) -> Result<ArtifactKind, Fault> {
    let Some(word) = word else { return Ok(ArtifactKind::TEXT) };
    let kind: Option<ArtifactKind> = word.parse().ok().filter(|it| KINDS.contains(it));
    kind.ok_or_else(|| {
        let fault = Fault::at(["artifact"], format!("`{word}` is no kind of artifact"));
        fault.known(word, KINDS.iter().map(ArtifactKind::as_str))
    })
}

/// How long a call may take.
pub(super) fn seconds(timeout: u64) -> Result<Duration, Fault> {
    match timeout {
        0 => Err(Fault::at(["timeout"], "nothing is done in no time").hint("say seconds")),
        _ => Ok(Duration::from_secs(timeout)),
    }
}

/// A tool that was refused, at the key that is wrong.
pub(super) fn refused(error: &haft::tool::InvalidTool) -> Fault {
    let Some(fault) = error.faults.first() else { return Fault::at([""; 0], error) };
    match fault.at.as_str() {
        "description" | "approval" => Fault::at([fault.at.as_str()], &fault.what),
        "name" => Fault::at([""; 0], &fault.what),
        at if at.starts_with("input.") => {
            let name = at.split('.').nth(1).unwrap_or_default();
            Fault::at(["args", name], &fault.what)
        }
        _ => Fault::at([""; 0], fault),
    }
}

/// What a result can be read as.
const KINDS: &[ArtifactKind] = &[
    ArtifactKind::TEXT,
    ArtifactKind::JSON,
    ArtifactKind::JSONL,
    ArtifactKind::NDJSON,
    ArtifactKind::JSON5,
    ArtifactKind::MARKDOWN,
    ArtifactKind::CSV,
    ArtifactKind::YAML,
    ArtifactKind::XML,
];

/// A program with a slash in its name is a file of the agent; any other is looked for where programs are.
pub(super) fn resolved(program: &str, folder: &Path) -> PathBuf {
    match program.contains('/') {
        true => folder.join(program),
        false => PathBuf::from(program),
    }
}

/// A word of the command line.
#[derive(Debug, PartialEq)]
enum Word {
    Fixed(String),
    /// Text and arguments. Left out if an argument is absent.
    Filled(Vec<Piece>),
}

#[derive(Debug, PartialEq)]
enum Piece {
    Text(String),
    Argument { name: String, allow_dash: bool },
}

impl Word {
    fn is_empty(&self) -> bool {
        matches!(self, Self::Fixed(word) if word.is_empty())
    }

    fn parse(word: &str, args: &BTreeMap<String, Argument>) -> Result<Self, String> {
        let mut pieces = Vec::new();
        let mut rest = word;
        while let Some((before, after)) = rest.split_once('{') {
            let Some((name, after)) = after.split_once('}') else {
                return Err(format!("`{word}` has a `{{` without its `}}`"));
            };
            let Some(argument) = args.get(name) else {
                return Err(format!("`{word}` names `{name}`, which is none of its `args`"));
            };
            if !before.is_empty() {
                pieces.push(Piece::Text(before.to_owned()));
            }
            pieces.push(Piece::Argument { name: name.to_owned(), allow_dash: argument.allow_dash });
            rest = after;
        }
        if pieces.is_empty() {
            return Ok(Self::Fixed(word.to_owned()));
        }
        if !rest.is_empty() {
            pieces.push(Piece::Text(rest.to_owned()));
        }
        Ok(Self::Filled(pieces))
    }

    /// The words that this one becomes: none if an argument is absent, several for a list.
    fn fill(&self, args: &Value) -> Result<Vec<String>, ToolFailure> {
        let pieces = match self {
            Self::Fixed(word) => return Ok(vec![word.clone()]),
            Self::Filled(pieces) => pieces,
        };
        if let [Piece::Argument { name, allow_dash }] = pieces.as_slice()
            && let Some(Value::Array(items)) = args.get(name)
        {
            return items.iter().map(|item| checked(name, text_of(item), *allow_dash)).collect();
        }
        let mut word = String::new();
        for piece in pieces {
            match piece {
                Piece::Text(text) => word.push_str(text),
                Piece::Argument { name, allow_dash } => {
                    let Some(value) = args.get(name).filter(|it| !it.is_null()) else {
                        return Ok(Vec::new());
                    };
                    let text = text_of(value);
                    // Behind other text a dash begins nothing.
                    word.push_str(&checked(name, text, *allow_dash || !word.is_empty())?);
                }
            }
        }
        Ok(vec![word])
    }
}

fn text_of(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// Refuses a value that the program would take for an option, or that cannot be a word.
fn checked(name: &str, text: String, allow_dash: bool) -> Result<String, ToolFailure> {
    if text.starts_with('-') && !allow_dash && text.parse::<f64>().is_err() {
        return Err(ToolFailure::new(format!("`{name}` must not begin with `-`")));
    }
    if text.contains('\0') {
        return Err(ToolFailure::new(format!("`{name}` must not contain a NUL character")));
    }
    Ok(text)
}

#[derive(Debug)]
struct Program {
    path: PathBuf,
    words: Vec<Word>,
    folder: PathBuf,
    env: Vec<String>,
}

/// How much of standard error is shown if the program fails, in bytes.
const SHOWN: usize = 4 * 1024;

impl Program {
    fn run(&self, args: &Args) -> Result<ByteStream, ToolFailure> {
        let args = args.to_value();
        let mut command = Command::new(runnable(&self.path));
        for word in &self.words {
            command.args(word.fill(&args)?);
        }
        command.current_dir(&self.folder).env_clear();
        for name in &self.env {
            if let Some(value) = std::env::var_os(name) {
                command.env(name, value);
            }
        }
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        // Whatever ends the call ends the program, and what the program started.
        command.kill_on_drop(true).process_group(0);
        let shown = self.path.display();
        let mut child = command
            .spawn()
            .map_err(|error| ToolFailure::new(format!("`{shown}` cannot be run: {error}")))?;
        let out = child.stdout.take();
        let mut err = child.stderr.take();
        let group = Group(child.id());
        let ended = async move {
            let mut tail = VecDeque::new();
            let mut buffer = [0; 1024];
            while let Some(err) = err.as_mut() {
                match err.read(&mut buffer).await {
                    Ok(0) | Err(_) => break,
                    Ok(read) => tail.extend(buffer.iter().take(read)),
                }
                tail.drain(..tail.len().saturating_sub(SHOWN));
            }
            let status = child.wait().await;
            let tail: Vec<u8> = tail.into();
            (child, status, String::from_utf8_lossy(&tail).into_owned())
        };
        let output = Output { out, ended: Some(Box::pin(ended)), over: None, _group: group };
        Ok(ByteStream::new(output))
    }
}

/// The processes that a program started, itself among them. They end with it.
#[derive(Debug)]
struct Group(Option<u32>);

impl Drop for Group {
    fn drop(&mut self) {
        let id = self.0.and_then(|id| i32::try_from(id).ok());
        if let Some(group) = id.and_then(rustix::process::Pid::from_raw) {
            // None may be left, which is an error of no interest.
            let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
        }
    }
}

type Ended = (Child, std::io::Result<ExitStatus>, String);

/// What a program writes, and at its end whether it failed.
struct Output {
    out: Option<ChildStdout>,
    ended: Option<Pin<Box<dyn Future<Output = Ended> + Send>>>,
    over: Option<Ended>,
    _group: Group,
}

impl Stream for Output {
    type Item = Result<Bytes, ToolFailure>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = &mut *self;
        // Both pipes are emptied, or the program would wait for the other one.
        if let Some(ended) = &mut this.ended
            && let Poll::Ready(over) = ended.as_mut().poll(cx)
        {
            (this.over, this.ended) = (Some(over), None);
        }
        if let Some(out) = &mut this.out {
            let mut buffer = vec![0; 64 * 1024];
            let mut read = ReadBuf::new(&mut buffer);
            let result = ready!(Pin::new(out).poll_read(cx, &mut read));
            let filled = read.filled().len();
            match result {
                Ok(()) if filled > 0 => {
                    buffer.truncate(filled);
                    return Poll::Ready(Some(Ok(buffer.into())));
                }
                _ => this.out = None,
            }
        }
        if this.ended.is_some() {
            return Poll::Pending;
        }
        Poll::Ready(this.over.take().and_then(|(_, status, said)| failed(status, &said)).map(Err))
    }
}

/// What is said if the program failed.
fn failed(status: std::io::Result<ExitStatus>, said: &str) -> Option<ToolFailure> {
    let how = match status {
        Ok(status) if status.success() => return None,
        Ok(status) => status.to_string(),
        Err(error) => error.to_string(),
    };
    Some(ToolFailure::new(format!("the program failed ({how}): {}", said.trim())))
}
