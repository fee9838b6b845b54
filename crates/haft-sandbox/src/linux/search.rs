//! Finds files below a directory that programs must not see or change.

use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::FileTypeExt as _;
use std::path::{Path, PathBuf};

use crate::SandboxError;

/// What was found below directories.
#[derive(Debug, Default)]
pub(super) struct Found {
    /// Files with secrets, and directories that cannot be read, which a program might make readable.
    pub(super) hidden: Vec<PathBuf>,
    /// Named pipes. A read-only mount does not keep anyone from writing into them.
    pub(super) pipes: Vec<PathBuf>,
    /// The directories `.git`, and files of this name.
    pub(super) repositories: Vec<PathBuf>,
}

impl Found {
    /// Searches below a directory. Links are not followed.
    pub(super) fn search(&mut self, root: &Path) -> Result<(), SandboxError> {
        let mut pending = vec![root.to_owned()];
        while let Some(dir) = pending.pop() {
            let entries = match fs::read_dir(&dir) {
                Ok(entries) => entries,
                Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                    self.hidden.push(dir);
                    continue;
                }
                // It was there a moment ago.
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                Err(error) => return Err(SandboxError::path(dir, error)),
            };
            for entry in entries {
                let entry = entry.map_err(|it| SandboxError::path(&dir, it))?;
                let kind = entry.file_type().map_err(|it| SandboxError::path(entry.path(), it))?;
                let name = entry.file_name();
                if name == ".git" {
                    self.repositories.push(entry.path());
                } else if kind.is_dir() {
                    pending.push(entry.path());
                } else if kind.is_file() && is_secret(name.as_bytes()) {
                    self.hidden.push(entry.path());
                } else if kind.is_fifo() {
                    self.pipes.push(entry.path());
                }
            }
        }
        if self.hidden.len() + self.pipes.len() + self.repositories.len() > MAX_FOUND {
            let reason =
                format!("contains more than {MAX_FOUND} files `.env`, pipes and repositories");
            return Err(SandboxError::path(root, reason));
        }
        Ok(())
    }
}

/// Whether a file of this name usually has secrets.
fn is_secret(name: &[u8]) -> bool {
    match name.strip_prefix(b".env") {
        Some([]) => true,
        Some([b'.', kind @ ..]) => ![&b"example"[..], b"sample", b"template"].contains(&kind),
        _ => false,
    }
}

/// What git would run, and what leads it there: files and directories of a repository that must not change.
#[derive(Debug, Default)]
pub(super) struct GitFiles {
    pub(super) protected: Vec<PathBuf>,
    /// Files that would lead git to other configuration. They do not exist.
    pub(super) unwanted: Vec<PathBuf>,
}

impl GitFiles {
    /// The files of a repository and of its submodules. `path` is the directory `.git`, or the file of this name.
    pub(super) fn of(path: &Path) -> Result<Self, SandboxError> {
        let mut files = Self::default();
        let fail = |error| SandboxError::path(path, error);
        if fs::symlink_metadata(path).map_err(fail)?.is_dir() {
            files.add_repository(path).map_err(fail)?;
        } else {
            files.protected.push(path.to_owned());
        }
        Ok(files)
    }

    fn add_repository(&mut self, dir: &Path) -> io::Result<()> {
        for name in ["hooks", "config", "config.worktree", "commondir", "gitdir"] {
            let path = dir.join(name);
            match fs::symlink_metadata(&path) {
                // A link can be replaced, so that nothing here may change.
                Ok(found) if found.is_symlink() => {
                    self.protected.push(dir.to_owned());
                    return Ok(());
                }
                Ok(_) => self.protected.push(path),
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                Err(_) => self.add_missing(name, path)?,
            }
        }
        for below in ["modules", "worktrees"] {
            self.add_repositories_below(&dir.join(below))?;
        }
        Ok(())
    }

    /// A missing directory of hooks and a missing configuration are created empty, so that they can be protected.
    fn add_missing(&mut self, name: &str, path: PathBuf) -> io::Result<()> {
        match name {
            "hooks" => fs::create_dir(&path)?,
            "config" => drop(fs::File::create_new(&path)?),
            _ => {
                self.unwanted.push(path);
                return Ok(());
            }
        }
        self.protected.push(path);
        Ok(())
    }

    /// The repositories of submodules, whose names may have several parts, and the administrative directories of worktrees.
    fn add_repositories_below(&mut self, dir: &Path) -> io::Result<()> {
        let entries = match fs::read_dir(dir) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            entries => entries?,
        };
        for entry in entries {
            let entry = entry?;
            if !entry.file_type()?.is_dir() {
                continue;
            }
            let path = entry.path();
            match path.join("HEAD").exists() {
                true => self.add_repository(&path)?,
                false => self.add_repositories_below(&path)?,
            }
        }
        Ok(())
    }
}

const MAX_FOUND: usize = 1000;
