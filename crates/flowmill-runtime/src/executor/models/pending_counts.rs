//! Tokens arrive at a node and at a Merge.

use super::*;

#[derive(Clone, Copy, PartialEq)]
enum Design {
    Sound,
    RelaxedCount,
}

fn node_of_three_inputs(design: Design) {
    struct Node {
        counter: Counter,
        slots: [UnsafeCell<u32>; 3],
        fired: AtomicU32,
    }
    let node = Arc::new(Node { counter: Counter::new(ordinary(3)), slots: [0; 3].map(UnsafeCell::new), fired: AtomicU32::new(0) });
    let deliver = move |node: &Node, input: usize| {
        node.slots[input].with_mut(|slot| unsafe { *slot = input as u32 + 1 });
        let arrival = match design {
            Design::Sound => node.counter.arrive(input == 2, true),
            Design::RelaxedCount if node.counter.0.fetch_sub(1, Ordering::Relaxed) == 1 => Arrival::Dead,
            Design::RelaxedCount => Arrival::Pending,
        };
        if arrival != Arrival::Pending {
            assert_eq!(arrival, Arrival::Dead);
            for (i, slot) in node.slots.iter().enumerate() {
                slot.with(|slot| assert_eq!(unsafe { *slot }, i as u32 + 1));
            }
            node.fired.fetch_add(1, Ordering::Relaxed);
        }
    };
    let threads = [0, 1].map(|input| {
        let node = node.clone();
        loom::thread::spawn(move || deliver(&node, input))
    });
    deliver(&node, 2);
    threads.into_iter().for_each(|t| t.join().unwrap());
    assert_eq!(node.fired.load(Ordering::Relaxed), 1);
}

#[test]
fn a_node_fires_once_and_sees_all_inputs() {
    check(|| node_of_three_inputs(Design::Sound));
}

#[test]
fn rejected_relaxed_count() {
    rejects(|| node_of_three_inputs(Design::RelaxedCount));
}

/// Two live inputs and one control input; with `atomic` false each arrival is a load and a store.
fn merge_of_two(atomic: bool) {
    struct Node {
        counter: Counter,
        slots: [UnsafeCell<u32>; 2],
        fired: AtomicU32,
    }
    let node = Arc::new(Node { counter: Counter::new(merge(2, 1)), slots: [0; 2].map(UnsafeCell::new), fired: AtomicU32::new(0) });
    let fire = |node: &Node| {
        let winner = node.counter.winner();
        node.slots[winner as usize].with(|slot| assert_eq!(unsafe { *slot }, winner + 1));
        node.fired.fetch_add(1, Ordering::Relaxed);
    };
    let deliver = move |node: &Node, input: u32| {
        node.slots[input as usize].with_mut(|slot| unsafe { *slot = input + 1 });
        match node.counter.merge_live(input, atomic) {
            None => node.slots[input as usize].with_mut(|slot| unsafe { *slot = 0 }),
            Some(Arrival::Live) => fire(node),
            Some(arrival) => assert_eq!(arrival, Arrival::Pending),
        }
    };
    let threads = [0, 1].map(|input| {
        let node = node.clone();
        loom::thread::spawn(move || deliver(&node, input))
    });
    if node.counter.merge_control(atomic) == Arrival::Live {
        fire(&node);
    }
    threads.into_iter().for_each(|t| t.join().unwrap());
    assert_eq!(node.fired.load(Ordering::Relaxed), 1);
}

#[test]
fn a_merge_has_one_winner() {
    check(|| merge_of_two(true));
}

#[test]
fn rejected_merge_that_is_not_atomic() {
    rejects(|| merge_of_two(false));
}

#[test]
fn a_merge_of_dead_inputs_is_dead_once() {
    check(|| {
        let counter = Arc::new(Counter::new(merge(2, 1)));
        let threads = [0, 1].map(|_| {
            let counter = counter.clone();
            loom::thread::spawn(move || u32::from(counter.merge_dead(false, true) == Arrival::Dead))
        });
        let mut fired = u32::from(counter.merge_control(true) == Arrival::Dead);
        for thread in threads {
            fired += thread.join().unwrap();
        }
        assert_eq!(fired, 1);
    });
}
