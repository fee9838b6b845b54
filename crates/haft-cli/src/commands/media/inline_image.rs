//! Images in terminals that can display them.

use haft::media::encode_base64;

use crate::environment::read_text;

/// How a terminal receives images.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ImageProtocol {
    /// The graphics protocol of kitty, which Ghostty, Konsole and WezTerm understand as well.
    Kitty,
    /// The inline images of iTerm2.
    Iterm,
}

/// The longest chunk of the kitty protocol, in characters.
const CHUNK: usize = 4096;

impl ImageProtocol {
    /// The protocol of this terminal, by the variables that it sets.
    pub(super) fn detect() -> Option<Self> {
        let variable = |name: &str| read_text(name).unwrap_or_default();
        let program = variable("TERM_PROGRAM");
        let term = variable("TERM");
        match program.as_str() {
            "iTerm.app" => Some(Self::Iterm),
            "WezTerm" | "ghostty" => Some(Self::Kitty),
            _ if term.contains("kitty") || term.contains("ghostty") => Some(Self::Kitty),
            _ => None,
        }
    }

    /// Whether images of this type can be shown.
    pub(super) fn can_show(self, mime_type: &str) -> bool {
        match self {
            Self::Kitty => mime_type == "image/png",
            Self::Iterm => mime_type.starts_with("image/") && mime_type != "image/svg+xml",
        }
    }

    /// The control sequences that display an image.
    pub(super) fn encode(self, image: &[u8]) -> String {
        let encoded = encode_base64(image);
        if self == Self::Iterm {
            return format!("\u{1b}]1337;File=inline=1;size={}:{encoded}\u{7}\n", image.len());
        }
        let mut text = String::new();
        let mut rest = encoded.as_str();
        let mut keys = "a=T,f=100,";
        loop {
            let (chunk, after) = rest.split_at_checked(CHUNK).unwrap_or((rest, ""));
            let more = u8::from(!after.is_empty());
            text.push_str(&format!("\u{1b}_G{keys}m={more};{chunk}\u{1b}\\"));
            if after.is_empty() {
                break;
            }
            (rest, keys) = (after, "");
        }
        text.push('\n');
        text
    }
}

#[cfg(test)]
mod tests {
    use super::ImageProtocol;

    #[test]
    fn long_images_are_sent_in_chunks() {
        let text = ImageProtocol::Kitty.encode(&[0; 6000]);
        assert!(text.starts_with("\u{1b}_Ga=T,f=100,m=1;AAAA"), "{text}");
        assert_eq!(text.matches("m=1;").count(), 1);
        assert_eq!(text.matches("_Gm=0;").count(), 1);
        let text = ImageProtocol::Iterm.encode(b"x");
        assert_eq!(text, "\u{1b}]1337;File=inline=1;size=1:eA==\u{7}\n");
    }
}
