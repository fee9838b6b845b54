//! Serves turns on this machine.
//!
//! ```sh
//! cargo run -p web-server                         # offline, with a script
//! MODEL=gpt-5-mini OPENAI_API_KEY=… cargo run -p web-server
//! MODEL=qwen3-8b OPENAI_BASE_URL=http://localhost:8080/v1 cargo run -p web-server
//! curl -N localhost:3000/turns -H 'content-type: application/json' -d '{"prompt": "Order 7 arrived broken."}'
//! ```
#![expect(clippy::print_stdout, reason = "an example prints")]

use std::env;
use std::net::Ipv4Addr;

use anyhow::Result;
use haft::Agent;
use haft::events::EventHub;
use haft::executors::ScriptExecutor;
use haft::providers::Provider;
use haft::providers::dialects::chat_completions::ChatCompletions;
use haft::stores::TurnDir;
use web_server::{Server, shop_tools};

#[expect(clippy::disallowed_methods, reason = "a program reads its own environment")]
#[tokio::main]
async fn main() -> Result<()> {
    let builder = match env::var("MODEL") {
        Ok(model) => {
            let mut provider = Provider::builder(ChatCompletions::new(), model);
            if let Ok(url) = env::var("OPENAI_BASE_URL") {
                provider = provider.base_url(url);
            }
            // A server on this machine needs no key.
            if let Ok(key) = env::var("OPENAI_API_KEY") {
                provider = provider.key(key);
            }
            Agent::builder(provider.build()?)
        }
        Err(_) => Agent::builder(ScriptExecutor::parse(include_str!("../script.yaml"))?),
    };
    let hub = EventHub::new();
    let store_dir = TurnDir::open(env::temp_dir().join("haft-web-server"))?;
    let agent = builder.dir(&store_dir).observer(hub.clone()).tools(shop_tools()?).build()?;
    let listener = tokio::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 3000)).await?;
    println!("listening on http://{}", listener.local_addr()?);
    axum::serve(listener, Server::new(agent, hub).routes()).await?;
    Ok(())
}
