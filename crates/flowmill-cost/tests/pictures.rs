//! Pictures and reports of schedules.
#![allow(clippy::unwrap_used, clippy::panic, missing_docs)]

use flowmill_cost::{Dependency, DeviceSet, Machine, MeasuredStep, MeasuredTask, Report, Schedule, Task, TaskGraph, simulate, svg};

/// Returns `n` tasks, each of which reads the one 7 before it, alternating between two devices.
fn schedule(n: usize, name: impl Fn(usize) -> String) -> (TaskGraph, Machine, Schedule) {
    let machine = Machine::usual(&[("CPU".to_owned(), 2)]).unwrap();
    let task = |i: usize| Task {
        name: name(i).into(),
        op: ["MatMul", "Add"][i % 2].into(),
        times: vec![1000 * (1 + i as u64 % 5); 2],
        outputs: vec![1000],
        temporary: 0,
        resident: 0,
        devices: DeviceSet::ALL,
        group: i,
    };
    let dependencies: Vec<Dependency> = (7..n).map(|i| Dependency { from: i - 7, output: Some(0), to: i }).collect();
    let tasks = TaskGraph::new((0..n).map(task).collect(), &dependencies, 2).unwrap();
    let devices: Vec<usize> = (0..n).map(|i| i / 3 % 2).collect();
    let schedule = simulate(&tasks, &machine, &devices).unwrap();
    (tasks, machine, schedule)
}

fn measured(schedule: &Schedule) -> MeasuredStep {
    let task = |t: usize| MeasuredTask { task: t, device: schedule.devices[t], start: schedule.start[t] * 2, end: schedule.end[t] * 2 };
    MeasuredStep { tasks: (0..schedule.start.len()).map(task).collect(), duration: schedule.makespan * 2 }
}

#[test]
fn a_small_picture_shows_every_node_in_both_lanes() {
    let (tasks, machine, schedule) = schedule(10, |i| format!("node<{i}>"));
    let picture = svg(&tasks, &machine, &schedule, Some(&measured(&schedule)));
    for i in 0..10 {
        assert_eq!(picture.matches(&format!("<title>node&lt;{i}&gt; (")).count(), 2, "{i}");
    }
    for lane in ["CPU:0 simulated", "CPU:1 simulated", "CPU:0 measured", "CPU:1 measured", "CPU:0 → CPU:1"] {
        assert!(picture.contains(&format!(">{lane}<")), "{lane}");
    }
    assert!(!picture.contains("node<"), "names are escaped");
    assert_eq!(picture.matches("<rect").count(), picture.matches("<title>").count() + 1 + 5 + 2, "background, lanes, legend");
}

#[test]
fn a_picture_of_ten_thousand_nodes_stays_small_and_keeps_long_nodes() {
    let (tasks, machine, schedule) = schedule(10_000, |i| format!("scope/node{i}"));
    let picture = svg(&tasks, &machine, &schedule, None);
    let bars = picture.matches("<title>").count();
    assert!((200..4000).contains(&bars), "{bars} bars");
    assert!(picture.contains(" nodes, "));
    assert!(picture.len() < 1_000_000, "{} bytes", picture.len());
}

#[test]
fn a_report_states_the_error_and_the_longest_nodes() {
    let (tasks, machine, schedule) = schedule(10, |i| format!("n{i}"));
    let report = Report::new(&tasks, &machine, &schedule, Some(&measured(&schedule)));
    assert_eq!(report.error(), Some(-0.5));
    let longest: Vec<&str> = report.longest(2).iter().map(|row| &*row.name).collect();
    assert_eq!(longest, ["n4", "n9"]);
    assert_eq!(report.rows[4].measured, Some(10_000));
    let text = report.text(2);
    assert!(text.contains("error -50 %") && text.contains("n4 (MatMul)") && !text.contains("n3 ("), "{text}");
    let without = Report::new(&tasks, &machine, &schedule, None);
    assert_eq!((without.error(), without.rows[0].measured), (None, None));
}
