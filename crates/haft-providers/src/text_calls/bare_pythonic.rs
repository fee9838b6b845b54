//! `f(a=1)` anywhere, for offered names

use super::cursor::Cursor;
use super::offered::OfferedNames;
use super::pythonic::call;
use super::scan::{GrammarReading, InlineGrammar, Input, finish_reading};

#[derive(Debug)]
pub(super) struct BarePythonic {
    offered: OfferedNames,
}

impl BarePythonic {
    pub(super) fn new(offered: &OfferedNames) -> Self {
        Self { offered: offered.clone() }
    }
}

impl InlineGrammar for BarePythonic {
    fn find_candidate(&self, text: &str, from: usize, to: usize) -> Option<usize> {
        self.offered.find(text, from, to, b'(')
    }

    fn read_candidate(&mut self, text: &str, start: usize, input: Input) -> GrammarReading {
        let mut at = Cursor::new(text, start);
        let read = call(&mut at).map(|it| (at.at, vec![it]));
        let name = text.get(start..).and_then(|it| it.find('(')).unwrap_or(0);
        finish_reading(read, start + name + 1, input)
    }

    fn held_back(&self, text: &str, from: usize) -> usize {
        self.offered.held_back(text, from)
    }
}
