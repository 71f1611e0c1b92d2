//! Choices between ways to compute: the table and its file, the budget of measurements, and what sessions make of the choices.
#![allow(clippy::unwrap_used)]

use flowmill::graph::text::{ConstantTable, parse_graph};
use flowmill::runtime::tuning::{
    ChoiceSource, MIN_STEP, STEPS, Tuner, TuningCandidate, TuningChoice, TuningFile, TuningHeader, TuningMode, TuningOptions, TuningTable,
};
use flowmill::{Session, SessionOptions, Shape, Tensor, registry};
use std::cell::Cell;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

fn header() -> TuningHeader {
    TuningHeader { processor: "a processor".to_owned(), kernels: "1".to_owned() }
}

fn table(path: &Path) -> Arc<TuningTable> {
    Arc::new(TuningTable::new(header(), Some(path.to_owned())))
}

/// A clock that only trials advance.
#[derive(Clone, Default)]
struct Clock(Arc<AtomicU64>);

impl Clock {
    fn advance(&self, time: Duration) {
        self.0.fetch_add(time.as_nanos() as u64, Ordering::Relaxed);
    }

    fn now(&self) -> Duration {
        Duration::from_nanos(self.0.load(Ordering::Relaxed))
    }

    fn options(&self, table: &Arc<TuningTable>) -> TuningOptions {
        let clock = self.clone();
        TuningOptions {
            mode: TuningMode::Measured,
            budget: TuningOptions::BUDGET,
            table: table.clone(),
            clock: Arc::new(move || clock.now()),
        }
    }
}

/// Two candidates with equal estimates.
fn candidates(per_step: Duration) -> [TuningCandidate; 2] {
    ["slow", "fast"].map(|name| TuningCandidate { name, per_step, preparation: Duration::ZERO, run: per_step })
}

const STEP: Duration = Duration::from_millis(1);

/// Chooses between candidates of which the second takes half the time of the first. Returns the choice and the number of trials that were made.
fn choose(tuner: &Tuner, clock: &Clock, key: &str) -> (TuningChoice, usize) {
    let trials = Cell::new(0);
    let choice = tuner.choose(key, &candidates(STEP), |i| {
        trials.set(trials.get() + 1);
        let clock = clock.clone();
        Box::new(move || clock.advance(STEP / (1 + i as u32)))
    });
    (choice, trials.get())
}

const MEASURED: TuningChoice = TuningChoice { candidate: 1, source: ChoiceSource::Measured };
const ESTIMATED: TuningChoice = TuningChoice { candidate: 0, source: ChoiceSource::Estimated };

#[test]
fn a_choice_is_measured_once_and_remembered_by_the_next_process() {
    let directory = tempfile::tempdir().unwrap();
    let (path, clock) = (directory.path().join("new/table.txt"), Clock::default());
    let first = table(&path);
    let tuner = Tuner::new(clock.options(&first));
    assert_eq!(choose(&tuner, &clock, "a layer"), (MEASURED, 2));
    assert_eq!(choose(&tuner, &clock, "a layer"), (MEASURED, 0));
    tuner.save();
    assert_eq!((first.stats().measured, first.stats().failed_writes), (1, 0));

    let second = table(&path);
    let read = TuningOptions { mode: TuningMode::Remembered, ..clock.options(&second) };
    assert_eq!(choose(&Tuner::new(read.clone()), &clock, "a layer"), (MEASURED, 0));
    assert_eq!(choose(&Tuner::new(read), &clock, "another layer"), (ESTIMATED, 0));
    assert_eq!((second.stats().remembered, second.stats().estimated), (1, 1));

    second.clear().unwrap();
    assert_eq!(choose(&Tuner::new(clock.options(&second)), &clock, "a layer"), (MEASURED, 0));
    assert_eq!(choose(&Tuner::new(clock.options(&table(&path))), &clock, "a layer"), (MEASURED, 2));
}

#[test]
fn an_answer_stays_for_the_life_of_the_table() {
    let (clock, table) = (Clock::default(), Arc::new(TuningTable::new(header(), None)));
    let without_budget = TuningOptions { budget: Duration::ZERO, ..clock.options(&table) };
    assert_eq!(choose(&Tuner::new(without_budget), &clock, "a layer"), (ESTIMATED, 0));
    assert_eq!(choose(&Tuner::new(clock.options(&table)), &clock, "a layer"), (ESTIMATED, 0));
}

#[test]
fn threads_that_choose_at_once_get_one_answer() {
    let table = Arc::new(TuningTable::new(header(), None));
    let choices: Vec<_> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..8)
            .map(|i| {
                let table = &table;
                // In half of the threads the second candidate takes longer.
                scope.spawn(move || {
                    let clock = Clock::default();
                    Tuner::new(clock.options(table)).choose("a layer", &candidates(STEP), |candidate| {
                        let clock = clock.clone();
                        Box::new(move || clock.advance(if (candidate + i).is_multiple_of(2) { STEP } else { STEP / 2 }))
                    })
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert!(choices.iter().all(|choice| choice == &choices[0]), "{choices:?}");
}

#[test]
fn nothing_is_measured_when_tuning_is_off() {
    let (clock, table) = (Clock::default(), Arc::new(TuningTable::new(header(), None)));
    let off = TuningOptions { mode: TuningMode::Off, ..clock.options(&table) };
    assert_eq!(choose(&Tuner::new(off), &clock, "a layer"), (ESTIMATED, 0));
    assert_eq!(choose(Tuner::off(), &clock, "a layer"), (ESTIMATED, 0));
    assert_eq!(table.stats(), Default::default());
}

#[test]
fn measurements_keep_to_the_budget() {
    let (clock, table) = (Clock::default(), Arc::new(TuningTable::new(header(), None)));
    let tuner = Tuner::new(clock.options(&table));
    let choices: Vec<_> = (0..100).map(|i| choose(&tuner, &clock, &format!("layer {i}"))).collect();
    // A run that begins before the end is finished.
    assert!(clock.now() <= TuningOptions::BUDGET + STEP, "{:?}", clock.now());
    assert_eq!(choices[0], (MEASURED, 2));
    assert_eq!(choices[99], (ESTIMATED, 0));
    assert!(clock.now() >= TuningOptions::BUDGET / 2);
}

#[test]
fn a_measurement_ends_if_it_takes_longer_than_estimated() {
    let (clock, table) = (Clock::default(), Arc::new(TuningTable::new(header(), None)));
    let tuner = Tuner::new(clock.options(&table));
    let (run, before) = (20 * STEP, clock.now());
    let choice = tuner.choose("a layer", &candidates(STEP), |_| {
        let clock = clock.clone();
        Box::new(move || clock.advance(run))
    });
    assert_eq!(choice, ESTIMATED);
    assert!(clock.now() - before <= STEP * STEPS + run);
    // A trial whose preparation takes too long is not made.
    let long = candidates(STEP).map(|candidate| TuningCandidate { preparation: TuningOptions::BUDGET, ..candidate });
    assert_eq!(tuner.choose("another layer", &long, |_| unreachable!()), ESTIMATED);
}

#[test]
fn small_nodes_and_clear_estimates_are_not_measured() {
    let (clock, table) = (Clock::default(), Arc::new(TuningTable::new(header(), None)));
    let tuner = Tuner::new(clock.options(&table));
    assert_eq!(tuner.choose("small", &candidates(MIN_STEP - Duration::from_nanos(1)), |_| unreachable!()), ESTIMATED);
    let [first, second] = candidates(STEP);
    let clear = [first, TuningCandidate { per_step: 3 * STEP, ..second }];
    assert_eq!(tuner.choose("clear", &clear, |_| unreachable!()), ESTIMATED);
    assert_eq!(tuner.choose("single", &clear[..1], |_| unreachable!()), ESTIMATED);
}

#[test]
fn a_candidate_that_is_hardly_faster_does_not_replace_the_estimate() {
    let (clock, table) = (Clock::default(), Arc::new(TuningTable::new(header(), None)));
    let choice = Tuner::new(clock.options(&table)).choose("a layer", &candidates(STEP), |i| {
        let clock = clock.clone();
        Box::new(move || clock.advance(STEP - STEP / 50 * i as u32))
    });
    assert_eq!(choice, TuningChoice { candidate: 0, source: ChoiceSource::Measured });
}

#[test]
fn files_that_are_no_tables_are_ignored_and_replaced() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("table.txt");
    let other = TuningHeader { processor: "another".to_owned(), ..header() };
    let remembered = TuningFile { choices: [("a layer".to_owned(), "slow".to_owned())].into(), ..TuningFile::default() };
    let large = format!("{}{}", remembered.text(&header()), "x\n".repeat(1 << 20));
    for bytes in [remembered.text(&other).as_bytes(), b"", b"\xff\xfe\0", b"flowmill-tuning 1\n", large.as_bytes()] {
        std::fs::write(&path, bytes).unwrap();
        let (clock, table) = (Clock::default(), table(&path));
        let tuner = Tuner::new(clock.options(&table));
        assert_eq!(choose(&tuner, &clock, "a layer"), (MEASURED, 2));
        tuner.save();
        assert_eq!((table.stats().ignored_files, table.stats().failed_writes), (1, 0));
        assert_eq!(TuningFile::read(&header(), &path).choices["a layer"], "fast");
    }
    // Lines that are no choices, and names that are no candidates, are ignored by themselves.
    let text = remembered.text(&header()) + "no choice\n = slow\nlayer = a b\nb layer = slow\nc layer = unknown\n";
    std::fs::write(&path, text).unwrap();
    let (clock, table) = (Clock::default(), table(&path));
    let tuner = Tuner::new(clock.options(&table));
    assert_eq!(choose(&tuner, &clock, "b layer").0, TuningChoice { candidate: 0, source: ChoiceSource::Measured });
    assert_eq!(choose(&tuner, &clock, "c layer"), (MEASURED, 2));
    assert_eq!((table.stats().ignored_files, table.stats().ignored_lines), (0, 4));
}

#[test]
fn a_file_that_cannot_be_written_is_no_error() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("file");
    std::fs::write(&file, "").unwrap();
    // A directory that is a file, and a file that is a directory with something in it.
    std::fs::create_dir_all(directory.path().join("directory/entry")).unwrap();
    for path in [file.join("table.txt"), directory.path().join("directory")] {
        let (clock, table) = (Clock::default(), table(&path));
        let tuner = Tuner::new(clock.options(&table));
        assert_eq!(choose(&tuner, &clock, "a layer"), (MEASURED, 2));
        tuner.save();
        assert_eq!(choose(&tuner, &clock, "a layer"), (MEASURED, 0));
        assert_eq!(table.stats().failed_writes, 1, "{path:?}");
    }
}

#[test]
fn writers_at_the_same_time_leave_a_whole_file() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("table.txt");
    std::thread::scope(|scope| {
        for writer in 0..8 {
            let path = &path;
            scope.spawn(move || {
                let (clock, table) = (Clock::default(), table(path));
                for i in 0..20 {
                    let tuner = Tuner::new(clock.options(&table));
                    choose(&tuner, &clock, &format!("layer {writer} {i}"));
                    tuner.save();
                    let file = TuningFile::read(&header(), path);
                    assert!(!file.is_foreign && file.ignored_lines == 0 && !file.choices.is_empty(), "{file:?}");
                }
            });
        }
    });
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 1, "no unfinished file is left");
}

#[test]
fn text_of_a_file_has_a_bounded_number_of_choices() {
    let choices = (0..10_000).map(|i| (format!("layer {i:05}"), "fast".to_owned())).collect();
    let text = TuningFile { choices, ..TuningFile::default() }.text(&header());
    let read = TuningFile::parse(&header(), text.as_bytes());
    assert_eq!((read.choices.len(), read.ignored_lines), (4096, 0));
}

/// Returns a session of a convolution of 3 × 3 over images of 48 × 48 with 32 channels, which takes more than [`MIN_STEP`] by any estimate.
fn session(tuning: TuningOptions, threads: usize) -> Arc<Session> {
    let text = "x = Placeholder() {dtype=f32, shape=[?,48,48,32]}\n\
                w = Const() {value=f32[]{0.5}}\n\
                y = Conv2D(x, w) {strides=[1,1,1,1], padding=\"SAME\"}\n";
    let mut graph = parse_graph(text, &registry().unwrap(), &ConstantTable::default()).unwrap();
    let weights: Vec<f32> = (0..9 * 32 * 32).map(|i| (i % 37) as f32 / 37.0 - 0.4).collect();
    let w = graph.find_node("w").unwrap().id();
    graph.set_attr(w, "value", Tensor::from_slice(Shape::from([3, 3, 32, 32]), &weights).unwrap().to_proto().unwrap()).unwrap();
    flowmill::session(graph, SessionOptions { intra_op_threads: threads, inter_op_threads: threads, tuning, ..SessionOptions::default() })
        .unwrap()
}

/// Returns the bits of the session's output for `batch` images, of which the first is always the same.
fn output(session: &Session, batch: usize) -> Vec<u32> {
    let x: Vec<f32> = (0..batch * 48 * 48 * 32).map(|i| (i % 101) as f32 / 10.0 - 5.0).collect();
    let x = Tensor::from_slice(Shape::from([batch, 48, 48, 32]), &x).unwrap();
    let y = session.run(&[("x:0", x)], &["y:0"], &[]).unwrap();
    y[0].as_slice::<f32>().unwrap().iter().map(|y| y.to_bits()).collect()
}

/// Returns the key of that convolution.
fn key() -> String {
    let window = flowmill_numeric::window::Window::square(1, 48, 32, 3, 1, 1);
    flowmill_numeric::conv::ConvLayer::new(flowmill_numeric::gemm::Precision::F32, &window, 32, 1).unwrap().to_string()
}

fn remembering(directory: &Path, name: &str) -> TuningOptions {
    let path: PathBuf = directory.join(name);
    let file = TuningFile { choices: [(key(), name.to_owned())].into(), ..TuningFile::default() };
    std::fs::write(&path, file.text(&header())).unwrap();
    TuningOptions { mode: TuningMode::Remembered, table: table(&path), ..TuningOptions::default() }
}

#[test]
fn a_session_computes_by_the_remembered_choice_in_all_steps_batches_and_threads() {
    let directory = tempfile::tempdir().unwrap();
    let outputs = ["product", "winograd2", "winograd4"].map(|name| {
        let tuning = remembering(directory.path(), name);
        let sessions = [1, 2].map(|threads| session(tuning.clone(), threads));
        let first = output(&sessions[0], 1);
        for session in sessions.iter().chain(&sessions) {
            assert!(output(session, 1) == first, "{name}");
            assert!(output(session, 5)[..first.len()] == first, "{name}");
        }
        assert_eq!(tuning.table.stats().remembered, 1, "{name}");
        first
    });
    assert!(outputs[0] != outputs[1] && outputs[1] != outputs[2]);
    let off = TuningOptions { mode: TuningMode::Off, ..remembering(directory.path(), "winograd2") };
    assert!(outputs.contains(&output(&session(off.clone(), 1), 1)));
    assert_eq!(off.table.stats(), Default::default());
}

#[test]
fn a_session_measures_before_its_first_step_and_computes_alike_afterwards() {
    let table = Arc::new(TuningTable::new(header(), None));
    // A clock that stands still: the measurement ends however slow the kernels are, and the first way stays.
    let tuning = Clock::default().options(&table);
    let sessions = [1, 2].map(|threads| session(tuning.clone(), threads));
    let first = output(&sessions[0], 1);
    let stats = table.stats();
    assert_eq!((stats.measured, stats.estimated), (1, 0));
    for session in sessions.iter().chain(&sessions) {
        assert!(output(session, 1) == first && output(session, 3)[..first.len()] == first);
    }
    assert_eq!(table.stats(), stats);
}
