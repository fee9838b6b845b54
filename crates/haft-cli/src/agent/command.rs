//! Tools that run a command.

mod bound_files;
mod media_output;
mod process;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use haft::records::IdempotencyKey;
use haft::tools::ByteStream;
use haft::{Args, CallContext, Tool, ToolFailure, ToolOutput};
use haft_sandbox::Policy;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use self::bound_files::BoundFiles;
use self::media_output::MediaOutput;
use self::process::is_supervisor_lost;
pub(super) use self::process::{ProcessGroup, SupervisorControl};
pub(super) use self::process::{ProcessOutput, Program};
use super::arguments::Arguments;
use super::sandbox::{AgentSandbox, ProgramSandbox};
use super::source::{AgentFileError, ErrorList};
use super::template::{Piece, expand_template, parse_template};
use super::tool_keys::{
    EffectKey, explain_invalid_tool, input_schema, parse_artifact_kind, parse_timeout,
};
use crate::environment;

/// A command that the model may run. No shell is involved: `argv` is passed to the program as it is, and a value
/// never becomes more than one argument.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct CommandTool {
    /// Description that the model reads when it selects a tool: what the tool does and what it returns.
    description: String,
    /// The program and its arguments. `{name}` inserts an argument of the call.
    argv: Vec<String>,
    /// The arguments of a call, by name.
    #[serde(default)]
    args: Arguments,
    /// Working directory of the command; default: the agent's directory.
    #[serde(rename = "folder")]
    dir: Option<PathBuf>,
    /// Environment variables that the command receives in addition to `PATH`.
    #[serde(default)]
    env: Vec<String>,
    /// Timeout in seconds; default: 60.
    #[serde(default = "default_timeout")]
    timeout: u64,
    /// Maximum size of the output in bytes; default: 1073741824. A program that writes more is stopped.
    #[serde(default = "default_max_bytes")]
    max_bytes: u64,
    /// What differs from `[sandbox]` for this command, or `false`: it runs with all rights of the user.
    sandbox: Option<ProgramSandbox>,
    /// Effect of a call, which decides whether it may be repeated after a crash; default: `once`.
    #[serde(default)]
    effect: EffectKey,
    /// Artifact kind of the output: `text`, `json`, `jsonl`, `markdown`, `csv`, `yaml`
    /// or `xml`; default: `text`.
    artifact: Option<String>,
    /// Media type of binary output, such as `image/png`. The model receives the image, the audio or the document.
    media: Option<String>,
    /// Question that the user must approve before each call.
    approval: Option<String>,
}

fn default_timeout() -> u64 {
    60
}

fn default_max_bytes() -> u64 {
    1024 * 1024 * 1024
}

impl CommandTool {
    /// Builds the tool under this name.
    ///
    /// # Errors
    ///
    /// Everything that is wrong with the table.
    pub(super) fn build(
        &self,
        name: &str,
        sandbox: &AgentSandbox,
    ) -> Result<Tool, Vec<AgentFileError>> {
        let mut errors = ErrorList::default();
        let command_line = errors.take_all(self.command_line(sandbox.agent_dir()));
        let policy = command_line.as_ref().map(|it| sandbox.policy(self.sandbox.as_ref(), &it.dir));
        let policy = policy.and_then(|it| errors.take(it)).flatten();
        let media = errors.take(self.media_output(name));
        let input = errors.take_all(input_schema(&self.args));
        let artifact = errors.take(parse_artifact_kind(self.artifact.as_deref()));
        let timeout = errors.take(parse_timeout(self.timeout));
        let parts = command_line.zip(media).zip(input).zip(artifact).zip(timeout);
        let ((((command_line, media), input), artifact), timeout) = errors.finish(parts)?;
        let is_confined = policy.is_some();
        let command_line = Arc::new(CommandLine { policy, ..command_line });
        let media = media.map(Arc::new);
        let is_idempotent = self.effect == EffectKey::Idempotent;
        let mut tool = Tool::builder(name)
            .description(&self.description)
            .input(input)
            .artifact(artifact)
            .effect(self.effect.into())
            .timeout(timeout)
            .definition_part("argv", &self.argv)
            .definition_part("dir", &self.dir)
            .definition_part("env", &self.env)
            .definition_part("files", &command_line.files)
            .handler(move |args: Args, ctx: CallContext| {
                let command_line = Arc::clone(&command_line);
                let media = media.clone();
                let key = is_idempotent.then(|| ctx.idempotency_key());
                async move {
                    let output = command_line.spawn(&args, key).await?;
                    match media {
                        Some(media) => media.read_output(output).await,
                        None => Ok(ToolOutput::Stream(output)),
                    }
                }
            });
        if is_confined {
            // Approvals of a confined command do not hold for one with other rights.
            tool = tool.definition_part("sandbox", sandbox.definition(self.sandbox.as_ref()));
        }
        if let Some(question) = &self.approval {
            tool = tool.requires_approval(question);
        }
        tool.build().map_err(|error| explain_invalid_tool(&error))
    }

    fn media_output(&self, name: &str) -> Result<Option<MediaOutput>, AgentFileError> {
        let Some(media_type) = &self.media else { return Ok(None) };
        if self.artifact.is_some() {
            let message = "`media` and `artifact` exclude each other";
            return Err(AgentFileError::at(["media"], message).hint("keep one of them"));
        }
        let output = MediaOutput::new(name, media_type);
        output.map(Some).map_err(|message| AgentFileError::at(["media"], message))
    }

    fn command_line(&self, agent_dir: &Path) -> Result<CommandLine, Vec<AgentFileError>> {
        let error_at_argv = |message: &str| AgentFileError::at(["argv"], message);
        if self.argv.iter().any(|word| word.contains('\0')) {
            return Err(vec![error_at_argv("an argument must not contain a NUL character")]);
        }
        let mut errors = ErrorList::default();
        let words = self.argv.iter().map(|word| WordTemplate::parse(word, &self.args));
        let words: Vec<WordTemplate> = words.filter_map(|word| errors.take(word)).collect();
        let words = errors.finish(Some(words))?;
        let Some(program) = words.first().and_then(WordTemplate::fixed_text) else {
            let error = error_at_argv("`argv` must start with a fixed program name");
            return Err(vec![error.hint("for example: argv = [\"ls\", \"-1\", \"{folder}\"]")]);
        };
        let program = program_path(program, agent_dir);
        let dir = self.dir.as_ref();
        let dir = dir.map_or_else(|| agent_dir.to_owned(), |it| agent_dir.join(it));
        // What nobody is asked about need not be the same in every call.
        let files = match self.approval {
            Some(_) => {
                let fixed = words.iter().skip(1).filter_map(WordTemplate::fixed_text);
                BoundFiles::read(&program, &fixed.collect::<Vec<_>>(), &dir)
            }
            None => BoundFiles::default(),
        };
        Ok(CommandLine {
            program,
            files,
            words: words.into_iter().skip(1).collect(),
            dir,
            env: self.env.iter().cloned().chain(["PATH".to_owned()]).collect(),
            max_bytes: self.max_bytes,
            policy: None,
        })
    }

    /// The program and its arguments, and how they are confined.
    pub(super) fn program(&self) -> (&[String], Option<&ProgramSandbox>) {
        (&self.argv, self.sandbox.as_ref())
    }

    /// Finds a placeholder of the approval question that is no argument.
    pub(super) fn find_unknown_placeholder(&self) -> Option<AgentFileError> {
        parse_template(self.approval.as_deref()?, &self.args, &["approval"]).err()
    }

    /// Whether the tool has its own approval question.
    pub(super) const fn has_approval_question(&self) -> bool {
        self.approval.is_some()
    }

    /// Finds a program or a directory that this machine does not have.
    pub(super) fn find_problem(&self, agent_dir: &Path) -> Option<AgentFileError> {
        let command_line = self.command_line(agent_dir).ok()?;
        let dir = &command_line.dir;
        if !dir.as_os_str().is_empty() && !dir.is_dir() {
            let message = format!("`{}` is not a directory", dir.display());
            return Some(AgentFileError::at(["folder"], message));
        }
        let message = find_program_problem(&command_line.program)?;
        Some(AgentFileError::at(["argv"], message).hint(INSTALL_HINT))
    }
}

/// A command whose arguments are templates.
#[derive(Debug)]
struct CommandLine {
    program: PathBuf,
    words: Vec<WordTemplate>,
    /// The files that it names, if its calls require approval.
    files: BoundFiles,
    /// The working directory.
    dir: PathBuf,
    /// The environment variables that are passed on.
    env: Vec<String>,
    max_bytes: u64,
    /// How the command is confined; nothing if it runs with all rights of the user.
    policy: Option<Policy>,
}

impl CommandLine {
    /// Starts the command for a call, and returns its standard output. The idempotency key is for commands that may
    /// be repeated.
    async fn spawn(
        &self,
        args: &Args,
        key: Option<IdempotencyKey>,
    ) -> Result<ByteStream, ToolFailure> {
        self.files.check()?;
        let args = args.to_value();
        let mut words = Vec::new();
        for word in &self.words {
            words.extend(word.expand(&args)?);
        }
        let env =
            self.env.iter().filter_map(|it| Some((it.clone(), environment::read_variable(it)?)));
        let key = key.map(|it| (IDEMPOTENCY_VARIABLE.to_owned(), it.to_string().into()));
        let program = Program {
            path: resolve_program(&self.program),
            args: words,
            dir: self.dir.clone(),
            env: env.chain(key).collect(),
            max_bytes: self.max_bytes,
            policy: self.policy.clone(),
        };
        let output = program.spawn().await.map_err(|error| {
            let shown = self.program.display();
            match is_supervisor_lost(&error) {
                false => ToolFailure::new(format!("`{shown}` cannot be run: {error}")),
                true => {
                    ToolFailure::new(format!("`{shown}` may have run: {error}")).outcome_unknown()
                }
            }
        })?;
        Ok(ByteStream::new(output))
    }
}

/// The environment variable with the idempotency key of a call.
const IDEMPOTENCY_VARIABLE: &str = "HAFT_IDEMPOTENCY_KEY";

/// The path of a program: with a slash in its name, a file relative to the agent's directory; otherwise a name that
/// is searched in `PATH`.
pub(super) fn program_path(program: &str, agent_dir: &Path) -> PathBuf {
    match program.contains('/') {
        true => agent_dir.join(program),
        false => PathBuf::from(program),
    }
}

/// Makes the path of a program absolute, because the command runs in another directory. A name that is searched in
/// `PATH` stays as it is.
pub(super) fn resolve_program(program: &Path) -> PathBuf {
    match program.components().count() {
        0 | 1 => program.to_owned(),
        _ => std::path::absolute(program).unwrap_or_else(|_| program.to_owned()),
    }
}

/// The hint about a program that does not exist.
pub(super) const INSTALL_HINT: &str = "install it, or use another program";

/// Looks for a program on this machine, and returns a message if it cannot be run.
pub(super) fn find_program_problem(program: &Path) -> Option<String> {
    let shown = program.display();
    if program.components().count() > 1 {
        return (!is_executable(program)).then(|| format!("`{shown}` is not an executable file"));
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path).any(|it| is_executable(&it.join(program)));
    (!found).then(|| format!("there is no program `{shown}` in PATH"))
}

fn is_executable(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::metadata(path).is_ok_and(|it| it.is_file() && it.permissions().mode() & 0o111 != 0)
}

/// One word of `argv`: a template of fixed text and arguments.
#[derive(Debug)]
struct WordTemplate {
    pieces: Vec<Piece>,
    /// Whether the word may start with `-`: it starts with fixed text, or all its arguments are numbers or set
    /// `allow_dash`.
    allow_dash: bool,
}

impl WordTemplate {
    fn parse(word: &str, args: &Arguments) -> Result<Self, AgentFileError> {
        let pieces = parse_template(word, args, &["argv"])?;
        let is_allowed = |piece: &Piece| match piece {
            Piece::Placeholder(name) => {
                args.get(name).is_some_and(|it| it.allow_dash || it.is_number())
            }
            Piece::Text(_) => true,
        };
        // After fixed text, a dash does not start an option.
        let allow_dash =
            !matches!(pieces.first(), Some(Piece::Placeholder(_))) || pieces.iter().all(is_allowed);
        Ok(Self { pieces, allow_dash })
    }

    /// The word, if it is the same in every call.
    fn fixed_text(&self) -> Option<&str> {
        match self.pieces.as_slice() {
            [Piece::Text(word)] => Some(word),
            _ => None,
        }
    }

    /// Expands the template: no word if an argument is absent, several words for a list. A value that the program
    /// could interpret as an option is rejected, and so is one with a NUL character.
    fn expand(&self, args: &Value) -> Result<Vec<String>, ToolFailure> {
        let words = expand_template(&self.pieces, args);
        if !self.allow_dash && words.iter().any(|it| it.starts_with('-')) {
            let names = self.placeholder_names();
            return Err(ToolFailure::new(format!("{names} must not begin with `-`")));
        }
        if words.iter().any(|it| it.contains('\0')) {
            let names = self.placeholder_names();
            return Err(ToolFailure::new(format!("{names} has a NUL character in it")));
        }
        Ok(words)
    }

    /// The arguments of the template, for error messages.
    fn placeholder_names(&self) -> String {
        let names = self.pieces.iter().filter_map(|piece| match piece {
            Piece::Placeholder(name) => Some(format!("`{name}`")),
            Piece::Text(_) => None,
        });
        names.collect::<Vec<_>>().join(" and ")
    }
}
