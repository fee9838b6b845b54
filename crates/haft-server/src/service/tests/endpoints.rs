//! Every endpoint with the token of another tenant.

use std::time::Duration;

use axum::http::{Method, StatusCode};
use haft::stores::{ObjectOptions, OpenStores, StoreOptions, StoredTurn, TurnQuery};
use serde_json::{Value, json};

use super::{AGENT, TestService, marker, pause};
use crate::Access;
use crate::openapi::OPERATIONS;
use crate::service::ServiceLimits;

/// The ids of one turn and what belongs to it.
#[derive(Clone, Debug)]
struct TurnNames {
    turn: String,
    handle: String,
    record: String,
    media: String,
    gate: String,
    grant: String,
}

impl TurnNames {
    async fn load(service: &TestService, tenant: &str, turn: String) -> Self {
        let detail = service.get(tenant, &format!("/turns/{turn}")).await;
        let gate = detail["gates"][0].clone();
        let text = |value: &Value| value.as_str().unwrap_or_else(|| panic!("{detail}")).to_owned();
        Self {
            turn,
            handle: text(&detail["artifacts"][0]["handle"]),
            record: text(&gate["record"]),
            media: text(find_media(&detail).unwrap_or_else(|| panic!("{detail}"))),
            gate: text(&gate["id"]),
            grant: text(&service.get(tenant, "/grants").await[0]["id"]),
        }
    }

    /// Names of the same form that nothing has.
    fn of_nothing() -> Self {
        Self {
            turn: "0199dead-0000-7000-8000-000000000000".to_owned(),
            handle: "deadbeef".to_owned(),
            record: "0199dead-0000-7000-8000-000000000001".to_owned(),
            media: "deadbeef/media/0".to_owned(),
            gate: "0199dead-0000-7000-8000-000000000000/0199/approval/0".to_owned(),
            grant: "fedcba9876543210".to_owned(),
        }
    }

    fn fill(&self, path: &str) -> String {
        path.replace("{turn}", &self.turn)
            .replace("{handle}", &self.handle)
            .replace("{record}", &self.record)
            .replace("{name}", &self.media.replace('/', "%2F"))
            .replace("{gate}", &self.gate.replace('/', "%2F"))
            .replace("{grant}", &self.grant)
            .replace("{step}", "1")
            .replace("{agent}", AGENT)
            .replace("{tool}", "read_all")
    }

    /// Replaces the ids in a response, so that responses about different names can be compared.
    fn blank(&self, text: &str) -> String {
        let names = [&self.turn, &self.handle, &self.record, &self.media, &self.gate, &self.grant];
        names.into_iter().fold(text.to_owned(), |text, name| text.replace(name.as_str(), "ID"))
    }
}

/// The name of the first medium of a turn.
fn find_media(value: &Value) -> Option<&Value> {
    match value {
        Value::Object(map) if map.contains_key("previewable") => map.get("id"),
        Value::Object(map) => map.values().find_map(find_media),
        Value::Array(list) => list.iter().find_map(find_media),
        _ => None,
    }
}

/// What a row of the table says about an operation.
struct Row {
    query: &'static str,
    body: Option<Value>,
    /// What the owner gets from a service that allows everything.
    owner: StatusCode,
    /// Whether the response of the owner has words of its turns, which the response of others must not have.
    tells: bool,
}

fn row(owner: StatusCode) -> Row {
    Row { query: "", body: None, owner, tells: false }
}

impl Row {
    fn query(mut self, query: &'static str) -> Self {
        self.query = query;
        self
    }

    fn body(mut self, body: Value) -> Self {
        self.body = Some(body);
        self
    }

    fn tells(mut self) -> Self {
        self.tells = true;
        self
    }
}

/// The table. An operation without a row fails the test.
fn row_of(method: &str, path: &str) -> Option<Row> {
    let ok = || row(StatusCode::OK);
    let missing = row(StatusCode::NOT_FOUND);
    let invalid = row(StatusCode::BAD_REQUEST);
    Some(match (method, path) {
        ("get", "/" | "/openapi.json" | "/counts" | "/agents" | "/agents/{agent}") => ok(),
        ("get", "/events" | "/turns" | "/conversations" | "/gates") => ok().tells(),
        ("post", "/turns") => {
            ok().body(json!({"agent": AGENT, "message": "hi", "conversation": "talk"}))
        }
        ("get", "/turns/{turn}" | "/turns/{turn}/events") => ok().tells(),
        ("get", "/turns/{turn}/rows") => ok().tells(),
        ("get", "/turns/{turn}/matches") => ok().query("?search=write"),
        ("get", "/turns/{turn}/facts" | "/turns/{turn}/steps" | "/turns/{turn}/calls") => ok(),
        ("get", "/turns/{turn}/calls/{record}") => ok(),
        // A script sends no requests.
        ("get", "/turns/{turn}/steps/{step}/request") => missing,
        ("get", "/turns/{turn}/steps/{step}/response") => ok(),
        ("get", "/turns/{turn}/artifacts" | "/turns/{turn}/artifacts/{handle}") => ok(),
        ("get", "/turns/{turn}/artifacts/{handle}/content") => ok().tells(),
        ("get", "/turns/{turn}/artifacts/{handle}/lines") => ok().query("?start=3&count=2").tells(),
        ("get", "/turns/{turn}/artifacts/{handle}/search") => ok().query("?pattern=7").tells(),
        ("get", "/turns/{turn}/artifacts/{handle}/outline") => ok(),
        ("get", "/turns/{turn}/artifacts/{handle}/rows") => ok().query("?count=2"),
        ("post", "/turns/{turn}/artifacts/{handle}/query") => {
            ok().body(json!({"tool": "artifact_read", "arguments": {"lines": 2}}))
        }
        ("get", "/turns/{turn}/media/{name}") => ok(),
        ("get", "/grants") => ok(),
        ("post", "/grants/{grant}/revoke") => ok().body(json!({})),
        ("post", "/gates/{gate}/check") => ok().body(json!({"arguments": {"text": "other"}})),
        ("post", "/gates/{gate}/decision") => ok().body(json!({"choice": "approve"})),
        ("post", "/turns/{turn}/fork") => ok().body(json!({"step": 1})),
        ("post", "/agents/{agent}/tools/{tool}/calls") => ok().body(json!({"arguments": {}})),
        ("post", "/replays") => invalid.body(json!({"agent": AGENT, "recording": "{}"})),
        ("post", "/turns/{turn}/resume") => ok().body(json!({})),
        ("post", "/turns/{turn}/cancel") => ok().body(json!({"reason": "no longer needed"})),
        _ => return None,
    })
}

/// A response: its status and the text of its body, of a stream what comes at once.
async fn send(
    service: &TestService,
    tenant: &str,
    call: (Method, &str),
    body: Option<&Value>,
) -> (StatusCode, String) {
    let request = service.request(tenant, call.0, call.1);
    let request = match body {
        Some(body) => request.json(body),
        None => request,
    };
    let mut response = request.send().await.unwrap();
    let kind = response.headers().get("content-type").cloned();
    let is_stream = kind.is_some_and(|it| it.to_str().unwrap().contains("event-stream"));
    let mut text = Vec::new();
    loop {
        // The first event of a stream can be awaited for as long as it takes; then the stream waits for changes.
        let wait =
            if text.is_empty() { Duration::from_secs(30) } else { Duration::from_millis(50) };
        let wait = if is_stream { wait } else { Duration::from_secs(30) };
        match tokio::time::timeout(wait, response.chunk()).await {
            Ok(Ok(Some(chunk))) => text.extend_from_slice(&chunk),
            _ => return (response.status(), String::from_utf8_lossy(&text).into_owned()),
        }
    }
}

async fn stored(service: &TestService, turn: &str) -> StoredTurn {
    service.stores.turns().load(turn.parse().unwrap()).await.unwrap().unwrap()
}

/// The operations of a service. Actions that end the turn come last.
fn operations() -> Vec<(Method, &'static str)> {
    let last = ["/gates/{gate}/decision", "/turns/{turn}/cancel"];
    let mut all: Vec<_> = OPERATIONS.iter().collect();
    all.sort_by_key(|it| last.iter().position(|path| *path == it.path).map_or(0, |at| at + 1));
    let upper = |method: &str| Method::from_bytes(method.to_uppercase().as_bytes()).unwrap();
    all.into_iter().map(|it| (upper(it.method), it.path)).collect()
}

/// Runs a turn whose call is approved for the rest of the turn.
async fn give_standing_approval(service: &TestService, tenant: &str) {
    let turn = service.submit_and_run(tenant).await;
    let gates = service.get(tenant, "/gates").await;
    let gate = gates[0]["id"].as_str().unwrap().replace('/', "%2F");
    let decision = json!({"choice": "approve", "always": {"scope": "turn"}});
    let (status, text) = service.post(tenant, &format!("/gates/{gate}/decision"), &decision).await;
    assert_eq!(status, StatusCode::OK, "{text}");
    // A service that runs turns itself may be faster. The next turn of the conversation can run when this one has ended.
    let path = format!("/turns/{turn}");
    while service.get(tenant, &path).await["turn"]["state"] != "completed" {
        service.try_run_next(tenant).await;
        pause().await;
    }
}

async fn check_all_endpoints(access: Access, service: TestService) {
    give_standing_approval(&service, "shop").await;
    let turn = service.submit_and_run("shop").await;
    let other = service.submit_and_run("bank").await;
    let names = TurnNames::load(&service, "shop", turn.clone()).await;
    let nothing = TurnNames::of_nothing();
    let secret = marker("shop");
    let before = stored(&service, &turn).await;
    for (method, path) in operations() {
        let name = format!("{method} {path}");
        let row = row_of(&method.as_str().to_lowercase(), path);
        let row = row.unwrap_or_else(|| panic!("{name} is not in the table"));
        let foreign = format!("{}{}", names.fill(path), row.query);
        let unknown = format!("{}{}", nothing.fill(path), row.query);
        let (status, text) =
            send(&service, "bank", (method.clone(), &foreign), row.body.as_ref()).await;
        assert!(!text.contains(&secret), "{name}: {text}");
        for id in [&names.turn, &names.gate] {
            // A response may repeat the id that was asked for, and no other.
            let repeated = foreign.contains(id.split('/').next().unwrap());
            assert!(repeated || !text.contains(id.as_str()), "{name}: {text}");
        }
        if ["{turn}", "{gate}", "{grant}"].iter().any(|it| path.contains(it)) {
            let expected =
                send(&service, "bank", (method.clone(), &unknown), row.body.as_ref()).await;
            let blanked = (status, names.blank(&text));
            assert_eq!(blanked, (expected.0, nothing.blank(&expected.1)), "{name}");
            assert!(status.is_client_error(), "{name}: {status}");
        }
        assert_eq!(stored(&service, &turn).await, before, "{name}");
        assert!(service.get("shop", "/grants").await.to_string().contains(&names.grant), "{name}");
    }
    // The same requests of the owner do something, so that the table is about something.
    for (method, path) in operations() {
        let name = format!("{method} {path}");
        let row = row_of(&method.as_str().to_lowercase(), path).unwrap();
        let own = format!("{}{}", names.fill(path), row.query);
        let (status, text) =
            send(&service, "shop", (method.clone(), &own), row.body.as_ref()).await;
        let is_refused = status == StatusCode::FORBIDDEN && access == Access::Submit;
        let is_ended = path.ends_with("/cancel") && access == Access::Act;
        assert!(status == row.owner || is_refused || is_ended, "{name}: {status} {text}");
        assert!(!row.tells || text.contains(&secret), "{name}: {text}");
    }
    assert_ne!(stored(&service, &turn).await, before);
    let of_bank = stored(&service, &other).await;
    assert_eq!(of_bank.summary.tenant, "bank");
    assert!(of_bank.gates.iter().all(|gate| gate.settlement.is_none()));
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_opens_no_endpoint_of_another_tenant() {
    let service = TestService::start(Access::Submit, ServiceLimits::default()).await;
    check_all_endpoints(Access::Submit, service).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_opens_no_endpoint_of_another_tenant_of_a_service_that_allows_everything() {
    let service = TestService::start(Access::Act, ServiceLimits::default()).await;
    check_all_endpoints(Access::Act, service).await;
}

/// The same on stores that machines share.
#[cfg(unix)]
#[tokio::test(flavor = "multi_thread")]
async fn a_token_opens_no_endpoint_of_another_tenant_on_postgres_and_s3() {
    let Some(postgres) = haft_testkit::PostgresServer::start() else { return };
    let Some(s3) = haft_testkit::S3Server::start() else { return };
    for access in [Access::Submit, Access::Act] {
        let objects = ObjectOptions::default()
            .setting("aws_endpoint", s3.endpoint())
            .setting("aws_allow_http", "true")
            .setting("aws_region", "us-east-1")
            .setting("aws_access_key_id", "test")
            .setting("aws_secret_access_key", "test");
        let spools = format!("s3://bucket/{access:?}").to_lowercase().parse().unwrap();
        let options = StoreOptions::default().spools(spools).objects(objects).secret([7; 32]);
        let url = format!("{}&schema={access:?}", postgres.url()).to_lowercase();
        let stores = OpenStores::open(&url.parse().unwrap(), options).await.unwrap();
        let (dir, limits) = (tempfile::tempdir().unwrap(), ServiceLimits::default());
        let service = TestService::start_on(stores, dir, access, limits).await;
        check_all_endpoints(access, service).await;
    }
}

/// What no path has: filters, cursors and keys.
#[tokio::test(flavor = "multi_thread")]
async fn names_in_queries_and_headers_tell_nothing_about_another_tenant() {
    let service = TestService::start(Access::Submit, ServiceLimits::default()).await;
    let turn = service.submit_and_run("shop").await;
    let submit = |tenant: &'static str| {
        let body = json!({"agent": AGENT, "message": marker(tenant), "conversation": "talk"});
        let request = service.request(tenant, Method::POST, "/turns").json(&body);
        let request = request.header("idempotency-key", "order-7");
        async { request.send().await.unwrap().json::<Value>().await.unwrap()["turn"].clone() }
    };
    let (of_shop, of_bank) = (submit("shop").await, submit("bank").await);
    assert_ne!(of_shop, of_bank);
    assert_eq!(submit("shop").await, of_shop, "a repeated request submits no second turn");
    let nothing = TurnNames::of_nothing().turn;
    for query in ["conversation=talk", "search=secret-of-shop", "agent=clerk"] {
        let page = service.get("bank", &format!("/turns?{query}")).await.to_string();
        assert!(!page.contains(&turn) && !page.contains(&marker("shop")), "{page}");
    }
    let page = |before: String| {
        let path = format!("/turns?before={before}");
        let request = service.request("bank", Method::GET, &path);
        async {
            let response = request.send().await.unwrap();
            (response.status(), response.text().await.unwrap())
        }
    };
    let (foreign, unknown) = (page(turn.clone()).await, page(nothing.clone()).await);
    assert_eq!((foreign.0, foreign.1.replace(&turn, &nothing)), unknown);
    assert_eq!(foreign.0, StatusCode::NOT_FOUND);
    // The second turn of the bank's conversation does not see the shop's.
    let listed = TurnQuery::default().conversation("talk");
    let bank = service.stores.for_tenant("bank");
    let of_bank = bank.turns().turns(listed.clone()).await.unwrap();
    assert!(of_bank.iter().all(|it| it.tenant == "bank") && of_bank.len() == 1);
    assert_eq!(service.stores.turns().turns(listed).await.unwrap().len(), 3);
    service.stop().await;
}
