//! Opens and closes the directory of a store, and finds turns and gates in it.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use anyhow::Result;
use haft::error::Coded as _;
use haft::stores::TurnDir;
use haft::stores::{StoreError, TurnId, TurnQuery, TurnStore as _, TurnSummary};
use haft::turn::Gate;
use haft::turn::Gatekeeper;

use crate::user_error::{FailureCode, UserError};

/// The stores that this process has open.
static OPEN_STORES: Mutex<Vec<TurnDir>> = Mutex::new(Vec::new());

/// Opens a store. It is created if it does not exist, and closed by [`close_stores`].
pub(crate) fn open_or_create_store(path: impl Into<PathBuf>) -> Result<TurnDir> {
    let path = path.into();
    let is_new = !path.exists();
    let store = register_store(TurnDir::open(&path)?);
    if is_new {
        // The store works without it.
        let _ = std::fs::write(path.join(".gitignore"), GIT_IGNORE);
    }
    Ok(store)
}

/// Keeps a new store out of the repository in whose directory it was created.
const GIT_IGNORE: &str =
    "# Created by haft: conversations and results do not belong into a repository.\n*\n";

/// Opens an existing store.
pub(crate) fn open_store(path: &Path) -> Result<TurnDir> {
    check_exists(path)?;
    open_or_create_store(path)
}

/// Opens an existing store whose turns are only read. It may be on a disk that is full or cannot be written.
pub(crate) fn open_store_to_read(path: &Path) -> Result<TurnDir> {
    check_exists(path)?;
    let opened = match TurnDir::open(path) {
        Err(error @ StoreError::Backend { .. }) if !error.retryable() => {
            TurnDir::open_read_only(path).map_err(|_| error)
        }
        opened => opened,
    };
    Ok(register_store(opened?))
}

/// Closes all stores, so that the files of their databases are complete without their logs. A store that another
/// process keeps busy is not waited for: its log is complete.
pub(crate) async fn close_stores() {
    let stores = std::mem::take(&mut *OPEN_STORES.lock().unwrap_or_else(PoisonError::into_inner));
    let close_all = async {
        for store in stores {
            store.close().await;
        }
    };
    let _ = tokio::time::timeout(MAX_CLOSE_TIME, close_all).await;
}

/// The longest time that the end of the program waits for the stores.
const MAX_CLOSE_TIME: Duration = Duration::from_secs(2);

fn register_store(store: TurnDir) -> TurnDir {
    OPEN_STORES.lock().unwrap_or_else(PoisonError::into_inner).push(store.clone());
    store
}

fn check_exists(path: &Path) -> Result<()> {
    if path.is_dir() {
        return Ok(());
    }
    let error = UserError::new(format!("there is no store at `{}`", path.display()));
    let error = error.hint("set its directory with --store DIR; `haft run` creates a store");
    Err(error.code(FailureCode::NotFound).into())
}

/// The short form of a turn's id: its end, which is random. Its beginning is the time, which turns of one minute share.
pub(crate) fn short_id(id: &TurnId) -> &str {
    let id = id.as_str();
    id.len().checked_sub(SHORT_ID).and_then(|at| id.get(at..)).unwrap_or(id)
}

/// The length of a short id.
const SHORT_ID: usize = 8;

/// Finds the turn with this id, or the only one whose id starts or ends with the text. `last` is the newest turn.
pub(crate) async fn find_turn(store_dir: &TurnDir, text: &str) -> Result<TurnId> {
    if text == "last" {
        let newest = store_dir.store().turns(TurnQuery::default().limit(1)).await?;
        let newest = newest.into_iter().next().map(|it| it.id);
        return newest.ok_or_else(|| {
            UserError::new("the store has no turns").code(FailureCode::NotFound).into()
        });
    }
    if let Ok(id) = text.parse::<TurnId>()
        && store_dir.store().load(id.clone()).await?.is_some()
    {
        return Ok(id);
    }
    let mut query = TurnQuery::default();
    query.limit = Some(1000);
    let mut found: Vec<TurnId> = Vec::new();
    loop {
        let turns: Vec<TurnSummary> = store_dir.store().turns(query.clone()).await?;
        found.extend(
            turns.iter().map(|it| it.id.clone()).filter(|id| is_short_for(id.as_str(), text)),
        );
        match turns.last() {
            Some(last) if found.len() < 2 => query.before = Some(last.id.clone()),
            _ => break,
        }
    }
    let ids: Vec<&str> = found.iter().map(TurnId::as_str).collect();
    require_unique("turn", text, &ids, "haft turns")?;
    found.pop().ok_or_else(|| UserError::new("no turn").into())
}

/// Whether a text is the beginning of an id, or enough of its end.
fn is_short_for(id: &str, text: &str) -> bool {
    id.starts_with(text) || text.len() >= MIN_SUFFIX && id.ends_with(text)
}

/// The shortest end of an id that names a turn.
const MIN_SUFFIX: usize = 4;

/// Finds the open gate with this id, or the only one whose id starts with the text.
pub(crate) async fn find_open_gate(store_dir: &TurnDir, text: &str) -> Result<Gate> {
    let mut open = Gatekeeper::of_dir(store_dir).open_gates(None).await?;
    if let Some(at) = open.iter().position(|gate| gate.id.as_str() == text) {
        return Ok(open.swap_remove(at));
    }
    open.retain(|gate| gate.id.as_str().starts_with(text));
    let ids: Vec<&str> = open.iter().map(|gate| gate.id.as_str()).collect();
    require_unique("open gate", text, &ids, "haft gates")?;
    open.pop().ok_or_else(|| UserError::new("no gate").into())
}

/// Returns an error unless exactly one id was found.
pub(crate) fn require_unique(
    kind: &str,
    text: &str,
    ids: &[&str],
    list_command: &str,
) -> Result<()> {
    match ids {
        [_] => Ok(()),
        [] => {
            let error = UserError::new(format!("there is no {kind} `{text}`"));
            let error = error.hint(format!("`{list_command}` lists them"));
            Err(error.code(FailureCode::NotFound).into())
        }
        [first, second, ..] => {
            let error =
                UserError::new(format!("more than one {kind} starts or ends with `{text}`"));
            Err(error.hint(format!("use more of its id: `{first}` or `{second}`")).into())
        }
    }
}
