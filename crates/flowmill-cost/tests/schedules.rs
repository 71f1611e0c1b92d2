//! Properties of simulated schedules and of placements, on random graphs of tasks and machines.
#![allow(clippy::unwrap_used, clippy::panic, missing_docs)]

use flowmill_cost::{
    Bandwidth, Dependency, DeviceModel, DeviceSet, Machine, SearchOptions, Task, TaskGraph, critical_path, heft, lower_bound, place,
    simple_placement, simulate, upward_ranks,
};
use proptest::prelude::*;
use std::collections::BTreeMap;

#[derive(Clone, Debug)]
struct Case {
    machine: Machine,
    tasks: Vec<Task>,
    dependencies: Vec<Dependency>,
}

impl Case {
    fn graph(&self) -> TaskGraph {
        TaskGraph::new(self.tasks.clone(), &self.dependencies, self.machine.num_devices()).unwrap()
    }
}

fn machine(num_devices: usize, speeds: &[u32], bytes_per_second: f64, memory: Option<u64>) -> Machine {
    let device = |i: usize| DeviceModel {
        name: format!("CPU:{i}"),
        flops_per_second: 1e9 * f64::from(speeds[i % speeds.len()]),
        bytes_per_second: 1e10,
        launch_seconds: 1e-7,
        memory_bytes: memory,
        kernel_rates: BTreeMap::new(),
    };
    Machine::new((0..num_devices).map(device).collect(), Bandwidth { bytes_per_second, latency_seconds: 2e-6 }, Vec::new()).unwrap()
}

fn cases() -> impl Strategy<Value = Case> {
    let shape = (1usize..5, 1usize..40, 0usize..80, any::<u64>());
    (shape, prop::collection::vec(1u32..8, 1..4), prop::bool::ANY).prop_map(|((num_devices, n, num_edges, seed), speeds, is_fast)| {
        let machine = machine(num_devices, &speeds, if is_fast { 1e11 } else { 1e9 }, None);
        let mut state = seed;
        let mut below = |n: usize| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as usize % n.max(1)
        };
        let tasks = (0..n)
            .map(|i| {
                let operations = below(200_000) as f64;
                Task {
                    name: format!("t{i}").into(),
                    op: "Op".into(),
                    times: machine.devices().iter().map(|d| if operations < 1000.0 { 0 } else { d.time(operations, 0.0) }).collect(),
                    outputs: (0..below(3)).map(|_| below(100_000) as u64).collect(),
                    temporary: below(1000) as u64,
                    resident: if below(4) == 0 { below(50_000) as u64 } else { 0 },
                    devices: if below(8) == 0 { DeviceSet::only(i % num_devices) } else { DeviceSet::ALL },
                    // Tasks with equal remainders have the same fixed device, if any.
                    group: if below(5) == 0 { 1000 + i % num_devices } else { i },
                }
            })
            .collect::<Vec<Task>>();
        let edge = |_| {
            let (a, b) = (below(n), below(n));
            let (from, to) = (a.min(b), a.max(b));
            let outputs = tasks[from].outputs.len();
            let slot = below(outputs + 1);
            Dependency { from, output: (slot < outputs).then_some(slot), to }
        };
        let dependencies = (0..num_edges).map(edge).filter(|d| d.from != d.to).collect();
        Case { machine, tasks, dependencies }
    })
}

/// Checks a schedule against the rules of devices, links and dependencies, without the simulator's own data.
fn check(case: &Case, graph: &TaskGraph, devices: &[usize]) {
    let schedule = simulate(graph, &case.machine, devices).unwrap();
    for d in &case.dependencies {
        let (from, to) = (devices[d.from], devices[d.to]);
        let bytes = d.output.map_or(0, |slot| case.tasks[d.from].outputs[slot]);
        let earliest = schedule.end[d.from] + case.machine.copy_time(from, to, bytes);
        assert!(schedule.start[d.to] >= earliest, "{d:?} starts at {} before {earliest}", schedule.start[d.to]);
    }
    let mut by_device: BTreeMap<usize, Vec<(u64, u64)>> = BTreeMap::new();
    for (t, (task, &device)) in case.tasks.iter().zip(devices).enumerate() {
        assert_eq!(schedule.end[t] - schedule.start[t], task.times[device]);
        by_device.entry(device).or_default().push((schedule.start[t], schedule.end[t]));
    }
    let mut by_link: BTreeMap<(usize, usize), Vec<(u64, u64)>> = BTreeMap::new();
    for t in &schedule.transfers {
        assert!(t.from != t.to && t.start >= schedule.end[t.task]);
        assert_eq!(t.arrival - t.start, case.machine.copy_time(t.from, t.to, t.bytes));
        by_link.entry((t.from, t.to)).or_default().push((t.start, t.end));
    }
    for intervals in by_device.values_mut().chain(by_link.values_mut()) {
        intervals.sort_unstable();
        assert!(intervals.windows(2).all(|w| w[0].1 <= w[1].0), "two at once: {intervals:?}");
    }
    assert_eq!(schedule.makespan, schedule.end.iter().copied().max().unwrap_or(0));
    assert!(schedule.makespan >= lower_bound(graph, &case.machine));
    check_memory(case, graph, devices, &schedule);
}

/// Compares the peaks with the sums of all intervals in which tensors are held.
fn check_memory(case: &Case, graph: &TaskGraph, devices: &[usize], schedule: &flowmill_cost::Schedule) {
    let mut resident = vec![0u64; case.machine.num_devices()];
    let mut held: Vec<(usize, u64, u64, u64)> = Vec::new();
    for (t, task) in case.tasks.iter().enumerate() {
        resident[devices[t]] += task.resident;
        held.push((devices[t], schedule.start[t], schedule.end[t], task.temporary));
        for (slot, &bytes) in task.outputs.iter().enumerate() {
            let consumers = case.dependencies.iter().filter(|d| d.from == t && d.output == Some(slot)).map(|d| d.to);
            let here = consumers.clone().filter(|&c| devices[c] == devices[t]).map(|c| schedule.end[c]);
            let arrivals = schedule.transfers.iter().filter(|x| x.task == t && x.bytes == bytes).map(|x| x.arrival);
            let has_remote = consumers.clone().any(|c| devices[c] != devices[t]);
            let end = here.chain(arrivals.filter(|_| has_remote)).max().unwrap_or(0).max(schedule.end[t]);
            if task.resident == 0 {
                held.push((devices[t], schedule.start[t], end, bytes));
            }
        }
    }
    for (device, peak) in schedule.peak_memory.iter().enumerate() {
        assert!(*peak >= resident[device]);
        // What must be held at the start of any task on the device, copies from elsewhere not counted.
        for &(_, at, _, _) in held.iter().filter(|h| h.0 == device) {
            let sum: u64 = held.iter().filter(|h| h.0 == device && h.1 <= at && at < h.2).map(|h| h.3).sum();
            assert!(sum + resident[device] <= *peak, "{sum} bytes are held on device {device}, whose peak is {peak}");
        }
    }
    assert_eq!(graph.len(), case.tasks.len());
}

fn quick() -> SearchOptions {
    SearchOptions { max_simulated_tasks: 2000, ..SearchOptions::default() }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, ..ProptestConfig::default() })]

    #[test]
    fn schedules_keep_the_rules_and_the_lower_bound(case in cases()) {
        let graph = case.graph();
        check(&case, &graph, &simple_placement(&graph, &case.machine));
        check(&case, &graph, &heft(&graph, &case.machine, &upward_ranks(&graph, &case.machine)));
        let placed = place(&graph, &case.machine, &quick()).unwrap();
        check(&case, &graph, &placed.devices);
        for (task, &device) in graph.tasks().iter().zip(&placed.devices) {
            prop_assert!(task.devices.contains(device));
            let first = graph.tasks().iter().position(|other| other.group == task.group).unwrap();
            prop_assert_eq!(placed.devices[first], device);
        }
    }

    #[test]
    fn a_placement_by_cost_is_never_slower_than_the_simple_one_and_is_repeatable(case in cases()) {
        let graph = case.graph();
        let simple = simulate(&graph, &case.machine, &simple_placement(&graph, &case.machine)).unwrap();
        let placed = place(&graph, &case.machine, &quick()).unwrap();
        prop_assert!(placed.makespan <= simple.makespan);
        prop_assert_eq!(placed.devices, place(&graph, &case.machine, &quick()).unwrap().devices);
    }

    #[test]
    fn memory_limits_hold_or_an_error_names_the_device(case in cases(), limit in 0u64..400_000) {
        let limited = Case { machine: machine(case.machine.num_devices(), &[3], 1e10, Some(limit)), ..case };
        let graph = limited.graph();
        match place(&graph, &limited.machine, &quick()) {
            Ok(schedule) => prop_assert!(schedule.peak_memory.iter().all(|&peak| peak <= limit)),
            Err(e) => {
                prop_assert_eq!(e.code(), flowmill_tensor::Code::ResourceExhausted);
                prop_assert!(e.to_string().contains("'CPU:"), "{}", e);
            }
        }
    }
}

/// Returns `n` independent tasks of equal time.
fn independent(n: usize, machine: &Machine, resident: u64) -> TaskGraph {
    let task = |i: usize| Task {
        name: format!("t{i}").into(),
        op: "Op".into(),
        times: machine.devices().iter().map(|d| d.time(1e6, 0.0)).collect(),
        outputs: vec![8],
        temporary: 0,
        resident,
        devices: DeviceSet::ALL,
        group: i,
    };
    TaskGraph::new((0..n).map(task).collect(), &[], machine.num_devices()).unwrap()
}

#[test]
fn equal_tasks_are_shared_out_equally() {
    let machine = machine(4, &[1], 1e10, None);
    let graph = independent(16, &machine, 0);
    let placed = place(&graph, &machine, &SearchOptions::default()).unwrap();
    assert_eq!(placed.makespan, 4 * graph.tasks()[0].times[0]);
    // The bound leaves room for rounding.
    assert!(lower_bound(&graph, &machine) > placed.makespan * 999 / 1000);
}

#[test]
fn a_faster_device_gets_more_work_and_the_bound_knows_its_speed() {
    let machine = machine(2, &[3, 1], 1e10, None);
    let graph = independent(40, &machine, 0);
    let placed = place(&graph, &machine, &SearchOptions::default()).unwrap();
    assert_eq!(placed.devices.iter().filter(|&&d| d == 0).count(), 30);
    let bound = lower_bound(&graph, &machine);
    assert!(bound <= placed.makespan && bound as f64 > 0.95 * placed.makespan as f64, "{bound} for {}", placed.makespan);
}

#[test]
fn a_memory_limit_spreads_tasks_that_would_be_faster_together() {
    // A chain, so that a single device is fastest.
    let machine = machine(3, &[1], 1e9, Some(250));
    let mut tasks = independent(6, &machine, 100).tasks().to_vec();
    tasks.iter_mut().for_each(|task| task.outputs = vec![100]);
    let chain: Vec<Dependency> = (1..6).map(|i| Dependency { from: i - 1, output: Some(0), to: i }).collect();
    let graph = TaskGraph::new(tasks.clone(), &chain, 3).unwrap();
    let placed = place(&graph, &machine, &SearchOptions { max_simulated_tasks: 60_000, ..SearchOptions::default() });
    // Two tasks of 100 bytes fit on each device if no copy of a tensor from elsewhere is beside them.
    let error = placed.unwrap_err();
    assert_eq!(error.code(), flowmill_tensor::Code::ResourceExhausted);
    tasks.iter_mut().for_each(|task| task.outputs = vec![10]);
    let graph = TaskGraph::new(tasks, &chain, 3).unwrap();
    let placed = place(&graph, &machine, &SearchOptions { max_simulated_tasks: 60_000, ..SearchOptions::default() }).unwrap();
    assert!(placed.peak_memory.iter().all(|&peak| (200..=250).contains(&peak)), "{:?}", placed.peak_memory);
}

#[test]
fn copies_are_made_once_per_device_and_wait_for_their_link() {
    let machine = machine(2, &[1], 1e9, None);
    let mut tasks = independent(5, &machine, 0).tasks().to_vec();
    tasks.iter_mut().for_each(|task| task.outputs = vec![1_000_000]);
    // Two producers on device 0; two consumers of the first and one of the second on device 1.
    let edges = [(0, 2), (0, 3), (1, 4)].map(|(from, to)| Dependency { from, output: Some(0), to });
    let graph = TaskGraph::new(tasks, &edges, 2).unwrap();
    let schedule = simulate(&graph, &machine, &[0, 0, 1, 1, 1]).unwrap();
    assert_eq!(schedule.transfers.len(), 2);
    let (a, b) = (schedule.transfers[0], schedule.transfers[1]);
    // A copy of a megabyte takes as long as a task: 1 ms; it starts when its producer ends or the link is free.
    assert_eq!((a.start, a.end, a.arrival), (1_000_100, 2_000_100, 2_002_100));
    assert_eq!((b.start, b.arrival), (2_000_200, 3_002_200));
}

#[test]
fn tasks_that_cannot_be_scheduled_are_refused() {
    let machine = machine(2, &[1], 1e9, None);
    let tasks = independent(2, &machine, 0).tasks().to_vec();
    let cycle = [Dependency { from: 0, output: Some(0), to: 1 }, Dependency { from: 1, output: None, to: 0 }];
    let error = |tasks: Vec<Task>, edges: &[Dependency]| TaskGraph::new(tasks, edges, 2).unwrap_err().to_string();
    assert!(error(tasks.clone(), &cycle).contains("cycle"));
    assert!(error(tasks.clone(), &[Dependency { from: 0, output: Some(1), to: 1 }]).contains("does not exist"));
    let mut conflict = tasks.clone();
    (conflict[0].devices, conflict[1].devices) = (DeviceSet::only(0), DeviceSet::only(1));
    conflict[1].group = 0;
    assert!(error(conflict, &[]).contains("t0, t1"));
    let graph = TaskGraph::new(tasks, &[], 2).unwrap();
    assert!(simulate(&graph, &machine, &[0, 2]).unwrap_err().to_string().contains("'t1' cannot run on device 2"));
    assert!(simulate(&graph, &machine, &[0]).is_err());
}

#[test]
fn tasks_that_take_no_time_leave_idle_intervals_whole() {
    // Device 0 waits for a copy while nodes that take no time, such as constants, end within its idle interval.
    let machine = machine(1, &[1], 1e9, None);
    let task = |time: u64, group: usize| Task {
        name: format!("t{group}").into(),
        op: "Op".into(),
        times: vec![time],
        outputs: Vec::new(),
        temporary: 0,
        resident: 0,
        devices: DeviceSet::ALL,
        group,
    };
    let free = 1000;
    let mut tasks: Vec<Task> = (0..free).map(|i| task(0, i)).collect();
    tasks.extend([task(5000, free), task(10, free + 1)]);
    let edges: Vec<Dependency> = (1..free).map(|i| Dependency { from: i - 1, output: None, to: i }).collect();
    let graph = TaskGraph::new(tasks, &edges, 1).unwrap();
    let schedule = simulate(&graph, &machine, &heft(&graph, &machine, &upward_ranks(&graph, &machine))).unwrap();
    assert_eq!(schedule.makespan, 5010);
    let path = critical_path(&graph, &machine, &schedule);
    assert!(path.windows(2).all(|pair| schedule.end[pair[0]] <= schedule.start[pair[1]]), "{path:?}");
    assert!(path.len() <= 2 && *path.last().unwrap() == free + 1, "{path:?}");
}

#[test]
fn machines_of_other_sizes_than_the_tasks_are_refused() {
    let two = machine(2, &[1], 1e9, None);
    let graph = independent(3, &two, 0);
    for devices in [1, 3] {
        let other = machine(devices, &[1], 1e9, None);
        let errors = [simulate(&graph, &other, &[0; 3]).unwrap_err(), place(&graph, &other, &quick()).unwrap_err()];
        for error in errors {
            assert!(error.to_string().contains(&format!("times on 2 devices, and the machine has {devices}")), "{error}");
        }
        lower_bound(&graph, &other);
        heft(&graph, &other, &upward_ranks(&graph, &other));
    }
}
