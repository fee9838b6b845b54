//! Agreement of the schema shown with the handler behind it: how many documents one of them accepts
//! and the other refuses. There is no floor; the aim is zero.

mod documents;
#[cfg(feature = "peers")]
mod shapes;

use crate::{
    Sink, ours,
    report::{Entry, OURS, Row},
};

/// What was counted over all shapes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Disagreements {
    /// Shapes tried.
    pub(crate) shapes: u64,
    /// Shapes with at least one disagreement.
    pub(crate) disagreeing_shapes: u64,
    /// The schema accepts and the handler refuses.
    pub(crate) handler_refuses: u64,
    /// The handler accepts and the schema refuses.
    pub(crate) schema_refuses: u64,
}

#[cfg_attr(
    not(any(feature = "peers", test)),
    expect(dead_code, reason = "without peers nothing is counted until Haft's own shapes are")
)]
impl Disagreements {
    /// Adds one shape: for each document whether the schema accepts it and whether the handler does.
    pub(crate) fn add_shape(&mut self, verdicts: impl Iterator<Item = (bool, bool)>) {
        let before = self.total();
        for (schema, handler) in verdicts {
            self.handler_refuses += u64::from(schema && !handler);
            self.schema_refuses += u64::from(handler && !schema);
        }
        self.shapes += 1;
        self.disagreeing_shapes += u64::from(self.total() > before);
    }

    fn total(self) -> u64 {
        self.handler_refuses + self.schema_refuses
    }
}

type Count = fn(&Disagreements) -> u64;

/// Counts disagreements.
///
/// # Errors
///
/// When a schema cannot be compiled or a row cannot be printed.
pub(crate) fn run(print: Sink<'_>) -> Result<(), String> {
    let documents = documents::all();
    let mut counted: Vec<(&'static str, Disagreements)> = Vec::new();
    counted.extend(ours::disagreements(&documents).map(|it| (OURS, it)));
    #[cfg(feature = "peers")]
    counted.push(("schemars 1.2 + serde", shapes::disagreements(&documents)?));

    for (name, it) in &counted {
        let checks = it.shapes * documents.len() as u64;
        crate::note(&format!("{name}: {} shapes, {checks} checks", it.shapes));
    }
    let rows: [(&str, &str, Count); 3] = [
        ("agreement/handler-refuses", "documents", |it| it.handler_refuses),
        ("agreement/schema-refuses", "documents", |it| it.schema_refuses),
        ("agreement/shapes", "disagreeing shapes", |it| it.disagreeing_shapes),
    ];
    for (name, unit, count) in rows {
        let entry = |(name, it): &(&'static str, Disagreements)| Entry {
            name,
            value: count(it) as f64,
            ratio: None,
        };
        let entries = counted.iter().map(entry).collect();
        print(Row { name: name.to_owned(), unit, entries })?;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
