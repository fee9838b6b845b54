//! `haft mcp login`, `haft mcp logout`

use std::net::Ipv4Addr;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context as _, Result};
use axum::Router;
use axum::extract::State;
use axum::http::Uri;
use axum::routing::get;
use tokio::net::TcpListener;
use tokio::sync::mpsc;

use super::super::format_duration;
use crate::agent::AgentDir;
use crate::args::{McpLoginArgs, McpLogoutArgs};
use crate::terminal::{print_line, sanitize};
use crate::user_error::UserError;

/// How long the response to the browser may take.
const MAX_RESPONSE_TIME: Duration = Duration::from_secs(2);

/// Lets the user log in at an MCP server, and stores the tokens.
pub(super) async fn log_in(args: &McpLoginArgs) -> Result<ExitCode> {
    let agent = AgentDir::load(&args.agent.agent)?;
    let (client, port) = agent.login_client(&args.server).await?;
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await;
    let listener = listener.with_context(|| format!("cannot listen on port {port}"))?;
    let address = format!("http://{}", listener.local_addr()?);
    let login = client
        .start_login(&format!("{address}/callback"))
        .await
        .map_err(|error| explain(&error))?;
    print_line(format_args!(
        "open this page in a browser of this machine:\n{}",
        sanitize(login.page())
    ));
    let received = tokio::time::timeout(args.timeout, receive_callback(listener)).await;
    let path = received.map_err(|_| {
        let time = format_duration(args.timeout);
        let error = UserError::new(format!("no login within {time}"));
        error.hint("run the command again; --timeout waits longer")
    })??;
    login.finish(&format!("{address}{path}")).await.map_err(|error| explain(&error))?;
    print_line(format_args!("logged in at `{}`", sanitize(&args.server)));
    Ok(ExitCode::SUCCESS)
}

fn explain(error: &haft_mcp::client::OAuthError) -> UserError {
    UserError::new(error.to_string())
}

/// Waits for the browser, and returns the path that it was sent to.
async fn receive_callback(listener: TcpListener) -> Result<String> {
    let (sender, mut callbacks) = mpsc::channel(1);
    let app = Router::new().route("/callback", get(take_callback)).with_state(sender);
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let server = axum::serve(listener, app).with_graceful_shutdown(async {
        let _ = stopped.await;
    });
    let server = server.into_future();
    tokio::pin!(server);
    let path = tokio::select! {
        served = &mut server => {
            served?;
            None
        }
        path = callbacks.recv() => path,
    };
    let _ = stop.send(());
    // The browser gets its page before the program ends.
    let _ = tokio::time::timeout(MAX_RESPONSE_TIME, server).await;
    path.context("the connection to the browser was lost")
}

/// Takes the first request that the login page has sent.
async fn take_callback(State(sender): State<mpsc::Sender<String>>, uri: Uri) -> &'static str {
    let path = uri.path_and_query().map(ToString::to_string).unwrap_or_default();
    match path.contains("state=") && sender.try_send(path).is_ok() {
        true => "You can close this page and go back to the terminal.\n",
        false => "This address belongs to no login.\n",
    }
}

/// Removes the tokens of a login.
pub(super) fn log_out(args: &McpLogoutArgs) -> Result<ExitCode> {
    let agent = AgentDir::load(&args.agent.agent)?;
    let server = sanitize(&args.server);
    match agent.remove_tokens(&args.server)? {
        true => print_line(format_args!("removed the tokens of `{server}`")),
        false => print_line(format_args!("there are no tokens of `{server}`")),
    }
    Ok(ExitCode::SUCCESS)
}
