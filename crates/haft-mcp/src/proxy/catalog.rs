//! The results that the proxy has stored, by handle.
//!
//! Everything is in the spool: the content, and an entry per handle that says where it is. A restarted proxy with the
//! same spool finds the earlier handles, and several proxies can share a spool.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use haft_core::artifact::{ArtifactKind, SpooledArtifact};
use haft_core::clock::{Clock, Timestamp};
use haft_core::spool::{SpoolError, SpoolKey, SpoolReader, SpoolStore};
use haft_core::trust::TrustTier;
use serde::{Deserialize, Serialize};

/// How the keys of entries begin.
const ENTRY: &str = "mcp-proxy/entry/";

/// How the keys begin that say when content without an entry was first seen.
const ORPHAN: &str = "mcp-proxy/orphan/";

/// How the keys of content begin.
const CONTENT: &str = "mcp/";

/// The maximum number of bytes of an entry.
const MAX_ENTRY: usize = 64 * 1024;

/// How much is stored, and for how long.
#[derive(Clone, Copy, Debug)]
pub(super) struct CatalogLimits {
    pub(super) bytes: u64,
    pub(super) lifetime: Duration,
}

/// Stored results.
pub(super) struct Catalog {
    spools: Arc<dyn SpoolStore>,
    clock: Arc<dyn Clock>,
    limits: CatalogLimits,
    /// How many bytes were stored since the last clean-up, and how many there were then.
    stored: AtomicU64,
    /// When the last clean-up was, in seconds of the monotonic clock.
    cleaned_at: AtomicU64,
    is_cleaning: AtomicBool,
}

/// A stored result.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct StoredResult {
    /// How the client names it.
    pub(super) handle: String,
    /// The tool that returned it.
    pub(super) tool: String,
    pub(super) bytes: u64,
    pub(super) created_at: Timestamp,
    artifact: SpooledArtifact,
    key: SpoolKey,
}

impl Catalog {
    pub(super) fn new(
        spools: Arc<dyn SpoolStore>,
        clock: Arc<dyn Clock>,
        limits: CatalogLimits,
    ) -> Self {
        let (stored, cleaned_at) = (AtomicU64::new(u64::MAX), AtomicU64::new(0));
        let is_cleaning = AtomicBool::new(false);
        Self { spools, clock, limits, stored, cleaned_at, is_cleaning }
    }

    pub(super) fn lifetime(&self) -> Duration {
        self.limits.lifetime
    }

    /// Stores a text that came with other content.
    pub(super) async fn store_text(
        &self,
        text: String,
    ) -> Result<(SpoolKey, Arc<dyn SpoolReader>), SpoolError> {
        let key = SpoolKey::new(format!("{CONTENT}proxy/{}", new_handle()?));
        let reader = self.spools.write(key.clone(), text.into()).await?;
        Ok((key, reader))
    }

    /// Gives content in the spool a handle.
    pub(super) async fn put(
        &self,
        tool: &str,
        kind: ArtifactKind,
        (key, reader): (SpoolKey, Arc<dyn SpoolReader>),
    ) -> Result<(String, SpooledArtifact), SpoolError> {
        let handle = new_handle()?;
        let bytes = reader.byte_length();
        let artifact = SpooledArtifact::new(kind, reader, TrustTier::UNTRUSTED);
        let tool = crate::answer_limits::start_of(tool, 256).to_owned();
        let created_at = self.clock.now();
        let entry = StoredResult {
            handle: handle.clone(),
            tool,
            bytes,
            created_at,
            artifact: artifact.clone(),
            key: key.clone(),
        };
        let text = serde_json::to_string(&entry)
            .map_err(|error| SpoolError::io(&key, "describe", io::Error::other(error)))?;
        self.spools.write(entry_key(&handle), text.into()).await?;
        let _ = self.stored.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |it| {
            Some(it.saturating_add(bytes))
        });
        Ok((handle, artifact))
    }

    /// The result that a handle names, or `None` if there is none, or its lifetime is over.
    pub(super) async fn find(&self, handle: &str) -> Result<Option<SpooledArtifact>, SpoolError> {
        if handle.len() != HANDLE_DIGITS || !handle.bytes().all(|it| it.is_ascii_hexdigit()) {
            return Ok(None);
        }
        let Some(entry) = self.read_entry(entry_key(handle)).await? else { return Ok(None) };
        if self.is_expired(entry.created_at) {
            return Ok(None);
        }
        let artifact = entry.artifact.opened_in(&*self.spools).await;
        // A store that does not wait for the disk can have lost the end in a power failure.
        let is_whole =
            |it: &SpooledArtifact| !it.is_lost() && it.reader().byte_length() == entry.bytes;
        Ok(artifact.ok().filter(is_whole))
    }

    /// Every stored result, the newest first.
    pub(super) async fn list(&self) -> Result<Vec<StoredResult>, SpoolError> {
        let mut entries = Vec::new();
        for key in self.spools.list().await? {
            if key.as_str().starts_with(ENTRY)
                && let Some(entry) = self.read_entry(key).await?
                && !self.is_expired(entry.created_at)
            {
                entries.push(entry);
            }
        }
        entries.sort_by_key(|it| std::cmp::Reverse(it.created_at));
        Ok(entries)
    }

    async fn read_entry(&self, key: SpoolKey) -> Result<Option<StoredResult>, SpoolError> {
        let Some(reader) = self.spools.read(key).await? else { return Ok(None) };
        let text = reader.read_at(0, MAX_ENTRY).await?;
        // An entry that another version wrote differently is as good as none.
        Ok(serde_json::from_slice(&text).ok())
    }

    fn is_expired(&self, created_at: Timestamp) -> bool {
        self.clock.now().duration_since(created_at) >= self.limits.lifetime
    }

    /// Removes what is too old, and the oldest results while there are too many bytes. Does nothing if it is not due.
    pub(super) async fn clean_up(&self) -> Result<(), SpoolError> {
        let now = self.clock.monotonic().as_secs();
        let pause = (self.limits.lifetime.as_secs() / 24).clamp(1, 3_600);
        let is_late = now.saturating_sub(self.cleaned_at.load(Ordering::Relaxed)) >= pause;
        let is_full = self.stored.load(Ordering::Relaxed) > self.limits.bytes;
        if !(is_late || is_full) || self.is_cleaning.swap(true, Ordering::AcqRel) {
            return Ok(());
        }
        self.cleaned_at.store(now, Ordering::Relaxed);
        let cleaned = self.remove_surplus().await;
        self.is_cleaning.store(false, Ordering::Release);
        self.stored.store(cleaned?, Ordering::Relaxed);
        Ok(())
    }

    /// Removes what is too much, and returns how many bytes are left.
    async fn remove_surplus(&self) -> Result<u64, SpoolError> {
        let keys = self.spools.list().await?;
        let mut entries = Vec::new();
        let mut orphans: HashMap<String, SpoolKey> = HashMap::new();
        let mut content = BTreeMap::new();
        for key in keys {
            match key.as_str() {
                it if it.starts_with(ENTRY) => match self.read_entry(key.clone()).await? {
                    Some(entry) => entries.push(entry),
                    None => drop(self.spools.delete(key).await?),
                },
                it if it.starts_with(ORPHAN) => {
                    orphans.insert(it.trim_start_matches(ORPHAN).to_owned(), key);
                }
                it if it.starts_with(CONTENT) => drop(content.insert(it.to_owned(), key)),
                _ => {}
            }
        }
        entries.sort_by_key(|it| std::cmp::Reverse(it.created_at));
        let (mut kept, mut referenced) = (0_u64, HashSet::new());
        for (place, entry) in entries.into_iter().enumerate() {
            let total = kept.saturating_add(entry.bytes);
            // The newest result stays, however large it is.
            if self.is_expired(entry.created_at) || (total > self.limits.bytes && place > 0) {
                self.spools.delete(entry_key(&entry.handle)).await?;
                self.spools.delete(entry.key.clone()).await?;
            } else {
                kept = total;
            }
            referenced.insert(entry.key.as_str().to_owned());
        }
        content.retain(|key, _| !referenced.contains(key));
        self.remove_orphans(&content, orphans).await?;
        Ok(kept)
    }

    /// Removes content that no entry has referred to for a lifetime: the process that read it has died.
    async fn remove_orphans(
        &self,
        content: &BTreeMap<String, SpoolKey>,
        mut marks: HashMap<String, SpoolKey>,
    ) -> Result<(), SpoolError> {
        for (name, key) in content {
            let Some(mark) = marks.remove(name) else {
                let now = self.clock.now().to_string();
                self.spools.write(SpoolKey::new(format!("{ORPHAN}{name}")), now.into()).await?;
                continue;
            };
            let seen = match self.spools.read(mark.clone()).await? {
                Some(reader) => reader.read_at(0, 64).await?,
                None => continue,
            };
            let seen = std::str::from_utf8(&seen).ok().and_then(|it| it.parse::<Timestamp>().ok());
            if seen.is_none_or(|seen| self.is_expired(seen)) {
                self.spools.delete(key.clone()).await?;
                self.spools.delete(mark).await?;
            }
        }
        // What is left marks content that has an entry now, or is gone.
        for mark in marks.into_values() {
            self.spools.delete(mark).await?;
        }
        Ok(())
    }
}

fn entry_key(handle: &str) -> SpoolKey {
    SpoolKey::new(format!("{ENTRY}{handle}"))
}

/// How many hexadecimal digits a handle has. Only the client of this proxy can use it.
const HANDLE_DIGITS: usize = 12;

fn new_handle() -> Result<String, SpoolError> {
    let mut bits = [0; 8];
    getrandom::fill(&mut bits).map_err(|error| SpoolError::Store {
        doing: "make a handle for",
        source: io::Error::other(error.to_string()),
    })?;
    let handle = format!("{:016x}", u64::from_be_bytes(bits));
    Ok(handle.chars().take(HANDLE_DIGITS).collect())
}
