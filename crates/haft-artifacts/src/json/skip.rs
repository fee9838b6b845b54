//! Skips a value without looking into it.
//!
//! Brackets are matched, strings are ended, and the depth is bounded; scalars are read strictly. The text between the
//! brackets of a container is not checked.

use haft_core::json::{MAX_DEPTH, ParseErrorKind};
use memchr::memchr2;

use super::block_masks::{BlockMasks, StringTracker};
use super::cursor::{ContentCursor, is_space};
use super::error::ScanError;
use super::validate;

impl ContentCursor {
    /// Skips the value at the cursor, which is nested in `depth` others. `None` if it turns out to
    /// reach past `limit`; the cursor is somewhere in it then.
    pub(super) fn skip_value(&mut self, depth: usize, limit: u64) -> Result<Option<()>, ScanError> {
        match self.peek()? {
            Some(b'"') => self.skip_string(limit),
            Some(b'{' | b'[') => self.skip_container(depth, limit),
            _ => validate::scalar(self).map(Some),
        }
    }

    /// Skips a string from its opening quote on.
    pub(super) fn skip_string(&mut self, limit: u64) -> Result<Option<()>, ScanError> {
        self.advance(1);
        loop {
            let rest = self.rest();
            let Some(at) = memchr2(b'"', b'\\', rest) else {
                self.advance(rest.len());
                if self.offset() > limit {
                    return Ok(None);
                }
                if !self.read_more()? {
                    return Err(self.fault(ParseErrorKind::Truncated));
                }
                continue;
            };
            if rest.get(at) == Some(&b'"') {
                self.advance(at + 1);
                return Ok(Some(()));
            }
            self.advance(at);
            self.ensure(2)?;
            if self.rest().len() < 2 {
                self.advance(1);
                return Err(self.fault(ParseErrorKind::Truncated));
            }
            self.advance(2);
        }
    }

    fn skip_container(&mut self, depth: usize, limit: u64) -> Result<Option<()>, ScanError> {
        let mut strings = StringTracker::default();
        let mut open = OpenBrackets { depth, ..OpenBrackets::default() };
        loop {
            let mut rest = self.rest();
            let all = rest.len();
            while let Some((block, tail)) = rest.split_first_chunk::<64>() {
                match open.scan_block(block, &mut strings) {
                    BlockOutcome::All => rest = tail,
                    BlockOutcome::Until(at) => {
                        self.advance(all - rest.len() + at + 1);
                        return Ok(Some(()));
                    }
                    BlockOutcome::BracketFault(at, wrong) => {
                        self.advance(all - rest.len() + at);
                        return Err(self.bracket_error(wrong));
                    }
                }
            }
            let done = all - rest.len();
            self.advance(done);
            if self.offset() > limit {
                return Ok(None);
            }
            // What is left is shorter than a block: more is put after it, or nothing at the end.
            if !self.read_more()? {
                return self.skip_end(open, strings);
            }
        }
    }

    /// The last bytes of the content, filled up to a block.
    fn skip_end(
        &mut self,
        mut open: OpenBrackets,
        mut strings: StringTracker,
    ) -> Result<Option<()>, ScanError> {
        let mut block = [b' '; 64];
        for (to, from) in block.iter_mut().zip(self.rest()) {
            *to = *from;
        }
        match open.scan_block(&block, &mut strings) {
            BlockOutcome::All => {
                self.advance(self.rest().len());
                Err(self.fault(ParseErrorKind::Truncated))
            }
            BlockOutcome::Until(at) => {
                self.advance(at + 1);
                Ok(Some(()))
            }
            BlockOutcome::BracketFault(at, wrong) => {
                self.advance(at);
                Err(self.bracket_error(wrong))
            }
        }
    }

    #[cold]
    fn bracket_error(&mut self, wrong: BracketFault) -> ScanError {
        match wrong {
            BracketFault::TooDeep => self.fault(ParseErrorKind::TooDeep),
            BracketFault::Expected(what) => self.expected(what),
        }
    }
}

/// The containers that are open.
#[derive(Default)]
struct OpenBrackets {
    /// A bit per container, the innermost lowest; set for objects.
    objects: u128,
    /// How many were opened here.
    own: usize,
    /// How many are around them.
    depth: usize,
}

enum BlockOutcome {
    All,
    /// The last container ends with this byte.
    Until(usize),
    BracketFault(usize, BracketFault),
}

#[derive(Clone, Copy)]
enum BracketFault {
    TooDeep,
    Expected(&'static str),
}

impl OpenBrackets {
    #[inline]
    fn scan_block(&mut self, block: &[u8; 64], strings: &mut StringTracker) -> BlockOutcome {
        if strings.cover(block) {
            return BlockOutcome::All;
        }
        let masks = BlockMasks::of(block);
        let mut brackets = masks.brackets & !strings.advance(&masks);
        while brackets != 0 {
            let at = brackets.trailing_zeros() as usize;
            brackets &= brackets - 1;
            match block.get(at) {
                Some(byte @ (b'{' | b'[')) => {
                    if self.own + self.depth >= MAX_DEPTH {
                        return BlockOutcome::BracketFault(at, BracketFault::TooDeep);
                    }
                    self.objects = self.objects << 1 | u128::from(*byte == b'{');
                    self.own += 1;
                }
                Some(byte @ (b'}' | b']')) => {
                    let object = self.objects & 1 == 1;
                    if object != (*byte == b'}') {
                        let what = if object { "`,` or `}`" } else { "`,` or `]`" };
                        return BlockOutcome::BracketFault(at, BracketFault::Expected(what));
                    }
                    self.objects >>= 1;
                    self.own -= 1;
                    if self.own == 0 {
                        return BlockOutcome::Until(at);
                    }
                }
                _ => return BlockOutcome::BracketFault(at, BracketFault::Expected("a value")),
            }
        }
        BlockOutcome::All
    }
}

/// Where a scalar that is not a string ends.
pub(super) fn ends_scalar(byte: u8) -> bool {
    is_space(byte) || matches!(byte, b',' | b']' | b'}' | b':' | b'"' | b'[' | b'{')
}
