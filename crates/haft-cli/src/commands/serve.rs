//! `haft serve`

mod tokens;

use std::net::{SocketAddr, TcpListener};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result};
use haft::turn::{Cancellation, GatePolicy, StoredTurns};
use haft::worker::Worker;
use haft_server::{
    Access, AgentError, Api, ApiBuilder, NewToken, ServiceLimits, TenantScope, TenantService,
    TenantServiceBuilder, TokenFile,
};

use crate::args::{LimitArgs, ServeArgs, ServeCommand};
use crate::config::UserConfig;
use crate::host::{AgentHost, AgentTrust, ApiAgents, HostSettings, OtherAgents};
use crate::stop_signals::{StopListener, StopSignals};
use crate::store::open_or_create_store;
use crate::store_address::show_url;
use crate::terminal::{Terminal, TextRole, print_line, sanitize};
use crate::user_error::UserError;

/// How long a turn stays reserved for a service that gives no sign of life.
const LEASE: Duration = Duration::from_secs(15);

/// Serves the HTTP API until a signal asks for the end, and runs turns meanwhile.
pub(super) async fn run_serve(
    args: ServeArgs,
    terminal: &Terminal,
    signals: &StopSignals,
) -> Result<ExitCode> {
    if let Some(ServeCommand::Token(command)) = &args.command {
        return tokens::run_token_command(command, terminal);
    }
    if args.agents.is_empty() {
        let error = UserError::new("a service needs agents");
        return Err(error.hint("name their directories: haft serve AGENT").into());
    }
    let file = tokens::token_file(&args.tokens)?;
    let fixed = token_of_run(&args, &file)?;
    let address = args.store.find_address();
    let stores = open_or_create_store(&address).await?;
    let settings = HostSettings {
        name: Some(format!("serve {}", std::process::id())),
        lease: LEASE,
        plain_http: args.plain_http,
        trust: AgentTrust::of_option(args.trust),
        own: address.own_paths(),
        gates: GatePolicy::Suspend,
        ..HostSettings::new(terminal)
    };
    let host = AgentHost::new(stores, UserConfig::read()?, settings);
    let host = Arc::new(host.offer(&args.agents, OtherAgents::Excluded)?);
    host.prepare_all().await?;
    let service = build_service(&host).token_file(file);
    let error = terminal.style_stderr(TextRole::Error, "error:");
    let service = service.limits(service_limits(&args.limits)).on_failure(move |failure| {
        print_line(format_args!("{error} {}", sanitize(&failure.to_string())));
    });
    let service = match &fixed {
        Some(token) => service.token(token.clone()),
        None => service,
    };
    let listen = SocketAddr::new(args.address, args.port);
    let listener =
        TcpListener::bind(listen).with_context(|| format!("cannot listen on {listen}"))?;
    // Before the address is printed: its reader may send a signal at once.
    let stop = signals.listen();
    super::print_text(&format!("http://{}/v1\n", listener.local_addr()?))?;
    if let Some(token) = &fixed {
        super::print_text(&format!("{}\n", token.token()))?;
    }
    print_line(format_args!(
        "{} {} from {}; Ctrl-C stops it",
        terminal.style_stderr(TextRole::Success, "serving"),
        host.names().join(", "),
        show_url(&address.url)
    ));
    if fixed.is_some() {
        print_line(format_args!(
            "clients send the token above, which is valid until the end of this process, as `Authorization: Bearer TOKEN`; \
             `haft serve token create --tenant NAME` creates lasting ones"
        ));
    }
    serve_until_stopped(&service.build(), listener, worker(host, &args), stop).await
}

/// The token of this run, if the file has none. Without tokens in the file, only this machine is served.
fn token_of_run(args: &ServeArgs, file: &TokenFile) -> Result<Option<NewToken>> {
    if !file.list_tokens()?.is_empty() {
        return Ok(None);
    }
    if !args.address.is_loopback() {
        let text =
            format!("`{}` is reachable from elsewhere, and there are no tokens", args.address);
        let hint = "create one first: haft serve token create --tenant TENANT";
        return Err(UserError::new(text).hint(hint).into());
    }
    Ok(Some(NewToken::generate("", "this machine")?))
}

fn service_limits(args: &LimitArgs) -> ServiceLimits {
    ServiceLimits::default()
        .unfinished_turns(args.max_turns)
        .requests(args.max_requests)
        .streams(args.max_streams)
        .connections(args.max_connections)
        .body_bytes(args.max_body)
}

/// The service. What serves a tenant is built from the stores of that tenant.
fn build_service(host: &Arc<AgentHost>) -> TenantServiceBuilder {
    let stores = host.stores().clone();
    let host = Arc::clone(host);
    let build_api = move |scope: &TenantScope| -> Result<ApiBuilder, AgentError> {
        let hub = host.hub(scope.tenant());
        let turns = StoredTurns::of_stores(scope.stores());
        let agents = ApiAgents::new(Arc::clone(&host), scope.stores().clone(), hub.clone());
        let api = host.config().add_prices(Api::builder(turns)).hub(hub).agents(Arc::new(agents));
        Ok(api.access(Access::Submit).store_name(scope.tenant()))
    };
    TenantService::builder(stores, build_api)
}

/// The worker of this process, if it runs turns.
fn worker(host: Arc<AgentHost>, args: &ServeArgs) -> Option<Worker> {
    let builder = Worker::builder(Arc::clone(host.stores().turns()), host);
    let builder = builder.name(format!("serve {}", std::process::id())).lease(LEASE);
    (args.run > 0).then(|| builder.concurrency(args.run).build())
}

/// Serves until a signal asks for the end. The turns that run then have time to end; a second signal does not wait.
async fn serve_until_stopped(
    service: &TenantService,
    listener: TcpListener,
    worker: Option<Worker>,
    mut stop: StopListener,
) -> Result<ExitCode> {
    let ending = Cancellation::new();
    let until = ending.clone();
    let serve = service.serve(listener, async move {
        until.cancelled().await;
    });
    let work = async {
        match worker {
            Some(worker) => worker.run_until(ending.cancelled()).await.map(|_| ()),
            None => Ok(()),
        }
    };
    let mut served = std::pin::pin!(async {
        tokio::try_join!(async { serve.await.context("the service ended") }, async {
            work.await.context("the worker ended")
        },)
    });
    loop {
        tokio::select! {
            biased;
            signal = stop.next() => {
                if ending.is_cancelled() {
                    let text = format!("stopped by {}; the turns can be resumed", signal.name());
                    return Err(UserError::new(text).code(signal.exit_code()).into());
                }
                ending.cancel(signal.name());
            }
            ended = &mut served => {
                ended?;
                return Ok(ExitCode::SUCCESS);
            }
        }
    }
}
