//! Replaces what was found in the leaves of a tree. Leaves that one match goes over are painted as one text: the token
//! stands where the match begins, of what it covers in later leaves nothing is left.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use json::Json;

use crate::redact::{Bounds, Mark, Painter, Style};
use crate::scan::Piece;

/// What is to be painted.
#[derive(Debug, Default)]
pub(crate) struct Paint {
    marks: Vec<(Vec<Piece>, Style, usize)>,
    /// Leaf → another of the same text; a leaf that points to itself stands for all of them.
    joined: HashMap<usize, usize>,
}

/// Leaves that are painted together, and what in them.
#[derive(Debug, Default)]
struct Row {
    leaves: BTreeMap<usize, Arc<str>>,
    marks: Vec<usize>,
}

impl Paint {
    pub(crate) fn is_empty(&self) -> bool {
        self.marks.is_empty()
    }

    /// A match; `rank` says which of several that begin at one place counts.
    pub(crate) fn add(&mut self, pieces: &[Piece], style: Style, rank: usize) {
        let Some(first) = pieces.first() else { return };
        let root = self.root(first.ordinal);
        for piece in pieces {
            let other = self.root(piece.ordinal);
            self.joined.insert(other, root);
        }
        self.marks.push((pieces.to_vec(), style, rank));
    }

    fn root(&mut self, leaf: usize) -> usize {
        let mut at = leaf;
        loop {
            match self.joined.get(&at).copied() {
                Some(up) if up != at => at = up,
                Some(_) => break,
                None => {
                    self.joined.insert(at, at);
                    break;
                }
            }
        }
        self.joined.insert(leaf, at);
        at
    }

    /// Paints.
    pub(crate) fn apply(mut self, json: &mut Json) {
        let mut rows: BTreeMap<usize, Row> = BTreeMap::new();
        for at in 0..self.marks.len() {
            let Some(pieces) = self.marks.get(at).map(|(pieces, _, _)| pieces.clone()) else { continue };
            let Some(first) = pieces.first() else { continue };
            let row = rows.entry(self.root(first.ordinal)).or_default();
            row.marks.push(at);
            row.leaves.extend(pieces.into_iter().map(|piece| (piece.ordinal, piece.pointer)));
        }
        for row in rows.into_values() {
            self.row(&row, json);
        }
    }

    fn row(&self, row: &Row, json: &mut Json) {
        let mut text = String::new();
        let mut starts: HashMap<usize, usize> = HashMap::new();
        let mut bounds = vec![0];
        for (ordinal, pointer) in &row.leaves {
            starts.insert(*ordinal, text.len());
            text.push_str(json.pointer(pointer).and_then(Json::as_str).unwrap_or_default());
            bounds.push(text.len());
        }
        let place = |piece: &Piece, offset: usize| starts.get(&piece.ordinal).map(|start| start.saturating_add(offset));
        let marks = row.marks.iter().filter_map(|at| self.marks.get(*at));
        let mut marks: Vec<Mark> = marks
            .filter_map(|(pieces, style, rank)| {
                let (first, last) = (pieces.first()?, pieces.last()?);
                let span = place(first, first.span.start)?..place(last, last.span.end)?;
                Some(Mark { span, style: style.clone(), rank: *rank })
            })
            .collect();
        marks.sort_by_key(|mark| (mark.span.start, mark.rank));
        let mut out = vec![String::new(); row.leaves.len()];
        let bounds = Bounds::new(bounds);
        Painter::default().walk(&text, &marks, 0, text.len(), &mut |at, piece| bounds.write(at, piece, &mut out));
        for (pointer, out) in row.leaves.values().zip(out) {
            if let Some(Json::String(leaf)) = json.pointer_mut(pointer) {
                *leaf = out;
            }
        }
    }
}
