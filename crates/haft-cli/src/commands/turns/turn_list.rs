//! `haft turns`: the turns of a store, one line each.

use std::path::Path;
use std::process::ExitCode;

use anyhow::Result;
use haft::executors::ExecutorDescription;
use haft::stores::{StoreError, StoredTurn, TurnQuery, TurnSummary};
use haft::turn::{StoredTurns, TurnError, TurnHistory};

use super::{status_role, summary_now};
use crate::args::TurnsArgs;
use crate::commands::conversations::read_messages;
use crate::commands::{format_age, format_count, print_text, report_nothing};
use crate::conversations::{find_conversation, short_conversation};
use crate::host::origin_agent;
use crate::output::{self, ListedTurn};
use crate::store::{open_store_to_read, short_id};
use crate::terminal::{Terminal, TextRole, print_line, sanitize};
use crate::text_width::{display_width, elide_columns, pad_end, pad_start};
use crate::user_error::FailureCode;

/// What a list says about a turn.
struct TurnLine {
    summary: TurnSummary,
    agent: Option<String>,
    executor: ExecutorDescription,
    tokens: u64,
    first_words: String,
    /// Everything that was said, in lower case; empty if it is not searched.
    words: String,
}

/// The most turns that a search in all messages reads.
const MAX_SEARCHED: usize = 5000;

/// How many turns are read at once.
const PAGE: usize = 100;

pub(in crate::commands) async fn list_turns(
    args: TurnsArgs,
    terminal: &Terminal,
) -> Result<ExitCode> {
    let stores = open_store_to_read(&args.store.find_address()).await?;
    let turns = StoredTurns::of_stores(&stores);
    let mut query = turn_query(&args);
    if let Some(name) = &args.conversation {
        query.conversation = Some(find_conversation(&stores, name).await?);
    }
    let has_filter = args.unfinished
        || args.search.is_some()
        || args.agent.is_some()
        || args.tool.is_some()
        || args.min_tokens.is_some();
    let spoken = args.search.as_ref().filter(|_| args.all_messages).map(|it| it.to_lowercase());
    let (mut found, mut read) = (Vec::new(), 0);
    'pages: while found.len() < args.limit && read < MAX_SEARCHED {
        let page = turns.list_turns(query.clone()).await?;
        let Some(last) = page.last() else { break };
        query.before = Some(last.id.clone());
        for summary in page {
            read += 1;
            let damaged = TurnLine::damaged(&summary);
            let loaded = match spoken {
                Some(_) => TurnLine::load_whole(summary, &turns).await,
                None => TurnLine::load(summary, &turns).await,
            };
            let line = match loaded {
                // It must not hide the others.
                Err(error) if is_damaged(&error) => Some(damaged),
                loaded => loaded?,
            };
            let Some(mut line) = line else { continue };
            if !line.matches(spoken.as_deref(), args.agent.as_deref()) {
                continue;
            }
            line.words.clear();
            found.push(line);
            if found.len() == args.limit {
                break 'pages;
            }
        }
    }
    if read >= MAX_SEARCHED && found.len() < args.limit {
        print_line(format_args!("only the newest {MAX_SEARCHED} turns were searched"));
    }
    if found.is_empty() && !args.json {
        let hint = match &args.search {
            Some(_) if !args.all_messages => "--all-messages searches everything that was said",
            _ if has_filter => "without options, `haft turns` lists all turns of the store",
            _ => "`haft run AGENT` runs one",
        };
        report_nothing("no turns", hint, terminal);
    }
    let widths = ColumnWidths::of(&found);
    let mut text = String::new();
    for line in &found {
        match args.json {
            true => text.push_str(&line.to_json()?),
            false => text.push_str(&format!("{}\n", line.to_text(&widths, terminal))),
        }
    }
    print_text(&text)?;
    Ok(if found.is_empty() && has_filter {
        FailureCode::NotFound.into()
    } else {
        ExitCode::SUCCESS
    })
}

/// Whether what is stored of a turn is not what was written.
fn is_damaged(error: &anyhow::Error) -> bool {
    let of_turn = matches!(
        error.downcast_ref::<TurnError>(),
        Some(TurnError::Store(StoreError::Damaged { .. }))
    );
    of_turn || matches!(error.downcast_ref::<StoreError>(), Some(StoreError::Damaged { .. }))
}

/// What the store is asked for. The agent is in its index by name; the rest of a path is compared with the turns.
fn turn_query(args: &TurnsArgs) -> TurnQuery {
    let mut query = TurnQuery::default().limit(PAGE.min(args.limit.max(1)));
    query.unfinished = args.unfinished;
    (query.tool, query.min_tokens) = (args.tool.clone(), args.min_tokens);
    if let Some(text) = args.search.as_ref().filter(|_| !args.all_messages) {
        query = query.matching(text);
    }
    match args.agent.as_deref().map(Path::new).and_then(Path::file_name) {
        Some(name) => query.agent(name.to_string_lossy()),
        None => query,
    }
}

impl TurnLine {
    /// Loads what a line shows: the summary and the first entry of the journal, which has the agent and the executor. A
    /// turn that was resumed with another model is loaded whole. Returns nothing if the turn was removed meanwhile.
    async fn load(summary: TurnSummary, turns: &StoredTurns) -> Result<Option<Self>> {
        let first = turns.read_journal(&summary.id, 0, 1).await?;
        let mut turn = StoredTurn::new(summary);
        turn.journal = first.into_iter().map(|entry| entry.json).collect();
        if turn.journal.is_empty() {
            return Ok(None);
        }
        let history = TurnHistory::read(&turn)?;
        let first_model = match &history.executor {
            ExecutorDescription::Model { model, .. } => Some(model),
            _ => None,
        };
        match first_model == turn.summary.model.as_ref() {
            true => Ok(Some(Self::new(turn.summary, history))),
            false => Self::load_whole(turn.summary, turns).await,
        }
    }

    /// Loads a turn with everything that was said in it; nothing if it was removed meanwhile.
    async fn load_whole(summary: TurnSummary, turns: &StoredTurns) -> Result<Option<Self>> {
        let Some(turn) = turns.load_turn(&summary.id).await? else { return Ok(None) };
        let words = read_messages(turns, &turn).await?;
        let words: Vec<String> = words.into_iter().map(|(_, text)| text).collect();
        let words = words.join("\n").to_lowercase();
        Ok(Some(Self { words, ..Self::new(summary, TurnHistory::read(&turn)?) }))
    }

    /// A turn that cannot be loaded because what is stored of it is damaged.
    fn damaged(summary: &TurnSummary) -> Self {
        let TurnSummary { id, tenant, created_at, .. } = summary.clone();
        Self {
            agent: None,
            executor: ExecutorDescription::default(),
            tokens: 0,
            first_words: String::new(),
            words: String::new(),
            summary: TurnSummary::damaged(id, tenant, created_at),
        }
    }

    fn new(summary: TurnSummary, history: TurnHistory) -> Self {
        Self {
            agent: origin_agent(&history).map(str::to_owned),
            executor: history.executor,
            tokens: summary.tokens.unwrap_or_default(),
            first_words: elide_words(summary.first_words.as_deref().unwrap_or_default()),
            words: String::new(),
            summary: summary_now(summary),
        }
    }

    fn matches(&self, words: Option<&str>, agent: Option<&str>) -> bool {
        let is_agent = |name: &str| {
            let path = self.agent.as_deref().unwrap_or_default();
            self.agent_name() == name || Path::new(path).ends_with(name)
        };
        words.is_none_or(|it| self.words.contains(it)) && agent.is_none_or(is_agent)
    }

    /// The name of the agent's directory.
    fn agent_name(&self) -> &str {
        let path = Path::new(self.agent.as_deref().unwrap_or_default());
        let path = if path.ends_with("agent.toml") { path.parent().unwrap_or(path) } else { path };
        path.file_name().and_then(|it| it.to_str()).unwrap_or_default()
    }

    fn model(&self) -> String {
        match &self.executor {
            ExecutorDescription::Model { provider, model, .. } => format!("{provider}:{model}"),
            ExecutorDescription::Script { .. } => "script".to_owned(),
            ExecutorDescription::Custom { name: Some(name) } => name.clone(),
            _ => "-".to_owned(),
        }
    }

    fn to_json(&self) -> Result<String> {
        let mut summary = self.summary.clone();
        summary.agent.clone_from(&self.agent);
        summary.model = Some(self.model());
        summary.tokens = Some(self.tokens);
        output::to_line(&ListedTurn { summary, shown_words: self.first_words.clone() })
    }

    /// The user's words, and why the turn stopped.
    fn shown_words(&self) -> String {
        match &self.summary.stop {
            Some(stop) => format!("{} · {}", self.first_words, to_line(&stop.message)),
            None => self.first_words.clone(),
        }
    }

    /// The tokens of the turn; nothing if none were counted.
    fn tokens_to_text(&self) -> String {
        match self.tokens {
            0 => String::new(),
            tokens => format!("{} tok", format_count(tokens)),
        }
    }

    fn to_text(&self, widths: &ColumnWidths, terminal: &Terminal) -> String {
        let status = self.summary.status;
        let word = status.as_str();
        let id = terminal.style_stdout(TextRole::Key, short_id(&self.summary.id));
        let status = terminal.style_stdout(status_role(status), format!("{word:<11}"));
        let age = format_age(self.summary.created_at);
        let ColumnWidths { agent, model, tokens } = *widths;
        let columns = [
            (agent, pad_end(&elide_name(self.agent_name(), agent), agent)),
            (model, pad_end(&elide_name(&self.model(), model), model)),
            (tokens, pad_start(&self.tokens_to_text(), tokens)),
        ];
        // A line of a terminal shows one turn: of a narrow one the conversation is left out, then tokens, model and agent.
        let mut room = terminal.stdout_columns().map(|it| it.saturating_sub(FIRST_COLUMNS));
        let mut line = format!("{id}  {status}  {age:>8}");
        for (width, column) in columns.into_iter().filter(|(width, _)| *width > 0) {
            let rest = room.map(|it| it.checked_sub(width + 2));
            if rest.is_some_and(|it| it.is_none_or(|it| it < MIN_WORDS)) {
                break;
            }
            room = rest.flatten();
            line.push_str(&format!("  {column}"));
        }
        let conversation = self.summary.conversation.as_deref();
        let conversation = conversation.filter(|_| room.is_none_or(|it| it >= 2 * CONVERSATION));
        let room = room.map(|it| it - conversation.map_or(0, |_| CONVERSATION));
        let words = match room {
            Some(room) => elide_name(&self.shown_words(), room.max(8)),
            None => sanitize(&self.shown_words()),
        };
        let conversation = conversation.map(|it| {
            let name = elide_name(short_conversation(it), CONVERSATION - 2);
            terminal.style_stdout(TextRole::Muted, format!("  {name}"))
        });
        format!("{line}  {words}{}", conversation.unwrap_or_default())
    }
}

/// The columns of the agent, the model and the tokens, without the gaps before them: as many as the listed turns need. A
/// column that is empty in all of them has none.
struct ColumnWidths {
    agent: usize,
    model: usize,
    tokens: usize,
}

impl ColumnWidths {
    fn of(lines: &[TurnLine]) -> Self {
        let widest = |limit: usize, text: &dyn Fn(&TurnLine) -> String| {
            let widths = lines.iter().map(|line| display_width(&to_line(&text(line))));
            widths.max().unwrap_or_default().min(limit)
        };
        Self {
            agent: widest(MAX_AGENT, &|line| line.agent_name().to_owned()),
            model: widest(MAX_MODEL, &TurnLine::model),
            tokens: widest(usize::MAX, &TurnLine::tokens_to_text),
        }
    }
}

/// The columns of the short id, the status and the age, and the gap before the words.
const FIRST_COLUMNS: usize = 33;

/// The most columns of the agent and of the model.
const MAX_AGENT: usize = 16;
const MAX_MODEL: usize = 24;

/// The columns of the words that a narrow terminal keeps.
const MIN_WORDS: usize = 20;

/// The columns of a conversation, with the gap before it.
const CONVERSATION: usize = 15;

fn elide_name(name: &str, columns: usize) -> String {
    elide_columns(&to_line(name), columns)
}

/// A name as a part of a line: the directory of an agent may have line breaks in its name.
fn to_line(name: &str) -> String {
    sanitize(name).replace(['\n', '\t'], " ")
}

/// The most characters of the user's first words.
const MAX_WORDS: usize = 60;

fn elide_words(words: &str) -> String {
    if words.chars().count() <= MAX_WORDS {
        return words.to_owned();
    }
    sanitize(words).chars().take(MAX_WORDS - 1).chain(['…']).collect()
}
