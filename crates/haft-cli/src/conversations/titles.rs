//! Titles of conversations. The store has them; earlier versions wrote them to a file next to it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::Result;
use haft::stores::{MAX_TITLE_CHARS, OpenStores};

use crate::terminal::{print_line, sanitize};
use crate::text_file::read_regular_text;

/// The file with the titles that an earlier version wrote, in the directory of the store.
const TITLES_FILE: &str = "titles.json";
/// What the file is called when the store has its titles.
const IMPORTED_FILE: &str = "titles.json.imported";
/// The most bytes of the file.
const MAX_TITLES_BYTES: u64 = 16 * 1024 * 1024;

/// Moves the titles of an earlier version into the store. Titles that the store has stay as they are, and a file that cannot
/// be read stays where it is.
pub(crate) async fn import_titles(stores: &OpenStores) -> Result<()> {
    let Some(file) = titles_file(stores).filter(|file| file.exists()) else { return Ok(()) };
    let Some(titles) = read_titles(&file) else { return Ok(()) };
    let ids = titles.keys().cloned().collect();
    let known = stores.turns().titles(String::new(), ids).await?;
    for (id, title) in titles {
        if !known.contains_key(&id) {
            stores.turns().set_title(String::new(), id, Some(title)).await?;
        }
    }
    std::fs::rename(&file, file.with_file_name(IMPORTED_FILE))?;
    Ok(())
}

/// Loads the titles of these conversations. Those of a store that can only be read may still be in the file.
pub(crate) async fn load_titles(
    stores: &OpenStores,
    ids: Vec<String>,
) -> Result<BTreeMap<String, String>> {
    let file = titles_file(stores).filter(|file| file.exists());
    let mut titles = file.and_then(|file| read_titles(&file)).unwrap_or_default();
    titles.extend(stores.turns().titles(String::new(), ids).await?);
    Ok(titles)
}

/// Gives a conversation a title; an empty one takes it away.
pub(crate) async fn rename_conversation(
    stores: &OpenStores,
    id: String,
    title: String,
) -> Result<()> {
    import_titles(stores).await?;
    let title = (!title.is_empty()).then_some(title);
    Ok(stores.turns().set_title(String::new(), id, title).await?)
}

fn titles_file(stores: &OpenStores) -> Option<PathBuf> {
    stores.dir().map(|dir| dir.join(TITLES_FILE))
}

/// Reads the file of an earlier version. Warns about one that cannot be read: no command needs the titles.
fn read_titles(file: &Path) -> Option<BTreeMap<String, String>> {
    let text = read_regular_text(file, MAX_TITLES_BYTES).map_err(|error| error.to_string());
    let titles = text.and_then(|text| {
        serde_json::from_str::<BTreeMap<String, String>>(&text).map_err(|error| error.to_string())
    });
    match titles {
        Ok(titles) => {
            let titles = titles.into_iter().filter(|(_, title)| !title.is_empty());
            let cut = |title: String| title.chars().take(MAX_TITLE_CHARS).collect();
            Some(titles.map(|(id, title)| (id, cut(title))).collect())
        }
        Err(error) => {
            let file = sanitize(&file.display().to_string());
            print_line(format_args!(
                "warning: the titles of conversations in `{file}` cannot be read: {error}"
            ));
            None
        }
    }
}
