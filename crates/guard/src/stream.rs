//! The same verdict for text that arrives in events.

use std::sync::Arc;

use json::{Json, Path};

use crate::pipeline::Pipeline;
use crate::surface::Surface;
use crate::verdict::Verdict;

/// How a piece of text belongs to its channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// It follows what the channel had before (`append: true`).
    Continues,
    /// The channel starts anew with it (`append: false`).
    Begins,
    /// It follows, and nothing will follow it (`lastChunk`).
    Ends,
    /// A complete unit: it starts and ends its channel.
    Whole,
}

/// The text one event adds to one channel.
#[derive(Clone, Copy, Debug)]
pub struct Passage<'a> {
    /// Names the channel within the stream, for example the task and artifact id.
    pub channel: &'a str,
    /// RFC 6901 pointers of the string leaves that continue the channel's text, in order.
    pub leaves: &'a [String],
    /// How they continue it.
    pub extent: Extent,
}

/// One stream under inspection.
pub struct Inspector {}

impl Inspector {
    /// An inspector under several policies at once (see [`crate::inspect_all`]).
    #[must_use]
    pub fn new(pipelines: Vec<Arc<Pipeline>>, surface: Surface) -> Self {
        let _ = (pipelines, surface);
        todo!()
    }

    /// Looks at one event: whole, and together with the end of what its channels had before. After a verdict of
    /// `Blocked` the stream must be cut.
    pub fn event(
        &mut self,
        json: &mut Json,
        structural: &dyn Fn(&Path<'_>) -> bool,
        passages: &[Passage<'_>],
    ) -> Verdict {
        let _ = (json, structural, passages);
        todo!()
    }
}
