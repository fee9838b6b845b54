//! The commands, as they are typed.

mod artifact;

use std::path::{Path, PathBuf};

use clap::builder::styling::{AnsiColor, Styles};
use clap::{Args, ColorChoice, Parser, Subcommand, ValueEnum};

pub(crate) use self::artifact::{Artifact, Grep, Json, Markdown};

const STYLES: Styles = Styles::styled()
    .header(AnsiColor::Yellow.on_default().bold())
    .usage(AnsiColor::Yellow.on_default().bold())
    .literal(AnsiColor::Green.on_default())
    .placeholder(AnsiColor::Cyan.on_default());

const EXAMPLES: &str = "\
Examples:
  haft new hello && haft run hello                      an agent that works at once, offline
  haft run hello --model openai:gpt-5-mini              the same with a model
  haft chat hello                                       a talk with it
  haft id get_weather '{\"city\": \"Paris\"}'           the content key of a call
  haft artifact grep app.log 'ERROR|WARN' --limit 20    search a log of any size
  haft artifact json get data.json '$.items[0].name'    look into JSON of any size
  haft turns --store state                              the turns that a store holds
  haft approve GATE --store state                       let a call run that asked for it

Exit codes:
  0    done
  1    it failed; what happened is on standard error
  2    the command line is wrong
  3    nothing was found: no match, no such turn, no such gate
  130  cancelled";

/// Run agents, call tools, query artifacts, look after turns.
#[derive(Debug, Parser)]
#[command(name = "haft", version, styles = STYLES, after_help = EXAMPLES)]
pub(crate) struct Cli {
    /// When to use colour; NO_COLOR is honoured
    #[arg(long, global = true, value_enum, default_value_t = ColorChoice::Auto, value_name = "WHEN")]
    pub(crate) color: ColorChoice,
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run a turn of an agent
    Run(Run),
    /// Talk with an agent: turns in a row, each with what was said before
    Chat(Chat),
    /// Go on with a turn that was cut short
    Resume(Resume),
    /// Make an agent that runs at once
    New(New),
    /// Check everything of an agent that can be checked without a model
    Check(Check),
    /// Print the JSON Schema of agent files, for editors and other programs
    Schema,
    /// List the tools of an agent
    Tools(Tools),
    /// Show what a model sees of a tool
    Describe(Describe),
    /// Call a tool of an agent and print what comes of it
    Call(Call),
    /// Show the content key of a call
    Id(Id),
    /// Query a file of any size, as a model queries an artifact
    #[command(subcommand)]
    Artifact(Artifact),
    /// List the turns of a store, newest first
    Turns(Turns),
    /// Show a turn: what was said, called and asked
    Show(Show),
    /// List the gates that wait for an answer
    Gates(Gates),
    /// Answer a gate: let a call run, or give the value it asks for
    Approve(Approve),
    /// Answer a gate with no; the model is told the reason
    Deny(Deny),
    /// Remove stored content that no turn needs any more
    Gc(Gc),
    /// Print completions for a shell
    Completions {
        /// The shell
        #[arg(value_enum)]
        shell: clap_complete::Shell,
    },
    /// Print the manual page
    #[command(hide = true)]
    Man,
}

/// Show the content key of a call
///
/// The key is the SHA-256 of the canonical JSON of the tool's name and its arguments: the order of keys and the
/// white space do not matter.
#[derive(Debug, Args)]
pub(crate) struct Id {
    /// The tool's name
    pub(crate) tool: String,
    /// The arguments: JSON text, `@FILE` for a file, `-` for standard input
    pub(crate) args: String,
    /// Print the canonical text instead, which is what is hashed
    #[arg(long)]
    pub(crate) canonical: bool,
}

/// Where turns are kept if nothing is said.
pub(crate) const STORE: &str = ".haft";

/// Where turns are kept.
#[derive(Debug, Args)]
pub(crate) struct StoreArg {
    /// The folder of the store [default: .haft]
    #[arg(long, value_name = "DIR")]
    pub(crate) store: Option<PathBuf>,
}

impl StoreArg {
    /// The folder that was asked for, or the one that is used if nothing is said.
    pub(crate) fn path(&self) -> &Path {
        self.store.as_deref().unwrap_or(Path::new(STORE))
    }
}

#[derive(Debug, Args)]
pub(crate) struct Turns {
    #[command(flatten)]
    pub(crate) store: StoreArg,
    /// Only turns that are not over
    #[arg(long)]
    pub(crate) unfinished: bool,
    /// Only turns of this conversation
    #[arg(long, value_name = "ID")]
    pub(crate) conversation: Option<String>,
    /// How many at most
    #[arg(long, value_name = "N", default_value_t = 50)]
    pub(crate) limit: usize,
    /// Print one JSON object per line
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Show {
    /// The turn, or the beginning of its name
    pub(crate) turn: String,
    #[command(flatten)]
    pub(crate) store: StoreArg,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Gates {
    #[command(flatten)]
    pub(crate) store: StoreArg,
    /// Print one JSON object per line
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Approve {
    /// The gate, or the beginning of its name
    pub(crate) gate: String,
    /// The answer as JSON, for a gate that asks for more than yes or no
    pub(crate) value: Option<String>,
    #[command(flatten)]
    pub(crate) answer: Answer,
}

#[derive(Debug, Args)]
pub(crate) struct Deny {
    /// The gate, or the beginning of its name
    pub(crate) gate: String,
    /// Why not
    #[arg(long, value_name = "TEXT", default_value = "it was not allowed")]
    pub(crate) reason: String,
    #[command(flatten)]
    pub(crate) answer: Answer,
}

#[derive(Debug, Args)]
pub(crate) struct Answer {
    /// Who answers; the user of this machine if not said
    #[arg(long, value_name = "NAME")]
    pub(crate) by: Option<String>,
    #[command(flatten)]
    pub(crate) store: StoreArg,
}

#[derive(Debug, Args)]
pub(crate) struct Gc {
    #[command(flatten)]
    pub(crate) store: StoreArg,
}

/// Where an agent is.
#[derive(Debug, Args)]
pub(crate) struct AgentArg {
    /// The agent: a folder with an `agent.toml`, or such a file
    pub(crate) agent: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct Run {
    #[command(flatten)]
    pub(crate) agent: AgentArg,
    /// What the user says; the agent's own prompt if not said; `@FILE` for a file, `-` for standard input
    pub(crate) prompt: Option<String>,
    #[command(flatten)]
    pub(crate) output: RunOutput,
    /// Write down what the model did and what the calls gave
    #[arg(long, value_name = "FILE")]
    pub(crate) record: Option<PathBuf>,
    /// Give back what was recorded: no model is asked, whichever is named, and no tool does anything
    #[arg(long, value_name = "FILE", conflicts_with = "record")]
    pub(crate) replay: Option<PathBuf>,
}

/// Talk with an agent: turns in a row, each with what was said before
///
/// Ctrl-C stops an answer and not the talk; Ctrl-D or /quit ends it. Every turn is kept in the store.
#[derive(Debug, Args)]
pub(crate) struct Chat {
    #[command(flatten)]
    pub(crate) agent: AgentArg,
    /// Go on with a conversation that the store holds
    #[arg(long, value_name = "ID")]
    pub(crate) conversation: Option<String>,
    #[command(flatten)]
    pub(crate) output: RunOutput,
}

#[derive(Debug, Args)]
pub(crate) struct RunOutput {
    /// The model, such as `openai:gpt-5-mini`, or `script` for the agent's script; the agent's own if not said
    ///
    /// Providers are openai (Chat Completions), openai-responses, anthropic, and ollama on this machine. Keys and addresses come from OPENAI_API_KEY,
    /// OPENAI_BASE_URL, ANTHROPIC_API_KEY and ANTHROPIC_BASE_URL.
    #[arg(long, value_name = "PROVIDER:MODEL", env = "HAFT_MODEL")]
    pub(crate) model: Option<String>,
    /// Send the key to an address of the network that is not encrypted
    #[arg(long)]
    pub(crate) plain_http: bool,
    #[command(flatten)]
    pub(crate) store: StoreArg,
    /// Print every event as JSON, one per line
    #[arg(long)]
    pub(crate) json: bool,
    /// Let every call run that asks for it
    #[arg(long)]
    pub(crate) yes: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Resume {
    /// The turn, or the beginning of its name
    pub(crate) turn: String,
    /// The agent, if not the one that began the turn
    #[arg(long)]
    pub(crate) agent: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) output: RunOutput,
}

#[derive(Debug, Args)]
pub(crate) struct New {
    /// The folder to make
    pub(crate) name: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct Tools {
    #[command(flatten)]
    pub(crate) agent: AgentArg,
    /// Print one JSON object per line
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Describe {
    #[command(flatten)]
    pub(crate) agent: AgentArg,
    /// The tool
    pub(crate) tool: String,
    /// Print it as JSON, in this form
    #[arg(long = "as", value_enum, value_name = "FORM")]
    pub(crate) form: Option<Form>,
}

/// A form that a tool is shown to a model in.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Form {
    /// The JSON Schema of its arguments
    JsonSchema,
    /// As OpenAI's Chat Completions have it
    ChatCompletions,
    /// As OpenAI's Responses have it
    Responses,
    /// As Anthropic's Messages have it
    Anthropic,
}

/// Call a tool of an agent and print what comes of it
///
/// The call is made at once: nobody is asked for leave, also if the tool requires it.
#[derive(Debug, Args)]
pub(crate) struct Call {
    #[command(flatten)]
    pub(crate) agent: AgentArg,
    /// The tool
    pub(crate) tool: String,
    /// The arguments: JSON text, `@FILE` for a file, `-` for standard input
    #[arg(default_value = "{}")]
    pub(crate) args: String,
    /// Print the whole record as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Check {
    #[command(flatten)]
    pub(crate) agent: AgentArg,
}
