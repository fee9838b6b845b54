//! The two calls: three fields, and forty fields in eight nested objects and two arrays.
//!
//! The same types serve every row. Their limits are those of the reference's schema in node: Haft
//! enforces them, serde alone and the peers do not.

use std::fmt::{self, Write as _};

use haft::ToolArgs;
use serde::Deserialize;

use super::{Call, Edits};

/// 50 bytes, 3 fields.
const SMALL: &str = r#"{"city":"San Francisco","days":5,"units":"metric"}"#;

/// About 1.1 kB, 40 fields.
const LARGE: &str = concat!(
    r#"{"id":"order-2024-000417","priority":"normal","note":"Please ring twice \"long\", then wait for the neighbour from the second floor.","#,
    r#""gift":false,"tags":["spring","fragile","repeat-customer"],"quantities":[3,12,1,40,250],"#,
    r#""customer":{"name":"Ada Müller","email":"ada@example.org","age":41,"vip":true,"points":18250},"#,
    r#""billing":{"street":"Hauptstrasse 12","city":"Basel","zip":"4051","country":"CH"},"#,
    r#""shipping":{"street":"Rue du Lac 3","city":"Lausanne","zip":"1003","country":"CH"},"#,
    r#""payment":{"method":"invoice","currency":"chf","amount":1249.5,"installments":3,"reference":"R-88213-2024-Q1"},"#,
    r#""delivery":{"carrier":"Alpine Express","express":false,"window_start":8,"window_end":12,"#,
    r#""instructions":"Leave at the back door, behind the green bench"},"#,
    r#""discount":{"code":"SPRING12","percent":12.5,"stackable":false},"#,
    r#""contact":{"phone":"+41 61 000 00 00","language":"de","newsletter":true,"preferred_hour":18},"#,
    r#""audit":{"source":"web-shop","version":7,"created":"2024-03-18T09:12:44Z","checksum":"9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822c"}}"#,
);

/// One allocation and no growth: a costly handler would make every path look close to the floor.
fn answer(text: fmt::Arguments<'_>) -> String {
    let mut answer = String::with_capacity(96);
    // Writing to a string does not fail.
    let _ = answer.write_fmt(text);
    answer
}

/// Three fields.
#[cfg_attr(feature = "peers", derive(schemars::JsonSchema))]
#[derive(Debug, Deserialize, ToolArgs)]
pub(crate) struct Forecast {
    #[arg(min_len = 1, max_len = 80)]
    city: String,
    #[arg(min = 1, max = 14)]
    days: u8,
    units: Units,
}

#[cfg_attr(feature = "peers", derive(schemars::JsonSchema))]
#[derive(Debug, Deserialize, ToolArgs)]
#[serde(rename_all = "lowercase")]
enum Units {
    Metric,
    Imperial,
}

impl Call for Forecast {
    const TOOL: &'static str = "forecast";
    const TEXT: &'static str = SMALL;
    const NEAR_MISSES: Edits = [("5", "\"5\""), ("\"metric\"", "\"Metric\"")];
    const MISTAKES: Edits = [("5", "50"), ("\"metric\"", "\"kelvin\"")];

    fn handle(self) -> String {
        let Self { city, days, units } = self;
        let units = match units {
            Units::Metric => "metric",
            Units::Imperial => "imperial",
        };
        answer(format_args!("{days} days of {city} in {units}"))
    }
}

/// Forty fields.
#[cfg_attr(feature = "peers", derive(schemars::JsonSchema))]
#[derive(Debug, Deserialize, ToolArgs)]
pub(crate) struct Order {
    #[arg(min_len = 1, max_len = 40)]
    id: String,
    priority: Priority,
    #[arg(max_len = 200)]
    note: String,
    gift: bool,
    #[arg(max_len = 10)]
    tags: Vec<Tag>,
    #[arg(max_len = 20)]
    quantities: Vec<Quantity>,
    customer: Customer,
    billing: Address,
    shipping: Address,
    payment: Payment,
    delivery: Delivery,
    discount: Discount,
    contact: Contact,
    audit: Audit,
}

impl Call for Order {
    const TOOL: &'static str = "place_order";
    const TEXT: &'static str = LARGE;
    const NEAR_MISSES: Edits = [("\"age\":41", "\"age\":\"41\""), ("\"invoice\"", "\"Invoice\"")];
    const MISTAKES: Edits = [("\"age\":41", "\"age\":410"), ("\"invoice\"", "\"barter\"")];

    fn handle(self) -> String {
        let pieces: u32 = self.quantities.iter().map(|it| u32::from(it.0)).sum();
        let cents = (self.payment.amount * 100.0) as i64;
        let id = self.id;
        let tags = self.tags.len();
        let city = self.shipping.city;
        answer(format_args!("{id}: {pieces} pieces, {tags} tags, {cents} cents to {city}"))
    }
}

#[cfg_attr(feature = "peers", derive(schemars::JsonSchema))]
#[derive(Debug, Deserialize, ToolArgs)]
struct Tag(#[arg(max_len = 30)] String);

#[cfg_attr(feature = "peers", derive(schemars::JsonSchema))]
#[derive(Debug, Deserialize, ToolArgs)]
struct Quantity(#[arg(min = 1, max = 999)] u16);

#[cfg_attr(feature = "peers", derive(schemars::JsonSchema))]
#[derive(Debug, Deserialize, ToolArgs)]
#[serde(rename_all = "lowercase")]
enum Priority {
    Low,
    Normal,
    High,
}

#[cfg_attr(feature = "peers", derive(schemars::JsonSchema))]
#[derive(Debug, Deserialize, ToolArgs)]
struct Customer {
    #[arg(min_len = 1, max_len = 80)]
    name: String,
    #[arg(min_len = 3, max_len = 80)]
    email: String,
    #[arg(min = 18, max = 120)]
    age: u8,
    vip: bool,
    #[arg(max = 1_000_000)]
    points: u32,
}

#[cfg_attr(feature = "peers", derive(schemars::JsonSchema))]
#[derive(Debug, Deserialize, ToolArgs)]
struct Address {
    #[arg(min_len = 1, max_len = 80)]
    street: String,
    #[arg(min_len = 1, max_len = 60)]
    city: String,
    #[arg(min_len = 3, max_len = 10)]
    zip: String,
    #[arg(min_len = 2, max_len = 2)]
    country: String,
}

#[cfg_attr(feature = "peers", derive(schemars::JsonSchema))]
#[derive(Debug, Deserialize, ToolArgs)]
struct Payment {
    method: Method,
    currency: Currency,
    #[arg(min = 0.0, max = 100_000.0)]
    amount: f64,
    #[arg(min = 1, max = 36)]
    installments: u8,
    #[arg(min_len = 1, max_len = 40)]
    reference: String,
}

#[cfg_attr(feature = "peers", derive(schemars::JsonSchema))]
#[derive(Debug, Deserialize, ToolArgs)]
#[serde(rename_all = "lowercase")]
enum Method {
    Card,
    Invoice,
    Cash,
}

#[cfg_attr(feature = "peers", derive(schemars::JsonSchema))]
#[derive(Debug, Deserialize, ToolArgs)]
#[serde(rename_all = "lowercase")]
enum Currency {
    Eur,
    Usd,
    Chf,
}

#[cfg_attr(feature = "peers", derive(schemars::JsonSchema))]
#[derive(Debug, Deserialize, ToolArgs)]
struct Delivery {
    #[arg(min_len = 1, max_len = 40)]
    carrier: String,
    express: bool,
    #[arg(max = 23)]
    window_start: u8,
    #[arg(max = 23)]
    window_end: u8,
    #[arg(max_len = 200)]
    instructions: String,
}

#[cfg_attr(feature = "peers", derive(schemars::JsonSchema))]
#[derive(Debug, Deserialize, ToolArgs)]
struct Discount {
    #[arg(min_len = 1, max_len = 20)]
    code: String,
    #[arg(min = 0.0, max = 100.0)]
    percent: f64,
    stackable: bool,
}

#[cfg_attr(feature = "peers", derive(schemars::JsonSchema))]
#[derive(Debug, Deserialize, ToolArgs)]
struct Contact {
    #[arg(min_len = 5, max_len = 30)]
    phone: String,
    language: Language,
    newsletter: bool,
    #[arg(max = 23)]
    preferred_hour: u8,
}

#[cfg_attr(feature = "peers", derive(schemars::JsonSchema))]
#[derive(Debug, Deserialize, ToolArgs)]
#[serde(rename_all = "lowercase")]
enum Language {
    En,
    De,
    Fr,
}

#[cfg_attr(feature = "peers", derive(schemars::JsonSchema))]
#[derive(Debug, Deserialize, ToolArgs)]
struct Audit {
    #[arg(min_len = 1, max_len = 40)]
    source: String,
    #[arg(min = 1, max = 1_000)]
    version: u16,
    #[arg(min_len = 10, max_len = 40)]
    created: String,
    #[arg(min_len = 8, max_len = 64)]
    checksum: String,
}
