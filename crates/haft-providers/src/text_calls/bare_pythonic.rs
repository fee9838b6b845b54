//! `f(a=1)` anywhere, for offered names

use super::cursor::Cursor;
use super::offered::Offered;
use super::pythonic::call;
use super::scan::{Input, Placed, Reading, settle};

#[derive(Debug)]
pub(super) struct BarePythonic {
    offered: Offered,
}

impl BarePythonic {
    pub(super) fn new(offered: &Offered) -> Self {
        Self { offered: offered.clone() }
    }
}

impl Placed for BarePythonic {
    fn candidate(&self, text: &str, from: usize, to: usize) -> Option<usize> {
        self.offered.find(text, from, to, b'(')
    }

    fn read(&mut self, text: &str, start: usize, input: Input) -> Reading {
        let mut at = Cursor::new(text, start);
        let read = call(&mut at).map(|it| (at.at, vec![it]));
        let name = text.get(start..).and_then(|it| it.find('(')).unwrap_or(0);
        settle(read, start + name + 1, input)
    }

    fn held(&self, text: &str, from: usize) -> usize {
        self.offered.held(text, from)
    }
}
