//! Tokens.

use std::net::TcpListener;

use axum::http::StatusCode;

use super::{TestService, build_api, open_stores, pause};
use crate::Access;
use crate::service::tokens::TokenCheck;
use crate::service::{NewToken, ServiceLimits, TenantService, TokenFile};

#[tokio::test(flavor = "multi_thread")]
async fn requests_without_a_valid_token_get_nothing() {
    let service = TestService::start(Access::Submit, ServiceLimits::default()).await;
    let valid = service.token("shop").to_owned();
    let other = NewToken::generate("shop", "unknown").unwrap();
    let (id, _) = valid.rsplit_once('_').unwrap();
    let wrong_secret = format!("{id}_{}", "0".repeat(64));
    let longer = format!("{valid}0");
    let shorter = valid.get(..valid.len() - 1).unwrap().to_owned();
    let headers = [
        None,
        Some(String::new()),
        Some("Bearer".to_owned()),
        Some("Bearer ".to_owned()),
        Some(valid.clone()),
        Some(format!("Basic {valid}")),
        Some(format!("Bearer {}", other.token())),
        Some(format!("Bearer {wrong_secret}")),
        Some(format!("Bearer {longer}")),
        Some(format!("Bearer {shorter}")),
        Some(format!("Bearer {}", valid.to_uppercase())),
    ];
    let mut bodies = std::collections::BTreeSet::new();
    for header in headers {
        for path in ["/v1/turns", "/v1/nothing", "/v1/"] {
            let mut request = service.client.get(format!("{}{path}", service.url));
            if let Some(header) = &header {
                request = request.header("authorization", header);
            }
            let response = request.send().await.unwrap();
            assert_eq!(response.status(), StatusCode::UNAUTHORIZED, "{header:?} {path}");
            assert_eq!(response.headers()["www-authenticate"], "Bearer");
            bodies.insert(response.text().await.unwrap());
        }
    }
    assert_eq!(bodies.len(), 1, "{bodies:?}");
    for path in ["/health", "/openapi.json"] {
        let response = service.client.get(format!("{}{path}", service.url)).send().await.unwrap();
        assert_eq!(response.status(), StatusCode::OK, "{path}");
    }
    service.stop().await;
}

#[tokio::test]
async fn the_file_has_hashes_and_is_private() {
    let dir = tempfile::tempdir().unwrap();
    let file = TokenFile::new(dir.path().join("sub/tokens.json"));
    let shop = file.create_token("shop", "ci").unwrap();
    let bank = file.create_token("bank", "ci").unwrap();
    let text = std::fs::read_to_string(file.path()).unwrap();
    let secret = shop.token().rsplit('_').next().unwrap();
    assert!(!text.contains(secret) && text.contains(&shop.info().id), "{text}");
    assert!(!format!("{shop:?}").contains(secret));
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let mode = std::fs::metadata(file.path()).unwrap().permissions().mode();
        assert_eq!(mode & 0o077, 0, "{mode:o}");
    }
    let check = TokenCheck::new(Some(file.clone()), &[]);
    let tenant =
        async |text: &str| check.find_token(text).await.unwrap().map(|found| found.tenant.clone());
    assert_eq!(tenant(shop.token()).await.as_deref(), Some("shop"));
    assert_eq!(tenant(bank.token()).await.as_deref(), Some("bank"));
    // The secret of one token does not work with the id of another one.
    let mixed = format!("haft_{}_{secret}", bank.info().id);
    assert_eq!(tenant(&mixed).await, None);
    assert!(file.revoke_token(&shop.info().id).unwrap());
    assert!(!file.revoke_token(&shop.info().id).unwrap());
    assert_eq!(file.list_tokens().unwrap(), [bank.info().clone()]);
    // A service that has not looked at the file yet refuses the revoked token.
    let check = TokenCheck::new(Some(file.clone()), &[]);
    assert!(check.find_token(shop.token()).await.unwrap().is_none());
    std::fs::write(file.path(), "{").unwrap();
    let check = TokenCheck::new(Some(file.clone()), &[]);
    assert!(check.find_token(bank.token()).await.is_err(), "a damaged file opens nothing");
    for (tenant, name) in [("", "ci"), ("a b", "ci"), ("a/b", "ci"), ("shop", ""), ("shop", "a\n")]
    {
        assert!(file.create_token(tenant, name).is_err(), "{tenant:?} {name:?}");
    }
}

/// What a token file can be that opens nothing: with a reason, and without waiting.
#[cfg(unix)]
#[tokio::test]
async fn a_token_file_that_cannot_be_trusted_is_refused_with_the_reason() {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::PermissionsExt as _;
    let dir = tempfile::tempdir().unwrap();
    let file = TokenFile::new(dir.path().join("tokens.json"));
    let token = file.create_token("shop", "ci").unwrap();
    let reason = async || {
        let check = TokenCheck::new(Some(file.clone()), &[]);
        let error = check.find_token(token.token()).await.unwrap_err();
        std::error::Error::source(&error).map(ToString::to_string).unwrap_or_default()
    };
    let text = fs::read_to_string(file.path()).unwrap();
    let digest = text.split("\"sha256\": \"").nth(1).unwrap().split('"').next().unwrap();
    fs::write(file.path(), text.replace(digest, &"g".repeat(64))).unwrap();
    assert!(reason().await.contains("is damaged"), "a hash that cannot be read");
    fs::write(file.path(), &text).unwrap();
    fs::set_permissions(file.path(), Permissions::from_mode(0o664)).unwrap();
    assert!(reason().await.contains("mode 664"), "a file that the group can write to");
    fs::set_permissions(file.path(), Permissions::from_mode(0o444)).unwrap();
    let check = TokenCheck::new(Some(file.clone()), &[]);
    assert!(check.find_token(token.token()).await.unwrap().is_some(), "a file that all can read");
    fs::remove_file(file.path()).unwrap();
    let pipe = std::process::Command::new("mkfifo").arg(file.path()).status().unwrap();
    assert!(pipe.success());
    assert!(reason().await.contains("no regular file"), "a pipe, which could be waited for");
}

#[tokio::test]
async fn tokens_that_are_created_at_the_same_time_are_all_stored() {
    let dir = tempfile::tempdir().unwrap();
    let file = TokenFile::new(dir.path().join("tokens.json"));
    let create = |number: usize| {
        let file = file.clone();
        std::thread::spawn(move || file.create_token("shop", &format!("{number}")).unwrap())
    };
    let threads: Vec<_> = (0..16).map(create).collect();
    let created: Vec<_> = threads.into_iter().map(|it| it.join().unwrap()).collect();
    let stored = file.list_tokens().unwrap();
    assert_eq!(stored.len(), 16);
    assert!(created.iter().all(|it| stored.contains(it.info())));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_revoked_token_stops_working_while_the_service_runs() {
    let dir = tempfile::tempdir().unwrap();
    let file = TokenFile::new(dir.path().join("tokens.json"));
    let token = file.create_token("shop", "ci").unwrap();
    let stores = open_stores(&dir).await;
    let service = TenantService::builder(stores, |scope| build_api(scope, Access::ReadOnly));
    let service = service.token_file(file.clone()).build();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/v1/turns", listener.local_addr().unwrap());
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let mut served = tokio::task::JoinSet::new();
    served.spawn(async move {
        let until = async {
            let _ = stopped.await;
        };
        service.serve(listener, until).await
    });
    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    let status =
        async || client.get(&url).bearer_auth(token.token()).send().await.unwrap().status();
    assert_eq!(status().await, StatusCode::OK);
    assert!(file.revoke_token(&token.info().id).unwrap());
    // The file is looked at again after a second; how long that takes does not matter here.
    while status().await != StatusCode::UNAUTHORIZED {
        pause().await;
    }
    stop.send(()).unwrap();
    served.join_next().await.unwrap().unwrap().unwrap();
}
