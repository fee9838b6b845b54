//! An agent whose conversations are virtual objects of Restate.
//!
//! ```sh
//! restate-server --bind-ip 127.0.0.1 &
//! cargo run -p haft-restate --example restate &
//! curl -X POST 127.0.0.1:9070/deployments --json '{"uri": "http://127.0.0.1:9080"}'
//! curl -X POST 127.0.0.1:8080/HaftConversation/talk-1/submit --json '{"message": "Deploy the shop."}' &
//! haft gates --store haft-restate-turns
//! haft approve GATE --store haft-restate-turns
//! ```

use std::sync::Arc;

use haft::executors::ScriptExecutor;
use haft::stores::{OpenStores, StoreOptions};
use haft::turn::GatePolicy;
use haft::{Agent, Tool};
use haft_restate::{ConversationObject, forward_settlements};
use restate_sdk::prelude::{Endpoint, HttpServer};

/// A script in the place of a model, so that the example needs no key.
const SCRIPT: &str = r#"{"steps": [{"call": {"deploy": {}}}, {"say": "{{ last.deploy }}"}]}"#;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let url = "dir:haft-restate-turns".parse()?;
    let stores = OpenStores::open(&url, StoreOptions::default()).await?;
    let deploy = Tool::builder("deploy").description("Deploys.").requires_approval("Deploy?");
    let agent = Agent::builder(ScriptExecutor::parse(SCRIPT)?)
        .stores(&stores)
        .tool(deploy.handler(|| "The shop is deployed.").build()?)
        .system("You deploy shops.")
        .gate_policy(GatePolicy::Suspend)
        .build()?;
    let object = ConversationObject::new(agent);
    let server = HttpServer::new(Endpoint::builder().bind(object).build());
    // Decisions of `haft approve` and the inspector reach the objects.
    let settlements = forward_settlements(Arc::clone(stores.turns()), "http://127.0.0.1:8080");
    tokio::select! {
        () = server.listen_and_serve("127.0.0.1:9080".parse()?) => {}
        failed = settlements => failed?,
    }
    stores.close().await;
    Ok(())
}
