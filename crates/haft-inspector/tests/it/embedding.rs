//! The inspector inside another axum application, behind the authentication of that application.

use axum::Router;
use axum::extract::Request;
use axum::http::StatusCode;
use axum::middleware::{self, Next};
use axum::response::{IntoResponse as _, Response};
use haft_inspector::Inspector;
use haft_server::{Access, Guard};
use tokio::task::JoinSet;

use super::browser::run_script;
use super::example::{Example, api};
use super::protection::{send, status};

/// An application of its own, with the inspector below a path.
struct Application {
    address: String,
    _tasks: JoinSet<()>,
    _dir: tempfile::TempDir,
}

/// Lets clients pass that the application knows.
async fn authenticate(request: Request, next: Next) -> Response {
    let cookie = request.headers().get("cookie").and_then(|it| it.to_str().ok());
    match cookie.is_some_and(|it| it.contains("user=ada")) {
        true => next.run(request).await,
        false => (StatusCode::UNAUTHORIZED, "sign in first").into_response(),
    }
}

async fn start_application(access: Access) -> Application {
    let dir = tempfile::tempdir().unwrap();
    let example = Example::create(&dir.path().join("store"), 1 << 16);
    example.create_turns().await;
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let guard = Guard::behind_own_authentication([&address]).unwrap();
    let inspector = Inspector::new(&api(&example, access), &guard).router();
    let sign_in = async || ([("set-cookie", "user=ada; Path=/; HttpOnly")], "welcome");
    let app = Router::new()
        .nest("/team/inspector", inspector.layer(middleware::from_fn(authenticate)))
        .route("/sign-in", axum::routing::get(sign_in))
        .route("/favicon.ico", axum::routing::get(async || StatusCode::NO_CONTENT));
    let mut tasks = JoinSet::new();
    tasks.spawn(async move { axum::serve(listener, app).await.unwrap() });
    Application { address, _tasks: tasks, _dir: dir }
}

fn get(address: &str, path: &str, more: &str) -> String {
    send(address, &format!("GET {path} HTTP/1.1\r\nHost: {address}{more}"), "")
}

fn cancel_turn(address: &str, more: &str) -> String {
    let path = "/team/inspector/api/turns/0199-approval-flow/cancel";
    let head = format!(
        "POST {path} HTTP/1.1\r\nHost: {address}\r\nContent-Type: application/json\r\nCookie: user=ada{more}"
    );
    send(address, &head, "{\"reason\": \"enough\"}")
}

const SIGNED_IN: &str = "\r\nCookie: user=ada";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_application_decides_who_sees_a_read_only_inspector() {
    let app = start_application(Access::ReadOnly).await;
    let address = app.address.clone();
    let check = move || {
        assert_eq!(status(&get(&address, "/team/inspector", "")), 401);
        assert_eq!(status(&get(&address, "/team/inspector/api/turns", "")), 401);
        let page = get(&address, "/team/inspector", SIGNED_IN);
        assert!(page.contains("src=\"/team/inspector/web/app.js\""), "{page}");
        assert_eq!(status(&get(&address, "/team/inspector/web/app.js", SIGNED_IN)), 200);
        let turns = get(&address, "/team/inspector/api/turns", SIGNED_IN);
        assert!(turns.contains("0199-log-detective"), "{turns}");
        let other = send(
            &address,
            &format!("GET /team/inspector/api/turns HTTP/1.1\r\nHost: attacker.example{SIGNED_IN}"),
            "",
        );
        assert_eq!(status(&other), 403, "another host");
        let refused = cancel_turn(&address, "\r\nx-haft-action: 1");
        assert_eq!(status(&refused), 403);
        assert!(refused.contains("E_API_READ_ONLY"), "{refused}");
    };
    tokio::task::spawn_blocking(check).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_inspector_in_an_application_can_act() {
    let app = start_application(Access::Act).await;
    let address = app.address.clone();
    run_script("embedded.mjs", &format!("http://{address}/sign-in"), &[]).await;
    let check = move || {
        assert_eq!(status(&cancel_turn(&address, "")), 403, "a form of another site");
        let done = cancel_turn(&address, "\r\nx-haft-action: 1");
        assert_eq!(status(&done), 200, "{done}");
        let turn = get(&address, "/team/inspector/api/turns/0199-approval-flow", SIGNED_IN);
        assert!(turn.contains("\"state\":\"cancelled\""), "{turn}");
    };
    tokio::task::spawn_blocking(check).await.unwrap();
}
