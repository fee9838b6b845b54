//! `haft mcp proxy`

use std::path::PathBuf;
use std::process::{ExitCode, Stdio};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result};
use haft::stores::DirSpoolStore;
use haft_mcp::McpProxy;
use haft_mcp::proxy::Upstream;
use sha2::{Digest as _, Sha256};
use tokio::process::{Child, Command};

use crate::args::{McpProxyArgs, ServerSpec};
use crate::environment;
use crate::state_dir::state_dir;
use crate::user_error::UserError;

/// How long a server may take to end after its input has ended.
const MAX_END_TIME: Duration = Duration::from_secs(2);

/// How much a server may write before this program has read it: what Linux lets every user ask for.
#[cfg(any(target_os = "linux", target_os = "android"))]
const PIPE_BYTES: usize = 1024 * 1024;

/// Serves the client that started this program, before its servers.
pub(super) async fn serve_proxy(args: McpProxyArgs) -> Result<ExitCode> {
    let servers = args.servers()?;
    let dir = args.spool.clone().map_or_else(|| default_spool_dir(&servers), Ok)?;
    let spools = DirSpoolStore::open(&dir);
    let spools = spools.with_context(|| format!("cannot store results in `{}`", dir.display()))?;
    // The server can be asked again for what a power failure takes.
    let spools = spools.max_bytes(args.max_bytes).without_sync();
    let mut proxy = McpProxy::builder(Arc::new(spools))
        .answer_limits(args.client.limits())
        .max_bytes(args.max_bytes)
        .lifetime(args.max_age);
    for pattern in &args.allow {
        proxy = proxy.allow(pattern);
    }
    for pattern in &args.deny {
        proxy = proxy.deny(pattern);
    }
    let token = match &args.token_env {
        Some(name) => Some(read_token(name)?),
        None => None,
    };
    let mut children = Vec::new();
    for (name, server) in servers {
        let upstream = match server {
            ServerSpec::Url(url) => Upstream::http(name, url, token.as_deref())?,
            ServerSpec::Command(command) => {
                let (upstream, child) = start_server(name, &command)?;
                children.push(child);
                upstream
            }
        };
        proxy = proxy.upstream(upstream);
    }
    let served = proxy.build()?.serve_stdio().await;
    for mut child in children {
        // Its input has ended. A server that goes on is killed when the child is dropped.
        let _ = tokio::time::timeout(MAX_END_TIME, child.wait()).await;
    }
    served?;
    Ok(ExitCode::SUCCESS)
}

/// Starts a server. It ends with this program.
fn start_server(name: String, command: &[String]) -> Result<(Upstream, Child)> {
    let [program, args @ ..] = command else {
        return Err(UserError::new(format!("the command of the server `{name}` is empty")).into());
    };
    let started = Command::new(program)
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn();
    let mut child = started.with_context(|| format!("cannot start the server `{program}`"))?;
    let streams = child.stdout.take().zip(child.stdin.take());
    let (output, input) = streams.context("the server has no standard streams")?;
    #[cfg(any(target_os = "linux", target_os = "android"))]
    // A server that writes more than the pipe holds waits for this process after every piece. Where the pipe cannot grow,
    // it stays as it is.
    let _ = rustix::pipe::fcntl_setpipe_size(&output, PIPE_BYTES);
    Ok((Upstream::streams(name, output, input), child))
}

/// The directory for the results of these servers: the same whenever the same servers are proxied.
fn default_spool_dir(servers: &[(String, ServerSpec)]) -> Result<PathBuf> {
    let state = state_dir().ok_or_else(|| {
        UserError::new("there is no home directory for results")
            .hint("pass a directory: --spool DIR")
    })?;
    let mut hash = Sha256::new();
    for (name, server) in servers {
        hash.update(format!("{name:?} {server:?}\n"));
    }
    let digest = hash.finalize();
    let name: String = digest.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
    Ok(state.join("mcp-proxy").join(name))
}

fn read_token(variable: &str) -> Result<String> {
    let token = environment::read_variable(variable).map(|it| it.to_string_lossy().into_owned());
    token.filter(|it| !it.is_empty()).ok_or_else(|| {
        let error = UserError::new(format!("the variable `{variable}` has no token"));
        error.hint(format!("set it: {variable}=… haft mcp proxy …")).into()
    })
}
