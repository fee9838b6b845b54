//! Tools on the application's own database, which sqlx opens, while the turns are in a store of Haft. Both are SQLite, and
//! one copy of the library is linked.
//!
//! ```sh
//! cargo run --manifest-path examples/with-sqlx/Cargo.toml
//! ```

use anyhow::{Result, ensure};
use haft::executors::ScriptExecutor;
use haft::stores::TurnDir;
use haft::{Agent, State, ToolArgs, tool};
use sqlx::FromRow;
use sqlx::sqlite::{SqliteConnectOptions, SqlitePool};

/// Finds products by a part of their name.
#[tool(read_only)]
async fn find_products(args: Search, State(pool): State<SqlitePool>) -> Result<String> {
    let products: Vec<Product> =
        sqlx::query_as("SELECT id, name, stock FROM products WHERE name LIKE '%' || ? || '%'")
            .bind(args.name)
            .fetch_all(&pool)
            .await?;
    let lines = products.iter().map(|it| format!("{}: {} ({} left)\n", it.id, it.name, it.stock));
    Ok(lines.collect())
}

/// Orders pieces of a product.
#[tool]
async fn order_product(args: Order, State(pool): State<SqlitePool>) -> Result<String> {
    // One transaction: an order that the stock does not allow changes nothing.
    let mut transaction = pool.begin().await?;
    let left: i64 =
        sqlx::query_scalar("UPDATE products SET stock = stock - ? WHERE id = ? RETURNING stock")
            .bind(args.pieces)
            .bind(args.id)
            .fetch_one(&mut *transaction)
            .await?;
    ensure!(left >= 0, "the stock has {} pieces less than that", -left);
    transaction.commit().await?;
    Ok(format!("Ordered {} pieces; {left} are left.", args.pieces))
}

#[derive(ToolArgs)]
struct Search {
    /// A part of the name
    #[arg(min_len = 1)]
    name: String,
}

#[derive(ToolArgs)]
struct Order {
    /// The id of the product
    id: i64,
    /// How many pieces
    #[arg(min = 1, max = 100)]
    pieces: i64,
}

#[derive(FromRow)]
struct Product {
    id: i64,
    name: String,
    stock: i64,
}

#[tokio::main]
async fn main() -> Result<()> {
    let dir = std::env::temp_dir().join(format!("haft-with-sqlx-{}", std::process::id()));
    // Haft's turns: their own directory, and their own database.
    let turns = TurnDir::open(dir.join("turns"))?;
    // The database of the application.
    let options =
        SqliteConnectOptions::new().filename(dir.join("shop.sqlite")).create_if_missing(true);
    let pool = SqlitePool::connect_with(options).await?;
    let schema = "CREATE TABLE products (id INTEGER PRIMARY KEY, name TEXT NOT NULL, stock INTEGER NOT NULL);
                  INSERT INTO products VALUES (1, 'Red mug', 2), (2, 'Blue mug', 7), (3, 'Plate', 9)";
    sqlx::raw_sql(schema).execute(&pool).await?;

    // A script in place of a model; a `Provider` takes its place without another change.
    let executor = ScriptExecutor::parse(include_str!("../script.yaml"))?;
    let agent = Agent::builder(executor)
        .tool(find_products(pool.clone()))
        .tool(order_product(pool.clone()))
        .system("You keep a shop.")
        .dir(&turns)
        .build()?;
    let answer = agent.turn("Order three blue mugs.").await?;
    println!("{answer} ({} calls, {})", answer.report.calls.len(), answer.report.outcome);

    let stock: i64 =
        sqlx::query_scalar("SELECT stock FROM products WHERE id = 2").fetch_one(&pool).await?;
    ensure!(stock == 4, "the order is not in the database");
    pool.close().await;
    drop(agent);
    std::fs::remove_dir_all(dir)?;
    Ok(())
}
