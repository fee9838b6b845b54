//! What the suites promise about the crates that they check.

#[cfg(test)]
mod agreement;
#[cfg(test)]
mod generated;
