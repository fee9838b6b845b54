//! Finding records by number or id: numbers are those of one process, ids are stored.

use haft_core::context::DispatchContext;

/// The number of the record with an id.
pub(crate) fn record_number(ctx: &DispatchContext, id: &str) -> Option<u64> {
    let messages = ctx.turn().messages().numbered().into_iter();
    let found = messages.rev().find(|(_, it)| it.id().as_str() == id).map(|(number, _)| number);
    found.or_else(|| {
        let thoughts = ctx.turn().thoughts().numbered().into_iter();
        thoughts.rev().find(|(_, it)| it.id().as_str() == id).map(|(number, _)| number)
    })
}

/// The id of the record with a number, by which another process finds it.
pub(crate) fn record_id(ctx: &DispatchContext, number: u64) -> Option<String> {
    let messages = ctx.turn().messages().numbered();
    let found =
        messages.iter().find(|it| it.0 == number).map(|(_, it)| it.id().as_str().to_owned());
    found.or_else(|| {
        let thoughts = ctx.turn().thoughts().numbered();
        thoughts.iter().find(|it| it.0 == number).map(|(_, it)| it.id().as_str().to_owned())
    })
}
