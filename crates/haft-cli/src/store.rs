//! Opens and closes stores, and finds turns and gates in them.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use anyhow::Result;
use haft::error::Coded as _;
use haft::stores::{
    OpenStores, StoreError, StoreUrl, TurnDir, TurnId, TurnQuery, TurnStoreExt as _, TurnSummary,
};
use haft::turn::Gate;
use haft::turn::StoredTurns;

use crate::store_address::{StoreAddress, show_url};
use crate::store_problems::note_store;
use crate::user_error::{FailureCode, UserError};

/// The stores that this process has open.
static OPEN_STORES: Mutex<Vec<OpenStores>> = Mutex::new(Vec::new());

/// Opens a store. It is created if it does not exist, and closed by [`close_stores`].
pub(crate) async fn open_or_create_store(address: &StoreAddress) -> Result<OpenStores> {
    let new_dir = match &address.url {
        StoreUrl::Dir(path) if !path.exists() => Some(path),
        _ => None,
    };
    note_store(address);
    let stores = OpenStores::open(&address.url, address.read_options()?).await?;
    if let Some(path) = new_dir {
        // The store works without it.
        let _ = std::fs::write(path.join(".gitignore"), GIT_IGNORE);
    }
    Ok(register_store(stores))
}

/// Keeps a new store out of the repository in whose directory it was created.
const GIT_IGNORE: &str =
    "# Created by haft: conversations and results do not belong into a repository.\n*\n";

/// Opens an existing store.
pub(crate) async fn open_store(address: &StoreAddress) -> Result<OpenStores> {
    check_exists(address)?;
    open_or_create_store(address).await
}

/// Opens an existing store whose turns are only read. It may be on a disk that is full or cannot be written.
pub(crate) async fn open_store_to_read(address: &StoreAddress) -> Result<OpenStores> {
    check_exists(address)?;
    note_store(address);
    let options = address.read_options()?;
    let opened = match (OpenStores::open(&address.url, options).await, &address.url) {
        (Err(error @ StoreError::Backend { .. }), StoreUrl::Dir(path)) if !error.retryable() => {
            TurnDir::open_read_only(path).map(|dir| OpenStores::of_dir(&dir)).map_err(|_| error)
        }
        (opened, _) => opened,
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

fn register_store(stores: OpenStores) -> OpenStores {
    OPEN_STORES.lock().unwrap_or_else(PoisonError::into_inner).push(stores.clone());
    stores
}

fn check_exists(address: &StoreAddress) -> Result<()> {
    let exists = match &address.url {
        StoreUrl::Dir(path) => path.is_dir(),
        StoreUrl::Sqlite(file) => file.exists(),
        // A server says so itself.
        _ => true,
    };
    if exists {
        return Ok(());
    }
    let error = UserError::new(format!("there is no store at `{}`", show_url(&address.url)));
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
pub(crate) async fn find_turn(stores: &OpenStores, text: &str) -> Result<TurnId> {
    if text == "last" {
        let newest = stores.turns().turns(TurnQuery::default().limit(1)).await?;
        let newest = newest.into_iter().next().map(|it| it.id);
        return newest.ok_or_else(|| {
            UserError::new("the store has no turns").code(FailureCode::NotFound).into()
        });
    }
    if let Ok(id) = text.parse::<TurnId>()
        && stores.turns().summary(id.clone()).await?.is_some()
    {
        return Ok(id);
    }
    let mut query = TurnQuery::default();
    query.limit = Some(1000);
    let mut found: Vec<TurnId> = Vec::new();
    loop {
        let turns: Vec<TurnSummary> = stores.turns().turns(query.clone()).await?;
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
    is_beginning_of(id, text) || text.len() >= MIN_SUFFIX && id.ends_with(text)
}

/// Whether a text is the beginning of an id. An empty one is the beginning of none: it is a variable that was not set, and
/// must not approve or remove whatever there is.
pub(crate) fn is_beginning_of(id: &str, text: &str) -> bool {
    !text.is_empty() && id.starts_with(text)
}

/// The shortest end of an id that names a turn.
const MIN_SUFFIX: usize = 4;

/// Finds the open gate with this id, or the only one that the text is short for. `last` is the only open gate of the newest
/// turn.
pub(crate) async fn find_open_gate(stores: &OpenStores, text: &str) -> Result<Gate> {
    let mut open = StoredTurns::of_stores(stores).gates().open_gates(None).await?;
    if let Some(at) = open.iter().position(|gate| gate.id.as_str() == text) {
        return Ok(open.swap_remove(at));
    }
    match text {
        "last" => {
            let newest = find_turn(stores, text).await?;
            open.retain(|gate| gate.turn == newest);
        }
        _ => open.retain(|gate| is_short_for_gate(gate, text)),
    }
    let ids: Vec<&str> = open.iter().map(|gate| gate.id.as_str()).collect();
    require_unique("open gate", text, &ids, "haft gates")?;
    open.pop().ok_or_else(|| UserError::new("no gate").into())
}

/// Whether a text is the beginning of a gate's id, or a short id of its turn, alone or with the beginning of the rest.
fn is_short_for_gate(gate: &Gate, text: &str) -> bool {
    let (turn, rest) = text.split_once('/').unwrap_or((text, ""));
    is_beginning_of(gate.id.as_str(), text)
        || is_short_for(gate.turn.as_str(), turn) && gate_id_within_turn(gate).starts_with(rest)
}

/// The part of a gate's id that says where in its turn the gate is.
fn gate_id_within_turn(gate: &Gate) -> &str {
    let rest = gate.id.as_str().strip_prefix(gate.turn.as_str());
    rest.and_then(|it| it.strip_prefix('/')).unwrap_or_default()
}

/// A short name of a gate that [`find_open_gate`] understands.
pub(crate) fn short_gate_id(gate: &Gate) -> String {
    let rest = gate_id_within_turn(gate);
    match rest.split_once("/approval") {
        // A call is named by its key, a hash.
        Some((key, _)) => {
            let key = key.get(..SHORT_ID).unwrap_or(key);
            format!("{}/{key}", short_id(&gate.turn))
        }
        None if rest.is_empty() => gate.id.as_str().to_owned(),
        None => format!("{}/{rest}", short_id(&gate.turn)),
    }
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
