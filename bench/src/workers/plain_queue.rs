//! A plain queue in PostgreSQL: a loop around `SELECT … FOR UPDATE SKIP LOCKED`, with as many commits per job as a turn has.

use tokio::task::JoinSet;
use tokio_postgres::{Client, NoTls};

use super::{ENTRY, RECORD, now, text};

/// How many connections take jobs: as many as a worker process runs turns.
const CONNECTIONS: usize = 16;

/// The commits of a turn with two calls: a step, its result, a step, its result, and the last step with the end.
const COMMITS: usize = 5;

/// Runs jobs, and returns how many per second.
///
/// # Errors
///
/// When the server refuses something.
pub(super) async fn measure(url: &str, jobs: usize) -> Result<f64, String> {
    let mut clients = Vec::new();
    let mut connections = JoinSet::new();
    for _ in 0..CONNECTIONS {
        let (client, connection) = tokio_postgres::connect(url, NoTls).await.map_err(text)?;
        connections.spawn(connection);
        clients.push(client);
    }
    let first = clients.first().ok_or("no connection")?;
    let create = format!(
        "CREATE TABLE plain_jobs (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, state text NOT NULL);
         CREATE INDEX plain_jobs_queued ON plain_jobs (id) WHERE state = 'queued';
         CREATE TABLE plain_rows (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, job bigint, json text);
         INSERT INTO plain_jobs (state) SELECT 'queued' FROM generate_series(1, {jobs})"
    );
    first.batch_execute(&create).await.map_err(text)?;
    let mut tasks = JoinSet::new();
    let began = now();
    for client in clients {
        tasks.spawn(run_jobs(client));
    }
    let mut done = 0;
    while let Some(ended) = tasks.join_next().await {
        done += ended.map_err(text)??;
    }
    if done != jobs {
        return Err(format!("{done} of {jobs} jobs were done"));
    }
    Ok(jobs as f64 / began.elapsed().as_secs_f64())
}

/// Takes and runs jobs until there is none. Returns how many.
async fn run_jobs(mut client: Client) -> Result<usize, String> {
    let prepare = async |sql: &str| client.prepare(sql).await.map_err(text);
    let claim = "UPDATE plain_jobs SET state = 'running' WHERE id = (SELECT id FROM plain_jobs
                 WHERE state = 'queued' ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED) RETURNING id";
    let claim = prepare(claim).await?;
    let insert = prepare("INSERT INTO plain_rows (job, json) VALUES ($1, $2)").await?;
    let update = prepare("UPDATE plain_jobs SET state = $2 WHERE id = $1").await?;
    let mut done = 0;
    while let Some(row) = client.query_opt(&claim, &[]).await.map_err(text)? {
        let id: i64 = row.get(0);
        for commit in 1..=COMMITS {
            let transaction = client.transaction().await.map_err(text)?;
            for json in [RECORD, ENTRY] {
                transaction.execute(&insert, &[&id, &json]).await.map_err(text)?;
            }
            let state = if commit == COMMITS { "done" } else { "running" };
            transaction.execute(&update, &[&id, &state]).await.map_err(text)?;
            transaction.commit().await.map_err(text)?;
        }
        done += 1;
    }
    Ok(done)
}
