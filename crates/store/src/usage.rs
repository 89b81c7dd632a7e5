//! What was used of limits in a minute, a day or a month, counted over all replicas.
//!
//! Replicas count by themselves and add what is new in batches; each addition gives the total of all of them. A minute
//! is leased instead: a replica asks for a part of what is left before it uses it. Counts do not bump the revision.

use crate::open::Durability;
use crate::{Error, Result, Store, Table, TenantId, text};

word! {
    /// What is counted in.
    Period {
        /// A day (UTC).
        Day = "day",
        /// A minute.
        Minute = "minute",
        /// A month (UTC).
        Month = "month",
    }
}

/// What one subject used in one period.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Usage {
    /// Whose.
    pub tenant: TenantId,
    /// Of what: the tenant itself, a principal, a card or a grant.
    pub subject: String,
    /// In what.
    pub period: Period,
    /// When that began (microseconds).
    pub starts: i64,
    /// How much.
    pub used: i64,
}

row! {
    /// A stored count.
    pub UsageRow in UsageCounts {
        /// Of what.
        subject: String,
        /// Whose.
        tenant: TenantId,
        /// In what.
        period: Period,
        /// When that began.
        starts: i64,
        /// How much.
        used: i64,
    }
}

impl Store {
    /// Adds what is new; gives the totals in the order of `usages`.
    pub async fn add_usage(&self, usages: &[Usage]) -> Result<Vec<i64>> {
        let mut order: Vec<usize> = (0..usages.len()).collect();
        // In one order for everybody, so that two replicas never wait for each other.
        order.sort_by_key(|at| usages.get(*at).map(Usage::key));
        let mut totals = vec![0; usages.len()];
        let mut tx = self.begin(Durability::Written).await?;
        for at in order {
            let (Some(usage), Some(total)) = (usages.get(at), totals.get_mut(at)) else { continue };
            text::key("subject", &usage.subject)?;
            let (tenant, subject, period) = (usage.tenant.as_str(), usage.subject.as_str(), usage.period.as_str());
            *total = one!(tx, i64, ADD, tenant, subject, period, usage.starts, usage.used)?.ok_or(LOST)?;
        }
        tx.commit().await?;
        Ok(totals)
    }

    /// Takes up to `usage.used` of what is left below `most`; gives how much was taken.
    pub async fn lease_usage(&self, usage: &Usage, most: i64) -> Result<i64> {
        text::key("subject", &usage.subject)?;
        let (tenant, subject, period) = (usage.tenant.as_str(), usage.subject.as_str(), usage.period.as_str());
        let mut tx = self.begin(Durability::Written).await?;
        // The addition of nothing locks the row, so that what is left stays left.
        let total = one!(tx, i64, ADD, tenant, subject, period, usage.starts, 0_i64)?.ok_or(LOST)?;
        let taken = usage.used.min(most.saturating_sub(total)).max(0);
        if taken > 0 {
            x!(tx, ADD, tenant, subject, period, usage.starts, taken)?;
        }
        tx.commit().await?;
        Ok(taken)
    }

    /// Every count of periods of this kind that began at `starts`.
    pub async fn usage(&self, period: Period, starts: i64) -> Result<Vec<UsageRow>> {
        let mut reader = self.reader().await?;
        q!(reader, UsageRow, CURRENT, period.as_str(), starts)
    }

    /// Forgets counts of periods of this kind that began before `before`; gives how many.
    pub async fn forget_usage(&self, period: Period, before: i64) -> Result<u64> {
        let mut tx = self.begin(Durability::Written).await?;
        let forgotten = x!(tx, FORGET, period.as_str(), before)?;
        tx.commit().await?;
        Ok(forgotten)
    }
}

impl Usage {
    fn key(&self) -> (&TenantId, &str, &str, i64) {
        (&self.tenant, &self.subject, self.period.as_str(), self.starts)
    }
}

const LOST: Error = Error::Corrupt { table: Table::UsageCounts, id: String::new() };

statements! {
    both {
        ADD = "INSERT INTO usage_counts (tenant, subject, period, starts, used) VALUES ($1, $2, $3, $4, $5)
            ON CONFLICT (tenant, subject, period, starts) DO UPDATE SET used = usage_counts.used + excluded.used
            RETURNING used";
        CURRENT = "SELECT subject, tenant, period, starts, used FROM usage_counts WHERE period = $1 AND starts = $2";
        FORGET = "DELETE FROM usage_counts WHERE period = $1 AND starts < $2";
    }
}
