//! Logs and metrics: set up once, every name in one place.
//!
//! Logs are constant messages with fields; message texts, credentials and whole header maps are never fields. Metric
//! labels are closed sets (outcome, dialect, operation, kind of finding), never names that a caller chooses. Tenants and
//! cards are labels where an administrator made them, as many as [`Calls::MOST`]; the rest count together.

use prometheus::proto::{Counter, LabelPair, Metric, MetricFamily, MetricType};
use prometheus::{
    Encoder as _, Histogram, HistogramOpts, HistogramVec, IntCounter, IntCounterVec, IntGauge, IntGaugeVec, Opts,
    Registry,
};

use crate::config::{LogFormat, Telemetry};
use std::collections::HashSet;
use std::sync::{PoisonError, RwLock};

/// Sends log lines to standard error in the configured form. The first call wins; later ones are no error, because a
/// test binary starts many gateways.
pub fn init(settings: &Telemetry) {
    let filter = tracing_subscriber::EnvFilter::new(&settings.level);
    let lines = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    // `try_init` fails only when a subscriber is set already.
    let _ = match settings.format {
        LogFormat::Json => lines.json().flatten_event(true).with_current_span(false).try_init(),
        LogFormat::Pretty => lines.compact().try_init(),
    };
}

/// Every metric of the gateway.
#[derive(Debug)]
pub struct Metrics {
    registry: Registry,
    /// `chancery_requests_total{outcome,dialect,operation}`: finished requests.
    pub requests: IntCounterVec,
    /// `chancery_refusals_total{reason}`: requests that the gateway refused, also those that proved nobody.
    pub refusals: IntCounterVec,
    /// `chancery_calls_total{tenant,card,operation,outcome}`: finished calls of cards that exist.
    pub calls: Calls,
    /// `chancery_call_seconds{operation}`: from a call's head to its last byte.
    pub call_seconds: HistogramVec,
    /// `chancery_findings_total{detector,action,surface,mode}`: what guardrails saw.
    pub findings: IntCounterVec,
    /// `chancery_guard_seconds`: time that the guardrails took for one call, guards outside included.
    pub guard_seconds: Histogram,
    /// `chancery_upstream_failures_total{kind}`: calls that agents did not answer, or broke off.
    pub upstream_failures: IntCounterVec,
    /// `chancery_requests_in_flight`: requests that are being served.
    pub in_flight: IntGauge,
    /// `chancery_streams_open`: event streams that are open.
    pub streams: IntGauge,
    /// `chancery_bytes_in_flight`: bytes of bodies held in memory.
    pub bytes_in_flight: IntGauge,
    /// `chancery_upstream_seconds`: time until an agent's response head.
    pub upstream_seconds: Histogram,
    /// `chancery_request_seconds`: time until a call's own response head.
    pub request_seconds: Histogram,
    /// `chancery_audit_spool_bytes`: bytes of records on disk that the store has not got yet.
    pub audit_spool_bytes: IntGauge,
    /// `chancery_audit_open_records`: records of exchanges that have not ended.
    pub audit_open: IntGauge,
    /// `chancery_audit_shipped_records`: records brought to the store since the start.
    pub audit_shipped: IntGauge,
    /// `chancery_audit_lost_records`: exchanges without a complete record since the start.
    pub audit_lost: IntGauge,
    /// `chancery_audit_rejected_records`: records that the store refused; they lie in `rejected.jsonl`.
    pub audit_rejected: IntGauge,
    /// `chancery_audit_store_failures`: failed attempts to reach the store since the last success.
    pub audit_store_failures: IntGauge,
    /// `chancery_connections_open{listener}`: open connections.
    pub connections: IntGaugeVec,
    /// `chancery_connections_refused_total{listener}`: connections closed because there were too many.
    pub connections_refused: IntCounterVec,
    /// `chancery_registry_revision`: the store's revision in force.
    pub registry_revision: IntGauge,
    /// `chancery_registry_bad_rows`: rows that were left out because they are wrong.
    pub registry_bad_rows: IntGauge,
    /// `chancery_registry_stale_seconds`: time since the store was last read.
    pub registry_stale_seconds: IntGauge,
    /// `chancery_cards_signed_total`: cards built and signed.
    pub cards_signed: IntCounter,
    /// `chancery_task_panics`: background tasks that panicked.
    pub task_panics: IntGauge,
    /// `chancery_relaxed_option{option}`: 1 for each option in force that trades safety for something else.
    pub relaxed: IntGaugeVec,
}

impl Metrics {
    /// All metrics, at zero, in a registry of their own.
    ///
    /// # Errors
    /// Two metrics of one name: a mistake in this file.
    pub fn new() -> Result<Self, prometheus::Error> {
        let registry = Registry::new();
        let of = Maker { registry: &registry };
        Ok(Self {
            requests: of.counters(
                "chancery_requests_total",
                "Finished requests",
                &["outcome", "dialect", "operation"],
            )?,
            refusals: of.counters("chancery_refusals_total", "Requests the gateway refused", &["reason"])?,
            calls: Calls::new(of.counters(
                "chancery_calls_total",
                "Finished calls of cards that exist",
                &["tenant", "card", "operation", "outcome"],
            )?),
            call_seconds: of.histograms(
                "chancery_call_seconds",
                "Time from a call's head to its last byte",
                &["operation"],
            )?,
            findings: of.counters(
                "chancery_findings_total",
                "What guardrails saw",
                &["detector", "action", "surface", "mode"],
            )?,
            guard_seconds: of.histogram("chancery_guard_seconds", "Time the guardrails took for one call")?,
            upstream_failures: of.counters(
                "chancery_upstream_failures_total",
                "Calls that agents did not answer, or broke off",
                &["kind"],
            )?,
            in_flight: of.gauge("chancery_requests_in_flight", "Requests being served")?,
            streams: of.gauge("chancery_streams_open", "Event streams that are open")?,
            bytes_in_flight: of.gauge("chancery_bytes_in_flight", "Bytes of bodies held in memory")?,
            upstream_seconds: of.histogram("chancery_upstream_seconds", "Time until an agent's response head")?,
            request_seconds: of.histogram("chancery_request_seconds", "Time until a call's own response head")?,
            audit_spool_bytes: of.gauge("chancery_audit_spool_bytes", "Bytes of records not in the store yet")?,
            audit_open: of.gauge("chancery_audit_open_records", "Records of exchanges that have not ended")?,
            audit_shipped: of.gauge("chancery_audit_shipped_records", "Records brought to the store")?,
            audit_lost: of.gauge("chancery_audit_lost_records", "Exchanges without a complete record")?,
            audit_rejected: of.gauge("chancery_audit_rejected_records", "Records that the store refused")?,
            audit_store_failures: of.gauge("chancery_audit_store_failures", "Failed attempts to reach the store")?,
            connections: of.gauges("chancery_connections_open", "Open connections", &["listener"])?,
            connections_refused: of.counters(
                "chancery_connections_refused_total",
                "Connections closed because there were too many",
                &["listener"],
            )?,
            registry_revision: of.gauge("chancery_registry_revision", "The store's revision in force")?,
            registry_bad_rows: of.gauge("chancery_registry_bad_rows", "Rows left out because they are wrong")?,
            registry_stale_seconds: of.gauge("chancery_registry_stale_seconds", "Time since the store was read")?,
            cards_signed: of.counter("chancery_cards_signed_total", "Cards built and signed")?,
            task_panics: of.gauge("chancery_task_panics", "Background tasks that panicked")?,
            relaxed: of.gauges("chancery_relaxed_option", "Options in force that trade safety away", &["option"])?,
            registry,
        })
    }

    /// The text that `/metrics` serves.
    #[must_use]
    pub fn render(&self, labels: Labels) -> Vec<u8> {
        let mut text = Vec::new();
        let mut families = self.registry.gather();
        match labels {
            Labels::All => {}
            Labels::WithoutNames => families.iter_mut().for_each(without_names),
        }
        if let Err(error) = prometheus::TextEncoder::new().encode(&families, &mut text) {
            tracing::error!(%error, "the metrics could not be written");
        }
        text
    }
}

/// Which labels of metrics are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Labels {
    /// All.
    All,
    /// Without the names of tenants and cards: sums over them.
    WithoutNames,
}

/// Adds up what differs by a name alone. Counters are all that is counted by name; whatever else were, is left out.
fn without_names(family: &mut MetricFamily) {
    let is_name = |label: &LabelPair| NAMES.contains(&label.name());
    if !family.get_metric().iter().any(|metric| metric.get_label().iter().any(is_name)) {
        return;
    }
    let mut sums: Vec<(Vec<LabelPair>, f64)> = Vec::new();
    if family.get_field_type() == MetricType::COUNTER {
        for metric in family.get_metric() {
            let labels: Vec<LabelPair> = metric.get_label().iter().filter(|label| !is_name(label)).cloned().collect();
            let value = metric.get_counter().get_value();
            match sums.iter_mut().find(|(known, _)| *known == labels) {
                Some((_, sum)) => *sum += value,
                None => sums.push((labels, value)),
            }
        }
    }
    let summed = sums.into_iter().map(|(labels, sum)| {
        let mut counter = Counter::default();
        counter.set_value(sum);
        let mut metric = Metric::from_label(labels);
        metric.set_counter(counter);
        metric
    });
    family.set_metric(summed.collect());
}

/// Labels that name what is a tenant's own.
const NAMES: [&str; 2] = ["tenant", "card"];

/// Calls by tenant and card, as many as may be told apart.
#[derive(Debug)]
pub struct Calls {
    counters: IntCounterVec,
    known: RwLock<HashSet<(String, String)>>,
}

impl Calls {
    /// Most cards that are counted each by itself.
    pub const MOST: usize = 1_000;
    /// What the others are called.
    const OTHERS: &'static str = "_others";

    fn new(counters: IntCounterVec) -> Self {
        Self { counters, known: RwLock::default() }
    }

    /// Counts one call.
    pub fn count(&self, tenant: &str, card: &str, operation: &str, outcome: &str) {
        let (tenant, card) = if self.is_known(tenant, card) { (tenant, card) } else { (Self::OTHERS, Self::OTHERS) };
        self.counters.with_label_values(&[tenant, card, operation, outcome]).inc();
    }

    fn is_known(&self, tenant: &str, card: &str) -> bool {
        let pair = (tenant.to_owned(), card.to_owned());
        if self.known.read().unwrap_or_else(PoisonError::into_inner).contains(&pair) {
            return true;
        }
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= Self::MOST {
            return known.contains(&pair);
        }
        known.insert(pair);
        true
    }
}

struct Maker<'a> {
    registry: &'a Registry,
}

impl Maker<'_> {
    fn add<T: prometheus::core::Collector + Clone + 'static>(&self, metric: T) -> Result<T, prometheus::Error> {
        self.registry.register(Box::new(metric.clone()))?;
        Ok(metric)
    }

    fn counter(&self, name: &str, help: &str) -> Result<IntCounter, prometheus::Error> {
        self.add(IntCounter::new(name, help)?)
    }

    fn counters(&self, name: &str, help: &str, labels: &[&str]) -> Result<IntCounterVec, prometheus::Error> {
        self.add(IntCounterVec::new(Opts::new(name, help), labels)?)
    }

    fn gauge(&self, name: &str, help: &str) -> Result<IntGauge, prometheus::Error> {
        self.add(IntGauge::new(name, help)?)
    }

    fn gauges(&self, name: &str, help: &str, labels: &[&str]) -> Result<IntGaugeVec, prometheus::Error> {
        self.add(IntGaugeVec::new(Opts::new(name, help), labels)?)
    }

    fn histogram(&self, name: &str, help: &str) -> Result<Histogram, prometheus::Error> {
        self.add(Histogram::with_opts(HistogramOpts::new(name, help).buckets(SECONDS.to_vec()))?)
    }

    fn histograms(&self, name: &str, help: &str, labels: &[&str]) -> Result<HistogramVec, prometheus::Error> {
        self.add(HistogramVec::new(HistogramOpts::new(name, help).buckets(SECONDS.to_vec()), labels)?)
    }
}

const SECONDS: [f64; 14] = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0, 60.0, 300.0];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_metric_is_rendered_under_its_name() {
        let metrics = Metrics::new().unwrap();
        metrics.requests.with_label_values(&["ok", "v10_jsonrpc", "send"]).inc();
        metrics.streams.set(3);
        let text = String::from_utf8(metrics.render(Labels::All)).unwrap();
        assert!(text.contains("chancery_requests_total{dialect=\"v10_jsonrpc\",operation=\"send\",outcome=\"ok\"} 1"));
        assert!(text.contains("chancery_streams_open 3"));
    }

    #[test]
    fn cards_beyond_the_most_count_together() {
        let metrics = Metrics::new().unwrap();
        for card in 0..Calls::MOST + 20 {
            metrics.calls.count("acme", &card.to_string(), "send", "ok");
        }
        metrics.calls.count("acme", "7", "send", "ok");
        let text = String::from_utf8(metrics.render(Labels::All)).unwrap();
        let series = text.lines().filter(|line| line.starts_with("chancery_calls_total{")).count();
        assert_eq!(series, Calls::MOST + 1);
        let others = r#"chancery_calls_total{card="_others",operation="send",outcome="ok",tenant="_others"} 20"#;
        assert!(text.contains(others) && text.contains(r#"{card="7",operation="send",outcome="ok",tenant="acme"} 2"#));
        // Without names it is one sum for each of the other labels.
        metrics.calls.count("acme", "7", "get", "ok");
        let text = String::from_utf8(metrics.render(Labels::WithoutNames)).unwrap();
        let series: Vec<_> = text.lines().filter(|line| line.starts_with("chancery_calls_total{")).collect();
        let all = Calls::MOST + 21;
        let sum = format!(r#"chancery_calls_total{{operation="send",outcome="ok"}} {all}"#);
        assert_eq!(series.len(), 2, "{series:?}");
        assert!(series.contains(&sum.as_str()) && !text.contains("acme"), "{series:?}");
    }
}
