//! Packs of ready-made tools.

use std::net::{Ipv4Addr, Ipv6Addr};
use std::path::{Path, PathBuf};

use haft::Tool;
use haft::readers::{Deadlines, Fetcher, UrlPolicy};
use haft::tools::{FilesOptions, Pack, PackOptions, WebOptions};
use schemars::JsonSchema;
use serde::Deserialize;

use super::place::Fault;

/// Tools that need nothing to be said.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct PlainPack {
    /// Only these tools of the pack.
    only: Option<Vec<String>>,
    /// All tools of the pack but these.
    #[serde(default)]
    except: Vec<String>,
}

/// Read, list, find and search files below one folder, which no path and no link leads out of.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct FilesPack {
    /// The folder, as seen from the agent's own.
    #[serde(default = "here")]
    root: PathBuf,
    /// Adds `write_file` and `edit_file`, which ask before each call unless `approvals.never` names them.
    #[serde(default)]
    write: bool,
    /// Only these tools of the pack.
    only: Option<Vec<String>>,
    /// All tools of the pack but these.
    #[serde(default)]
    except: Vec<String>,
}

/// Fetch pages from the hosts that are named. Without this table nothing is fetched.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct WebPack {
    /// The hosts: names, or `*.name` for all names below a name.
    #[schemars(length(min = 1))]
    hosts: Vec<String>,
    /// Allows addresses that are not public (this machine, private networks), and plain http.
    #[serde(default)]
    private: bool,
    /// How many bytes an answer may have; 8388608 if not said.
    #[serde(default = "eight_mib")]
    max_bytes: u64,
    /// Only these tools of the pack.
    only: Option<Vec<String>>,
    /// All tools of the pack but these.
    #[serde(default)]
    except: Vec<String>,
}

fn here() -> PathBuf {
    PathBuf::from(".")
}

fn eight_mib() -> u64 {
    8 * 1024 * 1024
}

/// Which tools of a pack are wanted.
#[derive(Clone, Copy)]
pub(super) struct Choice<'c> {
    pub(super) only: Option<&'c [String]>,
    pub(super) except: &'c [String],
}

impl PlainPack {
    pub(super) fn choice(&self) -> Choice<'_> {
        Choice { only: self.only.as_deref(), except: &self.except }
    }
}

impl FilesPack {
    pub(super) fn choice(&self) -> Choice<'_> {
        Choice { only: self.only.as_deref(), except: &self.except }
    }

    pub(super) fn options(&self, folder: &Path) -> Result<FilesOptions, Fault> {
        let path = folder.join(&self.root);
        let options = FilesOptions::new(&path).map_err(|_| {
            let shown = self.root.display();
            let what = format!("`{shown}` is no folder that can be opened");
            Fault::at(["root"], what)
                .hint("name a folder that is there, as seen from the agent's own")
        })?;
        Ok(if self.write { options } else { options.read_only() })
    }
}

impl WebPack {
    pub(super) fn choice(&self) -> Choice<'_> {
        Choice { only: self.only.as_deref(), except: &self.except }
    }

    pub(super) fn options(&self) -> Result<WebOptions, Fault> {
        if self.hosts.is_empty() {
            let fault = Fault::at(["hosts"], "no host is named, so that nothing could be fetched");
            return Err(fault.hint("name hosts: hosts = [\"example.org\", \"*.example.org\"]"));
        }
        for host in &self.hosts {
            let name = host.strip_prefix("*.").unwrap_or(host);
            let odd =
                |it: char| !it.is_ascii_alphanumeric() && !matches!(it, '.' | '-' | '_' | ':');
            if name.is_empty() || name.contains(odd) {
                let fault = Fault::at(["hosts"], format!("`{host}` is not the name of a host"));
                return Err(fault.hint("write it without `https://` and without a path"));
            }
        }
        let policy = UrlPolicy::public().only_hosts(&self.hosts).allow_redirects(REDIRECTS);
        let policy = if self.private { anywhere(policy).allow_http() } else { policy };
        let fetcher = Fetcher::builder(policy)
            .max_bytes(self.max_bytes)
            .deadlines(Deadlines::default().total(std::time::Duration::from_secs(60)))
            .build()
            .map_err(|error| Fault::at([""; 0], error))?;
        Ok(WebOptions::new(fetcher))
    }
}

/// Addresses of all networks, this machine's own among them.
pub(super) fn anywhere(policy: UrlPolicy) -> UrlPolicy {
    policy.allow_network(Ipv4Addr::UNSPECIFIED, 0).allow_network(Ipv6Addr::UNSPECIFIED, 0)
}

/// Makes the tools of a pack that are wanted.
pub(super) fn build(
    pack: Pack,
    options: &PackOptions,
    choice: Choice<'_>,
) -> Result<Vec<Tool>, Fault> {
    let tools = pack.build(options).map_err(|error| Fault::at([""; 0], error))?;
    let names: Vec<&str> = tools.iter().map(|it| it.name().as_str()).collect();
    let only = choice.only.unwrap_or_default().iter().map(|it| ("only", it));
    let except = choice.except.iter().map(|it| ("except", it));
    for (key, name) in only.chain(except) {
        if names.contains(&name.as_str()) {
            continue;
        }
        if pack.tools().contains(&name.as_str()) {
            let fault = Fault::at([key], format!("`{name}` writes, and the pack only reads"));
            return Err(fault.hint("say `write = true` as well"));
        }
        let fault = Fault::at([key], format!("the pack `{pack}` has no tool `{name}`"));
        return Err(fault.known(name, names));
    }
    let wanted = |tool: &Tool| {
        let name = tool.name().as_str();
        choice.only.is_none_or(|only| only.iter().any(|it| it == name))
            && !choice.except.iter().any(|it| it == name)
    };
    Ok(tools.iter().filter(|tool| wanted(tool)).cloned().collect())
}

const REDIRECTS: usize = 5;
