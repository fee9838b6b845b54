//! Turns in a PostgreSQL server, which the tests start.

use std::sync::Arc;
use std::time::Duration;

use haft::executors::{ScriptExecutor, Step, StepContext, StepError};
use haft::stores::{
    CancelRequest, ClaimFilter, GateId, NewTurn, OpenStores, PostgresApprovals, PostgresOptions,
    PostgresStore, Row, RowKind, StoreError, StoreOptions, StoreWrite, TurnQuery, TurnStatus,
    TurnStore, TurnStoreExt as _,
};
use haft::tools::ToolEffect;
use haft::turn::{
    ApprovalStore as _, Cancellation, GatePolicy, GrantRefusal, Spending, StandingApproval,
    StoredTurns,
};
use haft::{Agent, Tool};
use haft_testkit::PostgresServer;

use super::{entry, holder, turn};

fn block_on<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap()
        .block_on(work)
}

async fn connect(server: &PostgresServer, schema: &str) -> PostgresStore {
    let options = PostgresOptions::default().schema(schema);
    PostgresStore::connect_with(&server.url(), [7; 32], options).await.unwrap()
}

#[test]
fn postgres_keeps_the_contract() {
    let Some(server) = PostgresServer::start() else { return };
    block_on(async {
        let store = connect(&server, "contract").await;
        haft_conformance::store(&store).await.unwrap();
        let store = Arc::new(connect(&server, "skewed").await);
        haft_conformance::store_with_skewed_clocks(store).await.unwrap();
    });
}

#[test]
fn a_server_that_restarts_loses_nothing() {
    let Some(mut server) = PostgresServer::start() else { return };
    block_on(async {
        let store = connect(&server, "haft").await;
        let mut listener = store.listen();
        let lease = store.create(NewTurn::new(turn("a")), holder("a")).await.unwrap();
        store.commit(lease.clone(), vec![entry("1")]).await.unwrap();
        server.restart();
        // The connections that broke are replaced. A commit that failed can be made again, because the lease is in the store.
        let mut failures = 0;
        while let Err(error) = store.commit(lease.clone(), vec![entry("2")]).await {
            let StoreError::Backend { retryable: true, .. } = error else { panic!("{error:?}") };
            failures += 1;
            assert!(failures < 100, "the store does not come back: {error:?}");
        }
        let stored = store.load(turn("a")).await.unwrap().unwrap();
        assert_eq!(stored.journal, ["1", "2"]);
        // The listener is connected again, too, or polls.
        store.enqueue(NewTurn::new(turn("b"))).await.unwrap();
        let _ =
            tokio::time::timeout(Duration::from_secs(60), listener.next_change()).await.unwrap();
    });
}

#[test]
fn processes_share_the_store_only_with_the_same_secret() {
    let Some(server) = PostgresServer::start() else { return };
    block_on(async {
        let store: Arc<dyn TurnStore> = Arc::new(connect(&server, "haft").await);
        let builder = || {
            let executor = async |_: StepContext| Ok::<_, StepError>(Step::done());
            Agent::builder(executor).store(Arc::clone(&store))
        };
        let refused = builder().build().unwrap_err();
        assert!(refused.faults.iter().any(|it| it.contains("there is no secret")), "{refused}");
        let first = builder().secret([7; 32]).build().unwrap();
        let id = first.turn("Hello").system("Go.").submit().await.unwrap();
        let refused = builder().secret([2; 32]).build().unwrap_err();
        assert!(refused.faults.iter().any(|it| it.contains("another secret")), "{refused}");
        let refused = PostgresStore::connect(&server.url(), [2; 32]).await;
        assert!(matches!(refused, Err(StoreError::OtherSecret)), "{refused:?}");
        let report = first.run_next(ClaimFilter::default(), &Cancellation::new()).await.unwrap();
        assert_eq!(report.unwrap().turn, id);
        let found = store.turns(TurnQuery::default().matching("hello")).await.unwrap();
        assert_eq!(found.iter().map(|it| it.status).collect::<Vec<_>>(), [TurnStatus::Completed]);
    });
}

#[test]
fn an_edited_row_is_told() {
    let Some(server) = PostgresServer::start() else { return };
    block_on(async {
        let store = connect(&server, "edited").await;
        for name in ["a", "b"] {
            let put = |id: &str, json: &str| StoreWrite::Put(Row::new(RowKind::Message, id, json));
            let new =
                NewTurn::new(turn(name)).agent("shop").writes(vec![put("m", name), entry("1")]);
            let lease = store.create(new, holder("a")).await.unwrap();
            let gate = format!("gate-{name}").parse().unwrap();
            let writes = vec![entry("2"), entry("3"), StoreWrite::open_gate(gate, "{}")];
            store.commit(lease, writes).await.unwrap();
        }
        // Each of them is undone, so that the next one is alone.
        let edits = [
            ("turns", "SET agent = 'bank' WHERE id = 'a'", "SET agent = 'shop'"),
            ("records", "SET json = 'x' WHERE json = 'a'", "SET json = 'a' WHERE json = 'x'"),
            ("records", "SET mark = ''", ""),
            ("records", "SET turn = 3 - turn", "SET turn = 3 - turn"),
            ("journal", "SET json = '4' WHERE number = 2", "SET json = '2' WHERE number = 2"),
            ("journal", "SET turn = 2 WHERE number = 3", "SET turn = 1 WHERE number = 3"),
            ("journal", "SET turn = 2 WHERE number = 2", "SET turn = 1 WHERE number = 2"),
            ("gates", "SET settlement = '1' WHERE id = 'gate-a'", "SET settlement = NULL"),
            ("gates", "SET turn = 2", "SET turn = CASE id WHEN 'gate-a' THEN 1 ELSE 2 END"),
        ];
        for (table, edit, undo) in edits {
            let before = server.run_sql("SELECT json FROM edited.records");
            assert!(store.load(turn("a")).await.is_ok(), "{edit}: {before}");
            let _ = server.run_sql(&format!("CREATE TABLE kept AS SELECT * FROM edited.{table}"));
            let _ = server.run_sql(&format!("UPDATE edited.{table} {edit}"));
            let loaded = store.load(turn("a")).await;
            assert!(matches!(loaded, Err(StoreError::Damaged { .. })), "{edit}: {loaded:?}");
            if undo.is_empty() {
                let back = "UPDATE edited.records AS it SET mark = kept.mark FROM kept
                            WHERE kept.number = it.number";
                let _ = server.run_sql(back);
            } else {
                let _ = server.run_sql(&format!("UPDATE edited.{table} {undo}"));
            }
            let _ = server.run_sql("DROP TABLE kept");
        }
    });
}

#[test]
fn spent_approvals_are_in_a_table_to_which_workers_only_add() {
    let Some(server) = PostgresServer::start() else { return };
    block_on(async {
        let options = || PostgresOptions::default().schema("approvals_ledger");
        let owner = PostgresApprovals::connect(&server.url(), options()).await.unwrap();
        assert_eq!(owner.spend("gate-1".parse().unwrap()).await.unwrap(), Spending::First);
        let _ = server.run_sql(
            "CREATE ROLE adder LOGIN; GRANT USAGE ON SCHEMA approvals_ledger TO adder;
             GRANT INSERT ON approvals_ledger.approvals_spent TO adder;",
        );
        let adder = PostgresApprovals::connect(&server.url_of("adder"), options()).await.unwrap();
        assert_eq!(adder.spend("gate-1".parse().unwrap()).await.unwrap(), Spending::Repeated);
        let gate: GateId = "gate-2".parse().unwrap();
        let (one, two) = tokio::join!(adder.spend(gate.clone()), owner.spend(gate));
        let both = [one.unwrap(), two.unwrap()];
        assert_eq!(both.iter().filter(|it| **it == Spending::First).count(), 1, "{both:?}");
        let grants =
            "SELECT string_agg(privilege_type, ',') FROM information_schema.role_table_grants
                      WHERE grantee = 'adder'";
        assert_eq!(server.run_sql(grants), "INSERT");
    });
}

#[test]
fn an_approval_in_a_shared_store_is_spent_in_its_ledger() {
    let Some(server) = PostgresServer::start() else { return };
    block_on(async {
        let options = StoreOptions::default().spools("memory:".parse().unwrap()).secret([7; 32]);
        let url = format!("{}&schema=shop", server.url()).parse().unwrap();
        let stores = OpenStores::open(&url, options).await.unwrap();
        let deploy = Tool::builder("deploy").description("Deploys.").requires_approval("May I?");
        let deploy = deploy.effect(ToolEffect::Once).handler(|| "done").build().unwrap();
        let script = r#"{"steps": [{"call": {"deploy": {}}}, {"say": "{{ last.deploy }}"}]}"#;
        let builder = Agent::builder(ScriptExecutor::parse(script).unwrap()).stores(&stores);
        let builder = builder.tool(deploy).gate_policy(GatePolicy::Suspend);
        let agent = builder.build().unwrap();
        let waiting = agent.turn([]).system("You deploy.").report().await.unwrap();
        let gate = agent.gates().open_gates(None).await.unwrap().pop().unwrap();
        StoredTurns::of_stores(&stores)
            .gates()
            .resolve(&gate.id, true.into(), "Ada")
            .await
            .unwrap();
        assert_eq!(agent.resume(&waiting.turn).report().await.unwrap().text(), "done");
        let spent = server.run_sql("SELECT gate FROM shop_ledger.approvals_spent");
        assert_eq!(spent, gate.id.as_str());
    });
}

#[test]
fn standing_approvals_of_a_shared_store_are_signed_stored_and_revoked_for_good() {
    let Some(server) = PostgresServer::start() else { return };
    block_on(async {
        let open = async || {
            let options =
                StoreOptions::default().spools("memory:".parse().unwrap()).secret([7; 32]);
            let url = format!("{}&schema=shop", server.url()).parse().unwrap();
            OpenStores::open(&url, options).await.unwrap()
        };
        // Two processes, and two tenants of one store.
        let (ours, theirs) = (open().await, open().await);
        let agent = |stores: &OpenStores| {
            let deploy =
                Tool::builder("deploy").description("Deploys.").requires_approval("May I?");
            let script = r#"{"steps": [{"call": {"deploy": {}}}, {"say": "{{ last.deploy }}"}]}"#;
            Agent::builder(ScriptExecutor::parse(script).unwrap())
                .stores(stores)
                .name("deployer")
                .tool(deploy.handler(|| "done").build().unwrap())
                .gate_policy(GatePolicy::Suspend)
                .build()
                .unwrap()
        };
        assert!(StoredTurns::of_stores(&ours).gates().grants().await.unwrap().is_empty());
        let first = agent(&ours).turn([]).system("You deploy.").report().await.unwrap();
        let keeper = StoredTurns::of_stores(&theirs).gates();
        let gate = keeper.open_gates(None).await.unwrap().pop().unwrap();
        let always = StandingApproval::for_agent();
        keeper.approve_always(&gate.id, always, "Ada").await.unwrap();
        assert_eq!(agent(&ours).resume(&first.turn).report().await.unwrap().text(), "done");
        let granted = keeper.grants().await.unwrap();
        assert!(granted.len() == 1 && granted[0].refusal.is_none(), "{granted:?}");
        // Another process need not ask, another tenant must.
        let second = agent(&theirs).turn([]).system("You deploy.").report().await.unwrap();
        assert_eq!(second.text(), "done");
        let bank = theirs.for_tenant("bank");
        assert!(StoredTurns::of_stores(&bank).gates().grants().await.unwrap().is_empty());
        let asked = agent(&bank).turn([]).system("You deploy.").report().await.unwrap();
        let asked = bank.turns().summary(asked.turn).await.unwrap().unwrap();
        assert_eq!(asked.status, TurnStatus::Waiting);
        // One that was edited or put back after its revocation counts for nothing.
        let backup = "CREATE TABLE public.backup AS SELECT * FROM shop_ledger.grants";
        let _ = server.run_sql(backup);
        let _ = server.run_sql("UPDATE shop_ledger.grants SET json = replace(json, 'Ada', 'Eve')");
        let forged = keeper.grants().await.unwrap();
        assert!(forged[0].grant.is_none() && forged[0].refusal.is_some(), "{forged:?}");
        keeper.revoke_grant(granted[0].id).await.unwrap();
        assert!(keeper.grants().await.unwrap().is_empty());
        let _ = server.run_sql("INSERT INTO shop_ledger.grants SELECT * FROM public.backup");
        assert_eq!(keeper.grants().await.unwrap()[0].refusal, Some(GrantRefusal::Revoked));
        let third = agent(&ours).turn([]).system("You deploy.").report().await.unwrap();
        let third = ours.turns().summary(third.turn).await.unwrap().unwrap();
        assert_eq!(third.status, TurnStatus::Waiting);
    });
}

#[test]
fn a_change_by_another_process_is_told() {
    let Some(server) = PostgresServer::start() else { return };
    block_on(async {
        let (one, two) = (connect(&server, "haft").await, connect(&server, "haft").await);
        let mut listener = two.listen();
        one.enqueue(NewTurn::new(turn("a"))).await.unwrap();
        let request = CancelRequest::new("ada", "not needed");
        one.request_cancel(turn("a"), request).await.unwrap();
        loop {
            // Whatever else is told: in the end the request is.
            let change = tokio::time::timeout(Duration::from_secs(60), listener.next_change());
            let change = change.await.expect("the change is told");
            if two.summary(turn("a")).await.unwrap().unwrap().cancel.is_some() {
                let _ = change;
                break;
            }
        }
        let writes = vec![StoreWrite::Status(TurnStatus::Cancelled)];
        let lease = two.claim(turn("a"), holder("b")).await.unwrap();
        two.commit(lease, writes).await.unwrap();
        assert!(one.summary(turn("a")).await.unwrap().unwrap().ended_at.is_some());
    });
}
