//! Turns on a real Restate server.

#[cfg(unix)]
#[cfg(test)]
mod server;
