//! Which directory is what in the sandbox.

use std::collections::BTreeMap;
use std::fs::{self, FileType};
use std::io;
use std::path::{Component, Path, PathBuf};

use super::placeholder::Placeholder;
use super::search::{Found, GitFiles};
use crate::{Policy, SandboxError};

/// What is mounted at a path, from weak to strong: of two at the same path, the later one holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Mount {
    /// An empty directory that ends with the sandbox.
    Private,
    /// The usual devices.
    Devices,
    /// The processes of the sandbox.
    Processes,
    /// The path itself, read-only.
    Readable,
    /// A writable directory that cannot be moved.
    Pinned,
    /// The path itself.
    Writable,
    /// The path itself, read-only, in a writable directory.
    Protected,
    /// Nothing.
    Hidden { is_dir: bool },
}

/// The mounts of a sandbox, and what must not be left behind in it.
#[derive(Debug)]
pub(super) struct Layout {
    dir: PathBuf,
    mounts: BTreeMap<PathBuf, Mount>,
    unwanted: Vec<PathBuf>,
}

impl Layout {
    /// Resolves the paths of a policy, searches the directories, and creates placeholders.
    pub(super) fn of(policy: &Policy) -> Result<(Self, Vec<Placeholder>), SandboxError> {
        let dir = policy.dir.canonicalize().map_err(|it| SandboxError::path(&policy.dir, it))?;
        let mut layout = Self { dir, mounts: BTreeMap::new(), unwanted: Vec::new() };
        layout.add_system();
        for path in &policy.write {
            let path = layout.resolve_writable(path)?;
            layout.add(path, Mount::Writable);
        }
        layout.add_readable(policy)?;
        layout.add_explicit(policy)?;
        layout.add_found()?;
        let placeholders = layout.add_reserved(&policy.reserve)?;
        layout.drop_redundant();
        layout.pin_parents();
        Ok((layout, placeholders))
    }

    /// The working directory.
    pub(super) fn dir(&self) -> &Path {
        &self.dir
    }

    /// The mounts, each after those that it lies in.
    pub(super) fn mounts(&self) -> impl Iterator<Item = (&Path, Mount)> {
        // A directory sorts before what is in it.
        self.mounts.iter().map(|(path, mount)| (path.as_path(), *mount))
    }

    fn add(&mut self, path: PathBuf, mount: Mount) {
        let entry = self.mounts.entry(path).or_insert(mount);
        *entry = mount.max(*entry);
    }

    fn add_system(&mut self) {
        self.add("/".into(), Mount::Readable);
        self.add("/dev".into(), Mount::Devices);
        self.add("/proc".into(), Mount::Processes);
        for path in PRIVATE {
            // What is a link leads to another one of them, or to what is readable.
            if fs::symlink_metadata(path).is_ok_and(|it| it.is_dir()) {
                self.add(path.into(), Mount::Private);
            }
        }
    }

    fn add_readable(&mut self, policy: &Policy) -> Result<(), SandboxError> {
        for path in policy.read.iter().chain([&policy.dir]) {
            let path = self.dir.join(path);
            let path = path.canonicalize().map_err(|it| SandboxError::path(&path, it))?;
            if self.region(&path) != Mount::Writable {
                self.add(path, Mount::Readable);
            }
        }
        Ok(())
    }

    /// The path of a writable file or directory without links. A directory is created if nothing is there.
    fn resolve_writable(&self, path: &Path) -> Result<PathBuf, SandboxError> {
        let named = normalize(&self.dir.join(path));
        let fail = |error: io::Error| SandboxError::path(&named, error);
        let is_below = named.starts_with(&self.dir);
        let check = |resolved: &Path| match is_below && !resolved.starts_with(&self.dir) {
            true => Err(SandboxError::path(&named, "leads out of the directory through a link")),
            false => Ok(()),
        };
        let existing = named.ancestors().find(|it| fs::symlink_metadata(it).is_ok());
        let existing = existing.unwrap_or(Path::new("/"));
        check(&existing.canonicalize().map_err(fail)?)?;
        if existing != named {
            fs::create_dir_all(&named).map_err(fail)?;
        }
        let resolved = named.canonicalize().map_err(fail)?;
        check(&resolved)?;
        let kind = fs::symlink_metadata(&resolved).map_err(fail)?.file_type();
        if !kind.is_dir() && !kind.is_file() {
            return Err(SandboxError::path(&named, "is neither a directory nor a regular file"));
        }
        let is_system = SYSTEM.iter().any(|it| resolved.starts_with(it));
        if is_system
            || resolved == Path::new("/")
            || PRIVATE.iter().any(|it| resolved == Path::new(it))
        {
            return Err(SandboxError::path(&named, "belongs to the system and cannot be writable"));
        }
        Ok(resolved)
    }

    fn add_explicit(&mut self, policy: &Policy) -> Result<(), SandboxError> {
        for path in &policy.protect {
            self.add_protected(&normalize(&self.dir.join(path)))?;
        }
        for path in policy.hide.iter().chain(&policy.reserve) {
            self.add_hidden(&normalize(&self.dir.join(path)))?;
        }
        Ok(())
    }

    /// Protects a path that exists. A link on the way to it could be replaced.
    fn add_protected(&mut self, path: &Path) -> Result<(), SandboxError> {
        let resolved = match path.canonicalize() {
            Ok(resolved) => resolved,
            Err(error) if is_absent(&error) && fs::symlink_metadata(path).is_err() => return Ok(()),
            Err(error) => return Err(SandboxError::path(path, error)),
        };
        let parent = path.parent().unwrap_or(path);
        let parent = parent.canonicalize().map_err(|it| SandboxError::path(path, it))?;
        let is_link = path.file_name().is_some_and(|name| parent.join(name) != resolved);
        if is_link && self.region(&parent) == Mount::Writable {
            let reason = "is a link in a writable directory, which could be replaced";
            return Err(SandboxError::path(path, reason));
        }
        self.add(resolved, Mount::Protected);
        Ok(())
    }

    fn add_hidden(&mut self, path: &Path) -> Result<(), SandboxError> {
        let found = path.canonicalize().and_then(|it| Ok((fs::metadata(&it)?.file_type(), it)));
        let (kind, path): (FileType, PathBuf) = match found {
            Ok(found) => found,
            Err(error) if is_absent(&error) => return Ok(()),
            Err(error) => return Err(SandboxError::path(path, error)),
        };
        self.add(path, Mount::Hidden { is_dir: kind.is_dir() });
        Ok(())
    }

    /// Searches what is readable for secrets, and what is writable for repositories as well.
    fn add_found(&mut self) -> Result<(), SandboxError> {
        let roots =
            self.mounts.iter().filter(|(_, it)| matches!(it, Mount::Writable | Mount::Readable));
        let roots: Vec<PathBuf> = roots.map(|(path, _)| path.clone()).collect();
        let mut found = Found::default();
        let mut last: Option<PathBuf> = None;
        for root in roots.into_iter().filter(|it| it.is_dir() && it != Path::new("/")) {
            // One search covers what lies below.
            if last.as_ref().is_some_and(|it| root.starts_with(it)) {
                continue;
            }
            found.search(&root)?;
            last = Some(root);
        }
        for path in found.hidden {
            self.add_hidden(&path)?;
        }
        for path in found.pipes {
            if self.region(&path) != Mount::Writable {
                self.add_hidden(&path)?;
            }
        }
        for path in found.repositories {
            if self.region(&path) != Mount::Writable {
                continue;
            }
            let files = GitFiles::of(&path)?;
            self.unwanted.extend(files.unwanted);
            for path in files.protected {
                self.add_protected(&path)?;
            }
        }
        Ok(())
    }

    /// Puts empty directories where none must be created: the reserved ones, and repositories in writable directories.
    fn add_reserved(&mut self, reserved: &[PathBuf]) -> Result<Vec<Placeholder>, SandboxError> {
        let roots =
            self.mounts.iter().filter(|(path, it)| **it == Mount::Writable && path.is_dir());
        let repositories = roots.map(|(path, _)| path.join(".git"));
        let reserved = reserved.iter().map(|it| normalize(&self.dir.join(it)));
        let paths: Vec<PathBuf> = repositories.chain(reserved).collect();
        let mut placeholders = Vec::new();
        for path in paths {
            let is_known = self.mounts.contains_key(&path);
            if is_known || self.region(&path) != Mount::Writable {
                continue;
            }
            let found = fs::symlink_metadata(&path);
            if found.is_ok_and(|it| !it.is_dir()) {
                continue;
            }
            let created = Placeholder::create(&path).map_err(|it| SandboxError::path(&path, it))?;
            if let Some(placeholder) = created {
                self.add(path, Mount::Hidden { is_dir: true });
                placeholders.push(placeholder);
            }
        }
        Ok(placeholders)
    }

    /// What holds at a path: the mount at it or at the closest directory above.
    fn region(&self, path: &Path) -> Mount {
        let mut above = path.ancestors().filter_map(|it| self.mounts.get(it));
        above.next().copied().unwrap_or(Mount::Readable)
    }

    /// Leaves out what holds without a mount of its own.
    fn drop_redundant(&mut self) {
        let region_above = |path: &Path| path.parent().map(|it| self.region(it));
        let redundant = self.mounts.iter().filter(|(path, mount)| {
            let Some(above) = region_above(path) else { return false };
            match mount {
                Mount::Protected => above != Mount::Writable,
                Mount::Hidden { .. } => !matches!(
                    above,
                    Mount::Readable | Mount::Writable | Mount::Protected | Mount::Pinned
                ),
                _ => false,
            }
        });
        let redundant: Vec<PathBuf> = redundant.map(|(path, _)| path.clone()).collect();
        for path in redundant {
            self.mounts.remove(&path);
        }
    }

    /// Pins the directories between a writable one and what is protected or hidden in it, which could be moved otherwise.
    fn pin_parents(&mut self) {
        let mut pinned = Vec::new();
        for (path, mount) in &self.mounts {
            if !matches!(mount, Mount::Protected | Mount::Hidden { .. }) {
                continue;
            }
            let above = path.ancestors().skip(1);
            let between: Vec<&Path> =
                above.take_while(|it| !self.mounts.contains_key(*it)).collect();
            if path.parent().is_some_and(|it| self.region(it) == Mount::Writable) {
                pinned.extend(between.into_iter().map(Path::to_owned));
            }
        }
        for path in pinned {
            self.add(path, Mount::Pinned);
        }
    }
}

impl Drop for Layout {
    /// Removes what would lead git to configuration that the program has written.
    fn drop(&mut self) {
        for path in &self.unwanted {
            let _ = fs::remove_file(path);
        }
    }
}

fn is_absent(error: &io::Error) -> bool {
    use io::ErrorKind::{NotADirectory, NotFound, PermissionDenied};
    matches!(error.kind(), NotFound | NotADirectory | PermissionDenied)
}

/// A path without `.` and `..`, by its text.
fn normalize(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                normal.pop();
            }
            other => normal.push(other),
        }
    }
    normal
}

/// Directories of which each sandbox has its own.
const PRIVATE: [&str; 3] = ["/run", "/tmp", "/var/tmp"];

const SYSTEM: [&str; 4] = ["/dev", "/proc", "/sys", "/boot"];
