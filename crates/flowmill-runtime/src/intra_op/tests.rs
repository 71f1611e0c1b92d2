#![allow(clippy::unwrap_used, clippy::panic)]

use super::*;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU32, Ordering};

fn in_pool<R: Send>(threads: usize, f: impl FnOnce() -> R + Send) -> R {
    pool(threads).unwrap().install(|| {
        let _step = step().unwrap();
        f()
    })
}

/// Runs that many pieces and checks that each ran once.
fn check(pieces: usize, inner: impl Fn(usize) + Sync) {
    let counts: Vec<AtomicU32> = (0..pieces).map(|_| AtomicU32::new(0)).collect();
    run(pieces, &|i| {
        inner(i);
        counts[i].fetch_add(1, Ordering::Relaxed);
    });
    assert!(counts.iter().all(|c| c.load(Ordering::Relaxed) == 1));
}

#[test]
fn each_piece_runs_once() {
    for threads in 1..5 {
        in_pool(threads, || {
            for pieces in [0, 1, 2, 3, 63, 64, 65, 127, 1000] {
                (0..200).for_each(|_| check(pieces, |_| ()));
            }
        });
    }
}

#[test]
fn pieces_may_fork_again() {
    in_pool(3, || (0..100).for_each(|_| check(5, |_| check(7, |_| check(2, |_| ())))));
}

#[test]
fn several_threads_fork_at_once() {
    in_pool(3, || {
        rayon::scope(|scope| {
            for _ in 0..6 {
                scope.spawn(|_| (0..200).for_each(|_| check(9, |_| ())));
            }
        });
    });
}

#[test]
fn other_threads_take_part() {
    in_pool(2, || {
        let start = std::time::Instant::now();
        let arrived = AtomicU32::new(0);
        // Each of the two pieces waits for the other.
        run(2, &|_| {
            arrived.fetch_add(1, Ordering::SeqCst);
            while arrived.load(Ordering::SeqCst) < 2 && start.elapsed().as_secs() < 20 {
                std::thread::yield_now();
            }
        });
        assert_eq!(arrived.load(Ordering::SeqCst), 2);
        assert!(start.elapsed().as_secs() < 20, "nobody helped");
    });
}

#[test]
fn a_panic_of_any_piece_comes_out_and_the_team_goes_on() {
    in_pool(3, || {
        for bad in 0..9 {
            let panic = catch_unwind(AssertUnwindSafe(|| run(9, &|i| assert!(i != bad, "piece {i}"))));
            assert!(panic.is_err());
            check(9, |_| ());
        }
    });
}

#[test]
fn nobody_waits_when_no_step_runs() {
    let pool = pool(2).unwrap();
    let is_warm_after = |with_step: bool| {
        pool.install(|| {
            let guard = with_step.then(|| step().unwrap());
            check(64, |_| std::thread::sleep(std::time::Duration::from_micros(20)));
            drop(guard);
            let start = std::time::Instant::now();
            while is_warm() && start.elapsed().as_secs() < 20 {
                std::thread::yield_now();
            }
            is_warm()
        })
    };
    assert!(!is_warm_after(true));
    assert!(!is_warm_after(false));
}
