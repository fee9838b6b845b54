//! Where stores are: the options of the command line and the environment, the agent file, or the default directory.

#[cfg(feature = "cluster")]
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
#[cfg(feature = "cluster")]
use haft::stores::ObjectOptions;
use haft::stores::{SpoolUrl, StoreOptions, StoreUrl};

use crate::environment;
use crate::own_paths::OwnPaths;
use crate::shell_word::quote_word;
#[cfg(feature = "cluster")]
use crate::state_dir::user_dir;
use crate::text_file::{MAX_TEXT_BYTES, read_named_text};
use crate::user_error::UserError;

/// Where turns and their large results are stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StoreAddress {
    pub(crate) url: StoreUrl,
    /// The store of large results; next to the turns by default.
    pub(crate) spools: Option<SpoolUrl>,
}

/// The variable with the secret that all processes of a shared store have, as 64 hexadecimal digits.
const SECRET_VARIABLE: &str = "HAFT_STORE_SECRET";

/// The variable with the path of a file that contains the secret.
const SECRET_FILE_VARIABLE: &str = "HAFT_STORE_SECRET_FILE";

/// The variable with the address of the ledger of spent approvals.
#[cfg(feature = "cluster")]
const LEDGER_VARIABLE: &str = "HAFT_LEDGER";

impl StoreAddress {
    /// The nearest `.haft` in the current directory or above it, else the one to be created here.
    pub(crate) fn find_default() -> Self {
        Self { url: StoreUrl::Dir(find_default_store()), spools: None }
    }

    /// The default store of an agent whose server another program starts. That program chooses the current directory,
    /// which is often `/` or belongs to something else, so that no store is created there.
    pub(crate) fn find_default_of(agent_dir: &Path) -> Self {
        Self { url: StoreUrl::Dir(find_store_of(agent_dir)), spools: None }
    }

    /// The directory of the store, if it is on this machine.
    pub(crate) fn local_dir(&self) -> Option<&Path> {
        match &self.url {
            StoreUrl::Dir(path) => Some(path),
            StoreUrl::Sqlite(file) => match file.parent() {
                // The parent of a file name without a directory.
                Some(dir) if dir.as_os_str().is_empty() => Some(Path::new(".")),
                dir => dir,
            },
            _ => None,
        }
    }

    /// Paths of the store that no tool for files may touch.
    pub(crate) fn own_paths(&self) -> OwnPaths<'static> {
        let spool = self.spools.as_ref().and_then(local_spool_dir);
        OwnPaths { store: self.url.local_paths(), spool, files: Vec::new() }
    }

    /// How the store is opened: with its store of large results, and with the secret if other machines share it.
    pub(crate) fn read_options(&self) -> Result<StoreOptions> {
        #[cfg(not(feature = "cluster"))]
        self.check_features()?;
        let mut options = StoreOptions::default();
        options.spools.clone_from(&self.spools);
        #[cfg(feature = "cluster")]
        {
            options.objects = read_object_options();
        }
        if !self.url.is_shared() {
            return Ok(options);
        }
        if self.spools.is_none() {
            let error = UserError::new("a server stores no large results");
            let hint =
                "name a store that all machines reach: --spool s3://BUCKET/PREFIX, or HAFT_SPOOL";
            return Err(error.hint(hint).into());
        }
        #[cfg(feature = "cluster")]
        if let Some(ledger) = read_variable(LEDGER_VARIABLE)? {
            options = options.ledger(ledger.parse()?);
        }
        let Some(secret) = read_secret()? else {
            let error = UserError::new(format!(
                "the store `{}` is shared, and there is no secret: processes that share a store verify each other's \
                 approvals with it",
                self.url
            ));
            let hint = format!(
                "give all processes the same one in {SECRET_VARIABLE} or in the file {SECRET_FILE_VARIABLE}; make one: \
                 openssl rand -hex 32"
            );
            return Err(error.hint(hint).into());
        };
        Ok(options.secret(secret))
    }

    /// Returns an error if this program was built without the store.
    #[cfg(not(feature = "cluster"))]
    fn check_features(&self) -> Result<()> {
        let is_shared = matches!(self.url, StoreUrl::Postgres(_));
        match is_shared || matches!(self.spools, Some(SpoolUrl::Object(_))) {
            true => Err(UserError::missing_cluster().into()),
            false => Ok(()),
        }
    }
}

/// Default directory of the store.
const DEFAULT_STORE: &str = ".haft";

/// Finds the default store: the nearest `.haft` in the current directory or above it, else the one to be created here.
pub(crate) fn find_default_store() -> PathBuf {
    find_existing_store().unwrap_or_else(|| PathBuf::from(DEFAULT_STORE))
}

/// Finds the default store of an agent whose server another program starts: the nearest `.haft` in the current directory
/// or above it, else in the directory of the agent or above it, else the one to be created in the directory of the
/// agent.
pub(crate) fn find_store_of(agent_dir: &Path) -> PathBuf {
    let absolute = std::path::absolute(agent_dir).unwrap_or_else(|_| agent_dir.to_owned());
    let near = || absolute.ancestors().map(|dir| dir.join(DEFAULT_STORE)).find(|it| is_own_dir(it));
    find_existing_store().or_else(near).unwrap_or_else(|| agent_dir.join(DEFAULT_STORE))
}

/// The nearest `.haft` in the current directory or above it.
fn find_existing_store() -> Option<PathBuf> {
    let here = Path::new(DEFAULT_STORE);
    if here.is_dir() {
        return Some(here.to_owned());
    }
    let current = std::env::current_dir().unwrap_or_default();
    let above = current.ancestors().skip(1).map(|dir| dir.join(DEFAULT_STORE));
    above.into_iter().find(|it| is_own_dir(it))
}

/// The directory of a store of large results, if it is on this machine.
pub(crate) fn local_spool_dir(spools: &SpoolUrl) -> Option<PathBuf> {
    match spools {
        SpoolUrl::Dir(path) => Some(path.clone()),
        SpoolUrl::Object(url) => url.strip_prefix("file://").map(PathBuf::from),
        _ => None,
    }
}

/// Whether a directory exists and belongs to this user. What others put above the current directory is not trusted.
fn is_own_dir(dir: &Path) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    let user = rustix::process::geteuid().as_raw();
    std::fs::metadata(dir).is_ok_and(|it| it.is_dir() && it.uid() == user)
}

/// An address as the user writes it.
pub(crate) fn show_url(url: &StoreUrl) -> String {
    match url {
        StoreUrl::Dir(path) => path.display().to_string(),
        url => url.to_string(),
    }
}

/// The option that selects a store in a command that the user can copy, with a space before it; nothing for the default one.
pub(crate) fn store_option(url: &StoreUrl) -> String {
    if *url == StoreUrl::Dir(find_default_store()) {
        return String::new();
    }
    format!(" --store {}", quote_word(&show_url(url)))
}

/// Reads the secret of shared stores.
fn read_secret() -> Result<Option<[u8; 32]>> {
    let text = match (read_variable(SECRET_VARIABLE)?, read_variable(SECRET_FILE_VARIABLE)?) {
        (Some(text), _) => text,
        (None, Some(file)) => read_named_text(Path::new(&file), MAX_TEXT_BYTES)
            .with_context(|| format!("cannot read the secret from `{file}`"))?,
        (None, None) => return Ok(None),
    };
    match parse_secret(text.trim()) {
        Some(secret) => Ok(Some(secret)),
        None => {
            let error = UserError::new("the secret of the store has not 64 hexadecimal digits");
            Err(error.hint("make one: openssl rand -hex 32").into())
        }
    }
}

fn parse_secret(text: &str) -> Option<[u8; 32]> {
    if text.len() != 64 || !text.is_ascii() {
        return None;
    }
    let mut secret = [0; 32];
    for (at, byte) in secret.iter_mut().enumerate() {
        *byte = u8::from_str_radix(text.get(2 * at..2 * at + 2)?, 16).ok()?;
    }
    Some(secret)
}

/// Reads the settings of object stores: the variables that begin with `AWS_`, and where parts of results are cached.
#[cfg(feature = "cluster")]
fn read_object_options() -> ObjectOptions {
    let text = |it: OsString| it.into_string().ok();
    let variables =
        environment::list_variables().filter_map(|(name, value)| Some((text(name)?, text(value)?)));
    let settings = variables.filter(|(name, _)| name.starts_with("AWS_"));
    let mut options = ObjectOptions::default();
    options.settings = settings.map(|(name, value)| (name.to_lowercase(), value)).collect();
    options.cache_dir = user_dir("XDG_CACHE_HOME", ".cache").map(|dir| dir.join("haft/results"));
    options
}

/// Reads a variable. One that is empty counts as not set.
fn read_variable(name: &str) -> Result<Option<String>> {
    let Some(value) = environment::read_variable(name).filter(|it| !it.is_empty()) else {
        return Ok(None);
    };
    let value = value.into_string();
    value.map(Some).map_err(|_| UserError::new(format!("{name} is not valid Unicode")).into())
}

#[cfg(test)]
mod tests {
    use super::parse_secret;

    #[test]
    fn a_secret_has_64_hexadecimal_digits() {
        assert_eq!(parse_secret(&"0F".repeat(32)), Some([15; 32]));
        for text in ["", "0f", &"0g".repeat(32), &"é".repeat(32), &"0f".repeat(33)] {
            assert_eq!(parse_secret(text), None, "{text}");
        }
    }
}
