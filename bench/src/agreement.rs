//! Agreement of the schema shown with the handler behind it: how many documents one of them accepts
//! and the other refuses. There is no floor; the aim is zero.

mod documents;
#[cfg(feature = "peers")]
mod shapes;

use std::io::{self, Write};

use serde::Serialize;

use crate::{
    Sink,
    ours::{self, Proof},
    report::{Entry, Format, OURS, Print, Row, grouped, print_line},
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

    pub(crate) fn total(self) -> u64 {
        self.handler_refuses + self.schema_refuses
    }
}

type Count = fn(&Disagreements) -> u64;

/// Counts disagreements: over the documents, and over `values` drawn values.
///
/// # Errors
///
/// When a schema cannot be compiled, a row cannot be printed, or Haft's schema and handler disagree.
pub(crate) fn run(values: usize, print: Sink<'_>) -> Result<(), String> {
    let found = compare(print)? + prove(values, print)?;
    if found > 0 {
        return Err(format!("{found} disagreements"));
    }
    Ok(())
}

/// Tries every shape with all documents, and answers how often ours disagree.
fn compare(print: Sink<'_>) -> Result<u64, String> {
    let documents = documents::all();
    let ours = ours::disagreements(&documents)?;
    let counted = [
        (OURS, ours),
        #[cfg(feature = "peers")]
        ("schemars 1.2 + serde", shapes::disagreements(&documents)?),
    ];
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
        print(&Row { name: name.to_owned(), unit, entries })?;
    }
    Ok(ours.total())
}

/// Runs the proof over all shapes, and answers how many did not hold.
fn prove(values: usize, print: Sink<'_>) -> Result<u64, String> {
    let mut total = Proof { shape: "all", ..Proof::default() };
    for proof in ours::proofs(values) {
        if let Some(first) = &proof.first {
            crate::note(&format!("{}: {first}", proof.shape));
        }
        total.values += proof.values;
        total.accepted += proof.accepted;
        total.refused += proof.refused;
        total.disagreements += proof.disagreements;
        crate::note(&format!("{}: {} of {values} values done", proof.shape, total.values));
        print(&proof)?;
    }
    print(&total)?;
    Ok(total.disagreements as u64)
}

/// The JSON form of a [`Proof`].
#[derive(Serialize)]
struct ProofLine {
    name: String,
    ours: usize,
    unit: &'static str,
    values: usize,
    accepted: usize,
    refused: usize,
}

impl Print for Proof {
    fn print(&self, format: Format, out: &mut dyn Write) -> io::Result<()> {
        let &Self { shape, values, accepted, refused, disagreements, .. } = self;
        match format {
            Format::Table => {
                let [values, accepted, refused, disagreements] =
                    [values, accepted, refused, disagreements].map(|it| grouped(it as f64));
                writeln!(
                    out,
                    "proof {shape:<16} {values:>10} values {accepted:>9} accepted \
                     {refused:>9} refused {disagreements:>4} disagreements"
                )
            }
            Format::JsonLines => {
                let name = format!("proof/{shape}");
                let ours = disagreements;
                let unit = "disagreements";
                print_line(out, &ProofLine { name, ours, unit, values, accepted, refused })
            }
        }
    }
}

#[cfg(test)]
mod tests;
