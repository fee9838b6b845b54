//! Programs as tools.

use std::collections::VecDeque;
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
use super::template::{Arguments, Piece, parsed, values};

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
    args: Arguments,
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
        let words: Vec<Word> = words.collect::<Result<_, _>>()?;
        let Some(program) = words.first().and_then(Word::fixed) else {
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
pub(super) fn input(args: &Arguments) -> Result<schema::ObjectSchema, Fault> {
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

/// A word of the command line: text, and places for arguments.
#[derive(Debug)]
struct Word {
    pieces: Vec<Piece>,
    /// Whether it may begin with `-`: its own text does, or its arguments are allowed to.
    allow_dash: bool,
}

impl Word {
    fn parse(word: &str, args: &Arguments) -> Result<Self, Fault> {
        let pieces = parsed(word, args, &["argv"])?;
        let allowed = |piece: &Piece| match piece {
            Piece::Hole(name) => args.get(name).is_some_and(|it| it.allow_dash),
            Piece::Text(_) => true,
        };
        // Behind fixed text a dash begins nothing.
        let allow_dash =
            !matches!(pieces.first(), Some(Piece::Hole(_))) || pieces.iter().all(allowed);
        Ok(Self { pieces, allow_dash })
    }

    /// The word, if it is the same in every call.
    fn fixed(&self) -> Option<&str> {
        match self.pieces.as_slice() {
            [Piece::Text(word)] => Some(word),
            _ => None,
        }
    }

    /// The words that this one becomes: none if an argument is absent, several for a list. A value that the program
    /// would take for an option is refused, and one that cannot be a word.
    fn fill(&self, args: &Value) -> Result<Vec<String>, ToolFailure> {
        let words = values(&self.pieces, args);
        let option = |it: &String| it.starts_with('-') && it.parse::<f64>().is_err();
        if !self.allow_dash && words.iter().any(option) {
            return Err(ToolFailure::new(format!("{} must not begin with `-`", self.named())));
        }
        if words.iter().any(|it| it.contains('\0')) {
            return Err(ToolFailure::new(format!("{} has a NUL character in it", self.named())));
        }
        Ok(words)
    }

    /// The arguments that it is made of, for whoever has to change them.
    fn named(&self) -> String {
        let holes = self.pieces.iter().filter_map(|piece| match piece {
            Piece::Hole(name) => Some(format!("`{name}`")),
            Piece::Text(_) => None,
        });
        holes.collect::<Vec<_>>().join(" and ")
    }
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
