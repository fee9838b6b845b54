//! The files that a command line names: what a person approves is what they contain.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use haft::ToolFailure;
use serde::{Serialize, Serializer};
use sha2::{Digest as _, Sha256};

/// The hashes of scripts and programs, by the words of the command line that name them. They are a part of the definition
/// of the tool. Files that a script reads itself are not among them.
#[derive(Debug, Default)]
pub(super) struct BoundFiles(BTreeMap<String, (PathBuf, String)>);

impl BoundFiles {
    /// Reads the files that the words of a command line name, in the directory in which it runs. The program is relative to
    /// the directory of the agent, and a name without a slash is searched in `PATH`, which is not bound.
    pub(super) fn read(program: &Path, words: &[&str], dir: &Path) -> Self {
        let program = (program.components().count() > 1).then(|| program.to_owned());
        let program = program.map(|path| (path.to_string_lossy().into_owned(), path));
        let words = words.iter().map(|word| ((*word).to_owned(), dir.join(word)));
        let files = program.into_iter().chain(words);
        let files = files.filter(|(_, path)| path.is_file());
        // A program that may be run and not read is bound by its name.
        let hashed = files.filter_map(|(word, path)| {
            let hash = hash_file(&path).ok()?;
            Some((word, (path, hash)))
        });
        Self(hashed.collect())
    }

    /// Fails if a file is not what it was when the agent was loaded, and so when a person was asked.
    pub(super) fn check(&self) -> Result<(), ToolFailure> {
        for (word, (path, hash)) in &self.0 {
            if hash_file(path).ok().as_ref() != Some(hash) {
                let text = format!(
                    "`{word}` has changed since its tool was loaded, so that nobody has approved it"
                );
                return Err(ToolFailure::new(text));
            }
        }
        Ok(())
    }
}

impl Serialize for BoundFiles {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(word, (_, hash))| (word, hash)))
    }
}

fn hash_file(path: &Path) -> io::Result<String> {
    let mut hash = Sha256::new();
    io::copy(&mut File::open(path)?, &mut HashWriter(&mut hash))?;
    Ok(hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect())
}

/// Adds what is written to a hash.
struct HashWriter<'h>(&'h mut Sha256);

impl io::Write for HashWriter<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
