//! The addresses of stores, as command lines and configuration files have them.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

/// Where turns are stored.
///
/// | text | store |
/// |---|---|
/// | `dir:PATH`, or only a path | a directory with an SQLite file, large results and keys: `TurnDir` |
/// | `sqlite:PATH` | an SQLite file; large results and keys are in the directory of the file |
/// | `postgres://…`, `postgresql://…` | a PostgreSQL server; the parameter `schema` names the schema of the tables |
/// | `memory:` | memory, until the process ends |
///
/// ```
/// use haft_stores::StoreUrl;
///
/// let url: StoreUrl = "postgres://ada:secret@db.example/haft?schema=shop".parse()?;
/// assert!(url.is_shared());
/// assert_eq!(url.to_string(), "postgres://ada@db.example/haft?schema=shop");
/// assert_eq!("./turns".parse::<StoreUrl>()?, "dir:./turns".parse()?);
/// assert!("mysql://db.example".parse::<StoreUrl>().is_err());
/// # Ok::<(), haft_stores::InvalidStoreUrl>(())
/// ```
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum StoreUrl {
    /// Memory.
    Memory,
    /// A directory with everything.
    Dir(PathBuf),
    /// An SQLite file.
    Sqlite(PathBuf),
    /// A PostgreSQL server, by its whole address.
    Postgres(String),
}

impl StoreUrl {
    /// Whether processes on other machines can use the store.
    #[must_use]
    pub const fn is_shared(&self) -> bool {
        matches!(self, Self::Postgres(_))
    }
}

impl FromStr for StoreUrl {
    type Err = InvalidStoreUrl;

    fn from_str(text: &str) -> Result<Self, InvalidStoreUrl> {
        match split_scheme(text) {
            _ if text.is_empty() => Err(InvalidStoreUrl::new(text, "it is empty")),
            Some(("dir", "")) => Err(InvalidStoreUrl::new(text, "it names no directory")),
            None => Ok(Self::Dir(text.into())),
            Some(("dir", path)) => Ok(Self::Dir(path.into())),
            Some(("sqlite", "")) => Err(InvalidStoreUrl::new(text, "it names no file")),
            Some(("sqlite", path)) => Ok(Self::Sqlite(path.into())),
            Some(("memory", _)) => Ok(Self::Memory),
            Some(("postgres" | "postgresql", _)) => Ok(Self::Postgres(text.to_owned())),
            Some(_) => {
                let known = "a store is `dir:PATH`, `sqlite:PATH`, `postgres://…` or `memory:`";
                Err(InvalidStoreUrl::new(text, known))
            }
        }
    }
}

/// The address without its password.
impl fmt::Display for StoreUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Memory => f.write_str("memory:"),
            Self::Dir(path) => write!(f, "dir:{}", path.display()),
            Self::Sqlite(path) => write!(f, "sqlite:{}", path.display()),
            Self::Postgres(url) => f.write_str(&without_password(url)),
        }
    }
}

impl fmt::Debug for StoreUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "StoreUrl({self})")
    }
}

/// Where large results are stored.
///
/// | text | store |
/// |---|---|
/// | `dir:PATH`, or only a path | a directory: `DirSpoolStore` |
/// | `s3://BUCKET/PREFIX`, `file:///PATH` | objects: `ObjectSpoolStore` (feature `object-store`) |
/// | `memory:` | memory, until the process ends |
///
/// ```
/// use haft_stores::SpoolUrl;
///
/// let url: SpoolUrl = "s3://results/haft".parse()?;
/// assert!(url.is_shared());
/// assert_eq!("./results".parse::<SpoolUrl>()?.to_string(), "dir:./results");
/// # Ok::<(), haft_stores::InvalidStoreUrl>(())
/// ```
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum SpoolUrl {
    /// Memory.
    Memory,
    /// A directory.
    Dir(PathBuf),
    /// An object store, by its whole address.
    Object(String),
}

impl SpoolUrl {
    /// Whether processes on other machines can use the store.
    #[must_use]
    pub fn is_shared(&self) -> bool {
        matches!(self, Self::Object(url) if !url.starts_with("file:") && !url.starts_with("memory:"))
    }
}

impl FromStr for SpoolUrl {
    type Err = InvalidStoreUrl;

    fn from_str(text: &str) -> Result<Self, InvalidStoreUrl> {
        match split_scheme(text) {
            _ if text.is_empty() || text == "dir:" => {
                Err(InvalidStoreUrl::new(text, "it names no directory"))
            }
            None => Ok(Self::Dir(text.into())),
            Some(("dir", path)) => Ok(Self::Dir(path.into())),
            Some(("memory", "")) => Ok(Self::Memory),
            Some(("s3" | "file" | "memory", _)) => Ok(Self::Object(text.to_owned())),
            Some(_) => {
                let known = "a store of results is `dir:PATH`, `s3://BUCKET/PREFIX` or `memory:`";
                Err(InvalidStoreUrl::new(text, known))
            }
        }
    }
}

impl fmt::Display for SpoolUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Memory => f.write_str("memory:"),
            Self::Dir(path) => write!(f, "dir:{}", path.display()),
            Self::Object(url) => f.write_str(&without_password(url)),
        }
    }
}

impl fmt::Debug for SpoolUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SpoolUrl({self})")
    }
}

/// A text that is not the address of a store.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is no address of a store: {reason}")]
#[non_exhaustive]
pub struct InvalidStoreUrl {
    /// The text, without a password.
    pub text: String,
    /// What is wrong with it.
    pub reason: &'static str,
}

impl InvalidStoreUrl {
    fn new(text: &str, reason: &'static str) -> Self {
        Self { text: without_password(text), reason }
    }
}

/// The scheme of an address and what follows it. A single letter is the drive of a path on Windows.
fn split_scheme(text: &str) -> Option<(&str, &str)> {
    let (scheme, rest) = text.split_once(':')?;
    let is_scheme = scheme.len() > 1
        && scheme.chars().all(|it| it.is_ascii_alphanumeric() || "+-.".contains(it))
        && scheme.starts_with(|it: char| it.is_ascii_alphabetic());
    is_scheme.then_some((scheme, rest))
}

/// An address without the password of its user and of its parameters.
fn without_password(url: &str) -> String {
    let (url, query) = match url.split_once('?') {
        Some((url, query)) => (url, Some(query)),
        None => (url, None),
    };
    let mut shown = match url.split_once("://") {
        Some((scheme, rest)) => {
            let (authority, path) = match rest.split_once('/') {
                Some((authority, path)) => (authority, format!("/{path}")),
                None => (rest, String::new()),
            };
            let authority = match authority.rsplit_once('@') {
                Some((user, host)) => {
                    let name = user.split(':').next().unwrap_or_default();
                    format!("{name}@{host}")
                }
                None => authority.to_owned(),
            };
            format!("{scheme}://{authority}{path}")
        }
        None => url.to_owned(),
    };
    let public = query.into_iter().flat_map(|it| it.split('&'));
    let public: Vec<&str> = public.filter(|it| !it.starts_with("password=")).collect();
    if !public.is_empty() {
        shown.push('?');
        shown.push_str(&public.join("&"));
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::{SpoolUrl, StoreUrl};

    #[track_caller]
    fn check(text: &str, expected: Result<&str, &str>) {
        let parsed = text.parse::<StoreUrl>();
        let shown = parsed.map(|it| it.to_string()).map_err(|it| it.to_string());
        assert_eq!(shown.as_deref().map_err(String::as_str), expected, "{text}");
    }

    #[test]
    fn addresses_are_parsed_and_shown_without_passwords() {
        check("turns", Ok("dir:turns"));
        check("/var/lib/haft", Ok("dir:/var/lib/haft"));
        check("C:\\haft", Ok("dir:C:\\haft"));
        check("a b:c/d", Ok("dir:a b:c/d"));
        check("sqlite:turns.sqlite", Ok("sqlite:turns.sqlite"));
        check("memory:", Ok("memory:"));
        let hidden = "postgresql://u@h:5432/d?sslmode=require";
        check("postgresql://u:p@x@h:5432/d?password=p&sslmode=require", Ok(hidden));
        check("postgres://h", Ok("postgres://h"));
        check("dir:", Err("`dir:` is no address of a store: it names no directory"));
        check("", Err("`` is no address of a store: it is empty"));
        let known = "a store is `dir:PATH`, `sqlite:PATH`, `postgres://…` or `memory:`";
        check("mysql://u:p@h", Err(&format!("`mysql://u@h` is no address of a store: {known}")));
    }

    #[test]
    fn stores_of_results_are_parsed() {
        assert_eq!("s3://b/p".parse(), Ok(SpoolUrl::Object("s3://b/p".to_owned())));
        assert_eq!("dir:a".parse(), "a".parse::<SpoolUrl>());
        assert_eq!("memory:".parse(), Ok(SpoolUrl::Memory));
        assert!("postgres://h".parse::<SpoolUrl>().is_err());
        assert!(!"file:///a".parse::<SpoolUrl>().unwrap().is_shared());
    }
}
