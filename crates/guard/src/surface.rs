//! Where guarding happens.

/// One of the places a policy can guard.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Surface {
    /// What enters the tenant: calls to its agents, webhook deliveries to them.
    Inbound,
    /// What leaves it: answers, faults, events.
    Outbound,
    /// Agent cards, at import and when served.
    Card,
}

impl Surface {
    /// Every surface.
    pub const ALL: [Self; 3] = [Self::Inbound, Self::Outbound, Self::Card];

    /// The name in policies and records.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Inbound => "a2a_inbound",
            Self::Outbound => "a2a_outbound",
            Self::Card => "card",
        }
    }

    /// The surface called `name`.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|surface| surface.name() == name)
    }
}
