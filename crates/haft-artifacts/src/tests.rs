use haft_core::forge::{Formats, InvalidFormat};

use crate::{
    CsvFormat, JsonFormat, MarkdownFormat, TextFormat, XmlFormat, YamlFormat, standard_formats,
};

/// `standard_formats` adds them without this check.
#[test]
fn the_standard_formats_are_valid_together() -> Result<(), InvalidFormat> {
    let checked = Formats::new()
        .with(TextFormat::new())?
        .with(JsonFormat::new())?
        .with(MarkdownFormat::new())?
        .with(YamlFormat::new())?
        .with(XmlFormat::new())?
        .with(CsvFormat::new())?;
    assert_eq!(format!("{checked:?}"), format!("{:?}", standard_formats()));
    Ok(())
}
