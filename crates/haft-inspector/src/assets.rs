//! The files of the page, embedded in the program.

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

impl Asset {
    pub(crate) fn media_type(&self) -> &'static str {
        match self.name.rsplit('.').next() {
            Some("html") => "text/html; charset=utf-8",
            Some("css") => "text/css; charset=utf-8",
            Some("svg") => "image/svg+xml",
            _ => "text/javascript; charset=utf-8",
        }
    }

    /// The entity tag: a hash of the content.
    pub(crate) fn entity_tag(&self) -> String {
        let hash = hex::encode(Sha256::digest(self.content));
        format!("\"{}\"", hash.get(..16).unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::ALL;

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
