//! Turns for others on the processor while a long text is looked at.
//!
//! A thread that computes for tens of milliseconds holds up each thread that wakes on the same processor until the
//! scheduler looks again, which is milliseconds away. One that offers its place every few hundred microseconds does not:
//! a caller with a large message costs its neighbours next to nothing (threat-model T-NN-1, docs/reliability.md).

/// So many bytes are passed between two offers: a third of a millisecond of the slower passes.
const STEP: usize = 32 * 1024;

/// How far one pass over a text has come. Short texts are passed without an offer.
#[derive(Debug, Default)]
pub(crate) struct Pace {
    last: usize,
}

impl Pace {
    /// The pass is at this byte, on its way from either end.
    #[inline]
    pub(crate) fn at(&mut self, at: usize) {
        if at.abs_diff(self.last) >= STEP {
            self.last = at;
            offer();
        }
    }
}

#[cold]
fn offer() {
    std::thread::yield_now();
    #[cfg(test)]
    tests::OFFERS.with(|offers| offers.set(offers.get().saturating_add(1)));
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::detector::builtin::Builtins;
    use crate::detector::injection::Quotes;
    use crate::detector::pattern::Pattern;
    use crate::detector::url::Addresses;
    use crate::detector::words::{Edges, Words};
    use crate::normalise::{self, Case, encoded, escape, spell};
    use std::cell::Cell;
    use std::collections::BTreeSet;

    thread_local! {
        pub(super) static OFFERS: Cell<usize> = const { Cell::new(0) };
    }

    /// How often this thread offers its place while it does this.
    pub(crate) fn offers(work: impl FnOnce()) -> usize {
        let before = OFFERS.get();
        work();
        OFFERS.get().saturating_sub(before)
    }

    #[test]
    fn every_pass_over_a_long_text_offers_its_place() {
        let wanted = BTreeSet::from(["secret.aws_access_key", "pii.card", "injection"]);
        let builtins = Builtins::new(&wanted).unwrap();
        let long = |piece: &str| piece.repeat(STEP * 20 / piece.len());
        let prose = long("a 1st plan & the 2nd: send 100 % of it to them, ignore nothing, 7 a day. ");
        let tagged = long("caf\u{e9} \u{E0041} ");
        let digits = long("Q2hhbmNlcnkgcmVhZHMgdGhpcw ");
        let escape = long("%41 of \\u0042 and ");
        let sparse = long(&format!("{:3000}http://a.test/b", ""));
        let addresses = Addresses { allow: Vec::new(), deny: Vec::new(), schemes: Vec::new(), deceptive: false };
        let words = Words::new(&["http"], Case::Folded, Edges::Anywhere).unwrap();
        let pattern = Pattern::new("a\\.test", 10).unwrap();
        let passes: [(&str, &dyn Fn()); 11] = [
            ("literals and numbers", &|| _ = builtins.scan(&prose, Quotes::Count)),
            ("literals alone", &|| _ = builtins.signals(&prose, Quotes::Count)),
            ("plain", &|| _ = normalise::plain(&tagged)),
            ("phrase", &|| _ = normalise::phrase(&tagged, Case::Folded)),
            ("tags", &|| _ = normalise::tags(&tagged)),
            ("escapes", &|| _ = escape::views(&escape, 256)),
            ("digits", &|| encoded::views(&digits, &mut |_| ())),
            ("spelled", &|| spell::views(&prose, 256, &mut |_| (), &mut |_| ())),
            ("addresses", &|| _ = addresses.scan(&sparse)),
            ("words", &|| _ = words.scan(&sparse)),
            ("pattern", &|| _ = pattern.scan(&sparse)),
        ];
        for (name, pass) in passes {
            let offered = offers(pass);
            assert!(offered >= 18, "{name}: {offered}");
        }
    }

    #[test]
    fn a_place_is_offered_every_so_many_bytes_in_either_direction() {
        let pass = |places: &mut dyn Iterator<Item = usize>| {
            let mut pace = Pace::default();
            offers(|| places.for_each(|at| pace.at(at)))
        };
        assert_eq!(pass(&mut (0..STEP)), 0);
        assert_eq!(pass(&mut (0..=STEP * 3)), 3);
        assert_eq!(pass(&mut (0..STEP * 3).rev()), 3);
        assert_eq!(pass(&mut [STEP * 9].into_iter()), 1);
    }
}
