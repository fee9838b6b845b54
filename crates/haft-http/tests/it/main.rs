//! The promises of the client: those of its own, and those that remain with a client that the caller brings.

#[cfg(test)]
mod client;
#[cfg(test)]
mod redaction;
#[cfg(test)]
mod server;
