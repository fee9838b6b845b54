//! The environment of this program, and the keys in it, which no program that it starts may read.
//!
//! A process that runs as the same user can read the environment with which another process was started, and its memory.
//! Therefore this program says to the kernel that it is not dumpable: then only root can read either. And if there are
//! keys in its environment, it starts itself once more in the same process, with an environment without them, and hands
//! them over in a pipe: then not even root finds them in the environment of this process.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::os::fd::AsRawFd as _;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::os::unix::fs::FileTypeExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::Command;
use std::sync::OnceLock;

use crate::config::UserConfig;
use crate::supervisor::own_executable;

type Variables = BTreeMap<OsString, OsString>;

/// The variables that are not in the environment of this process any more.
static KEYS: OnceLock<Variables> = OnceLock::new();

/// The variable by which this program finds the pipe: the id of the process and the descriptor, with a colon between them.
/// The programs that inherit it have other ids.
const PIPE_VARIABLE: &str = "HAFT_KEY_PIPE";

/// The longest text of a pipe. Every system takes it without a reader.
const MAX_PIPE_BYTES: usize = 16 * 1024;

/// Hides the keys of this process from others. Without them, or if the program cannot be started once more, the environment
/// stays as it is. Call it before anything else is opened or started.
pub(crate) fn hide_keys() {
    #[cfg(target_os = "linux")]
    {
        use rustix::process::{DumpableBehavior, set_dumpable_behavior};
        // Every kernel can do it.
        let _ = set_dumpable_behavior(DumpableBehavior::NotDumpable);
    }
    if let Some(keys) = take_keys() {
        let _ = KEYS.set(keys);
        return;
    }
    let named = name_keys();
    let is_key = |(name, _): &(OsString, OsString)| named.contains(name) || looks_secret(name);
    let keys: Variables = std::env::vars_os().filter(is_key).collect();
    if !keys.is_empty() {
        // An error means that this process runs on, as if it had no other way.
        let _ = restart_without(&keys);
    }
}

/// The value of a variable of the environment with which the user started this program.
pub(crate) fn read_variable(name: impl AsRef<OsStr>) -> Option<OsString> {
    let name = name.as_ref();
    let key = KEYS.get().and_then(|keys| keys.get(name)).cloned();
    key.or_else(|| std::env::var_os(name))
}

/// The value of a variable that is set, not empty and Unicode.
pub(crate) fn read_text(name: impl AsRef<OsStr>) -> Option<String> {
    read_variable(name)?.into_string().ok().filter(|it| !it.is_empty())
}

/// All variables of the environment with which the user started this program.
#[cfg(feature = "cluster")]
pub(crate) fn list_variables() -> impl Iterator<Item = (OsString, OsString)> {
    std::env::vars_os().chain(KEYS.get().cloned().unwrap_or_default())
}

/// The variables that the configuration names as keys. A file that cannot be read is reported by the command.
fn name_keys() -> Vec<OsString> {
    let providers = UserConfig::read().map(|it| it.providers).unwrap_or_default();
    providers.into_values().filter_map(|it| it.key_env).map(OsString::from).collect()
}

/// Whether a variable is a secret by its name. One that is not is only left in the environment with too much caution: this
/// program reads it as before.
fn looks_secret(name: &OsStr) -> bool {
    let name = name.to_string_lossy().to_ascii_uppercase();
    SECRET_WORDS.iter().any(|word| name.contains(word))
}

const SECRET_WORDS: [&str; 5] = ["KEY", "TOKEN", "SECRET", "PASSW", "CREDENTIAL"];

/// Replaces this program by itself. Returns only if that is not possible.
fn restart_without(keys: &Variables) -> io::Result<()> {
    let mut text = Vec::new();
    for (name, value) in keys {
        for part in [name, value] {
            text.extend_from_slice(part.as_bytes());
            text.push(0);
        }
    }
    if text.len() > MAX_PIPE_BYTES {
        return Err(io::ErrorKind::FileTooLarge.into());
    }
    let (reader, writer) = rustix::pipe::pipe()?;
    File::from(writer).write_all(&text)?;
    let mut args = std::env::args_os();
    let name = args.next().unwrap_or_else(|| OsString::from("haft"));
    // The name of the file is the name of the process in lists, which the link in `/proc` does not have.
    let programs = [std::env::current_exe(), own_executable()];
    let args: Vec<OsString> = args.collect();
    let mut error = io::Error::from(io::ErrorKind::NotFound);
    for program in programs.into_iter().flatten() {
        let mut command = Command::new(program);
        command.arg0(&name).args(&args);
        keys.keys().for_each(|key| {
            command.env_remove(key);
        });
        command.env(PIPE_VARIABLE, format!("{}:{}", std::process::id(), reader.as_raw_fd()));
        error = command.exec();
    }
    Err(error)
}

/// Takes the keys that this process has handed to itself, and closes the pipe.
fn take_keys() -> Option<Variables> {
    let pipe = std::env::var_os(PIPE_VARIABLE)?.into_string().ok()?;
    let (process, descriptor) = pipe.split_once(':')?;
    if process.parse() != Ok(std::process::id()) {
        return None;
    }
    let descriptor: i32 = descriptor.parse().ok()?;
    let mut file = File::open(Path::new("/dev/fd").join(descriptor.to_string())).ok()?;
    if !file.metadata().ok()?.file_type().is_fifo() {
        return None;
    }
    // This file is another description of the pipe.
    nix::unistd::close(descriptor).ok()?;
    let mut text = Vec::new();
    file.read_to_end(&mut text).ok()?;
    let mut parts = text.split(|it| *it == 0).map(|it| OsString::from_vec(it.to_vec()));
    let mut keys = Variables::new();
    while let (Some(name), Some(value)) = (parts.next(), parts.next()) {
        keys.insert(name, value);
    }
    text.fill(0);
    Some(keys)
}

#[cfg(test)]
mod tests {
    use super::looks_secret;

    #[test]
    fn variables_are_secret_by_their_names() {
        let secret = [
            "OPENAI_API_KEY",
            "ANTHROPIC_AUTH_TOKEN",
            "AZURE_OPENAI_AD_TOKEN",
            "AWS_SECRET_ACCESS_KEY",
            "GITHUB_TOKEN",
            "PGPASSWORD",
            "shop_password",
        ];
        for name in secret {
            assert!(looks_secret(name.as_ref()), "{name}");
        }
        for name in ["PATH", "HOME", "TERM", "LANG", "HAFT_MODEL", "OPENAI_BASE_URL", "NO_COLOR"] {
            assert!(!looks_secret(name.as_ref()), "{name}");
        }
    }
}
