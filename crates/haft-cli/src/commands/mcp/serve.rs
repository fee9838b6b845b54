//! `haft mcp serve`

use std::net::{IpAddr, SocketAddr};
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context as _, Result};
use haft_mcp::McpServer;
use haft_mcp::server::HttpOptions;
use haft_server::{admit_connection, serve_connections};
use sha2::{Digest as _, Sha256};

use crate::agent::AgentDir;
use crate::args::McpServeArgs;
use crate::config::UserConfig;
use crate::environment;
use crate::host::{AgentHost, HostSettings};
use crate::store::open_or_create_store;
use crate::terminal::{Terminal, print_line};
use crate::text_file::{MAX_TEXT_BYTES, read_named_text};
use crate::user_error::UserError;

/// The variable with the token of HTTP clients.
const TOKEN_VARIABLE: &str = "HAFT_MCP_TOKEN";

/// Serves the tools of an agent until the client closes its end, or until the program is stopped.
pub(super) async fn serve_agent(args: McpServeArgs, terminal: &Terminal) -> Result<ExitCode> {
    let own = args.store.own_paths();
    let mut agent = AgentDir::load_protected(&args.agent.agent, &own)?;
    let options = args.http.map(|address| http_options(&args, address)).transpose()?;
    agent.prepare(args.trust, terminal).await?;
    let store = open_or_create_store(&agent.server_store_address(&args.store)).await?;
    let host = AgentHost::new(store, UserConfig::read()?, HostSettings::new(terminal));
    let server = build_server(&args, &agent, &host)?;
    match args.http.zip(options) {
        Some((address, options)) => serve_http(&server, address, &options).await?,
        None => server.serve_stdio().await?,
    }
    Ok(ExitCode::SUCCESS)
}

fn build_server(args: &McpServeArgs, agent: &AgentDir, host: &AgentHost) -> Result<McpServer> {
    let tools = agent.tools.iter().map(|tool| match args.yes {
        true => tool.without_approval(),
        false => tool.clone(),
    });
    let secret: [u8; 32] = Sha256::new()
        .chain_update(b"haft mcp serve")
        .chain_update(host.stores().secret())
        .finalize()
        .into();
    let server = McpServer::builder(agent.name())
        .version(env!("CARGO_PKG_VERSION"))
        .tools(tools)
        .answer_limits(args.client.limits())
        .lifetime(args.lifetime)
        .resource_links(args.resource_links)
        .secret(secret)
        .agent(host.server_runner(agent)?);
    Ok(server.build()?)
}

/// Decides who may use the server over HTTP. An address that other machines reach needs a token.
fn http_options(args: &McpServeArgs, address: SocketAddr) -> Result<HttpOptions> {
    let token = read_token(args.token_file.as_deref())?;
    if token.is_none() && !address.ip().is_loopback() {
        let error =
            UserError::new(format!("other machines reach {address}, and there is no token"));
        let hint = format!(
            "set {TOKEN_VARIABLE} or pass --token-file, or serve 127.0.0.1:{}",
            address.port()
        );
        return Err(error.hint(hint).into());
    }
    let mut options = HttpOptions::new();
    if let Some(token) = &token {
        options = options.bearer_token(token);
    }
    if !address.ip().is_loopback() && !address.ip().is_unspecified() {
        let host = match address.ip() {
            IpAddr::V6(address) => format!("[{address}]"),
            IpAddr::V4(address) => address.to_string(),
        };
        options = options.allow_host(&host)?;
    }
    for host in &args.allow_host {
        let allowed = options.allow_host(host);
        options = allowed.with_context(|| format!("--allow-host {host}"))?;
    }
    for origin in &args.allow_origin {
        let allowed = options.allow_origin(origin);
        options = allowed.with_context(|| format!("--allow-origin {origin}"))?;
    }
    Ok(options)
}

/// Reads the token from its file or from the environment. An empty token is refused: it would protect nothing.
fn read_token(file: Option<&Path>) -> Result<Option<String>> {
    let token = match file {
        Some(file) => {
            let text = read_named_text(file, MAX_TEXT_BYTES);
            Some(text.with_context(|| format!("cannot read the token from `{}`", file.display()))?)
        }
        None => {
            environment::read_variable(TOKEN_VARIABLE).map(|it| it.to_string_lossy().into_owned())
        }
    };
    if token.as_ref().is_some_and(|token| token.trim().len() < MIN_TOKEN) {
        let error = UserError::new(format!("the token has fewer than {MIN_TOKEN} characters"));
        return Err(error.hint("make one: openssl rand -hex 32").into());
    }
    Ok(token)
}

/// How many characters a token has at least.
const MIN_TOKEN: usize = 16;

async fn serve_http(server: &McpServer, address: SocketAddr, options: &HttpOptions) -> Result<()> {
    let listener = std::net::TcpListener::bind(address);
    let listener = listener.with_context(|| format!("cannot listen on {address}"))?;
    let address = listener.local_addr()?;
    print_line(format_args!("serving http://{address}/mcp"));
    let service = axum::Router::new()
        .route_service("/mcp", server.http_service(options))
        .layer(axum::middleware::from_fn(admit_connection));
    serve_connections(listener, service, MAX_CONNECTIONS, std::future::pending()).await?;
    Ok(())
}

/// How many connections of clients are open at a time.
const MAX_CONNECTIONS: usize = 1024;
