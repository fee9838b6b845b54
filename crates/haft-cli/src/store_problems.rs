//! Why a store cannot be used, as far as its disk shows: what an error of the store itself does not say.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use haft::stores::StoreError;
use haft::turn::TurnError;
use rustix::fs::{Access, StatVfsMountFlags, access, statvfs};
use rustix::process::{Resource, getrlimit};

use crate::store_address::{StoreAddress, show_url};

/// The store that this process uses: its address as the user writes it, and where it is if it is on this machine.
static USED_STORE: Mutex<Option<(String, Option<PathBuf>)>> = Mutex::new(None);

/// Notes which store is used, for the hints of errors.
pub(crate) fn note_store(address: &StoreAddress) {
    let dir = address.local_dir().map(Path::to_owned);
    let noted = (show_url(&address.url), dir);
    *USED_STORE.lock().unwrap_or_else(PoisonError::into_inner) = Some(noted);
}

/// A hint for the error of a store; nothing for other errors.
pub(crate) fn find_store_hint(error: &anyhow::Error) -> Option<String> {
    // The error of a turn shows that of its store as its own, so that it is not among the causes.
    let store_error = error.chain().find_map(|cause| match cause.downcast_ref::<TurnError>() {
        Some(TurnError::Store(error)) => Some(error),
        _ => cause.downcast_ref::<StoreError>(),
    })?;
    let (name, dir) = USED_STORE.lock().unwrap_or_else(PoisonError::into_inner).clone()?;
    match store_error {
        StoreError::OtherVersion { found, known } => {
            let age = if found > known { "a newer" } else { "an older" };
            Some(format!(
                "{age} haft wrote the store `{name}`: use that one, or another store with --store DIR"
            ))
        }
        StoreError::Backend { retryable: false, doing, .. } => {
            let is_opened = !doing.starts_with("open") && !doing.starts_with("create");
            let problem = dir.and_then(|dir| find_disk_problem(&dir));
            problem.or_else(|| (!is_opened).then(|| ELSEWHERE.to_owned()))
        }
        StoreError::ReadOnly { .. } => find_disk_problem(&dir?),
        _ => None,
    }
}

/// What is wrong with the disk of the store that this process uses.
pub(crate) fn find_used_disk_problem() -> Option<String> {
    let used = USED_STORE.lock().unwrap_or_else(PoisonError::into_inner).clone();
    find_disk_problem(&used?.1?)
}

/// What is wrong with the place of a directory, and what the user can do.
fn find_disk_problem(dir: &Path) -> Option<String> {
    // The parent of a relative path with one component is the empty path.
    let openable = |path: &Path| match path.as_os_str().is_empty() {
        true => PathBuf::from("."),
        false => path.to_owned(),
    };
    let existing = dir.ancestors().map(openable).find(|path| path.exists())?;
    let shown = existing.display();
    if !existing.is_dir() {
        return Some(format!("`{shown}` is a file and not a directory: {ELSEWHERE}"));
    }
    let disk = statvfs(&existing).ok()?;
    if disk.f_flag.contains(StatVfsMountFlags::RDONLY) {
        return Some(format!("the file system of `{shown}` is read-only: {ELSEWHERE}"));
    }
    if disk.f_blocks == 0 {
        return Some(format!("the file system of `{shown}` stores no files: {ELSEWHERE}"));
    }
    let free = disk.f_bavail.saturating_mul(disk.f_frsize);
    if free < MIN_FREE {
        let free = free / 1024;
        return Some(format!(
            "the disk of `{shown}` is full ({free} KiB are free): make room there, or {ELSEWHERE}"
        ));
    }
    // Some file systems count no files.
    if disk.f_files > 0 && disk.f_favail == 0 {
        return Some(format!(
            "the disk of `{shown}` has no room for another file: remove some, or {ELSEWHERE}"
        ));
    }
    if access(&existing, Access::WRITE_OK).is_err() {
        return Some(format!("you may not write to `{shown}`: {ELSEWHERE}"));
    }
    if let Some(limit) = getrlimit(Resource::Fsize).current {
        let limit = limit / 1024;
        return Some(format!(
            "files may not grow beyond {limit} KiB here (`ulimit -f`): raise the limit"
        ));
    }
    None
}

/// What helps whatever is wrong with a store.
const ELSEWHERE: &str = "choose another place with --store DIR, or with HAFT_STORE";

/// With less room than this a store counts as being on a full disk: its database grows by pages, and writes a log.
const MIN_FREE: u64 = 1 << 20;
