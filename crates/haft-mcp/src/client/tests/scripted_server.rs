//! A server whose responses a test writes.

use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use haft_core::spool::SpoolStore;
use haft_core::tool::{Invocation, ToolOutput};
use haft_core::{BoxFuture, DispatchContext, Tool};
use haft_stores::MemorySpoolStore;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream};
use tokio::sync::mpsc;

use crate::client::{
    McpClientError, McpEndpoint, McpOptions, McpTools, ProtocolChoice, ServerStreams, StreamPair,
};

/// What a server does with a request.
pub(super) enum Reply {
    /// Responds with a result.
    Result(Value),
    /// Writes lines as they are.
    Lines(Vec<String>),
    /// Leaves the request unanswered.
    Nothing,
    /// Ends.
    End,
}

type Script = dyn Fn(&str, &Value) -> Reply + Send + Sync;

/// A server that responds as a function says. Every connection starts it anew.
#[derive(Clone)]
pub(super) struct ScriptedServer {
    identity: String,
    script: Arc<Script>,
    pub(super) starts: Arc<AtomicUsize>,
    /// What the server has read, in order.
    pub(super) received: Arc<Mutex<Vec<Value>>>,
    tools: Arc<Mutex<Value>>,
    is_list_scripted: bool,
}

impl ScriptedServer {
    /// A server of 2025-11-25 with these tools, whose calls the script answers.
    pub(super) fn new(
        tools: Value,
        script: impl Fn(&str, &Value) -> Reply + Send + Sync + 'static,
    ) -> Self {
        Self {
            identity: "scripted".to_owned(),
            script: Arc::new(script),
            starts: Arc::default(),
            received: Arc::default(),
            tools: Arc::new(Mutex::new(tools)),
            is_list_scripted: false,
        }
    }

    /// The same server at another place.
    pub(super) fn at(mut self, identity: &str) -> Self {
        identity.clone_into(&mut self.identity);
        self
    }

    /// Lets the script respond to `tools/list` as well.
    pub(super) fn with_scripted_list(mut self) -> Self {
        self.is_list_scripted = true;
        self
    }

    pub(super) fn set_tools(&self, tools: Value) {
        *self.tools.lock().unwrap() = tools;
    }

    pub(super) fn methods(&self) -> Vec<String> {
        let received = self.received.lock().unwrap();
        received.iter().filter_map(|it| it["method"].as_str().map(str::to_owned)).collect()
    }

    fn reply(&self, message: &Value) -> Reply {
        let method = message["method"].as_str().unwrap_or_default();
        match method {
            "initialize" => Reply::Result(json!({
                "protocolVersion": "2025-11-25",
                "capabilities": {"tools": {"listChanged": true}},
                "serverInfo": {"name": "scripted", "version": "1"},
            })),
            "tools/list" if !self.is_list_scripted => {
                Reply::Result(json!({"tools": *self.tools.lock().unwrap()}))
            }
            _ if message.get("id").is_none() && !method.is_empty() => Reply::Nothing,
            _ => (self.script)(method, message),
        }
    }

    async fn serve(self, stream: DuplexStream) {
        let (reader, mut writer) = tokio::io::split(stream);
        let mut lines = BufReader::new(reader).lines();
        let (sender, mut outgoing) = mpsc::unbounded_channel::<String>();
        let write = async move {
            while let Some(line) = outgoing.recv().await {
                if writer.write_all(line.as_bytes()).await.is_err() {
                    return;
                }
            }
        };
        let read = async move {
            while let Ok(Some(line)) = lines.next_line().await {
                let message: Value = serde_json::from_str(&line).unwrap();
                self.received.lock().unwrap().push(message.clone());
                match self.reply(&message) {
                    Reply::Result(result) => {
                        let id = message["id"].clone();
                        let line = json!({"jsonrpc": "2.0", "id": id, "result": result});
                        sender.send(format!("{line}\n")).unwrap();
                    }
                    Reply::Lines(lines) => {
                        lines.into_iter().for_each(|line| sender.send(line + "\n").unwrap());
                    }
                    Reply::Nothing => {}
                    Reply::End => return,
                }
            }
        };
        tokio::join!(read, write);
    }
}

impl ServerStreams for ScriptedServer {
    fn identity(&self) -> String {
        self.identity.clone()
    }

    fn open(&self) -> BoxFuture<'_, io::Result<StreamPair>> {
        Box::pin(async {
            self.starts.fetch_add(1, Ordering::SeqCst);
            let (client, server) = tokio::io::duplex(64 * 1024);
            let (output, input) = tokio::io::split(client);
            let mut task = tokio::task::JoinSet::new();
            task.spawn(self.clone().serve(server));
            Ok(StreamPair::new(output, input, task))
        })
    }
}

/// A tool definition without arguments.
pub(super) fn tool(name: &str) -> Value {
    json!({"name": name, "description": format!("Does {name}."), "inputSchema": {"type": "object"}})
}

pub(super) fn text(text: &str) -> Reply {
    Reply::Result(json!({"content": [{"type": "text", "text": text}]}))
}

pub(super) fn store() -> Arc<dyn SpoolStore> {
    Arc::new(MemorySpoolStore::new())
}

pub(super) fn options() -> McpOptions {
    McpOptions { protocol: ProtocolChoice::Initialize, ..McpOptions::default() }
}

pub(super) async fn connect(server: &ScriptedServer) -> Result<McpTools, McpClientError> {
    connect_with(server, options()).await
}

pub(super) async fn connect_with(
    server: &ScriptedServer,
    options: McpOptions,
) -> Result<McpTools, McpClientError> {
    McpTools::connect_with("s", McpEndpoint::streams(server.clone()), store(), options).await
}

pub(super) fn find(tools: &McpTools, name: &str) -> Tool {
    let all = tools.tools(|_| false);
    let found = all.iter().find(|it| it.name().as_str() == name).cloned();
    found.unwrap_or_else(|| panic!("{name}: {all:?} {:?}", tools.problems()))
}

pub(super) async fn call(tools: &McpTools, name: &str, args: &str) -> Invocation {
    call_in(tools, name, args, &DispatchContext::builder("turn-1").build()).await
}

pub(super) async fn call_in(
    tools: &McpTools,
    name: &str,
    args: &str,
    ctx: &DispatchContext,
) -> Invocation {
    find(tools, name).executor(ctx).call(args).await
}

#[track_caller]
pub(super) fn text_of(call: Invocation) -> String {
    match call.outcome {
        Ok(ToolOutput::Text(text)) => text,
        other => panic!("{other:?}"),
    }
}

#[track_caller]
pub(super) fn error_of(call: Invocation) -> String {
    call.outcome.unwrap_err().to_string()
}
