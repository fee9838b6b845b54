//! The server, asked by clients of both lifecycles.

#[cfg(test)]
mod calls;
#[cfg(test)]
mod client;
#[cfg(test)]
mod definitions;
#[cfg(test)]
mod examples;
#[cfg(test)]
mod gates;
#[cfg(test)]
mod http;
