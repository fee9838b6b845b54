//! The client that the official conformance suite drives: it connects to the server at the address in its last argument,
//! authorizes if it must, and calls the tools that the scenario is about.
//!
//! ```text
//! npx @modelcontextprotocol/conformance client --command target/debug/examples/conformance_client --requirements 2026-07-28
//! ```

#![expect(clippy::print_stdout, reason = "the suite shows what the client prints")]

use std::error::Error;
use std::sync::Arc;

use haft_core::context::{GateContext, Gates};
use haft_core::gate::GateRequest;
use haft_core::{BoxFuture, DispatchContext, Tool};
use haft_mcp::client::{HttpServer, McpClientError, McpEndpoint, McpTools, OAuthClient};
use haft_stores::MemorySpoolStore;
use rmcp::transport::auth::{AuthorizationRequest, OAuthState};
use serde_json::{Map, Value, json};

type Result<T> = std::result::Result<T, Box<dyn Error>>;

const REDIRECT: &str = "http://localhost:8123/callback";
const CLIENT_METADATA: &str = "https://conformance-test.local/client-metadata.json";
/// How often a server may ask for more authorization.
const MAX_AUTHORIZATIONS: usize = 3;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    let url = std::env::args().next_back().ok_or("the address of the server is missing")?;
    let scenario = Scenario::from_env()?;
    let mut challenges: Vec<String> = Vec::new();
    loop {
        match scenario.run(&url, &challenges).await {
            Ok(()) => return Ok(()),
            Err(error) => match challenge_of(&*error) {
                Some(challenge) if challenges.len() < MAX_AUTHORIZATIONS => {
                    challenges.push(challenge)
                }
                _ => return Err(error),
            },
        }
    }
}

/// What the server says about how to authorize, if that is what an error is about.
fn challenge_of(error: &(dyn Error + 'static)) -> Option<String> {
    let mut current = Some(error);
    while let Some(error) = current {
        if let Some(McpClientError::Unauthorized { challenge, .. }) = error.downcast_ref() {
            return Some(challenge.clone());
        }
        current = error.source();
    }
    None
}

struct Scenario {
    name: String,
    context: Value,
}

impl Scenario {
    #[expect(
        clippy::disallowed_methods,
        reason = "the suite passes the scenario in the environment"
    )]
    fn from_env() -> Result<Self> {
        let name = std::env::var("MCP_CONFORMANCE_SCENARIO").unwrap_or_default();
        let context = std::env::var("MCP_CONFORMANCE_CONTEXT").ok();
        let context = context.map_or(Ok(Value::Null), |text| serde_json::from_str(&text))?;
        Ok(Self { name, context })
    }

    async fn run(&self, url: &str, challenges: &[String]) -> Result<()> {
        let mut server = HttpServer::new(url);
        if let Some((id, secret)) = self.program_credentials() {
            let oauth = OAuthClient::client_credentials(url, id, secret);
            server = server.authorization(oauth.authorize().await?);
        } else if let Some(challenge) = challenges.last() {
            let scopes = scopes_of(challenges);
            server = server.authorization(self.authorize(url, challenge, &scopes).await?);
        }
        let spools = Arc::new(MemorySpoolStore::new());
        let tools = McpTools::connect("conformance", McpEndpoint::http(server), spools).await?;
        let built = tools.tools(|_| false);
        let ctx = DispatchContext::builder("conformance").gates(Arc::new(AcceptDefaults)).build();
        for (name, args) in self.calls(&tools, &built) {
            let Some(tool) = built.iter().find(|it| it.name().as_str() == name) else { continue };
            if let Err(error) = tool.executor(&ctx).call(args.to_string().as_str()).await.outcome {
                if challenge_of(&error).is_some() {
                    return Err(error.into());
                }
                println!("{name}: {error}");
            }
        }
        Ok(())
    }

    /// The id and the secret of a client that is a program.
    fn program_credentials(&self) -> Option<(&str, &str)> {
        let member = |name: &str| self.context.get(name).and_then(Value::as_str);
        let pair = member("client_id").zip(member("client_secret"));
        pair.filter(|_| self.name == "auth/client-credentials-basic")
    }

    /// The calls of the scenario: those of its context, or one of each tool.
    fn calls(&self, tools: &McpTools, built: &[Tool]) -> Vec<(String, Value)> {
        if let Some(calls) = self.context.get("toolCalls").and_then(Value::as_array) {
            let name = |call: &Value| call["name"].as_str().unwrap_or_default().to_owned();
            return calls.iter().map(|call| (name(call), call["arguments"].clone())).collect();
        }
        if self.name.starts_with("json-schema-2020-12") {
            // The suite compares the schema that the client has with the one that it sent.
            let schema = tools.offered().into_iter().find(|it| it.name != "json_schema_echo");
            let schema = schema.map(|it| it.input_schema()).unwrap_or_default();
            return vec![("json_schema_echo".to_owned(), json!({"schema": schema}))];
        }
        built.iter().map(|it| (it.name().to_string(), sample_args(it))).collect()
    }

    /// Obtains access as a user with a browser would.
    async fn authorize(
        &self,
        url: &str,
        challenge: &str,
        scopes: &[String],
    ) -> Result<rmcp::transport::AuthorizationManager> {
        let mut state = OAuthState::new(url, None).await?;
        let mut request = AuthorizationRequest::new(REDIRECT)
            .with_client_name("haft")
            .with_challenge(challenge)
            .with_client_metadata_url(CLIENT_METADATA);
        if !scopes.is_empty() {
            request = request.with_scopes(scopes.iter().cloned());
        }
        if let Some(id) = self.context.get("client_id").and_then(Value::as_str) {
            request = request.with_preregistered_client(id);
            if let Some(secret) = self.context.get("client_secret").and_then(Value::as_str) {
                request = request.with_client_secret(secret);
            }
        }
        state.start_authorization(request).await?;
        let page = state.get_authorization_url().await?;
        let browser = haft_http::reqwest::Client::builder();
        let browser = browser.redirect(haft_http::reqwest::redirect::Policy::none()).build()?;
        let response = browser.get(page).send().await?;
        let callback = response.headers().get("location").ok_or("no redirect")?.to_str()?;
        state.handle_callback_url(callback).await?;
        state.into_authorization_manager().ok_or_else(|| "not authorized".into())
    }
}

/// The scopes that the server has asked for so far, if it has asked more than once: what was granted must not get lost.
fn scopes_of(challenges: &[String]) -> Vec<String> {
    let mut scopes: Vec<String> = Vec::new();
    for challenge in challenges.iter().filter(|_| challenges.len() > 1) {
        let named = challenge.split_once("scope=\"").and_then(|(_, rest)| rest.split('"').next());
        for scope in named.unwrap_or_default().split_whitespace() {
            if !scopes.iter().any(|it| it == scope) {
                scopes.push(scope.to_owned());
            }
        }
    }
    scopes
}

/// Accepts every question of a server with the defaults of its fields.
struct AcceptDefaults;

impl Gates for AcceptDefaults {
    fn wait_for<'a>(
        &'a self,
        _: GateContext<'a>,
        _: GateRequest,
    ) -> BoxFuture<'a, std::result::Result<Value, haft_core::gate::GateError>> {
        Box::pin(async { Ok(json!({})) })
    }
}

/// Arguments that meet the schema of a tool.
fn sample_args(tool: &Tool) -> Value {
    let schema = tool.input_schema().json_schema();
    let properties =
        schema.get("properties").and_then(Value::as_object).cloned().unwrap_or_default();
    let required = schema.get("required").and_then(Value::as_array).cloned().unwrap_or_default();
    let members = required.iter().filter_map(Value::as_str).map(|name| {
        let kind = properties.get(name).and_then(|it| it.get("type")?.as_str()).unwrap_or("string");
        let value = match kind {
            "integer" | "number" => json!(3),
            "boolean" => json!(true),
            "array" => json!([]),
            "object" => json!({}),
            _ => json!("text"),
        };
        (name.to_owned(), value)
    });
    Value::Object(members.collect::<Map<_, _>>())
}
