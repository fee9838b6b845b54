//! The tokens of a login at an MCP server, in the state directory of the user.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use haft::BoxFuture;
use haft_mcp::client::TokenStore;
use rustix::fs::{FlockOperation, flock};
use sha2::{Digest as _, Sha256};
use tokio::time::{Instant, sleep_until};

use crate::state_dir::state_dir;
use crate::text_file::read_named_text;

/// The tokens of one server of one agent. Only the user can read the file.
///
/// Its name covers the directory of the agent, the name of the server and its address, so that another agent, or a server
/// whose address was changed in the agent file, does not get them.
#[derive(Clone, Debug)]
pub(super) struct TokenFile {
    path: PathBuf,
}

/// The most bytes of the file.
const MAX_BYTES: u64 = 1024 * 1024;

/// How often a lock of another process is tried again, and for how long it is waited for.
const LOCK_PAUSE: Duration = Duration::from_millis(50);
const LOCK_ATTEMPTS: u32 = 1200;

impl TokenFile {
    pub(super) fn new(agent_dir: &Path, server: &str, url: &str) -> io::Result<Self> {
        let agent = fs::canonicalize(agent_dir)?;
        let state = state_dir().ok_or_else(|| io::Error::other("there is no home directory"))?;
        let mut hash = Sha256::new();
        for part in [agent.as_os_str().as_encoded_bytes(), server.as_bytes(), url.as_bytes()] {
            hash.update((part.len() as u64).to_le_bytes());
            hash.update(part);
        }
        let name: String = hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
        Ok(Self { path: state.join("mcp-tokens").join(format!("{name}.json")) })
    }

    /// Removes the tokens, and returns whether there were any.
    pub(super) fn remove_file(&self) -> io::Result<bool> {
        match fs::remove_file(&self.path) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }

    fn read(&self) -> io::Result<Option<String>> {
        match fs::metadata(&self.path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
            Ok(found) if found.len() > MAX_BYTES => Err(io::Error::other("the file is too large")),
            Ok(found) if !found.is_file() => Err(io::Error::other("it is not a regular file")),
            Ok(_) => read_named_text(&self.path, MAX_BYTES).map(Some),
        }
    }

    /// Writes the file in one step.
    fn write(&self, tokens: &str) -> io::Result<()> {
        let dir = self.create_dir()?;
        // A temporary file has the mode 0600.
        let mut file = tempfile::NamedTempFile::new_in(dir)?;
        io::Write::write_all(&mut file, tokens.as_bytes())?;
        file.as_file().sync_all()?;
        file.persist(&self.path)?;
        Ok(())
    }

    fn create_dir(&self) -> io::Result<&Path> {
        let dir = self.path.parent().unwrap_or(Path::new("."));
        fs::DirBuilder::new().recursive(true).mode(0o700).create(dir)?;
        Ok(dir)
    }

    /// Opens the file that processes lock. It is not the file of the tokens, which is replaced.
    fn open_lock(&self) -> io::Result<File> {
        self.create_dir()?;
        let mut options = fs::OpenOptions::new();
        options.create(true).truncate(false).write(true).mode(0o600);
        options.open(self.path.with_extension("lock"))
    }
}

impl TokenStore for TokenFile {
    fn load(&self) -> BoxFuture<'_, io::Result<Option<String>>> {
        Box::pin(async { self.read() })
    }

    fn save(&self, tokens: String) -> BoxFuture<'_, io::Result<()>> {
        Box::pin(async move { self.write(&tokens) })
    }

    fn remove(&self) -> BoxFuture<'_, io::Result<()>> {
        Box::pin(async { self.remove_file().map(drop) })
    }

    fn lock(&self) -> BoxFuture<'_, io::Result<Box<dyn Send>>> {
        Box::pin(async {
            let file = self.open_lock()?;
            for _ in 0..LOCK_ATTEMPTS {
                match flock(&file, FlockOperation::NonBlockingLockExclusive) {
                    Ok(()) => return Ok(Box::new(file) as Box<dyn Send>),
                    Err(rustix::io::Errno::WOULDBLOCK) => {
                        sleep_until(Instant::now() + LOCK_PAUSE).await
                    }
                    Err(error) => return Err(error.into()),
                }
            }
            Err(io::Error::other("another process refreshes the tokens and does not finish"))
        })
    }
}
