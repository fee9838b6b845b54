//! Built-in packs of tools.

use std::net::{Ipv4Addr, Ipv6Addr};
use std::path::{Path, PathBuf};

use haft::Tool;
use haft::media::{FetchDeadlines, Fetcher, UrlPolicy};
use haft::tools::{FilesOptions, Pack, PackOptions, WebOptions};
use schemars::JsonSchema;
use serde::Deserialize;

use super::source::AgentFileError;

/// A pack without settings of its own.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SimplePack {
    /// Include only these tools of the pack.
    only: Option<Vec<String>>,
    /// Exclude these tools of the pack.
    #[serde(default)]
    except: Vec<String>,
}

/// Reads, lists, finds and searches files below one directory. No path and no link leads out of it.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct FilesPack {
    /// The directory, relative to the agent's directory; default: the agent's directory.
    #[serde(default = "default_root")]
    root: PathBuf,
    /// Adds `write_file` and `edit_file`, which require approval unless `approvals.never` lists them.
    #[serde(default)]
    write: bool,
    /// Include only these tools of the pack.
    only: Option<Vec<String>>,
    /// Exclude these tools of the pack.
    #[serde(default)]
    except: Vec<String>,
}

/// Fetches pages from the listed hosts.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct WebPack {
    /// Allowed hosts: names, or `*.name` for all subdomains of a name.
    #[schemars(length(min = 1))]
    hosts: Vec<String>,
    /// Allows addresses that are not public (this machine, private networks) and unencrypted HTTP.
    #[serde(default)]
    private: bool,
    /// Maximum size of a response in bytes; default: 8388608.
    #[serde(default = "default_max_bytes")]
    max_bytes: u64,
    /// Include only these tools of the pack.
    only: Option<Vec<String>>,
    /// Exclude these tools of the pack.
    #[serde(default)]
    except: Vec<String>,
}

fn default_root() -> PathBuf {
    PathBuf::from(".")
}

fn default_max_bytes() -> u64 {
    8 * 1024 * 1024
}

/// The tools of a pack that the agent file selects.
#[derive(Clone, Copy)]
pub(super) struct ToolSelection<'s> {
    only: Option<&'s [String]>,
    except: &'s [String],
}

impl SimplePack {
    pub(super) fn selection(&self) -> ToolSelection<'_> {
        ToolSelection { only: self.only.as_deref(), except: &self.except }
    }
}

impl FilesPack {
    pub(super) fn selection(&self) -> ToolSelection<'_> {
        ToolSelection { only: self.only.as_deref(), except: &self.except }
    }

    /// The options of the pack. No tool touches the protected paths.
    pub(super) fn options(
        &self,
        agent_dir: &Path,
        protected: &[PathBuf],
    ) -> Result<FilesOptions, AgentFileError> {
        let path = agent_dir.join(&self.root);
        let cannot_open = |_| {
            let shown = self.root.display();
            AgentFileError::at(["root"], format!("cannot open the directory `{shown}`"))
                .hint("use an existing directory, relative to the agent's directory")
        };
        let options = protected
            .iter()
            .try_fold(FilesOptions::new(&path).map_err(cannot_open)?, FilesOptions::protect)
            .map_err(cannot_open)?;
        Ok(if self.write { options } else { options.read_only() })
    }
}

impl WebPack {
    pub(super) fn selection(&self) -> ToolSelection<'_> {
        ToolSelection { only: self.only.as_deref(), except: &self.except }
    }

    pub(super) fn options(&self) -> Result<WebOptions, AgentFileError> {
        if self.hosts.is_empty() {
            let error = AgentFileError::at(["hosts"], "`hosts` is empty");
            return Err(
                error.hint("list the allowed hosts: hosts = [\"example.org\", \"*.example.org\"]")
            );
        }
        for host in &self.hosts {
            let name = host.strip_prefix("*.").unwrap_or(host);
            let is_invalid =
                |it: char| !it.is_ascii_alphanumeric() && !matches!(it, '.' | '-' | '_' | ':');
            if name.is_empty() || name.contains(is_invalid) {
                let error = AgentFileError::at(["hosts"], format!("`{host}` is not a host name"));
                return Err(error.hint("omit `https://` and the path"));
            }
        }
        let policy = UrlPolicy::public().only_hosts(&self.hosts).allow_redirects(MAX_REDIRECTS);
        let policy = if self.private { allow_all_networks(policy).allow_http() } else { policy };
        let fetcher = Fetcher::builder(policy)
            .max_bytes(self.max_bytes)
            .deadlines(FetchDeadlines::default().total(std::time::Duration::from_secs(60)))
            .build()
            .map_err(AgentFileError::whole_file)?;
        Ok(WebOptions::new(fetcher))
    }
}

/// Allows addresses of all networks, including this machine.
pub(super) fn allow_all_networks(policy: UrlPolicy) -> UrlPolicy {
    policy.allow_network(Ipv4Addr::UNSPECIFIED, 0).allow_network(Ipv6Addr::UNSPECIFIED, 0)
}

/// Builds the selected tools of a pack.
pub(super) fn build_pack(
    pack: Pack,
    options: &PackOptions,
    selection: ToolSelection<'_>,
) -> Result<Vec<Tool>, Vec<AgentFileError>> {
    let tools = pack.build(options).map_err(|error| vec![AgentFileError::whole_file(error)])?;
    let mut errors = Vec::new();
    let only = selection.only.unwrap_or_default().iter().map(|it| ("only", it));
    let except = selection.except.iter().map(|it| ("except", it));
    for (key, name) in only.chain(except) {
        if tools.iter().any(|tool| tool.name().as_str() == name) {
            continue;
        }
        if pack.tools().contains(&name.as_str()) {
            let error = AgentFileError::at([key], format!("`{name}` requires write access"));
            errors.push(error.hint("set `write = true`"));
            continue;
        }
        let error = AgentFileError::at([key], format!("the pack `{pack}` has no tool `{name}`"));
        errors.push(error.suggest(name, tools.iter().map(|it| it.name().as_str())));
    }
    if !errors.is_empty() {
        return Err(errors);
    }
    let is_selected = |tool: &Tool| {
        let is_listed = |list: &[String]| list.iter().any(|it| it == tool.name().as_str());
        selection.only.is_none_or(is_listed) && !is_listed(selection.except)
    };
    Ok(tools.iter().filter(|tool| is_selected(tool)).cloned().collect())
}

const MAX_REDIRECTS: usize = 5;
