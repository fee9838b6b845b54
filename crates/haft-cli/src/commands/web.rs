//! `haft web`

use std::io::{self, IsTerminal as _, Write as _, stdout};
use std::net::{SocketAddr, TcpListener};
use std::process::{Command, ExitCode, Stdio};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result};
use haft::stores::{OpenStores, StoreKey};
use haft::turn::StoredTurns;
use haft_inspector::Inspector;
use haft_server::{Access, Api, Guard};
use tempfile::NamedTempFile;
use tokio::time::{Instant, sleep_until};

use crate::args::WebArgs;
use crate::config::UserConfig;
use crate::host::{AgentHost, AgentTrust, ApiAgents, HostSettings, OtherAgents};
use crate::store::{open_or_create_store, open_store_to_read};
use crate::store_address::show_url;
use crate::terminal::{Terminal, TextRole, print_line, sanitize};

/// Serves the inspector until the program is stopped. Turns that it runs stop then and can be resumed.
pub(super) async fn serve_inspector(args: &WebArgs, terminal: &Terminal) -> Result<ExitCode> {
    let address = args.store.find_address();
    let stores = match args.read_only {
        true => open_store_to_read(&address).await?,
        false => open_or_create_store(&address).await?,
    };
    let store_name = show_url(&address.url);
    let settings = HostSettings {
        own: address.own_paths(),
        plain_http: args.plain_http,
        trust: if args.read_only { AgentTrust::Refused } else { AgentTrust::Remembered },
        ..HostSettings::new(terminal)
    };
    let host = AgentHost::new(stores.clone(), UserConfig::read()?, settings);
    let host = Arc::new(host.offer(&args.agents, OtherAgents::Included)?);
    host.check_all()?;
    let hub = host.hub("");
    let api = host.config().add_prices(Api::builder(StoredTurns::of_stores(&stores)));
    let api = api
        .hub(hub.clone())
        .agents(Arc::new(ApiAgents::new(Arc::clone(&host), stores.clone(), hub)))
        .access(if args.read_only { Access::ReadOnly } else { Access::Act })
        .store_name(store_name.clone())
        .actor(read_actor(args))
        .build();
    let address = SocketAddr::new(args.address, args.port);
    let listener =
        TcpListener::bind(address).with_context(|| format!("cannot listen on {address}"))?;
    let address = listener.local_addr()?;
    let guard = Guard::loopback_with_token(address.port(), &session_token(&stores, address.port()));
    let token = guard.token().unwrap_or_default();
    let url = format!("http://{address}/#token={token}");
    super::print_text(&format!("{url}\n"))?;
    let mode = if args.read_only { ", read-only" } else { "" };
    print_line(format_args!(
        "{} of {}{mode}; Ctrl-C stops it",
        terminal.style_stderr(TextRole::Success, "serving the inspector"),
        sanitize(&store_name)
    ));
    // Without a browser the address on the terminal is enough.
    let page = match !args.no_open && stdout().is_terminal() {
        true => open_browser(&url).ok(),
        false => None,
    };
    let remove_page = async move {
        sleep_until(Instant::now() + BROWSER_START_TIME).await;
        drop(page);
        std::future::pending::<()>().await;
    };
    tokio::select! {
        served = Inspector::new(&api, &guard).serve(listener) => served?,
        () = remove_page => {}
    }
    Ok(ExitCode::SUCCESS)
}

/// The token of the page. It belongs to the store and the port, so that pages which are open survive a restart.
fn session_token(stores: &OpenStores, port: u16) -> [u8; 32] {
    let key = StoreKey::of_secret(stores.secret());
    *key.mark("session of the inspector", &[&port.to_be_bytes()]).as_bytes()
}

/// How long a browser may take to read the file that leads to the page.
const BROWSER_START_TIME: Duration = Duration::from_secs(60);

/// Opens the page by a file that leads to it and that only this user can read: the arguments of a program are shown to every
/// user of the machine, and the address has the token. The file is removed with the returned value.
fn open_browser(url: &str) -> io::Result<NamedTempFile> {
    let mut file = tempfile::Builder::new().prefix("haft-").suffix(".html").tempfile()?;
    write!(
        file,
        "<!doctype html>\n<meta charset=\"utf-8\">\n<title>Haft</title>\n\
         <meta http-equiv=\"refresh\" content=\"0; url={url}\">\n<a href=\"{url}\">Open the inspector</a>\n"
    )?;
    file.flush()?;
    let program = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };
    let mut command = Command::new(program);
    command.arg(file.path()).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.spawn()?;
    Ok(file)
}

/// The name of the person at the page.
fn read_actor(args: &WebArgs) -> String {
    let user = || std::env::var_os("USER").and_then(|it| it.into_string().ok());
    args.by.clone().or_else(user).unwrap_or_else(|| "an unknown user".to_owned())
}
