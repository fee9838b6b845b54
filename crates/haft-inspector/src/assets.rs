//! The files of the page, embedded in the program.

use std::sync::LazyLock;

use axum::body::Bytes;
use sha2::{Digest as _, Sha256};

use crate::script;

/// A file of the page.
pub(crate) struct Asset {
    pub(crate) name: &'static str,
    content: &'static str,
}

macro_rules! assets {
    ($($name:literal),* $(,)?) => {
        /// Every file, by its name.
        pub(crate) const ALL: &[Asset] = &[
            $(Asset { name: $name, content: include_str!(concat!("../web/", $name)) },)*
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
    "conversations.js",
    "detail.js",
    "find.js",
    "finder.js",
    "fork.js",
    "form.js",
    "gate.js",
    "json.js",
    "keys.js",
    "lines.js",
    "parts.js",
    "request.js",
    "route.js",
    "rows.js",
    "server.js",
    "text.js",
    "timeline.js",
    "turn.js",
    "turns.js",
    "view.js",
);

/// The files as they are sent: the modules are one script, which the page loads by the name of the first of them.
pub(crate) static SENT: LazyLock<Vec<SentAsset>> = LazyLock::new(|| {
    let is_module = |asset: &&Asset| asset.name.ends_with(".js");
    let others = ALL.iter().filter(|asset| !is_module(asset)).map(|asset| {
        let text = asset.text().lines().map(str::trim).filter(|line| script::is_code_line(line));
        SentAsset::new(asset, text.fold(String::new(), |text, line| text + line + "\n"))
    });
    let source = |name: &str| ALL.iter().find(|asset| asset.name == name).map(Asset::text);
    let first = ALL.iter().filter(|asset| asset.name == SCRIPT);
    let script =
        first.map(|asset| SentAsset::new(asset, script::join_modules(asset.name, &source)));
    others.chain(script).collect()
});

/// The page as it is sent for a path: the addresses of its files begin with the path.
pub(crate) fn page_at(path: &str) -> String {
    let page = SENT.iter().find(|asset| asset.name == PAGE).map(|it| &it.content);
    let page = page.map(|it| String::from_utf8_lossy(it)).unwrap_or_default();
    // A path has no characters that end an attribute, apart from the escape itself.
    let base = path.trim_end_matches('/').replace('&', "&amp;").replace('"', "&quot;");
    page.replace("{base}", &base)
}

/// The page itself.
const PAGE: &str = "index.html";

/// The module that imports all others.
const SCRIPT: &str = "app.js";

/// A file as it is sent: without comments and indentation, and with its entity tag.
pub(crate) struct SentAsset {
    pub(crate) name: &'static str,
    pub(crate) media_type: &'static str,
    pub(crate) content: Bytes,
    pub(crate) tag: String,
}

impl SentAsset {
    fn new(asset: &Asset, content: String) -> Self {
        let hash = hex::encode(Sha256::digest(&content));
        let tag = format!("\"{hash:.16}\"");
        Self { name: asset.name, media_type: asset.media_type(), content: content.into(), tag }
    }
}

impl Asset {
    fn text(&self) -> &'static str {
        self.content
    }

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

    use super::{ALL, SENT, page_at};

    /// What a browser loads is at most 60 KB.
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

    /// Lines are trimmed before they are sent, so that no text may span lines. Imports and exports have the forms that the
    /// joined script knows.
    #[test]
    fn no_text_or_import_of_the_page_spans_lines() {
        for asset in ALL {
            let text = asset.content;
            for line in text.lines() {
                assert_eq!(line.matches('`').count() % 2, 0, "{}: {line}", asset.name);
                let is_import = line.trim_start().starts_with("import ");
                let is_known = line.starts_with("import { ") && line.ends_with(".js\";");
                assert!(!is_import || (is_known && !line.contains(" as ")), "{line}");
                assert!(!line.contains("export default") && !line.contains("export let"), "{line}");
            }
        }
    }

    #[test]
    fn a_rule_for_all_elements_is_no_comment() {
        let style = SENT.iter().find(|asset| asset.name == "style.css").unwrap();
        let text = std::str::from_utf8(&style.content).unwrap();
        assert!(text.contains("* { box-sizing"), "{text}");
    }

    #[test]
    fn the_page_names_its_files_by_the_path_at_which_it_is_mounted() {
        for (path, script) in [
            ("/", "src=\"/web/app.js\""),
            ("/team/inspector", "src=\"/team/inspector/web/app.js\""),
            ("/team/inspector/", "src=\"/team/inspector/web/app.js\""),
            ("/a&b", "src=\"/a&amp;b/web/app.js\""),
        ] {
            let page = page_at(path);
            assert!(page.contains(script) && !page.contains('{'), "{path}: {page}");
        }
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
            let text = asset.content;
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
