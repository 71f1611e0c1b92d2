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
    MeasuredStep { tasks: (0..schedule.start.len()).map(task).collect(), other_nodes: 0, duration: schedule.makespan * 2 }
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
    // The background, two lanes for each of two devices, one for the link in use, two ops in the legend; each bar has a tooltip.
    let bars = picture.matches("</title></rect>").count();
    assert_eq!(picture.matches("<rect").count(), bars + 1 + 4 + 1 + 2);
}

#[test]
fn a_picture_says_what_it_shows_to_those_who_do_not_see_it() {
    let (tasks, machine, schedule) = schedule(10, |i| format!("n{i}"));
    let picture = svg(&tasks, &machine, &schedule, Some(&measured(&schedule)));
    assert!(picture.contains("role=\"img\" aria-labelledby=\"title desc\""));
    assert!(picture.contains("<title id=\"title\">Simulated step: 15 µs, measured step: 30 µs</title>"), "{picture}");
    assert!(picture.contains("10 nodes on 2 devices"));
    assert!(picture.contains("prefers-color-scheme:dark"));
}

/// Returns the `x`, `y` and `width` of the rectangles of bars, and those of the labels on them with their numbers of letters.
fn bars_and_labels(picture: &str) -> (Vec<[f64; 3]>, Vec<([f64; 2], usize)>) {
    let number = |line: &str, name: &str| -> f64 {
        let rest = line.split(&format!(" {name}=\"")).nth(1).unwrap();
        rest.split('"').next().unwrap().parse().unwrap()
    };
    let (mut bars, mut labels) = (Vec::new(), Vec::new());
    for line in picture.lines().filter(|line| line.contains("</title></rect>")) {
        let (rect, text) = line.split_once("</rect>").unwrap();
        bars.push(["x", "y", "width"].map(|name| number(rect, name)));
        if !text.is_empty() {
            let letters = text.split('>').nth(1).unwrap().split('<').next().unwrap();
            labels.push((["x", "y"].map(|name| number(text, name)), letters.replace("&lt;", "<").replace("&gt;", ">").chars().count()));
        }
    }
    (bars, labels)
}

#[test]
fn labels_fit_their_bars_and_bars_of_a_lane_do_not_overlap() {
    for n in [3, 40, 400] {
        let (tasks, machine, schedule) = schedule(n, |i| format!("some/long/scope/node{i}"));
        let (bars, labels) = bars_and_labels(&svg(&tasks, &machine, &schedule, None));
        for ([x, _], letters) in labels {
            let fits = |[left, _, width]: &&[f64; 3]| *left < x && x + 6.5 * letters as f64 <= left + width;
            assert!(bars.iter().any(|bar| fits(&bar)), "a label of {letters} letters at {x}");
        }
        for a in &bars {
            assert!(a[0] + a[2] <= 1600.0, "{a:?}");
            let overlaps = |b: &&[f64; 3]| a[1] == b[1] && a[0] < b[0] && a[0] + a[2] > b[0] + 0.5;
            assert_eq!(bars.iter().find(overlaps), None, "{a:?}");
        }
    }
}

#[test]
fn ops_that_take_the_most_time_have_colours_of_their_own() {
    let (tasks, machine, schedule) = schedule(40, |i| format!("n{i}"));
    let picture = svg(&tasks, &machine, &schedule, None);
    let class = |op: &str| {
        let line = picture.lines().find(|line| line.contains(&format!(" ({op}): "))).unwrap();
        line.split("class=\"").nth(1).unwrap().split([' ', '"']).next().unwrap().to_owned()
    };
    assert_ne!(class("MatMul"), class("Add"));
    for op in ["MatMul", "Add"] {
        assert!(picture.contains(&format!(">{op} 60 µs</text>")), "{picture}");
    }
}

#[test]
fn a_picture_of_ten_thousand_nodes_stays_small_and_keeps_long_nodes() {
    let (tasks, machine, schedule) = schedule(10_000, |i| format!("scope/node{i}"));
    let picture = svg(&tasks, &machine, &schedule, None);
    let bars = picture.matches("</title></rect>").count();
    assert!((200..4000).contains(&bars), "{bars} bars");
    assert!(picture.contains(" short ones of "));
    assert!(picture.len() < 1_000_000, "{} bytes", picture.len());
}

#[test]
fn links_that_carry_little_share_a_lane() {
    let machine = Machine::usual(&[("CPU".to_owned(), 8)]).unwrap();
    let (tasks, _, _) = schedule(100, |i| format!("n{i}"));
    let eight = tasks.tasks().iter().map(|task| Task { times: vec![1000; 8], ..task.clone() }).collect();
    let dependencies: Vec<Dependency> = (7..100).map(|i| Dependency { from: i - 7, output: Some(0), to: i }).collect();
    let tasks = TaskGraph::new(eight, &dependencies, 8).unwrap();
    let devices: Vec<usize> = (0..100).map(|i| (i * i / 3 + i / 8) % 8).collect();
    let schedule = simulate(&tasks, &machine, &devices).unwrap();
    let mut links: Vec<(usize, usize)> = schedule.transfers.iter().map(|t| (t.from, t.to)).collect();
    links.sort_unstable();
    links.dedup();
    let picture = svg(&tasks, &machine, &schedule, None);
    assert_eq!(picture.matches(" → ").count(), 12);
    assert!(links.len() > 12 && picture.contains(&format!(">{} other links<", links.len() - 12)), "{} links", links.len());
}

#[test]
fn a_report_lists_the_largest_errors_with_totals() {
    let (tasks, machine, schedule) = schedule(10, |i| format!("n{i}"));
    let mut step = measured(&schedule);
    // The longest node is predicted exactly, the shortest one is not measured.
    step.tasks[4].end = step.tasks[4].start + 5000;
    step.tasks.remove(0);
    step.other_nodes = 7000;
    let report = Report::new(&tasks, &machine, &schedule, Some(&step));
    assert_eq!(report.error(), Some(-0.5));
    let first: Vec<&str> = report.by_error(3).iter().map(|row| &*row.name).collect();
    assert_eq!(first, ["n9", "n3", "n8"]);
    let last: Vec<&str> = report.by_error(10)[8..].iter().map(|row| &*row.name).collect();
    assert_eq!(last, ["n4", "n0"]);
    assert_eq!((report.rows[9].measured, report.rows[9].difference(), report.rows[0].difference()), (Some(10_000), Some(-5000), None));
    let text = report.text(2);
    let line = |end: &str| text.lines().find(|line| line.ends_with(end)).unwrap_or_else(|| panic!("{end} in {text}"));
    let words = |end: &str| line(end).split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    assert!(text.starts_with("step: 15.0 µs predicted, 30.0 µs measured, error -50 %"), "{text}");
    assert_eq!(words("n9 (Add)")[..4], ["5.0", "10.0", "-50", "%"]);
    assert_eq!(words("in these nodes")[..4], ["9.0", "18.0", "-50", "%"]);
    assert_eq!(words("in all measured nodes")[..2], ["29.0", "53.0"]);
    assert_eq!(words("in all nodes")[..2], ["30.0", "53.0"]);
    assert!(line("send and receive").contains("7.0"));
    assert!(!text.contains("n4 ("));
    // Columns are aligned.
    let widths: Vec<usize> =
        text.lines().filter(|line| line.contains("CPU:0") && line.contains('(')).map(|line| line.find("CPU").unwrap()).collect();
    assert!(widths.windows(2).all(|pair| pair[0] == pair[1]), "{text}");
}

#[test]
fn a_report_without_measurements_lists_the_longest_nodes() {
    let (tasks, machine, schedule) = schedule(10, |i| format!("n{i}"));
    let report = Report::new(&tasks, &machine, &schedule, None);
    assert_eq!((report.error(), report.rows[0].measured), (None, None));
    let longest: Vec<&str> = report.by_error(2).iter().map(|row| &*row.name).collect();
    assert_eq!(longest, ["n4", "n9"]);
    assert!(report.text(2).contains("the longest first") && !report.text(2).contains("measured nodes"));
}
