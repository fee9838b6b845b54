//! The command line: commands, arguments and their help texts.

mod artifact;
mod cleanup;
mod conversations;
mod gates;
mod grants;
mod mcp;
mod media;
mod models;
mod run;
mod serve;
mod store;
mod suggestion;
mod test;
mod web;
mod worker;

use std::num::NonZeroU32;
use std::path::PathBuf;

use clap::builder::styling::{AnsiColor, Styles};
use clap::{Args, ColorChoice, Parser, Subcommand, ValueEnum};

pub(crate) use self::artifact::{ArtifactArgs, ArtifactCommand, GrepArgs};
pub(crate) use self::cleanup::{CancelArgs, GcArgs, RmArgs};
pub(crate) use self::conversations::{ConversationsArgs, ConversationsCommand, ExportFormat};
pub(crate) use self::gates::{ApproveArgs, DecisionArgs, DenyArgs, GatesArgs};
pub(crate) use self::grants::{AlwaysArgs, GrantSelection, GrantsArgs, GrantsCommand};
pub(crate) use self::mcp::{
    McpArgs, McpCommand, McpListArgs, McpLoginArgs, McpLogoutArgs, McpPinArgs, McpProxyArgs,
    McpServeArgs, ServerSpec,
};
pub(crate) use self::media::{MediaArgs, MediaCommand};
pub(crate) use self::models::{ConfigArgs, ConfigCommand, DoctorArgs, ModelsArgs};
pub(crate) use self::run::RunArgs;
pub(crate) use self::serve::{LimitArgs, ServeArgs, ServeCommand, TokenCommand, TokenFileArg};
pub(crate) use self::store::StoreArg;
pub(crate) use self::test::TestArgs;
pub(crate) use self::web::WebArgs;
pub(crate) use self::worker::{SubmitArgs, WatchArgs, WorkerArgs};

const STYLES: Styles = Styles::styled()
    .header(AnsiColor::Yellow.on_default().bold())
    .usage(AnsiColor::Yellow.on_default().bold())
    .literal(AnsiColor::Green.on_default())
    .placeholder(AnsiColor::Cyan.on_default());

const EXAMPLES: &str = "\
Examples:
  haft new hello && haft run hello                      create an agent and run it offline
  haft run hello --model openai:gpt-5-mini              run it with a model
  haft chat hello                                       start a conversation with it
  haft id get_weather '{\"city\": \"Paris\"}'               print the id of a tool call
  haft artifact grep app.log 'ERROR|WARN' --limit 20    search a log of any size
  haft artifact query data.json '$.items[0].name'       query JSON of any size
  haft turns --store state                              list the turns in a store
  haft approve GATE --store state                       approve a tool call

Environment:
  HAFT_MODEL   the model, as --model
  HAFT_STORE   the store of turns, as --store; HAFT_SPOOL that of large results, as --spool
  HAFT_CONFIG  the configuration file, in place of ~/.config/haft/config.toml
  HAFT_LOG     log output to standard error: a level, or levels by target

Exit codes:
  0    success
  1    failure; the error is printed to standard error
  2    invalid command line
  3    nothing found: no match, or no such turn, gate or tool
  4    the turn waits at a gate and can be resumed
  5    the turn has ended, but the result of a tool call could not be stored
  6    the model gave no answer that fits the schema of --schema
  129  stopped by SIGHUP; a turn can be resumed
  130  cancelled, or stopped by Ctrl-C at a gate; a turn that waits can be resumed
  141  the reader of the output closed it before the end; a turn was completed all the same
  143  stopped by SIGTERM; a turn can be resumed";

/// Run agents, call tools, query artifacts and manage turns
#[derive(Debug, Parser)]
#[command(name = "haft", version, styles = STYLES, after_help = EXAMPLES)]
pub(crate) struct Cli {
    /// When to use colors; `auto` respects NO_COLOR, CLICOLOR, CLICOLOR_FORCE and TERM
    #[arg(long, global = true, value_enum, default_value_t = ColorChoice::Auto, value_name = "WHEN", display_order = 990)]
    pub(crate) color: ColorChoice,
    /// Print more: whole arguments, coercions, and the tokens of each step
    #[arg(short, long, global = true, display_order = 991)]
    pub(crate) verbose: bool,
    /// Print only results, questions and errors
    #[arg(short, long, global = true, conflicts_with = "verbose", display_order = 992)]
    pub(crate) quiet: bool,
    #[command(subcommand)]
    pub(crate) command: Command,
}

// The arguments of a command are built when the command is used, because building all takes longer than most commands.
// They are built after the description of the command, so types that are flattened into it have no doc comments, which
// would replace the description.
#[derive(Debug, Subcommand)]
#[command(defer = true)]
pub(crate) enum Command {
    /// Run one turn of an agent
    ///
    /// The agent file names the model. Without one, the agent runs its script: steps with what to say, which tools to call
    /// and what to expect. The repository describes agent files in crates/haft-cli/docs/agent-file.md and scripts in
    /// crates/haft/docs/script.md.
    Run(RunArgs),
    /// Start a conversation with an agent
    ///
    /// Each turn contains the messages of the turns before it. Ctrl-C cancels the current turn; Ctrl-D or /quit ends
    /// the conversation. Every turn is saved in the store.
    Chat(ChatArgs),
    /// Resume an interrupted turn
    Resume(ResumeArgs),
    /// Store a turn that a worker runs, and print its id
    Submit(SubmitArgs),
    /// Follow a turn that another process runs, until it ends or waits at a gate
    ///
    /// The output is that of `haft run`, with whole messages instead of pieces.
    Watch(WatchArgs),
    /// Claim turns from a store and run them
    ///
    /// Any number of workers, on any number of machines, share the turns of a store. Turns of a conversation run one after
    /// the other, and turns of a higher priority first. A turn that waits at a gate is left, and continued by any worker when
    /// the gate is decided. SIGTERM and Ctrl-C let the turns that run end; a second one stops them. They can be resumed.
    Worker(WorkerArgs),
    /// Serve an HTTP API: submit turns, follow them, decide gates, read artifacts
    ///
    /// Every request needs a bearer token, and a token opens the turns of its tenant. Without a token file, a token for this run
    /// is printed. The API is described at `/openapi.json`.
    Serve(ServeArgs),
    /// Create an agent that runs out of the box
    New(NewArgs),
    /// Check an agent without calling a model
    ///
    /// Finds everything that `haft run` would refuse, all errors at once with their files and lines. The repository
    /// describes agent files in crates/haft-cli/docs/agent-file.md and scripts in crates/haft/docs/script.md.
    Check(CheckArgs),
    /// Run the tests of an agent: scripts, recordings and prompts with expectations
    ///
    /// The script of the agent and the files of its directory `tests` are run: `.yaml` is a script, `.json` a recording,
    /// `.toml` a prompt with expectations for every --model.
    Test(TestArgs),
    /// Print the JSON Schema of agent files, or of what a command prints with --json
    Schema {
        /// Name of the schema: `agent`, `event`, `show`, `openapi` for the HTTP API of `haft serve`, and so on
        #[arg(default_value = "agent", value_name = "NAME")]
        name: String,
        /// Write all schemas to files in this directory
        #[arg(long, value_name = "DIR", conflicts_with = "name")]
        dir: Option<PathBuf>,
    },
    /// List the tools of an agent
    Tools(ToolsArgs),
    /// Show a tool as the model sees it
    Describe(DescribeArgs),
    /// Call a tool of an agent and print the result
    ///
    /// The call takes the same path as the call of a model: its arguments are validated, its approval is asked for, and
    /// its timeout applies.
    Call(CallArgs),
    /// Query a file of any size, or an artifact of a turn, as a model does
    Artifact(ArtifactArgs),
    /// List, save and show the media of a turn: images, audio, documents
    Media(MediaArgs),
    /// List the turns in a store, newest first
    Turns(TurnsArgs),
    /// List, rename, export and remove conversations
    Conversations(ConversationsArgs),
    /// Show a turn: model, tokens, messages, tool calls with their results, and open gates
    ///
    /// Results are shown as the model saw them. `--request N` and `--response N` show one exchange with the model.
    Show(ShowArgs),
    /// List the open gates
    Gates(GatesArgs),
    /// Approve a tool call, or resolve a gate with a value
    Approve(ApproveArgs),
    /// Deny a tool call; the model receives the reason
    Deny(DenyArgs),
    /// List standing approvals, or revoke them
    ///
    /// A standing approval is given at a gate: by a reply at the terminal, or by `haft approve GATE --always SCOPE`. It
    /// holds for one definition of the tool: a changed schema, effect, command line or address asks again.
    Grants(GrantsArgs),
    /// Cancel a turn that waits or was interrupted
    Cancel(CancelArgs),
    /// Remove turns and their stored content
    Rm(RmArgs),
    /// Remove stored content that no turn references
    Gc(GcArgs),
    /// Connect agents and servers of the Model Context Protocol
    Mcp(McpArgs),
    /// Open a page that shows turns and lets you decide gates
    ///
    /// The page is served on loopback, behind a token that stands in the printed address.
    Web(WebArgs),
    /// List the providers, or the models of a provider
    Models(ModelsArgs),
    /// Check the configuration, the store, and whether a model responds and calls tools
    Doctor(DoctorArgs),
    /// Show or change the user's configuration: default model, providers, prices
    Config(ConfigArgs),
    /// Print shell completions
    Completions {
        /// The shell
        #[arg(value_enum)]
        shell: clap_complete::Shell,
    },
    /// Print the manual page, or write the pages of all commands to a directory
    Man {
        /// Directory for the pages `haft.1`, `haft-run.1` and so on
        #[arg(long, value_name = "DIR")]
        dir: Option<PathBuf>,
    },
}

#[derive(Debug, Args)]
pub(crate) struct TurnsArgs {
    #[command(flatten)]
    pub(crate) store: StoreArg,
    /// List only turns that have not ended
    #[arg(long)]
    pub(crate) unfinished: bool,
    /// List only turns of this conversation, by its id or a unique beginning of it
    #[arg(long, value_name = "ID")]
    pub(crate) conversation: Option<String>,
    /// List only turns with these words, or words that begin with them, in the user's first words, the agent or the
    /// conversation
    #[arg(long, value_name = "TEXT")]
    pub(crate) search: Option<String>,
    /// Search for the text in everything that was said; this reads each turn, the newest 5000 at most
    #[arg(long, requires = "search")]
    pub(crate) all_messages: bool,
    /// List only turns of this agent, by the name or the end of the path of its directory
    #[arg(long, value_name = "AGENT")]
    pub(crate) agent: Option<String>,
    /// List only turns that called this tool
    #[arg(long, value_name = "NAME")]
    pub(crate) tool: Option<String>,
    /// List only turns that used at least N tokens
    #[arg(long, value_name = "N")]
    pub(crate) min_tokens: Option<u64>,
    /// Maximum number of turns to list
    #[arg(long, value_name = "N", default_value_t = 50)]
    pub(crate) limit: usize,
    /// Print one JSON object per line
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ShowArgs {
    /// Id of the turn, a unique beginning or end of it, or `last`
    pub(crate) turn: String,
    /// Print long arguments and results whole, and the names of all tools
    #[arg(long)]
    pub(crate) full: bool,
    /// Print the request of step N, rendered again from the stored records, and whether it is the one that was sent
    ///
    /// Steps are counted from 1. The next step of a turn that has not ended can be shown as well.
    #[arg(long, value_name = "N", conflicts_with = "response")]
    pub(crate) request: Option<NonZeroU32>,
    /// Print the response of step N: thoughts, messages, tool calls and usage
    #[arg(long, value_name = "N")]
    pub(crate) response: Option<NonZeroU32>,
    /// The agent, for --request [default: the agent that started the turn]
    #[arg(long, requires = "request")]
    pub(crate) agent: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) store: StoreArg,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

// The argument that selects an agent.
#[derive(Debug, Args)]
pub(crate) struct AgentArg {
    /// The agent: a directory that contains `agent.toml`, or the path of an agent file
    pub(crate) agent: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct ChatArgs {
    #[command(flatten)]
    pub(crate) agent: AgentArg,
    /// Continue a conversation from the store, by its id or a unique beginning of it
    #[arg(long, value_name = "ID")]
    pub(crate) conversation: Option<String>,
    /// Continue the newest conversation of the store
    #[arg(long = "continue", conflicts_with = "conversation")]
    pub(crate) continues: bool,
    #[command(flatten)]
    pub(crate) options: RunOptions,
}

// Options of the commands that run turns.
#[derive(Debug, Args)]
pub(crate) struct RunOptions {
    /// The model, such as `openai:gpt-5-mini`, or `script` for the agent's script [default: the model of the agent file]
    ///
    /// `haft models` lists the providers and the variables of their API keys. OPENAI_BASE_URL, ANTHROPIC_BASE_URL,
    /// ANTHROPIC_AUTH_TOKEN, AZURE_OPENAI_ENDPOINT, OLLAMA_HOST and the proxy variables are read as well. `default` is the
    /// model of the user's configuration. An agent file without a model runs its script.
    #[arg(long, value_name = "PROVIDER:MODEL", env = "HAFT_MODEL")]
    pub(crate) model: Option<String>,
    /// Allow sending the API key over unencrypted HTTP
    #[arg(long)]
    pub(crate) plain_http: bool,
    #[command(flatten)]
    pub(crate) store: StoreArg,
    /// Print every event as one line of JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// Approve all tool calls without asking
    #[arg(long, conflicts_with = "gates")]
    pub(crate) yes: bool,
    /// What to do when a tool call needs approval
    #[arg(long, value_enum, value_name = "ACTION", default_value_t)]
    pub(crate) gates: GateAction,
    /// Trust the agent to run the programs of its `prepare` table, and remember that
    #[arg(long)]
    pub(crate) trust: bool,
}

/// What a command does when a turn comes to a gate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum GateAction {
    /// Ask at the terminal; without a terminal, as `park`
    #[default]
    Ask,
    /// Ask at the terminal; without a terminal, wait for `haft approve` or `haft deny`
    Wait,
    /// Leave the turn waiting and end with exit code 4
    Park,
    /// Deny the call unless a standing approval covers it; the turn continues
    Deny,
}

#[derive(Debug, Args)]
pub(crate) struct ResumeArgs {
    /// Id of the turn, a unique beginning or end of it, or `last`
    pub(crate) turn: String,
    /// The agent [default: the agent that started the turn]
    #[arg(long)]
    pub(crate) agent: Option<PathBuf>,
    /// Continue with the model of --model or of the agent file, even if another one started the turn
    ///
    /// Without this option the turn continues with the provider, the model and the options that it was started with, and
    /// a changed script or base URL is an error.
    #[arg(long)]
    pub(crate) change_executor: bool,
    #[command(flatten)]
    pub(crate) options: RunOptions,
}

#[derive(Debug, Args)]
pub(crate) struct NewArgs {
    /// Directory to create
    pub(crate) name: PathBuf,
    /// What the agent begins with
    #[arg(long, value_enum, default_value_t)]
    pub(crate) template: AgentTemplate,
}

/// What a new agent begins with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum AgentTemplate {
    /// Two commands of this machine
    #[default]
    Hello,
    /// Files and tables
    Data,
    /// The Git repository that the directory is in; in none, it gets one of its own
    Git,
    /// A service on the network
    Http,
}

#[derive(Debug, Args)]
pub(crate) struct ToolsArgs {
    #[command(flatten)]
    pub(crate) agent: AgentArg,
    /// Also list the tools that query artifacts, which the model gets as well
    #[arg(long)]
    pub(crate) all: bool,
    /// Print one JSON object per line
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct DescribeArgs {
    #[command(flatten)]
    pub(crate) agent: AgentArg,
    /// Name of the tool
    pub(crate) tool: String,
}

#[derive(Debug, Args)]
pub(crate) struct CallArgs {
    #[command(flatten)]
    pub(crate) agent: AgentArg,
    /// Name of the tool
    pub(crate) tool: String,
    /// Arguments: JSON text, `@FILE` to read a file, `-` to read standard input
    #[arg(default_value = "{}")]
    pub(crate) args: String,
    /// Print the complete call record as JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// Approve the call without asking
    #[arg(long)]
    pub(crate) yes: bool,
    /// Trust the agent to run the programs of its `prepare` table, and remember that
    #[arg(long)]
    pub(crate) trust: bool,
}

#[derive(Debug, Args)]
pub(crate) struct CheckArgs {
    #[command(flatten)]
    pub(crate) agent: AgentArg,
    /// Check with this model, or with `script` [default: the model of the agent file]
    #[arg(long, value_name = "PROVIDER:MODEL", env = "HAFT_MODEL")]
    pub(crate) model: Option<String>,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}
