//! The files of the page, embedded in the program.

use sha2::{Digest as _, Sha256};

/// A file of the page.
pub(crate) struct Asset {
    pub(crate) name: &'static str,
    pub(crate) text: &'static str,
}

macro_rules! assets {
    ($($name:literal),* $(,)?) => {
        /// Every file, by its name.
        pub(crate) const ALL: &[Asset] = &[
            $(Asset { name: $name, text: include_str!(concat!("../web/", $name)) },)*
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
    "stream.js",
    "text.js",
    "timeline.js",
    "turn.js",
    "turns.js",
    "view.js",
);

/// The page as it is sent for a path: the addresses of its files begin with the path.
pub(crate) fn page_at(path: &str) -> String {
    let page = find_asset(PAGE).map(|it| it.text).unwrap_or_default();
    // A path has no characters that end an attribute, apart from the escape itself.
    let base = path.trim_end_matches('/').replace('&', "&amp;").replace('"', "&quot;");
    page.replace("{base}", &base)
}

/// The page itself.
const PAGE: &str = "index.html";

/// The file with a name.
pub(crate) fn find_asset(name: &str) -> Option<&'static Asset> {
    ALL.iter().find(|asset| asset.name == name)
}

impl Asset {
    /// The entity tag, by which a browser knows whether it has this version.
    pub(crate) fn tag(&self) -> String {
        let hash = hex::encode(Sha256::digest(self.text));
        format!("\"{hash:.16}\"")
    }

    pub(crate) fn media_type(&self) -> &'static str {
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

    use super::{ALL, page_at};

    /// What a browser loads is at most 85 KB.
    #[test]
    fn the_page_is_small() {
        let sizes = ALL.iter().map(|asset| {
            let mut encoder =
                flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
            encoder.write_all(asset.text.as_bytes()).unwrap();
            encoder.finish().unwrap().len()
        });
        let total: usize = sizes.sum();
        println!("{total} bytes");
        assert!(total <= 85_000, "{total} bytes");
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
            let text = asset.text;
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
