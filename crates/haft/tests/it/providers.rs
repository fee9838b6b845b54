//! What talks to model providers, over sockets of this machine and from files.

mod sse;
