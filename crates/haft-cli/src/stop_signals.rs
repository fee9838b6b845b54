//! Signals that stop the program: Ctrl-C, SIGTERM and SIGHUP.
//!
//! The handlers are installed before a command starts and stay until the end, so no signal is lost or kills the
//! program in the middle of a turn. A running turn listens and reacts; without a listener, `main` ends the program.

use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use crate::user_error::FailureCode;

/// A signal that stops the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StopSignal {
    /// SIGINT, which a terminal sends for Ctrl-C.
    Interrupt,
    /// SIGTERM, which service managers and container runtimes send.
    Terminate,
    /// SIGHUP, which the end of a terminal sends.
    Hangup,
}

impl StopSignal {
    const ALL: [Self; 3] = [Self::Interrupt, Self::Terminate, Self::Hangup];

    const fn kind(self) -> SignalKind {
        match self {
            Self::Interrupt => SignalKind::interrupt(),
            Self::Terminate => SignalKind::terminate(),
            Self::Hangup => SignalKind::hangup(),
        }
    }

    /// The name of the signal.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Interrupt => "SIGINT",
            Self::Terminate => "SIGTERM",
            Self::Hangup => "SIGHUP",
        }
    }

    /// The exit code of a program that the signal ends, as shells report it.
    pub(crate) const fn exit_code(self) -> FailureCode {
        match self {
            Self::Interrupt => FailureCode::Interrupted,
            Self::Terminate => FailureCode::Terminated,
            Self::Hangup => FailureCode::HungUp,
        }
    }
}

/// The installed handlers.
#[derive(Clone, Debug)]
pub(crate) struct StopSignals {
    listener: Arc<Mutex<Option<mpsc::Sender<StopSignal>>>>,
    unhandled: mpsc::Sender<StopSignal>,
}

/// Receives the signals that no listener takes.
#[derive(Debug)]
pub(crate) struct UnhandledSignals {
    receiver: mpsc::Receiver<StopSignal>,
    _forwarders: JoinSet<()>,
}

impl StopSignals {
    /// Installs the handlers. A signal that the parent process has set to be ignored stays ignored, as `nohup` and
    /// background jobs need it.
    pub(crate) fn install() -> io::Result<(Self, UnhandledSignals)> {
        let (unhandled, receiver) = mpsc::channel(1);
        let signals = Self { listener: Arc::default(), unhandled };
        let ignored = read_ignored_signals();
        let mut forwarders = JoinSet::new();
        for stop in StopSignal::ALL {
            let bit = stop.kind().as_raw_value().saturating_sub(1);
            if ignored.checked_shr(bit.unsigned_abs()).unwrap_or(0) & 1 == 0 {
                forwarders.spawn(signals.clone().forward_all(signal(stop.kind())?, stop));
            }
        }
        Ok((signals, UnhandledSignals { receiver, _forwarders: forwarders }))
    }

    /// Takes the signals from now on, until the listener is dropped.
    pub(crate) fn listen(&self) -> StopListener {
        let (sender, receiver) = mpsc::channel(1);
        *self.lock() = Some(sender);
        StopListener { receiver, signals: self.clone() }
    }

    async fn forward_all(self, mut received: Signal, stop: StopSignal) {
        while received.recv().await.is_some() {
            self.forward(stop);
        }
    }

    /// Passes a signal on. If the listener has not yet taken the previous one, it is stuck, and the program ends.
    fn forward(&self, stop: StopSignal) {
        let is_taken = self.lock().as_ref().is_some_and(|it| it.try_send(stop).is_ok());
        if !is_taken {
            // If it is full, the program is about to end.
            let _ = self.unhandled.try_send(stop);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Option<mpsc::Sender<StopSignal>>> {
        self.listener.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl UnhandledSignals {
    pub(crate) async fn next(&mut self) -> StopSignal {
        match self.receiver.recv().await {
            Some(stop) => stop,
            // There are no senders if all signals are ignored.
            None => std::future::pending().await,
        }
    }
}

/// Takes the signals while it exists.
#[derive(Debug)]
pub(crate) struct StopListener {
    receiver: mpsc::Receiver<StopSignal>,
    signals: StopSignals,
}

impl StopListener {
    /// Waits for the next signal. Dropping this future loses nothing.
    pub(crate) async fn next(&mut self) -> StopSignal {
        match self.receiver.recv().await {
            Some(stop) => stop,
            None => std::future::pending().await,
        }
    }
}

impl Drop for StopListener {
    fn drop(&mut self) {
        *self.signals.lock() = None;
        if let Ok(stop) = self.receiver.try_recv() {
            self.signals.forward(stop);
        }
    }
}

/// The signals that this process ignores, as a mask; none if the system does not tell.
fn read_ignored_signals() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|it| u64::from_str_radix(it.trim(), 16).ok()).unwrap_or(0)
}
