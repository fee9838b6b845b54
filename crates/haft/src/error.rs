//! Errors and their codes: [`Error`] gathers every error of the façade, for programs that use `?` throughout.

#[doc(inline)]
pub use haft_core::error::{Audience, Coded, ErrorCode, codes};

macro_rules! gather_errors {
    ($($(#[$doc:meta])* $variant:ident($error:ty);)*) => {
        /// Any error that a program meets when it builds tools, runners and providers, loads scripts, and runs turns.
        ///
        /// Every error type of the façade converts into it, so that `?` works throughout a program:
        ///
        /// ```
        /// use haft::executors::ScriptExecutor;
        /// use haft::{TurnInput, TurnRunner};
        ///
        /// #[tokio::main(flavor = "current_thread")]
        /// async fn main() -> Result<(), haft::Error> {
        ///     let script = ScriptExecutor::parse("steps:\n  - say: Hello.\n")?;
        ///     let runner = TurnRunner::builder(script).build()?;
        ///     let report = runner.run(TurnInput::new("You greet.")).await?;
        ///     assert_eq!(report.text(), "Hello.");
        ///     Ok(())
        /// }
        /// ```
        #[derive(Debug, thiserror::Error)]
        #[non_exhaustive]
        pub enum Error {
            $($(#[$doc])* #[error(transparent)] $variant(#[from] $error),)*
        }

        impl Error {
            fn coded(&self) -> &dyn Coded {
                match self {
                    $(Self::$variant(error) => error,)*
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
    /// A dispatch was signalled twice.
    Signal(haft_core::context::AlreadySignalled);
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
    /// The configuration of a turn runner was refused.
    InvalidRunner(crate::turn::InvalidRunner);
    /// A turn could not be started or resumed.
    Turn(crate::turn::TurnError);
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
    Transport(haft_providers::transport::TransportError);
    /// A file could not be read as media.
    File(haft_tools::readers::FileError);
}

impl Coded for Error {
    fn code(&self) -> ErrorCode {
        self.coded().code()
    }

    fn status(&self) -> u16 {
        self.coded().status()
    }

    fn fatal(&self) -> bool {
        self.coded().fatal()
    }

    fn audience(&self) -> Audience {
        self.coded().audience()
    }

    fn retryable(&self) -> bool {
        self.coded().retryable()
    }
}
