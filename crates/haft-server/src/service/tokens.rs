//! Tokens of tenants: a file with their hashes, and how a request is authenticated by them.
//!
//! A token is 256 random bits, so that a plain hash of it can be stored: there is no dictionary to try. The part before
//! the secret names the token, so that one digest is compared, in constant time.

use std::collections::HashMap;
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use fs4::FileExt;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;
use tokio::time::Instant;

/// What every token begins with, so that scanners find tokens that were published by mistake.
const PREFIX: &str = "haft_";
/// The version of the file.
const VERSION: u32 = 1;
/// The largest file that is read, in bytes.
const MAX_FILE: u64 = 16 << 20;
/// How long the file is not looked at again. A token that is revoked stops working within this time.
const RELOAD_AFTER: Duration = Duration::from_secs(1);
/// The longest name of a tenant or token.
const MAX_NAME: usize = 64;

/// A file with the tokens of tenants. It contains hashes and no tokens.
///
/// ```
/// use haft_server::TokenFile;
///
/// # let dir = tempfile::tempdir()?;
/// let file = TokenFile::new(dir.path().join("tokens.json"));
/// let created = file.create_token("shop", "checkout service")?;
/// assert!(created.token().starts_with("haft_"));
/// assert_eq!(file.list_tokens()?, [created.info().clone()]);
/// assert!(file.revoke_token(&created.info().id)?);
/// assert!(file.list_tokens()?.is_empty());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct TokenFile {
    path: PathBuf,
}

/// What is known of a token: everything but the token itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct TokenInfo {
    /// Its id, which the token contains.
    pub id: String,
    /// The tenant whose turns it opens.
    pub tenant: String,
    /// Who uses it. Decisions are recorded under this name.
    pub name: String,
    /// When it was created.
    pub created_at: haft::turn::Timestamp,
}

/// A token that was created. Its text is shown once and stored nowhere.
#[derive(Clone)]
#[non_exhaustive]
pub struct NewToken {
    info: TokenInfo,
    token: String,
}

/// Tokens cannot be created or read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TokenError {
    /// A name cannot be used.
    #[error("the name of the {what} has 1 to {MAX_NAME} characters: {allowed}")]
    InvalidName {
        /// What is named.
        what: &'static str,
        /// Which characters it can have.
        allowed: &'static str,
    },
    /// The file cannot be read or written.
    #[error("cannot {doing} the token file `{}`", path.display())]
    File {
        /// What was being done.
        doing: &'static str,
        /// The file.
        path: PathBuf,
        /// Why it failed.
        #[source]
        source: io::Error,
    },
    /// There are no random numbers.
    #[error(transparent)]
    NoRandomNumbers(#[from] crate::NoRandomNumbers),
}

#[derive(Debug, Serialize, Deserialize)]
struct StoredTokens {
    version: u32,
    tokens: Vec<StoredToken>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct StoredToken {
    #[serde(flatten)]
    info: TokenInfo,
    #[serde(with = "hex_digest")]
    sha256: [u8; 32],
}

/// A hash as the file has it. One that cannot be read is an error: left out, its token would look revoked.
mod hex_digest {
    use serde::de::{Deserialize, Deserializer, Error as _};
    use serde::ser::Serializer;

    pub(super) fn serialize<S: Serializer>(digest: &[u8; 32], to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&hex::encode(digest))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<[u8; 32], D::Error> {
        let mut digest = [0; 32];
        hex::decode_to_slice(String::deserialize(from)?, &mut digest).map_err(|error| {
            D::Error::custom(format!("the hash of a token is damaged: {error}"))
        })?;
        Ok(digest)
    }
}

impl NewToken {
    /// Creates a token that is stored in no file: it works for a service that is given it, while that runs.
    ///
    /// # Errors
    ///
    /// A name cannot be used, or there are no random numbers.
    pub fn generate(tenant: &str, name: &str) -> Result<Self, TokenError> {
        if !tenant.is_empty() {
            check_tenant(tenant)?;
        }
        let is_name = (1..=MAX_NAME).contains(&name.chars().count());
        if !is_name || name.chars().any(char::is_control) {
            let what = "token";
            let allowed = "any but control characters";
            return Err(TokenError::InvalidName { what, allowed });
        }
        let mut id = [0; 6];
        let mut secret = [0; 32];
        getrandom::fill(&mut id).map_err(|_| crate::NoRandomNumbers)?;
        getrandom::fill(&mut secret).map_err(|_| crate::NoRandomNumbers)?;
        let id = hex::encode(id);
        let token = format!("{PREFIX}{id}_{}", hex::encode(secret));
        let created_at = haft::turn::Clock::now(&haft::turn::SystemClock::new());
        let tenant = tenant.to_owned();
        let name = name.to_owned();
        Ok(Self { info: TokenInfo { id, tenant, name, created_at }, token })
    }

    /// The text of the token.
    #[must_use]
    pub fn token(&self) -> &str {
        &self.token
    }

    /// What is known of it.
    #[must_use]
    pub const fn info(&self) -> &TokenInfo {
        &self.info
    }

    fn to_stored(&self) -> StoredToken {
        StoredToken { info: self.info.clone(), sha256: self.digest() }
    }

    fn digest(&self) -> [u8; 32] {
        Sha256::digest(&self.token).into()
    }
}

impl std::fmt::Debug for NewToken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("NewToken").field("info", &self.info).finish_non_exhaustive()
    }
}

/// Names of tenants stand in addresses, logs and directories.
fn check_tenant(name: &str) -> Result<(), TokenError> {
    let is_allowed = |it: char| it.is_ascii_alphanumeric() || matches!(it, '-' | '_' | '.');
    match (1..=MAX_NAME).contains(&name.len()) && name.chars().all(is_allowed) {
        true => Ok(()),
        false => {
            let allowed = "letters and digits of ASCII, `-`, `_` and `.`";
            Err(TokenError::InvalidName { what: "tenant", allowed })
        }
    }
}

impl TokenFile {
    /// Names a file, which is created with the first token.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into() }
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Creates a token of a tenant and stores its hash.
    ///
    /// # Errors
    ///
    /// A name cannot be used, or the file cannot be written.
    pub fn create_token(&self, tenant: &str, name: &str) -> Result<NewToken, TokenError> {
        check_tenant(tenant)?;
        let created = NewToken::generate(tenant, name)?;
        self.change(|tokens| tokens.push(created.to_stored()))?;
        Ok(created)
    }

    /// Lists the tokens, oldest first.
    ///
    /// # Errors
    ///
    /// The file cannot be read.
    pub fn list_tokens(&self) -> Result<Vec<TokenInfo>, TokenError> {
        Ok(self.read()?.into_iter().map(|it| it.info).collect())
    }

    /// Revokes a token by its id. Services stop accepting it within a second. Returns whether there was one.
    ///
    /// # Errors
    ///
    /// The file cannot be read or written.
    pub fn revoke_token(&self, id: &str) -> Result<bool, TokenError> {
        self.change(|tokens| {
            let before = tokens.len();
            tokens.retain(|it| it.info.id != id);
            tokens.len() < before
        })
    }

    fn failed(&self, doing: &'static str, source: io::Error) -> TokenError {
        TokenError::File { doing, path: self.path.clone(), source }
    }

    fn read(&self) -> Result<Vec<StoredToken>, TokenError> {
        let read = || -> io::Result<Vec<StoredToken>> {
            match fs::metadata(&self.path) {
                Ok(found) => check_file(&found)?,
                Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
                Err(error) => return Err(error),
            }
            let stored: StoredTokens = serde_json::from_slice(&fs::read(&self.path)?)?;
            if stored.version != VERSION {
                let message = format!("its version is {}; use a newer program", stored.version);
                return Err(io::Error::other(message));
            }
            Ok(stored.tokens)
        };
        read().map_err(|error| self.failed("read", error))
    }

    /// Changes the tokens. Programs that change the file at the same time wait for each other, and readers see the
    /// tokens before or after the change.
    fn change<T>(&self, change: impl FnOnce(&mut Vec<StoredToken>) -> T) -> Result<T, TokenError> {
        let failed = |error| self.failed("write", error);
        let dir = self.path.parent().filter(|it| !it.as_os_str().is_empty());
        let dir = dir.unwrap_or(Path::new("."));
        fs::create_dir_all(dir).map_err(failed)?;
        let lock = self.path.with_extension("lock");
        let lock = fs::File::options().create(true).append(true).open(lock).map_err(failed)?;
        FileExt::lock(&lock).map_err(failed)?;
        let mut tokens = self.read()?;
        let changed = change(&mut tokens);
        let write = || -> io::Result<()> {
            // The temporary file can be read by its owner alone, and so can the file that it becomes.
            let mut file = tempfile::NamedTempFile::new_in(dir)?;
            let text = serde_json::to_string_pretty(&StoredTokens { version: VERSION, tokens })?;
            file.write_all(text.as_bytes())?;
            file.as_file().sync_all()?;
            file.persist(&self.path)?;
            Ok(())
        };
        write().map_err(failed)?;
        Ok(changed)
    }

    /// What changes when the file does.
    fn stamp(&self) -> Option<(SystemTime, u64)> {
        let found = fs::metadata(&self.path).ok()?;
        Some((found.modified().ok()?, found.len()))
    }
}

/// The tokens that a service accepts.
#[derive(Debug)]
pub(super) struct TokenCheck {
    file: Option<TokenFile>,
    fixed: TokenTable,
    loaded: Mutex<LoadedTokens>,
}

#[derive(Debug, Default)]
struct LoadedTokens {
    table: Arc<TokenTable>,
    stamp: Option<(SystemTime, u64)>,
    checked: Option<Instant>,
}

/// Tokens by their ids.
type TokenTable = HashMap<String, (Arc<TokenInfo>, [u8; 32])>;

impl TokenCheck {
    pub(super) fn new(file: Option<TokenFile>, fixed: &[NewToken]) -> Self {
        let entry = |it: &NewToken| (it.info.id.clone(), (Arc::new(it.info.clone()), it.digest()));
        let fixed = fixed.iter().map(entry).collect();
        Self { file, fixed, loaded: Mutex::default() }
    }

    /// The token that a text is, or `None` if it is none.
    pub(super) async fn find_token(
        &self,
        text: &str,
    ) -> Result<Option<Arc<TokenInfo>>, TokenError> {
        let loaded = self.load().await?;
        let id = text.strip_prefix(PREFIX).and_then(|it| it.split_once('_')).map(|(id, _)| id);
        let known = id.and_then(|id| self.fixed.get(id).or_else(|| loaded.get(id)));
        // An unknown id costs as much as a wrong secret, so that the time does not tell which ids exist.
        let expected = known.map_or([0; 32], |(_, digest)| *digest);
        let digest: [u8; 32] = Sha256::digest(text).into();
        let is_same = bool::from(digest.ct_eq(&expected));
        Ok(known.filter(|_| is_same).map(|(info, _)| Arc::clone(info)))
    }

    /// The tokens of the file, which is read again when it has changed.
    async fn load(&self) -> Result<Arc<TokenTable>, TokenError> {
        let Some(file) = &self.file else { return Ok(Arc::default()) };
        let lock = || self.loaded.lock().unwrap_or_else(PoisonError::into_inner);
        let stamp = {
            let loaded = lock();
            if loaded.checked.is_some_and(|it| it.elapsed() < RELOAD_AFTER) {
                return Ok(Arc::clone(&loaded.table));
            }
            loaded.stamp
        };
        let (file, path) = (file.clone(), file.path.clone());
        let read = move || {
            let now = file.stamp();
            let is_same = now.is_some() && now == stamp;
            let table = if is_same { None } else { Some(to_table(file.read()?)) };
            Ok((now, table))
        };
        let read = tokio::task::spawn_blocking(read).await.unwrap_or_else(|error| {
            Err(TokenError::File { doing: "read", path, source: io::Error::other(error) })
        });
        let (stamp, table) = read?;
        let mut loaded = lock();
        if let Some(table) = table {
            loaded.table = Arc::new(table);
        }
        (loaded.stamp, loaded.checked) = (stamp, Some(Instant::now()));
        Ok(Arc::clone(&loaded.table))
    }
}

fn to_table(tokens: Vec<StoredToken>) -> TokenTable {
    let entry = |token: StoredToken| (token.info.id.clone(), (Arc::new(token.info), token.sha256));
    tokens.into_iter().map(entry).collect()
}

/// Refuses a file that could be endless, and one in which other users could write tokens of their own. Everybody may
/// read it: it holds hashes of random numbers.
fn check_file(found: &fs::Metadata) -> io::Result<()> {
    if !found.is_file() {
        return Err(io::Error::other("it is no regular file"));
    }
    if found.len() > MAX_FILE {
        return Err(io::Error::other(format!("it has more than {MAX_FILE} bytes")));
    }
    #[cfg(unix)]
    {
        let mode = std::os::unix::fs::MetadataExt::mode(found);
        if mode & 0o022 != 0 {
            let reason = format!(
                "other users can write to it (mode {:03o}), and could add tokens; run `chmod go-w`",
                mode & 0o777
            );
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, reason));
        }
    }
    Ok(())
}
