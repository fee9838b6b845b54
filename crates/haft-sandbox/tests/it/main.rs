//! Programs in a sandbox.
#![cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]

mod confined;
mod escapes;
mod ordinary;
mod policies;
mod world;
