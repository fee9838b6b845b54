//! Programs in a sandbox.
#![cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]

#[cfg(test)]
mod confined;
#[cfg(test)]
mod escapes;
#[cfg(test)]
mod ordinary;
#[cfg(test)]
mod policies;
#[cfg(test)]
mod world;
