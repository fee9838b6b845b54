//! The bells of gates.

pub(crate) mod bells {
    include!(concat!(env!("OUT_DIR"), "/bells.rs"));
}

mod tests;
