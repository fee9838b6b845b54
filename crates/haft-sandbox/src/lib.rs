//! Programs that can read, write and reach only what a policy says.
//!
//! A [`Policy`] names the paths that a program may write, those below them that it may only read, those that it must not
//! see, and whether it has a network. [`Sandbox::prepare`] looks at the files that the policy is about, and
//! [`Sandbox::command`] makes a command that is confined.
//!
//! Three mechanisms of Linux hold the policy, because each alone has gaps:
//!
//! - Namespaces, made by `bwrap` (the package `bubblewrap`): other processes, the network, private directories and hidden
//!   files are not there, and what must not change is mounted read-only.
//! - Landlock: a pipe or a socket outside of the writable paths cannot be opened for writing either.
//! - A filter of system calls: no sockets to other programs, no new namespaces or mounts, no debugging of other
//!   processes, no setuid files, no input into a terminal.
//!
//! The last two are set by a stage of the program itself, which `bwrap` starts inside: a program calls [`run_helper`] at the
//! beginning of its `main`. Where one of the mechanisms is missing, and on other systems than Linux, nothing starts.
//!
//! # Example
//!
//! ```no_run
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use haft_sandbox::{Policy, Sandbox};
//!
//! if let Some(code) = haft_sandbox::run_helper() {
//!     std::process::exit(code.into());
//! }
//! let policy = Policy::new("/home/ada/project").write("target");
//! let sandbox = Sandbox::prepare(&policy)?;
//! let mut command = sandbox.command("cargo".as_ref(), ["test"])?;
//! let path = format!("{}PATH", haft_sandbox::VARIABLE_PREFIX);
//! let status = command.env_clear().env(path, "/usr/bin:/bin").status()?;
//! # Ok(())
//! # }
//! ```
//!
//! # What is not promised
//!
//! A hard link that leads from a writable directory to a file elsewhere gives access to that file, if it existed before. What
//! a program writes can be code that the user runs later. Memory and processor time are not limited, only the number of
//! processes of an ordinary user, the size of private directories and the size of core dumps.
#![cfg_attr(docsrs, feature(doc_cfg))]

mod error;
#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
mod linux;
mod policy;
mod sandbox;
#[cfg(not(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64"))))]
mod unsupported;

pub use error::SandboxError;
#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
pub use linux::{check_system, run_helper};
pub use policy::{Policy, VARIABLE_PREFIX};
pub use sandbox::Sandbox;
#[cfg(not(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64"))))]
pub use unsupported::{check_system, run_helper};
