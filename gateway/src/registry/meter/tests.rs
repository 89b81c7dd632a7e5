//! Rates, quotas and leases at times that the test chooses.

use super::*;

/// 2026-11-30 23:59:30 UTC.
const NOW: Micros = 1_796_083_170_000_000;

fn allowance(per_minute: u32) -> Allowance {
    Allowance { per_minute: NonZeroU32::new(per_minute), ..Allowance::default() }
}

#[test]
fn periods_begin_where_the_calendar_says() {
    assert_eq!(day_of(NOW), NOW - (DAY - 30_000_000));
    assert_eq!(month_of(NOW), day_of(NOW) - 29 * DAY);
    assert_eq!(month_after(NOW), day_of(NOW) + DAY);
    assert_eq!(month_of(NOW + MINUTE), day_of(NOW) + DAY);
    assert_eq!(month_after(NOW + MINUTE), day_of(NOW) + 32 * DAY);
}

#[test]
fn a_rate_admits_a_minutes_calls_at_once_and_then_says_exactly_when() {
    let (meter, four) = (Meter::of("acme", "tenant"), allowance(4));
    for left in (0..4).rev() {
        meter.spend(&four, Rates::Local, NOW).unwrap();
        assert_eq!(meter.left_in_minute(four.per_minute.unwrap(), Rates::Local, NOW), left);
    }
    assert_eq!(meter.spend(&four, Rates::Local, NOW), Err(Spent::Rate(Duration::from_secs(15))));
    assert_eq!(meter.spend(&four, Rates::Local, NOW + 5_000_000), Err(Spent::Rate(Duration::from_secs(10))));
    assert_eq!(meter.spend(&four, Rates::Local, NOW + 14_999_999), Err(Spent::Rate(Duration::from_micros(1))));
    assert_eq!(meter.spend(&four, Rates::Local, NOW + 15_000_000), Ok(()));
    meter.give_back(&four, Rates::Local);
    assert_eq!(meter.wait(&four, Rates::Local, NOW + 15_000_000), None);
    assert_eq!(meter.spend(&four, Rates::Local, NOW + 15_000_000), Ok(()));
    // A clock that is set back by an hour locks nobody out for longer than a minute.
    let back = meter.spend(&four, Rates::Local, NOW - 60 * MINUTE).unwrap_err();
    assert!(back.wait() <= Duration::from_secs(60), "{back:?}");
}

#[test]
fn a_quota_is_used_up_over_all_replicas_and_comes_back_with_the_day() {
    let meter = Meter::of("acme", "tenant");
    let quota = Allowance { daily: Some(3), monthly: Some(100), ..Allowance::default() };
    meter.spend(&quota, Rates::Local, NOW).unwrap();
    let news = meter.news();
    let (day, month) = (day_of(NOW), month_of(NOW));
    assert_eq!(news.counts, [(Period::Day, day, 1), (Period::Month, month, 1)]);
    meter.spend(&quota, Rates::Local, NOW).unwrap();
    // Another replica has used one.
    meter.stored(Period::Day, day, 2);
    meter.stored(Period::Month, month, 2);
    assert_eq!(meter.used(NOW), (3, 3));
    assert_eq!(meter.spend(&quota, Rates::Local, NOW), Err(Spent::Quota(Duration::from_secs(30))));
    assert_eq!(meter.spend(&quota, Rates::Local, NOW + MINUTE), Ok(()));
    // What yesterday left behind is still told.
    let news = meter.news();
    assert!(news.counts.contains(&(Period::Day, day, 1)) && news.counts.contains(&(Period::Day, day + DAY, 1)));
    assert_eq!(meter.news().counts, []);
    meter.not_stored(news.clone());
    assert_eq!(meter.news().counts.len(), news.counts.len());
}

#[test]
fn a_refused_call_costs_no_rate() {
    let meter = Meter::of("acme", "tenant");
    let both = Allowance { daily: Some(1), ..allowance(2) };
    meter.spend(&both, Rates::Local, NOW).unwrap();
    for _ in 0..5 {
        assert!(matches!(meter.spend(&both, Rates::Local, NOW), Err(Spent::Quota(_))));
    }
    assert_eq!(meter.left_in_minute(both.per_minute.unwrap(), Rates::Local, NOW), 1);
}

/// Replicas that share a minute stay within the budget and one part each, whatever they are told when.
#[test]
fn leases_bound_what_replicas_use_together() {
    let hundred = allowance(100);
    let replicas: Vec<_> = (0..4).map(|_| Meter::of("acme", "tenant")).collect();
    let (mut stored, mut used) = (0_u64, 0_u64);
    for _ in 0..200 {
        for meter in &replicas {
            while meter.spend(&hundred, Rates::Shared, NOW).is_ok() {
                used += 1;
            }
        }
        for meter in &replicas {
            let Some((starts, beyond, wanted, most)) = meter.news().lease else { continue };
            stored += beyond;
            let given = wanted.min(most.saturating_sub(stored));
            stored += given;
            meter.leased(starts, given);
        }
    }
    assert!((100..=130).contains(&used), "{used}");
    let spent = replicas[0].spend(&hundred, Rates::Shared, NOW).unwrap_err();
    assert!(spent.wait() <= Duration::from_secs(30), "{spent:?}");
    // The next minute begins anew, and a single replica gets all of it.
    let next = NOW + MINUTE;
    let mut alone = 0;
    for _ in 0..20 {
        while replicas[0].spend(&hundred, Rates::Shared, next).is_ok() {
            alone += 1;
        }
        if let Some((starts, _, wanted, _)) = replicas[0].news().lease {
            replicas[0].leased(starts, wanted);
        }
    }
    assert_eq!(alone, 100);
}
