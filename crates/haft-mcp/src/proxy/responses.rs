//! What servers send: responses for the client, and questions.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use bytes::Bytes;
use serde_json::Value;
use serde_json::value::RawValue;
use tokio::sync::mpsc;

use super::ProxyShared;
use super::connection::Received;
use super::envelope::{Envelope, INTERNAL_ERROR, RequestKey, error_response, line, raw_line, set};
use super::results::{ResultRewriter, Rewritten};
use super::session::{Pending, Session};
use crate::transport::{RawFailure, RawMessage};

impl Session {
    /// Handles the messages of a server until it ends.
    pub(super) async fn receive(
        self: Arc<Self>,
        upstream: usize,
        mut receiver: mpsc::Receiver<Received>,
    ) {
        while let Some(received) = receiver.recv().await {
            match received {
                Received::Message(message) => self.handle_server(upstream, message).await,
                Received::Failure(failure) => self.fail_response(upstream, failure).await,
                Received::Closed => break,
            }
        }
        let waiting: Vec<RequestKey> = {
            let mut state = self.state();
            let ended = state.pending.extract_if(|(of, _), _| *of == upstream);
            // The proxy's own requests fail when their senders are dropped.
            ended.filter(|(_, it)| !matches!(it, Pending::Own(_))).map(|((_, id), _)| id).collect()
        };
        let why = format!("the server `{}` has ended", self.upstream_name(upstream));
        for id in waiting {
            self.send_client(error_response(&id, INTERNAL_ERROR, &why)).await;
        }
    }

    /// Answers a request whose response cannot be used.
    async fn fail_response(&self, upstream: usize, failure: RawFailure) {
        let RawFailure { reason, response_id } = failure;
        tracing::warn!(
            server = self.upstream_name(upstream),
            reason,
            "a message of an MCP server cannot be used"
        );
        let Some(id) = response_id.as_ref().map(RequestKey::of_value) else { return };
        let pending = self.state().pending.remove(&(upstream, id.clone()));
        if pending.is_some_and(|it| !matches!(it, Pending::Own(_))) {
            let why = format!("the server sent a message that cannot be used: {reason}");
            self.send_client(error_response(&id, INTERNAL_ERROR, &why)).await;
        }
    }

    /// Handles a message of a server.
    async fn handle_server(self: &Arc<Self>, upstream: usize, message: RawMessage) {
        let Ok(envelope) = Envelope::parse(&message.json) else { return };
        let is_response = envelope.result.is_some() || envelope.error.is_some();
        match (envelope.method.is_some(), envelope.key()) {
            (true, Some(_)) if !self.is_single() => {
                let Ok(mut asked) = serde_json::from_slice::<Value>(&message.json) else { return };
                let id = Value::String(format!(
                    "haft-proxy-{}",
                    self.next_id.fetch_add(1, Ordering::Relaxed)
                ));
                let own = asked.get("id").cloned().unwrap_or_default();
                set(&mut asked, "id", id.clone());
                self.state().asked.insert(id.to_string(), (upstream, own));
                self.send_client(line(&asked)).await;
            }
            (true, _) => self.send_client(raw_line(message.json)).await,
            (false, Some(id)) if is_response => {
                let pending = self.state().pending.remove(&(upstream, id.clone()));
                if let Some(pending) = pending {
                    self.answer(&id, pending, message).await;
                }
            }
            _ => {}
        }
    }

    /// Passes the response to a request on.
    async fn answer(self: &Arc<Self>, id: &RequestKey, pending: Pending, message: RawMessage) {
        let name = match pending {
            Pending::Own(sender) => {
                let _ = sender.send(serde_json::from_slice(&message.json).unwrap_or_default());
                return;
            }
            Pending::List { is_first } => {
                let line = self.rewrite_list(&message.json, is_first);
                return self.send_client(line.unwrap_or_else(|| raw_line(message.json))).await;
            }
            Pending::Passed { name } => name,
        };
        let ProxyShared { catalog, queries, limits, .. } = &self.shared;
        let rewriter = ResultRewriter { catalog, queries, limits: *limits };
        let Rewritten { line, has_stored } = match rewriter.rewrite(message, &name).await {
            Ok(rewritten) => rewritten,
            Err(error) => {
                let why = format!("the result could not be stored: {error}");
                Rewritten { line: error_response(id, INTERNAL_ERROR, &why), has_stored: false }
            }
        };
        self.send_client(line).await;
        if has_stored {
            let cleaner = Arc::clone(self);
            self.spawn(async move { cleaner.clean_up().await });
        }
    }

    /// The list of tools for the client. Definitions that need no change stay byte for byte.
    fn rewrite_list(&self, message: &[u8], is_first: bool) -> Option<Bytes> {
        let envelope = Envelope::parse(message).ok()?;
        let mut result: BTreeMap<String, &RawValue> =
            serde_json::from_str(envelope.result?.get()).ok()?;
        let tools: Vec<&RawValue> = serde_json::from_str(result.remove("tools")?.get()).ok()?;
        if is_first {
            self.clear_routes();
        }
        let mut list = Vec::with_capacity(tools.len());
        for tool in tools {
            let Ok(definition) = serde_json::from_str::<Value>(tool.get()) else { continue };
            match self.route_tool(0, definition.clone()) {
                Some(shown) if shown == definition => list.push(tool.to_owned()),
                Some(shown) => list.push(to_raw(&shown)?),
                None => {}
            }
        }
        if result.get("nextCursor").is_none_or(|it| it.get() == "null") {
            for definition in self.query_definitions() {
                list.push(to_raw(definition)?);
            }
        }
        let tools = to_raw(&list)?;
        result.insert("tools".to_owned(), &tools);
        let message = ListMessage { jsonrpc: "2.0", id: envelope.id?, result };
        Some(raw_line(serde_json::to_vec(&message).ok()?))
    }
}

/// The response to `tools/list`.
#[derive(serde::Serialize)]
struct ListMessage<'m> {
    jsonrpc: &'static str,
    id: &'m RawValue,
    result: BTreeMap<String, &'m RawValue>,
}

fn to_raw(value: &impl serde::Serialize) -> Option<Box<RawValue>> {
    serde_json::value::to_raw_value(value).ok()
}
