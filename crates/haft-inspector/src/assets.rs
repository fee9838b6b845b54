//! The files of the page, embedded in the program.

use std::sync::LazyLock;

use axum::body::Bytes;
use sha2::{Digest as _, Sha256};

/// A file of the page.
pub(crate) struct Asset {
    pub(crate) name: &'static str,
    pub(crate) content: &'static [u8],
}

macro_rules! assets {
    ($($name:literal),* $(,)?) => {
        /// Every file, by its name.
        pub(crate) const ALL: &[Asset] = &[
            $(Asset { name: $name, content: include_bytes!(concat!("../web/", $name)) },)*
        ];
    };
}

assets!(
    "index.html",
    "style.css",
    "icon.svg",
    "app.js",
    "agents.js",
    "artifact.js",
    "fork.js",
    "form.js",
    "gate.js",
    "json.js",
    "keys.js",
    "lines.js",
    "parts.js",
    "request.js",
    "route.js",
    "server.js",
    "text.js",
    "timeline.js",
    "turn.js",
    "turns.js",
    "view.js",
);

/// The files as they are sent.
pub(crate) static SENT: LazyLock<Vec<SentAsset>> =
    LazyLock::new(|| ALL.iter().map(SentAsset::new).collect());

/// A file as it is sent: without comments, and with its entity tag.
pub(crate) struct SentAsset {
    pub(crate) name: &'static str,
    pub(crate) media_type: &'static str,
    pub(crate) content: Bytes,
    pub(crate) tag: String,
}

impl SentAsset {
    fn new(asset: &Asset) -> Self {
        let text = String::from_utf8_lossy(asset.content);
        let lines = text.lines().filter(|line| !is_comment(line.trim()));
        let content = lines.fold(String::new(), |text, line| text + line + "\n");
        let hash = hex::encode(Sha256::digest(&content));
        let tag = format!("\"{}\"", hash.get(..16).unwrap_or_default());
        Self { name: asset.name, media_type: asset.media_type(), content: content.into(), tag }
    }
}

/// Whether a line is a comment. Comments of the page stand in lines of their own.
fn is_comment(line: &str) -> bool {
    line.starts_with("//") || (line.starts_with("/*") && line.ends_with("*/"))
}

impl Asset {
    fn media_type(&self) -> &'static str {
        match self.name.rsplit('.').next() {
            Some("html") => "text/html; charset=utf-8",
            Some("css") => "text/css; charset=utf-8",
            Some("svg") => "image/svg+xml",
            _ => "text/javascript; charset=utf-8",
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::{ALL, SENT};

    /// What a browser loads is at most 60 KB, each file compressed for itself.
    #[test]
    fn the_page_is_small() {
        let sizes = SENT.iter().map(|asset| {
            let mut encoder =
                flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
            encoder.write_all(&asset.content).unwrap();
            encoder.finish().unwrap().len()
        });
        let total: usize = sizes.sum();
        println!("{total} bytes");
        assert!(total <= 60_000, "{total} bytes");
    }

    #[test]
    fn every_file_of_the_page_is_embedded() {
        let dir = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("web");
        let mut files: Vec<String> = std::fs::read_dir(dir)
            .unwrap()
            .map(|it| it.unwrap().file_name().into_string().unwrap())
            .collect();
        let mut embedded: Vec<String> = ALL.iter().map(|it| it.name.to_owned()).collect();
        files.sort();
        embedded.sort();
        assert_eq!(embedded, files);
    }

    /// No script or style comes from elsewhere, and nothing turns text into markup.
    #[test]
    fn the_page_loads_nothing_and_makes_no_markup_of_text() {
        for asset in ALL {
            let text = std::str::from_utf8(asset.content).unwrap();
            for word in [
                "innerHTML",
                "outerHTML",
                "insertAdjacentHTML",
                "document.write",
                "eval(",
                "new Function",
                "style=\"",
                "https://",
            ] {
                assert!(!text.contains(word), "{}: {word}", asset.name);
            }
            let foreign = text.matches("http://").count();
            let namespace = text.matches("http://www.w3.org/2000/svg").count();
            assert_eq!(foreign, namespace, "{}", asset.name);
        }
    }
}
