//! The definitions of tools that the user has accepted, in the state directory of the user.

use std::collections::BTreeMap;
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use haft::tools::Digest;
use haft_mcp::client::McpTools;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::state_dir::state_dir;
use crate::text_file::read_regular_text;

/// The hashes of accepted definitions, of one agent directory. They are not in that directory, where a tool or a restored
/// backup could change them.
#[derive(Debug)]
pub(crate) struct PinFile {
    path: PathBuf,
    /// The directory of the agent.
    agent: PathBuf,
    servers: BTreeMap<String, BTreeMap<String, Digest>>,
}

/// The file as JSON.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct StoredPins {
    version: u32,
    /// The directory of the agent, for the reader of the file.
    agent: PathBuf,
    /// The hashes by server and tool.
    servers: BTreeMap<String, BTreeMap<String, String>>,
}

/// The most bytes of the file.
const MAX_BYTES: u64 = 16 * 1024 * 1024;

impl PinFile {
    /// Reads the pins of an agent; nothing is pinned if there is no file.
    pub(in crate::agent) fn read(agent_dir: &Path) -> Result<Self> {
        let agent = std::fs::canonicalize(agent_dir)
            .with_context(|| format!("cannot open `{}`", agent_dir.display()))?;
        let state = state_dir().context("there is no state directory: set HOME")?;
        let name: String = Sha256::digest(agent.as_os_str().as_encoded_bytes())
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect();
        let path = state.join("mcp-pins").join(format!("{name}.json"));
        let pins = match std::fs::metadata(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Ok(Self { path, agent, servers: BTreeMap::new() });
            }
            Ok(found) if found.len() > MAX_BYTES => {
                anyhow::bail!("`{}` is too large", path.display())
            }
            _ => {
                let text = read_regular_text(&path, MAX_BYTES)?;
                let pins: StoredPins = serde_json::from_str(&text)
                    .with_context(|| format!("`{}` has no pins", path.display()))?;
                anyhow::ensure!(pins.version == 1, "`{}` is of a newer version", path.display());
                pins
            }
        };
        let servers = parse_digests(pins.servers)
            .with_context(|| format!("`{}` is damaged", path.display()))?;
        Ok(Self { path, agent: pins.agent, servers })
    }

    /// The accepted definitions of a server.
    pub(super) fn of_server(&self, server: &str) -> BTreeMap<String, Digest> {
        self.servers.get(server).cloned().unwrap_or_default()
    }

    /// Accepts the definitions of a server of which none is accepted yet, and returns how many there are. What it offers
    /// later waits for the user.
    pub(in crate::agent) fn add_new(&mut self, server: &McpTools) -> usize {
        let known = self.servers.entry(server.name().to_owned()).or_default();
        if !known.is_empty() {
            return 0;
        }
        known.extend(server.pins());
        known.len()
    }

    /// Accepts all definitions that a server has now, and forgets those that it has no more. Returns the tools whose
    /// definitions were not accepted before.
    pub(crate) fn accept_all(&mut self, server: &McpTools) -> Vec<String> {
        let now: BTreeMap<String, Digest> = server.pins().into_iter().collect();
        let before = self.servers.insert(server.name().to_owned(), now.clone());
        let before = before.unwrap_or_default();
        let is_new = |(tool, digest): &(String, Digest)| before.get(tool) != Some(digest);
        now.into_iter().filter(is_new).map(|(tool, _)| tool).collect()
    }

    /// Writes the file, in one step. Only the user can read it.
    pub(crate) fn write(&self) -> Result<()> {
        let digests = |(server, tools): (&String, &BTreeMap<String, Digest>)| {
            let tools = tools.iter().map(|(tool, digest)| (tool.clone(), digest.to_string()));
            (server.clone(), tools.collect())
        };
        let servers = self.servers.iter().map(digests).collect();
        let pins = StoredPins { version: 1, agent: self.agent.clone(), servers };
        let text = serde_json::to_string_pretty(&pins)?;
        let dir = self.path.parent().unwrap_or(Path::new("."));
        let cannot = || format!("cannot write `{}`", self.path.display());
        let mut builder = std::fs::DirBuilder::new();
        builder.recursive(true).mode(0o700).create(dir).with_context(cannot)?;
        // A temporary file has the mode 0600.
        let mut file = tempfile::NamedTempFile::new_in(dir).with_context(cannot)?;
        io::Write::write_all(&mut file, format!("{text}\n").as_bytes()).with_context(cannot)?;
        file.persist(&self.path).with_context(cannot)?;
        Ok(())
    }
}

/// Parses the hashes of a file. A hash that cannot be read must not let its tool pass as a new one.
fn parse_digests(
    servers: BTreeMap<String, BTreeMap<String, String>>,
) -> Result<BTreeMap<String, BTreeMap<String, Digest>>> {
    let parse = |(server, tools): (String, BTreeMap<String, String>)| {
        let tools = tools.into_iter().map(|(tool, hash)| match hash.parse() {
            Ok(digest) => Ok((tool, digest)),
            Err(error) => Err(error).with_context(|| format!("tool `{tool}` of `{server}`")),
        });
        let tools = tools.collect::<Result<_>>()?;
        Ok((server, tools))
    };
    servers.into_iter().map(parse).collect()
}

#[cfg(test)]
mod tests {
    use super::parse_digests;

    #[test]
    fn a_damaged_pin_is_an_error_and_not_a_new_tool() {
        let pins = |hash: &str| {
            serde_json::from_value(serde_json::json!({"files": {"read": hash}})).unwrap()
        };
        let read = parse_digests(pins(&"ab".repeat(32))).unwrap();
        assert_eq!(read["files"]["read"].to_string(), "ab".repeat(32));
        for damaged in ["", "ab", &"xy".repeat(32)] {
            let error = parse_digests(pins(damaged)).unwrap_err();
            assert_eq!(error.to_string(), "tool `read` of `files`");
        }
    }
}
