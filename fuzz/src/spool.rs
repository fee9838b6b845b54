//! The index of lines.

use std::num::NonZeroU32;

use haft_core::spool::{LineIndex, LineIndexBuilder};

/// Any bytes can be tried as an index. As content they have an index that counts what is there, however
/// they come, and that reads back; the first two bytes are the sizes of blocks and pieces.
pub fn line_index(data: &[u8]) {
    if let Ok(index) = LineIndex::decode(data) {
        assert_eq!(index.encode(), data, "an index has two forms");
    }
    let [block, piece, content @ ..] = data else { return };
    let Some(block) = NonZeroU32::new((*block).into()) else { return };
    let mut builder = LineIndexBuilder::new(block);
    for piece in content.chunks(usize::from(*piece).max(1)) {
        builder.push(piece);
    }
    let index = builder.finish();
    let newlines = content.iter().filter(|byte| **byte == b'\n').count() as u64;
    assert_eq!(index.newlines(), newlines, "newlines are miscounted");
    assert_eq!(index.byte_length(), content.len() as u64, "bytes are miscounted");
    for line in 0..index.line_count() {
        let found = index.locate(line).expect("a line is not found");
        let before = usize::try_from(found.offset).expect("content is in memory");
        let before = content[..before].iter().filter(|byte| **byte == b'\n').count() as u64;
        assert_eq!(before + found.newlines, line, "a line is found at another");
        assert!(line == 0 || found.newlines > 0, "a line is found past its start");
    }
    match LineIndex::decode(&index.encode()) {
        Ok(again) => assert_eq!(again, index, "an index reads back as another"),
        Err(error) => panic!("an index does not read back: {error}"),
    }
}
