//! A tool with a client of the application, whose calls a person approves.
#![expect(clippy::print_stdout, reason = "an example prints")]

use std::sync::{Arc, Mutex};

use haft::executors::ScriptExecutor;
use haft::turn::Gate;
use haft::{Agent, State, ToolArgs, tool};

/// The application's own client. Each call gets a clone of it.
#[derive(Clone, Default)]
struct Outbox(Arc<Mutex<Vec<String>>>);

impl Outbox {
    fn send(&self, mail: String) -> anyhow::Result<usize> {
        let mut sent = self.0.lock().map_err(|_| anyhow::anyhow!("the outbox is broken"))?;
        sent.push(mail);
        Ok(sent.len())
    }
}

#[derive(ToolArgs)]
struct Mail {
    /// The address
    #[arg(min_len = 3)]
    to: String,
    /// What the mail says
    text: String,
}

/// Sends a mail.
#[tool(requires_approval = "Send a mail to {to}?")]
async fn send_mail(mail: Mail, State(outbox): State<Outbox>) -> anyhow::Result<String> {
    let count = outbox.send(format!("{}: {}", mail.to, mail.text))?;
    Ok(format!("sent; mails until now: {count}"))
}

const SCRIPT: &str = r#"
steps:
  - call:
      send_mail: {to: ada@example.org, text: The order is on its way.}
  - say: "Ada knows: {{ last.send_mail }}."
"#;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let outbox = Outbox::default();
    let agent = Agent::builder(ScriptExecutor::parse(SCRIPT)?)
        .system("You answer mails.")
        .tool(send_mail(outbox.clone()))
        .approver(async |gate: Gate| {
            println!("{}", gate.reason);
            true
        })
        .build()?;
    println!("{}", agent.turn("Tell Ada.").await?);
    assert_eq!(outbox.send("eve@example.org: Hello.".to_owned())?, 2);
    Ok(())
}
