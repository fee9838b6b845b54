//! The two calls: three fields, and forty fields in eight nested objects and two arrays.
//!
//! The limits in the comments are what the reference's schema in node states; the types alone do
//! not hold them.

use std::fmt::{self, Write as _};

use serde::Deserialize;

use super::Call;

/// 50 bytes, 3 fields.
pub(super) const SMALL: &str = r#"{"city":"San Francisco","days":5,"units":"metric"}"#;

/// About 1.1 kB, 40 fields.
pub(super) const LARGE: &str = concat!(
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
#[derive(Debug, Deserialize)]
pub(super) struct Forecast {
    city: String,
    /// 1 to 14.
    days: u8,
    units: Units,
}

#[cfg_attr(feature = "peers", derive(schemars::JsonSchema))]
#[derive(Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Units {
    Metric,
    Imperial,
}

impl Call for Forecast {
    const TOOL: &'static str = "forecast";

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
#[derive(Debug, Deserialize)]
#[expect(dead_code, reason = "decoded as a handler would have them, though not all are used")]
pub(super) struct Order {
    id: String,
    priority: Priority,
    /// At most 200 characters.
    note: String,
    gift: bool,
    /// At most 10.
    tags: Vec<String>,
    /// At most 20, each 1 to 999.
    quantities: Vec<u16>,
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

    fn handle(self) -> String {
        let pieces: u32 = self.quantities.iter().copied().map(u32::from).sum();
        let cents = (self.payment.amount * 100.0) as i64;
        let (id, tags, city) = (self.id, self.tags.len(), self.shipping.city);
        answer(format_args!("{id}: {pieces} pieces, {tags} tags, {cents} cents to {city}"))
    }
}

#[cfg_attr(feature = "peers", derive(schemars::JsonSchema))]
#[derive(Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Priority {
    Low,
    Normal,
    High,
}

#[cfg_attr(feature = "peers", derive(schemars::JsonSchema))]
#[derive(Debug, Deserialize)]
#[expect(dead_code, reason = "decoded only")]
struct Customer {
    name: String,
    email: String,
    /// 18 to 120.
    age: u8,
    vip: bool,
    /// 0 to 1,000,000.
    points: u32,
}

#[cfg_attr(feature = "peers", derive(schemars::JsonSchema))]
#[derive(Debug, Deserialize)]
#[expect(dead_code, reason = "decoded only")]
struct Address {
    street: String,
    city: String,
    /// 3 to 10 characters.
    zip: String,
    /// 2 characters.
    country: String,
}

#[cfg_attr(feature = "peers", derive(schemars::JsonSchema))]
#[derive(Debug, Deserialize)]
#[expect(dead_code, reason = "decoded only")]
struct Payment {
    method: Method,
    currency: Currency,
    /// 0 to 100,000.
    amount: f64,
    /// 1 to 36.
    installments: u8,
    reference: String,
}

#[cfg_attr(feature = "peers", derive(schemars::JsonSchema))]
#[derive(Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Method {
    Card,
    Invoice,
    Cash,
}

#[cfg_attr(feature = "peers", derive(schemars::JsonSchema))]
#[derive(Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Currency {
    Eur,
    Usd,
    Chf,
}

#[cfg_attr(feature = "peers", derive(schemars::JsonSchema))]
#[derive(Debug, Deserialize)]
#[expect(dead_code, reason = "decoded only")]
struct Delivery {
    carrier: String,
    express: bool,
    /// 0 to 23.
    window_start: u8,
    /// 0 to 23.
    window_end: u8,
    instructions: String,
}

#[cfg_attr(feature = "peers", derive(schemars::JsonSchema))]
#[derive(Debug, Deserialize)]
#[expect(dead_code, reason = "decoded only")]
struct Discount {
    code: String,
    /// 0 to 100.
    percent: f64,
    stackable: bool,
}

#[cfg_attr(feature = "peers", derive(schemars::JsonSchema))]
#[derive(Debug, Deserialize)]
#[expect(dead_code, reason = "decoded only")]
struct Contact {
    phone: String,
    language: Language,
    newsletter: bool,
    /// 0 to 23.
    preferred_hour: u8,
}

#[cfg_attr(feature = "peers", derive(schemars::JsonSchema))]
#[derive(Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Language {
    En,
    De,
    Fr,
}

#[cfg_attr(feature = "peers", derive(schemars::JsonSchema))]
#[derive(Debug, Deserialize)]
#[expect(dead_code, reason = "decoded only")]
struct Audit {
    source: String,
    /// 1 to 1,000.
    version: u16,
    created: String,
    checksum: String,
}
