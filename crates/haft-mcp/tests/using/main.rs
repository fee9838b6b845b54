//! The client with servers that are not part of Haft.

#[cfg(test)]
#[path = "../support/running_server.rs"]
mod running_server;
#[cfg(test)]
mod servers;
