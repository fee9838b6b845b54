//! The folder of a store, and what is in it.

use std::path::Path;

use anyhow::Result;
use haft::gate::Gate;
use haft::store::{Store as _, TurnId, TurnQuery, TurnSummary};
use haft::stores::TurnDir;
use haft::turn::Gatekeeper;

use crate::failure::{Code, Failure};

/// Opens a store that is there.
pub(crate) fn open(path: &Path) -> Result<TurnDir> {
    if !path.is_dir() {
        let failure = Failure::new(format!("there is no store at `{}`", path.display()));
        let failure = failure.hint("name its folder with --store DIR; `haft run` makes one");
        return Err(failure.code(Code::NothingFound).into());
    }
    Ok(TurnDir::open(path)?)
}

/// The turn with this name, or the only one whose name begins so.
pub(crate) async fn turn(folder: &TurnDir, name: &str) -> Result<TurnId> {
    if let Ok(id) = name.parse::<TurnId>()
        && folder.store().load(id.clone()).await?.is_some()
    {
        return Ok(id);
    }
    let mut query = TurnQuery::default();
    query.limit = Some(1000);
    let mut found: Vec<TurnId> = Vec::new();
    loop {
        let turns: Vec<TurnSummary> = folder.store().turns(query.clone()).await?;
        found.extend(
            turns.iter().filter(|it| it.id.as_str().starts_with(name)).map(|it| it.id.clone()),
        );
        match turns.last() {
            Some(last) if found.len() < 2 => query.before = Some(last.id.clone()),
            _ => break,
        }
    }
    let names: Vec<&str> = found.iter().map(TurnId::as_str).collect();
    one("turn", name, &names, "haft turns")?;
    found.pop().ok_or_else(|| Failure::new("no turn").into())
}

/// The open gate with this name, or the only one whose name begins so.
pub(crate) async fn gate(folder: &TurnDir, name: &str) -> Result<Gate> {
    let mut open = Gatekeeper::of_dir(&folder).open(None).await?;
    if let Some(at) = open.iter().position(|gate| gate.id.as_str() == name) {
        return Ok(open.swap_remove(at));
    }
    open.retain(|gate| gate.id.as_str().starts_with(name));
    let names: Vec<&str> = open.iter().map(|gate| gate.id.as_str()).collect();
    one("open gate", name, &names, "haft gates")?;
    open.pop().ok_or_else(|| Failure::new("no gate").into())
}

/// Refuses a name that stands for none or for several.
fn one(what: &str, name: &str, found: &[&str], list: &str) -> Result<()> {
    match found {
        [_] => Ok(()),
        [] => {
            let failure = Failure::new(format!("there is no {what} `{name}`"));
            Err(failure.hint(format!("`{list}` lists them")).code(Code::NothingFound).into())
        }
        [first, second, ..] => {
            let failure =
                Failure::new(format!("`{name}` is the beginning of more than one {what}"));
            Err(failure.hint(format!("say more of it: `{first}` or `{second}`")).into())
        }
    }
}
