//! The bells of gates.

pub(crate) mod bells {
    include!(concat!(env!("OUT_DIR"), "/bells.rs"));
}

#[cfg(test)]
mod tests;
