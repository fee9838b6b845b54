//! The proxy, between a client that checks every byte and servers that do as the test says.

#[cfg(test)]
mod bounds;
#[cfg(test)]
mod fuzz_target;
#[cfg(test)]
mod messages;
#[cfg(test)]
mod peer;
#[cfg(test)]
mod random;
#[cfg(test)]
mod results;
#[cfg(test)]
#[path = "../support/running_server.rs"]
mod running_server;
#[cfg(test)]
mod servers;
#[cfg(test)]
mod several;
