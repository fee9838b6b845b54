//! Rows of tables, with their columns in the order of the table.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::Value;

/// A row: the names of its columns and their values.
pub(super) struct TableRow(Vec<(String, Value)>);

impl TableRow {
    pub(super) fn columns(&self) -> Vec<String> {
        self.0.iter().map(|(name, _)| name.clone()).collect()
    }

    /// The values of these columns, as text.
    pub(super) fn cells(&self, columns: &[String]) -> Vec<String> {
        let cell = |column: &String| match self.0.iter().find(|(name, _)| name == column) {
            Some((_, Value::String(text))) => text.clone(),
            Some((_, other)) => other.to_string(),
            None => String::new(),
        };
        columns.iter().map(cell).collect()
    }
}

impl<'de> Deserialize<'de> for TableRow {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(RowVisitor)
    }
}

/// Reads an object whose fields stay in their order.
struct RowVisitor;

impl<'de> Visitor<'de> for RowVisitor {
    type Value = TableRow;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a row")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<TableRow, A::Error> {
        let mut fields = Vec::new();
        while let Some(field) = map.next_entry()? {
            fields.push(field);
        }
        Ok(TableRow(fields))
    }
}

#[cfg(test)]
mod tests {
    use super::TableRow;

    #[test]
    fn columns_stay_in_the_order_of_the_table() {
        let row: TableRow =
            serde_json::from_str(r#"{"sku": "A-1", "name": "Lamp", "b": 3}"#).unwrap();
        assert_eq!(row.columns(), ["sku", "name", "b"]);
        assert_eq!(row.cells(&["b".to_owned(), "none".to_owned()]), ["3", ""]);
    }
}
