//! Content that was changed on the disk, with the length and the times that it had.

use std::fs::{self, File, FileTimes};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use haft::artifacts::{ArtifactDraft, ArtifactKind, TextQueries as _};
use haft::executors::ScriptExecutor;
use haft::stores::{
    DirSpoolStore, MemoryStore, ObjectOptions, ObjectSpoolStore, SpoolError, SpoolStore,
};
use haft::turn::TurnReport;
use haft::{Agent, Tool};

/// How many flips each store gets.
const FLIPS: usize = 500;

/// What a person or a model reads of an artifact.
#[derive(Debug, PartialEq)]
struct Seen {
    bytes: String,
    lines: u64,
    index_lines: u64,
    tail: String,
}

/// Opens a directory as a new process does.
type OpenSpools = fn(&Path) -> Arc<dyn SpoolStore>;

fn open_dir(dir: &Path) -> Arc<dyn SpoolStore> {
    Arc::new(DirSpoolStore::open(dir).unwrap())
}

fn open_objects(dir: &Path) -> Arc<dyn SpoolStore> {
    let url = format!("file://{}", dir.display());
    Arc::new(ObjectSpoolStore::open(&url, ObjectOptions::default()).unwrap())
}

fn build_agent(store: &Arc<MemoryStore>, spools: Arc<dyn SpoolStore>) -> Agent {
    let tool = |name: &str, lines: u32| {
        let text: String = (0..lines).map(|n| format!("{n:05} all is well\n")).collect();
        let tool = Tool::builder(name).description("Reads.").artifact_kinds([ArtifactKind::TEXT]);
        let read = move || ArtifactDraft::new(ArtifactKind::TEXT, text.clone());
        tool.handler(read).build().unwrap()
    };
    let script =
        r#"{"steps": [{"call": {"small": {}}}, {"call": {"large": {}}}, {"say": "Done."}]}"#;
    let agent = Agent::builder(ScriptExecutor::parse(script).unwrap());
    let agent = agent.tool(tool("small", 300)).tool(tool("large", 9000));
    agent.store(Arc::clone(store) as _).spools(spools).secret([7; 32]).build().unwrap()
}

/// What a new process reads of each artifact of the turn.
async fn read_artifacts(
    store: &Arc<MemoryStore>,
    spools: Arc<dyn SpoolStore>,
    report: &TurnReport,
) -> Vec<Result<Seen, SpoolError>> {
    let agent = build_agent(store, spools);
    let turns = agent.stored_turns();
    let mut all = Vec::new();
    for found in turns.list_artifacts(&report.turn).await.unwrap() {
        let artifact = found.artifact;
        let read = async {
            let lines = artifact.count_lines().await?;
            let index_lines = artifact.reader().index().await?.line_count();
            let tail = artifact.tail(2).await?.text();
            let bytes = artifact.as_string(1 << 20).await?;
            Ok(Seen { bytes, lines, index_lines, tail })
        };
        all.push(read.await);
    }
    all
}

/// The files below a directory.
fn list_files(dir: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => files.extend(list_files(&path)),
            false => files.push(path),
        }
    }
    files.sort();
    files
}

/// Writes bytes into a file without a change of its times, where that is possible.
fn overwrite(path: &Path, bytes: &[u8]) {
    let before = fs::metadata(path).unwrap().modified().unwrap();
    fs::write(path, bytes).unwrap();
    let file = File::options().write(true).open(path).unwrap();
    file.set_times(FileTimes::new().set_modified(before)).unwrap();
}

async fn flip_bits(open: OpenSpools) {
    let dir = tempfile::tempdir().unwrap();
    let store = Arc::new(MemoryStore::new());
    let agent = build_agent(&store, open(dir.path()));
    let report = agent.turn("Read the logs.").system("Read.").report().await.unwrap();
    let expected = read_artifacts(&store, open(dir.path()), &report).await;
    assert_eq!(expected.len(), 2);
    assert!(expected.iter().all(Result::is_ok), "{expected:?}");
    let files = list_files(dir.path());
    let sizes = files.iter().map(|it| fs::metadata(it).unwrap().len());
    let total: u64 = sizes.sum();
    let mut told = 0;
    for n in 0..FLIPS {
        // A number without a common factor with the length visits places all over the files.
        let mut at = (n as u64 * 7919 * 31) % total;
        let file = files.iter().find(|it| {
            let length = fs::metadata(it).unwrap().len();
            let is_here = at < length;
            at -= if is_here { 0 } else { length };
            is_here
        });
        let file = file.unwrap();
        let bytes = fs::read(file).unwrap();
        let mut flipped = bytes.clone();
        flipped[at as usize] ^= 1 << (n % 8);
        overwrite(file, &flipped);
        let found = read_artifacts(&store, open(dir.path()), &report).await;
        overwrite(file, &bytes);
        for (found, expected) in found.iter().zip(&expected) {
            match found {
                Ok(found) => {
                    assert_eq!(Some(found), expected.as_ref().ok(), "byte {at} of {file:?}")
                }
                Err(SpoolError::Changed { .. }) => told += 1,
                Err(error) => panic!("byte {at} of {file:?}: {error}"),
            }
        }
    }
    assert!(told > FLIPS / 2, "{told} of {FLIPS} were told");
}

#[tokio::test]
async fn a_flipped_bit_in_a_directory_is_never_read_as_something_else() {
    flip_bits(open_dir).await;
}

#[tokio::test]
async fn a_flipped_bit_in_objects_is_never_read_as_something_else() {
    flip_bits(open_objects).await;
}
