//! Errors and their codes: [`Error`] gathers every error of the façade, for programs that use `?` throughout.

#[doc(inline)]
pub use haft_core::error::{Coded, ErrorCode, InvalidName, codes};

macro_rules! gather_errors {
    ($($(#[$doc:meta])* $variant:ident($error:ty) $(if $feature:literal)?;)*) => {
        /// Any error that a program meets when it builds tools, agents and providers, loads scripts, and runs turns.
        ///
        /// The errors of tools, records, stores, artifacts, media, scripts, turns and providers convert into it, so that
        /// `?` works throughout a program. Telemetry, which a program sets up outside of turns, has its
        /// own errors.
        ///
        /// ```
        /// use haft::executors::ScriptExecutor;
        /// use haft::Agent;
        ///
        /// #[tokio::main(flavor = "current_thread")]
        /// async fn main() -> haft::Result<()> {
        ///     let script = ScriptExecutor::parse("steps:\n  - say: Hello.\n")?;
        ///     let agent = Agent::builder(script).build()?;
        ///     assert_eq!(agent.turn("Hi").await?.to_string(), "Hello.");
        ///     Ok(())
        /// }
        /// ```
        ///
        /// `Debug`, which a program prints whose `main` returns an error, is the message with its causes.
        #[derive(thiserror::Error)]
        #[non_exhaustive]
        pub enum Error {
            $($(#[cfg(feature = $feature)])? $(#[$doc])* #[error(transparent)] $variant(#[from] $error),)*
        }

        impl Error {
            fn coded(&self) -> &dyn Coded {
                match self {
                    $($(#[cfg(feature = $feature)])? Self::$variant(error) => error,)*
                }
            }
        }
    };
}

gather_errors! {
    /// A tool definition was refused.
    InvalidTool(haft_core::tool::InvalidTool);
    /// A call failed.
    Tool(haft_core::tool::ToolError);
    /// A tool registry refused an operation.
    ToolRegistry(haft_core::tool::ToolRegistryError);
    /// The stash refused an operation.
    Stash(haft_core::stash::StashError);
    /// A dispatch was not signalled.
    Signal(haft_core::context::SignalError);
    /// No media item of the turn has the given id.
    UnknownMedia(haft_core::context::UnknownMedia);
    /// A store of turns failed.
    Store(haft_core::store::StoreError);
    /// A call record cannot move to the requested state.
    Transition(haft_core::call::IllegalTransition);
    /// A record was refused.
    InvalidRecord(haft_core::record::InvalidRecord);
    /// A record has no stored form.
    NotStorable(haft_core::record::NotStorable);
    /// A stored record could not be loaded.
    Load(haft_core::record::LoadError);
    /// Media was refused.
    InvalidMedia(haft_core::media::InvalidMedia);
    /// Media could not be read or stored.
    Media(haft_core::media::MediaError);
    /// Spooled content could not be written or read.
    Spool(haft_core::spool::SpoolError);
    /// Tokens could not be counted.
    Tokens(haft_core::tokens::TokenError);
    /// An artifact format was refused.
    InvalidFormat(haft_core::forge::InvalidFormat);
    /// The question of a gate was refused.
    InvalidGate(haft_core::gate::InvalidGate);
    /// A gate was not approved.
    Gate(haft_core::gate::GateError);
    /// A gate was not settled.
    Settle(crate::turn::SettleError);
    /// The configuration of a turn agent was refused.
    InvalidAgent(crate::turn::InvalidAgent);
    /// A turn could not be started or resumed.
    Turn(crate::turn::TurnError);
    /// A turn did not complete.
    Stopped(crate::turn::TurnStopped);
    /// A turn has no answer of the expected type.
    Answer(haft_core::answer::AnswerError);
    /// A script was refused.
    InvalidScript(crate::executors::InvalidScript);
    /// A recording was refused.
    InvalidRecording(crate::executors::InvalidRecording);
    /// A turn could not be recorded.
    Recording(crate::executors::RecordingError);
    /// The options of a provider were refused.
    InvalidOptions(haft_providers::InvalidOptions);
    /// A provider failed.
    Provider(haft_providers::ProviderError);
    /// A request could not be sent or its response could not be read.
    Transport(haft_providers::transport::HttpError);
    /// A file could not be read as media.
    File(haft_tools::readers::FileError);
    /// Stored media could not be read.
    StoredMedia(haft_tools::readers::StoredError);
    /// A URL could not be fetched.
    Fetch(haft_tools::readers::FetchError) if "http";
    /// The tools of a pack could not be created.
    Pack(haft_tools::PackError) if "tools";
    /// A record could not be stored.
    Record(haft_core::context::RecordError);
    /// A pipeline failed.
    Pipeline(haft_core::pipeline::PipelineError);
    /// A recording cannot be replayed.
    NotReplayable(crate::executors::NotReplayable);
    /// Text could not be queried.
    Text(haft_artifacts::text::TextError);
    /// JSON could not be queried.
    Json(haft_artifacts::json::JsonError);
    /// CSV could not be queried.
    Csv(haft_artifacts::csv::CsvError) if "formats";
    /// XML could not be queried.
    Xml(haft_artifacts::xml::XmlError) if "formats";
    /// YAML could not be queried.
    Yaml(haft_artifacts::yaml::YamlError) if "formats";
}

haft_core::debug_as_message!(Error);

/// The result of what can fail with an [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Coded for Error {
    fn code(&self) -> ErrorCode {
        self.coded().code()
    }

    fn status(&self) -> u16 {
        self.coded().status()
    }

    fn retryable(&self) -> bool {
        self.coded().retryable()
    }
}
