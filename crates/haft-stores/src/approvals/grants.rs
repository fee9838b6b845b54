//! Standing approvals as files: one file per grant, and one empty file per revoked one.
//!
//! A mark of revocation is never removed, so a restored copy of a revoked grant approves nothing.

#[cfg(test)]
mod tests;

use std::fs::{self, File};
use std::io::{self, ErrorKind, Read as _, Write as _};
use std::path::{Path, PathBuf};

use haft_core::gate::{GrantId, GrantRow};

use super::limits::{MAX_GRANT_BYTES, MAX_GRANTS};
use crate::private_file::{create_private_dir, private_file_options};

fn grant_file(dir: &Path, id: GrantId) -> PathBuf {
    dir.join(format!("{id}.json"))
}

fn revocation_file(dir: &Path, id: GrantId) -> PathBuf {
    dir.join("revoked").join(id.to_string())
}

pub(super) fn insert_grant(dir: &Path, id: GrantId, json: &str) -> io::Result<()> {
    if json.len() > MAX_GRANT_BYTES {
        return Err(io::Error::other(format!("it has more than {MAX_GRANT_BYTES} bytes")));
    }
    create_private_dir(dir)?;
    if revocation_file(dir, id).try_exists()? {
        return Ok(());
    }
    if grant_ids(dir)?.len() >= MAX_GRANTS {
        return Err(io::Error::other(format!(
            "there are {MAX_GRANTS} standing approvals; revoke some of them"
        )));
    }
    // A link fails if the grant exists; a rename would replace it.
    let draft = dir.join(format!("{id}.new-{}", uuid::Uuid::new_v4().simple()));
    let written = private_file_options().write(true).create_new(true).open(&draft);
    let written = written.and_then(|mut file| {
        file.write_all(json.as_bytes())?;
        file.sync_all()
    });
    let linked = written.and_then(|()| fs::hard_link(&draft, grant_file(dir, id)));
    // A draft that cannot be removed is not used by anything.
    let _ = fs::remove_file(&draft);
    match linked {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(error),
        Ok(()) => sync_dir(dir),
    }
}

pub(super) fn load_grants(dir: &Path) -> io::Result<Vec<GrantRow>> {
    let mut rows = Vec::new();
    for id in grant_ids(dir)? {
        let is_revoked = revocation_file(dir, id).try_exists()?;
        rows.push(GrantRow::new(id, read_grant_file(&grant_file(dir, id)), is_revoked));
    }
    Ok(rows)
}

/// The names of the grants in a directory, in order.
fn grant_ids(dir: &Path) -> io::Result<Vec<GrantId>> {
    let entries = match fs::read_dir(dir) {
        Ok(entries) => entries,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let mut ids = Vec::new();
    for entry in entries.take(MAX_ENTRIES) {
        let name = entry?.file_name();
        let id: Option<GrantId> =
            name.to_str().and_then(|name| name.strip_suffix(".json")?.parse().ok());
        ids.extend(id);
    }
    ids.sort_unstable();
    Ok(ids)
}

/// Reads the text of a grant. Something that is no readable file has an empty text, which no signature fits.
fn read_grant_file(path: &Path) -> String {
    let is_file = fs::symlink_metadata(path).is_ok_and(|entry| entry.is_file());
    let mut text = String::new();
    let read = is_file.then(|| {
        let file = File::open(path)?;
        file.take(MAX_GRANT_BYTES as u64 + 1).read_to_string(&mut text)
    });
    match read {
        Some(Ok(bytes)) if bytes <= MAX_GRANT_BYTES => text,
        _ => String::new(),
    }
}

pub(super) fn revoke_grant(dir: &Path, id: GrantId) -> io::Result<bool> {
    let file = grant_file(dir, id);
    let exists = fs::symlink_metadata(&file).is_ok();
    create_private_dir(dir)?;
    let revoked = dir.join("revoked");
    create_private_dir(&revoked)?;
    let mark = private_file_options().write(true).create_new(true).open(revocation_file(dir, id));
    let is_first = match mark {
        Ok(mark) => {
            mark.sync_all()?;
            true
        }
        Err(error) if error.kind() == ErrorKind::AlreadyExists => false,
        Err(error) => return Err(error),
    };
    sync_dir(&revoked)?;
    sync_dir(dir)?;
    // The mark counts; the file is only not listed any more.
    let _ = fs::remove_file(&file);
    Ok(exists && is_first)
}

/// Makes the names in a directory durable.
#[cfg(unix)]
fn sync_dir(dir: &Path) -> io::Result<()> {
    File::open(dir)?.sync_all()
}

/// Other systems make names durable by themselves.
#[cfg(not(unix))]
fn sync_dir(_: &Path) -> io::Result<()> {
    Ok(())
}

/// The maximum number of entries of the directory that are looked at.
const MAX_ENTRIES: usize = 10_000;
