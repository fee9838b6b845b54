//! Tests of the example.

#[cfg(test)]
mod server;
