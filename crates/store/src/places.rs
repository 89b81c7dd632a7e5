//! Places among calls in flight and open streams that replicas hold of a limit which they share.
//!
//! A replica asks for places of a subject before it fills them, keeps them by asking again, and loses them when it has
//! not asked for as long as a lease lasts: what a dead one held is free then. When that is, the database's clock says where
//! several processes share it, so that theirs need not agree; SQLite's one process says it itself. Leases do not bump the
//! revision. What a replica uses already is held whatever is left, so that nobody else is lent it.

use crate::open::Durability;
use crate::sql::Lane;
use crate::{Error, Result, Store, Table, TenantId, text};

word! {
    /// What a place is among.
    PlaceKind {
        /// Calls in flight.
        Call = "call",
        /// Open streams.
        Stream = "stream",
    }
}

/// What a replica asks for of one limit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlaceWish {
    /// Whose.
    pub tenant: TenantId,
    /// Of what: the tenant itself, a principal, a card or a grant.
    pub subject: String,
    /// Among what.
    pub kind: PlaceKind,
    /// How many it fills now.
    pub in_use: i64,
    /// How many more it wants at least.
    pub more: i64,
    /// How many all replicas may fill together.
    pub most: i64,
}

row! {
    /// What the other replicas hold.
    Others in SharedPlaces {
        /// How many places.
        held: i64,
        /// How many replicas.
        replicas: i64,
    }
}

impl Store {
    /// Lends places to `replica` for `lasting` microseconds; gives how many it may fill, in the order of `wishes`. One
    /// replica alone gets all; several get what they use, what more they want, and equal parts of the rest. `now` counts
    /// on SQLite alone.
    pub async fn lend_places(&self, replica: &str, wishes: &[PlaceWish], now: i64, lasting: i64) -> Result<Vec<i64>> {
        text::key("replica", replica)?;
        let mut order: Vec<usize> = (0..wishes.len()).collect();
        // In one order for everybody, so that two replicas never wait for each other.
        order.sort_by_key(|at| wishes.get(*at).map(PlaceWish::key));
        let mut lent = vec![0; wishes.len()];
        let mut tx = self.begin(Durability::Written).await?;
        let now = time_of(tx.lane(), now).await?;
        let until = now.saturating_add(lasting);
        for at in order {
            let (Some(wish), Some(lent)) = (wishes.get(at), lent.get_mut(at)) else { continue };
            text::key("subject", &wish.subject)?;
            let (tenant, subject, kind) = wish.key();
            let tenant = tenant.as_str();
            x!(tx, LOCK, tenant, subject, kind, until)?;
            let others = one!(tx, Others, OTHERS, tenant, subject, kind, replica, now)?.ok_or(LOST)?;
            *lent = wish.share(&others);
            // What is filled already is held, too.
            let held = (*lent).max(wish.in_use);
            x!(tx, HOLD, tenant, subject, kind, replica, held, until)?;
        }
        tx.commit().await?;
        Ok(lent)
    }

    /// Gives up what `replica` holds of these.
    pub async fn give_up_places(&self, replica: &str, of: &[(TenantId, String, PlaceKind)]) -> Result<()> {
        let mut order: Vec<(&str, &str, &str)> =
            of.iter().map(|(tenant, subject, kind)| (tenant.as_str(), subject.as_str(), kind.as_str())).collect();
        order.sort_unstable();
        let mut tx = self.begin(Durability::Written).await?;
        for (tenant, subject, kind) in order {
            x!(tx, GIVE_UP, tenant, subject, kind, replica)?;
        }
        tx.commit().await
    }

    /// Gives up all that `replica` holds; gives of how many limits that was.
    pub async fn give_up_all_places(&self, replica: &str) -> Result<u64> {
        let mut tx = self.begin(Durability::Written).await?;
        let given = x!(tx, GIVE_UP_ALL, replica)?;
        tx.commit().await?;
        Ok(given)
    }

    /// Forgets leases that ended more than `kept` microseconds ago; gives how many. `now` counts on SQLite alone.
    pub async fn forget_places(&self, now: i64, kept: i64) -> Result<u64> {
        let mut tx = self.begin(Durability::Written).await?;
        let now = time_of(tx.lane(), now).await?;
        let forgotten = x!(tx, FORGET, now.saturating_sub(kept))?;
        tx.commit().await?;
        Ok(forgotten)
    }
}

impl PlaceWish {
    fn key(&self) -> (&TenantId, &str, &str) {
        (&self.tenant, &self.subject, self.kind.as_str())
    }

    /// How many it may fill beside these others.
    fn share(&self, others: &Others) -> i64 {
        let free = self.most.saturating_sub(others.held).max(0);
        let wanted = self.in_use.saturating_add(self.more).min(self.most);
        let rest = free.saturating_sub(wanted).max(0) / others.replicas.saturating_add(1);
        wanted.saturating_add(rest).min(free)
    }
}

/// The time that leases are measured by: the database's where processes share it, else that of the one process.
async fn time_of(lane: Lane<'_>, now: i64) -> Result<i64> {
    match lane {
        Lane::Pg(connection) => Ok(sqlx::query_scalar(PG_NOW).fetch_one(connection).await?),
        Lane::Lite(_) => Ok(now),
    }
}

const LOST: Error = Error::Corrupt { table: Table::SharedPlaces, id: String::new() };

statements! {
    both {
        LOCK = "INSERT INTO shared_places (tenant, subject, kind, replica, held, expires) VALUES ($1, $2, $3, '', 0, $4)
            ON CONFLICT (tenant, subject, kind, replica) DO UPDATE SET expires = excluded.expires";
        OTHERS = "SELECT CAST(COALESCE(SUM(held), 0) AS BIGINT) AS held, COUNT(*) AS replicas FROM shared_places
            WHERE tenant = $1 AND subject = $2 AND kind = $3 AND replica <> '' AND replica <> $4 AND expires > $5";
        HOLD = "INSERT INTO shared_places (tenant, subject, kind, replica, held, expires) VALUES ($1, $2, $3, $4, $5, $6)
            ON CONFLICT (tenant, subject, kind, replica) DO UPDATE SET held = excluded.held, expires = excluded.expires";
        GIVE_UP = "DELETE FROM shared_places WHERE tenant = $1 AND subject = $2 AND kind = $3 AND replica = $4";
        GIVE_UP_ALL = "DELETE FROM shared_places WHERE replica = $1";
        FORGET = "DELETE FROM shared_places WHERE expires < $1";
    }
    postgres {
        PG_NOW = "SELECT CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000000 AS BIGINT)";
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// However often and in whatever order replicas ask, they are lent no more than there is.
    #[test]
    fn shares_leave_something_for_others_and_never_exceed_what_there_is() {
        let wish = |in_use, most| PlaceWish {
            tenant: TenantId::new("acme").unwrap(),
            subject: "tenant".to_owned(),
            kind: PlaceKind::Call,
            in_use,
            more: 1,
            most,
        };
        let others = |held, replicas| Others { held, replicas };
        assert_eq!(wish(0, 10).share(&others(0, 0)), 10, "alone");
        assert_eq!(wish(2, 10).share(&others(1, 1)), 6, "what it uses, one more, and half of the rest");
        assert_eq!(wish(0, 1).share(&others(1, 1)), 0, "there is none left");
        assert_eq!(wish(3, 4).share(&others(3, 1)), 1, "more is used than there is: as places come free");
        for (in_use, held, replicas, most) in (0..6).flat_map(|a| (0..9).map(move |b| (a, b, b.min(3), 7))) {
            let lent = wish(in_use, most).share(&others(held, replicas));
            assert!(lent >= 0 && lent + held <= most.max(held), "{in_use} {held} {most}: {lent}");
        }
    }
}
