//! Commands that a user gives in a conversation, instead of a message.

use std::path::PathBuf;

use anyhow::{Context as _, Result};
use haft::executors::DispatchExecutor as _;
use haft::turn::{StoredTurns, TurnHistory};

use super::super::conversations::conversation_to_markdown;
use super::super::run::TurnSession;
use super::super::{count_noun, format_count};
use crate::agent::AgentDir;
use crate::conversations::{list_turns_of, short_conversation};
use crate::host::{ExecutorFinder, ExecutorUse, builder_of};
use crate::prices::TurnCost;
use crate::terminal::{Terminal, TextRole, print_line, sanitize};

/// A command of a conversation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum SlashCommand {
    Help,
    /// Says which model is asked, or asks another one from now on.
    Model(Option<String>),
    Tools,
    Cost,
    /// Writes the conversation to a file.
    Save(Option<PathBuf>),
}

/// What `/help` prints.
const HELP: &str = "\
/model [PROVIDER:MODEL]  says which model is asked, or asks another one from now on
/tools                   lists the tools of the agent
/cost                    tokens and cost of the conversation
/save [FILE]             writes the conversation to a file, as Markdown
/quit, /exit             ends the conversation; everything else goes to the agent";

impl SlashCommand {
    /// The command of a line; nothing for a message.
    pub(super) fn parse(line: &str) -> Option<Self> {
        let (word, rest) = line.trim().split_once(' ').unwrap_or((line.trim(), ""));
        let argument = Some(rest.trim()).filter(|it| !it.is_empty());
        match (word, argument) {
            ("/help", None) => Some(Self::Help),
            ("/tools", None) => Some(Self::Tools),
            ("/cost", None) => Some(Self::Cost),
            ("/model", name) => Some(Self::Model(name.map(str::to_owned))),
            ("/save", file) => Some(Self::Save(file.map(PathBuf::from))),
            _ => None,
        }
    }
}

/// The conversation in which a command was given.
pub(super) struct CommandContext<'c> {
    pub(super) agent: &'c AgentDir,
    pub(super) conversation: &'c str,
    pub(super) model_use: ExecutorUse,
    pub(super) terminal: &'c Terminal,
}

impl CommandContext<'_> {
    /// Does what a command says.
    pub(super) async fn run(&self, command: SlashCommand, session: &mut TurnSession) -> Result<()> {
        match command {
            SlashCommand::Help => self.print(HELP),
            SlashCommand::Model(None) => self.print(&session.executor().to_string()),
            SlashCommand::Model(Some(name)) => self.change_model(&name, session)?,
            SlashCommand::Tools => self.print_tools(),
            SlashCommand::Cost => self.print_cost(session).await?,
            SlashCommand::Save(file) => self.save(file, session).await?,
        }
        Ok(())
    }

    fn change_model(&self, name: &str, session: &mut TurnSession) -> Result<()> {
        let finder = ExecutorFinder { config: session.host().config(), purpose: self.model_use };
        let executor = finder.of_agent(self.agent, Some(name))?;
        let words = format!("from now on: {}", executor.description());
        session.use_builder(self.agent, builder_of(self.agent, executor))?;
        self.print(&words);
        Ok(())
    }

    fn print_tools(&self) {
        if self.agent.tools.is_empty() {
            return self.print("the agent has no tools");
        }
        for tool in &self.agent.tools {
            let about = tool.description().lines().next().unwrap_or_default().to_owned();
            self.print(&format!("{}: {about}", tool.name()));
        }
    }

    async fn print_cost(&self, session: &TurnSession) -> Result<()> {
        let stores = session.host().stores();
        let stored = StoredTurns::of_stores(stores);
        let turns = list_turns_of(stores, self.conversation).await?;
        let mut tokens = 0;
        let mut cost = TurnCost::default();
        for turn in &turns {
            let Some(turn) = stored.load_turn(&turn.id).await? else { continue };
            tokens += turn.summary.tokens.unwrap_or_default();
            cost.merge(session.host().config().cost_of(&TurnHistory::read(&turn)?));
        }
        let mut words = count_noun(turns.len(), "turn");
        words.push_str(&format!(", {} tokens", format_count(tokens)));
        let cost = cost.to_string();
        if !cost.is_empty() {
            words.push_str(&format!(", {cost}"));
        }
        self.print(&words);
        Ok(())
    }

    async fn save(&self, file: Option<PathBuf>, session: &TurnSession) -> Result<()> {
        let name = short_conversation(self.conversation);
        let file = file.unwrap_or_else(|| PathBuf::from(format!("conversation-{name}.md")));
        let text = conversation_to_markdown(session.host().stores(), self.conversation).await?;
        let mut options = std::fs::OpenOptions::new();
        // A file that is there may be anything.
        let created = options.write(true).create_new(true).open(&file);
        let written =
            created.and_then(|mut it| std::io::Write::write_all(&mut it, text.as_bytes()));
        written.with_context(|| format!("cannot write `{}`", file.display()))?;
        self.print(&format!("wrote {}", file.display()));
        Ok(())
    }

    fn print(&self, text: &str) {
        print_line(format_args!("{}", self.terminal.style_stderr(TextRole::Muted, sanitize(text))));
    }
}

#[cfg(test)]
mod tests {
    use super::SlashCommand;

    #[test]
    fn only_known_commands_are_no_messages() {
        for (line, command) in [
            ("/help", Some(SlashCommand::Help)),
            (" /tools ", Some(SlashCommand::Tools)),
            ("/model", Some(SlashCommand::Model(None))),
            ("/model openai:m", Some(SlashCommand::Model(Some("openai:m".to_owned())))),
            ("/save a b.md", Some(SlashCommand::Save(Some("a b.md".into())))),
            ("/cost", Some(SlashCommand::Cost)),
            ("/cost of living", None),
            ("/etc/hosts", None),
            ("help", None),
        ] {
            assert_eq!(SlashCommand::parse(line), command, "{line}");
        }
    }
}
