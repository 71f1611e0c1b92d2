//! The slowest requests of the last minutes, with the time of each of their parts, for people who look.

use crate::metrics::{Protocol, Timings};
use flowmill::Code;
use flowmill::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// A request that was answered.
#[derive(Clone, Debug)]
pub(crate) struct RecentRequest {
    pub(crate) model: String,
    pub(crate) version: i64,
    pub(crate) signature: String,
    pub(crate) protocol: Protocol,
    /// The code of its error; `None` for success.
    pub(crate) code: Option<Code>,
    pub(crate) rows: usize,
    pub(crate) timings: Timings,
    pub(crate) ended: Instant,
}

/// The number of requests that are kept.
const CAPACITY: usize = 32;

/// The time after which a request is forgotten.
const LIFETIME: Duration = Duration::from_secs(600);

/// The slowest requests, slowest first.
#[derive(Debug)]
pub(crate) struct RecentRequests {
    requests: Mutex<Vec<RecentRequest>>,
    /// Nanoseconds: a faster request is not among the slowest. Read without the lock, for almost all requests are faster.
    threshold: AtomicU64,
    /// Nanoseconds since `start` after which one of the requests is forgotten, so that the threshold no longer holds.
    threshold_ends: AtomicU64,
    start: Instant,
}

impl Default for RecentRequests {
    fn default() -> RecentRequests {
        let (threshold, threshold_ends) = (AtomicU64::new(0), AtomicU64::new(u64::MAX));
        RecentRequests { requests: Mutex::default(), threshold, threshold_ends, start: Instant::now() }
    }
}

impl RecentRequests {
    /// Adds a request that took `total` and ended at `ended`, if it is among the slowest.
    pub(crate) fn record(&self, total: Duration, ended: Instant, request: impl FnOnce() -> RecentRequest) {
        if self.is_slow(total, ended) {
            self.insert(request());
        }
    }

    fn is_slow(&self, total: Duration, now: Instant) -> bool {
        let since_start = now.saturating_duration_since(self.start).as_nanos() as u64;
        total.as_nanos() as u64 > self.threshold.load(Relaxed) || since_start > self.threshold_ends.load(Relaxed)
    }

    fn insert(&self, request: RecentRequest) {
        let mut requests = self.requests.lock();
        let now = request.ended;
        requests.retain(|other| now.saturating_duration_since(other.ended) < LIFETIME);
        let place = requests.partition_point(|other| other.timings.total >= request.timings.total);
        requests.insert(place, request);
        requests.truncate(CAPACITY);
        let fastest = requests.last().filter(|_| requests.len() == CAPACITY).map_or(0, |request| request.timings.total.as_nanos() as u64);
        let first_end = requests.iter().map(|request| request.ended + LIFETIME).min();
        let ends = first_end.map_or(u64::MAX, |end| end.saturating_duration_since(self.start).as_nanos() as u64);
        self.threshold.store(fastest, Relaxed);
        self.threshold_ends.store(ends, Relaxed);
    }

    /// Returns the requests, slowest first.
    pub(crate) fn slowest(&self) -> Vec<RecentRequest> {
        let mut requests = self.requests.lock();
        requests.retain(|request| request.ended.elapsed() < LIFETIME);
        requests.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Offers a request of `millis` that ended `after` the start, as the server does.
    fn offer(requests: &RecentRequests, millis: u64, after: Duration) {
        let (timings, ended) = (Timings { total: Duration::from_millis(millis), ..Timings::default() }, requests.start + after);
        let (model, signature, protocol) = ("m".to_owned(), "s".to_owned(), Protocol::TfsRest);
        let request = || RecentRequest { model, version: 1, signature, protocol, code: None, rows: 1, timings, ended };
        requests.record(timings.total, ended, request);
    }

    fn millis(requests: &RecentRequests) -> Vec<u128> {
        requests.slowest().iter().map(|request| request.timings.total.as_millis()).collect()
    }

    #[test]
    fn the_slowest_requests_are_kept() {
        let requests = RecentRequests::default();
        (1..=100).for_each(|millis| offer(&requests, millis, Duration::ZERO));
        assert_eq!(millis(&requests), (69..=100).rev().collect::<Vec<_>>());
    }

    #[test]
    fn faster_requests_take_the_place_of_old_ones() {
        let requests = RecentRequests::default();
        (0..40).for_each(|_| offer(&requests, 1000, Duration::ZERO));
        offer(&requests, 5, LIFETIME / 2);
        assert_eq!(millis(&requests), [1000; CAPACITY]);
        offer(&requests, 5, LIFETIME * 2);
        assert_eq!(millis(&requests), [5]);
    }
}
