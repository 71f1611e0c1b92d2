//! A queue of tasks, from which batches of tasks are taken.
//!
//! It follows the rules of TensorFlow's shared batch scheduler: tasks are added to the last batch, which is open; a batch is ready when another one
//! follows it, when it is full, or when its first task has waited for the timeout.

use flowmill_tensor::{Result, bail};
use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// The limits of a queue, which determine when its batches are ready.
#[derive(Clone, Debug)]
pub(super) struct QueueOptions {
    /// The most rows that one task may have.
    pub(super) max_task_size: usize,
    /// The most rows in a batch.
    pub(super) max_batch_size: usize,
    /// The number of batches that may wait.
    pub(super) max_enqueued_batches: usize,
    /// The time that the first task of an open batch waits for others.
    pub(super) timeout: Duration,
    /// True if tasks are split so that batches are full.
    pub(super) splits: bool,
    /// The sizes to which an open batch is cut when its timeout has passed, in ascending order. If empty, the batch is not cut.
    pub(super) cut_to: Vec<usize>,
}

/// The property of tasks that a queue needs.
pub(super) trait HasSize {
    /// Returns the number of the task's rows.
    fn size(&self) -> usize;
}

/// A queue of tasks, grouped in batches, in the order in which they were added.
pub(super) struct Queue<T> {
    options: QueueOptions,
    /// The batches. The list is never empty; the last batch is open.
    batches: VecDeque<Vec<T>>,
    /// The time at which the first task of the open batch was added, or `None` if the batch is empty.
    opened: Option<Instant>,
}

fn size_of<T: HasSize>(batch: &[T]) -> usize {
    batch.iter().map(HasSize::size).sum()
}

impl<T: HasSize> Queue<T> {
    /// Returns an empty queue.
    pub(super) fn new(options: QueueOptions) -> Queue<T> {
        Queue { options, batches: VecDeque::from([Vec::new()]), opened: None }
    }

    fn open_size(&self) -> usize {
        self.batches.back().map_or(0, |batch| size_of(batch))
    }

    /// Returns the sizes of the tasks into which a task of `size` rows is to be split.
    ///
    /// # Errors
    /// Returns `InvalidArgument` for a task that is too large, `Unavailable` if the queue has no room for it.
    pub(super) fn task_sizes(&self, size: usize) -> Result<Vec<usize>> {
        let QueueOptions { max_task_size, max_batch_size, max_enqueued_batches, splits, .. } = self.options;
        if size > max_task_size {
            bail!(InvalidArgument, "Task size {size} is larger than maximum input batch size {max_task_size}");
        }
        let (num_batches, open) = (self.batches.len(), self.open_size());
        let room = max_batch_size.saturating_sub(open);
        if !splits {
            if open.saturating_add(size) > max_task_size && num_batches >= max_enqueued_batches {
                bail!(
                    Unavailable,
                    "The batch scheduling queue to which this task was submitted is full; currently {num_batches} batches enqueued and \
                     max_enqueued_batches is {max_enqueued_batches}"
                );
            }
            return Ok(vec![size]);
        }
        let capacity = max_enqueued_batches.saturating_sub(num_batches).saturating_mul(max_batch_size).saturating_add(room);
        if size > capacity {
            bail!(
                Unavailable,
                "The batch scheduling queue to which this task was submitted is full; task size is {size} but scheduling capacity is only \
                 {capacity} (num_enqueued_batches={num_batches}, max_enqueued_batches={max_enqueued_batches}, open_batch_size={open}, \
                 max_execution_batch_size={max_batch_size})"
            );
        }
        let (mut sizes, mut left, mut next) = (Vec::new(), size, if room == 0 { max_batch_size } else { room });
        while left > 0 {
            sizes.push(left.min(next));
            left -= left.min(next);
            next = max_batch_size;
        }
        Ok(sizes)
    }

    /// Adds a task whose size was returned by [`Self::task_sizes`].
    pub(super) fn add(&mut self, task: T, now: Instant) {
        if self.open_size().saturating_add(task.size()) > self.options.max_batch_size {
            self.batches.push_back(Vec::new());
            self.opened = None;
        }
        self.opened.get_or_insert(now);
        if let Some(open) = self.batches.back_mut() {
            open.push(task);
        }
    }

    /// Returns the time at which the open batch is ready even if no other task is added, or `None` if it is empty.
    pub(super) fn deadline(&self) -> Option<Instant> {
        self.opened?.checked_add(self.options.timeout)
    }

    /// Removes and returns the first batch that is ready at `now`.
    pub(super) fn take(&mut self, now: Instant) -> Option<Vec<T>> {
        if self.batches.len() > 1 {
            return self.batches.pop_front();
        }
        let opened = self.opened?;
        if self.open_size() < self.options.max_batch_size && self.deadline().is_none_or(|deadline| now < deadline) {
            return None;
        }
        let mut batch = self.batches.pop_front()?;
        let cut = self.cut(&mut batch);
        let (taken, all) = (size_of(&batch), (size_of(&batch) + size_of(&cut)).max(1));
        let waited = now.saturating_duration_since(opened).as_nanos() * taken as u128 / all as u128;
        // The remaining tasks are assumed to have been added at a constant rate.
        self.opened = (!cut.is_empty()).then(|| opened + Duration::from_nanos(waited.try_into().unwrap_or(u64::MAX)));
        self.batches.push_back(cut);
        Some(batch)
    }

    /// Removes the tasks at the end of `batch` that exceed the largest allowed size, and returns them. If a task would have to be split, no task is
    /// removed.
    fn cut(&self, batch: &mut Vec<T>) -> Vec<T> {
        let (size, sizes) = (size_of(batch), &self.options.cut_to);
        let fits = sizes.iter().rev().find(|&&allowed| allowed <= size).copied();
        let Some(target) = fits.filter(|&allowed| allowed < size && sizes.last().is_some_and(|&last| last > size)) else {
            return Vec::new();
        };
        let mut sum = 0;
        let ends = batch.iter().position(|task| {
            let fits = sum == target;
            sum += task.size();
            fits
        });
        ends.map_or_else(Vec::new, |at| batch.split_off(at))
    }

    /// Removes and returns the tasks for which `is_such` returns true.
    pub(super) fn remove_all(&mut self, is_such: impl Fn(&T) -> bool) -> Vec<T> {
        let mut removed = Vec::new();
        for batch in &mut self.batches {
            removed.extend(batch.extract_if(.., |task| is_such(task)));
        }
        let last = self.batches.len() - 1;
        let mut at = 0;
        self.batches.retain(|batch| {
            at += 1;
            at > last || !batch.is_empty()
        });
        if self.batches.back().is_none_or(Vec::is_empty) {
            self.opened = None;
        }
        removed
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use flowmill_tensor::Code;

    impl HasSize for (char, usize) {
        fn size(&self) -> usize {
            self.1
        }
    }

    const SECOND: Duration = Duration::from_secs(1);

    fn options() -> QueueOptions {
        QueueOptions { max_task_size: 10, max_batch_size: 10, max_enqueued_batches: 2, timeout: SECOND, splits: false, cut_to: Vec::new() }
    }

    fn names(batch: Option<Vec<(char, usize)>>) -> String {
        batch.into_iter().flatten().map(|task| task.0).collect()
    }

    #[test]
    fn a_batch_is_ready_when_it_is_full_or_late_or_another_follows() {
        let (mut queue, start) = (Queue::new(options()), Instant::now());
        assert_eq!((names(queue.take(start)).as_str(), queue.deadline()), ("", None));
        queue.add(('a', 4), start);
        queue.add(('b', 5), start + SECOND / 2);
        assert_eq!(names(queue.take(start + SECOND / 2)), "");
        queue.add(('c', 2), start + SECOND / 2);
        assert_eq!((names(queue.take(start)).as_str(), queue.deadline()), ("ab", Some(start + SECOND * 3 / 2)));
        assert_eq!(names(queue.take(start + SECOND)), "");
        assert_eq!((names(queue.take(start + SECOND * 3 / 2)).as_str(), queue.deadline()), ("c", None));
        queue.add(('d', 10), start);
        assert_eq!(names(queue.take(start)), "d");
    }

    #[test]
    fn a_full_queue_refuses_tasks_and_a_task_has_a_largest_size() {
        let (mut queue, start) = (Queue::new(options()), Instant::now());
        assert_eq!(queue.task_sizes(11).unwrap_err().code(), Code::InvalidArgument);
        for name in ['a', 'b'] {
            assert_eq!(queue.task_sizes(7).unwrap(), [7]);
            queue.add((name, 7), start);
        }
        assert_eq!(queue.task_sizes(7).unwrap_err().code(), Code::Unavailable);
        assert_eq!(queue.task_sizes(3).unwrap(), [3]);
    }

    #[test]
    fn large_tasks_fill_batches() {
        let mut queue = Queue::new(QueueOptions { max_task_size: 100, splits: true, max_enqueued_batches: 4, ..options() });
        queue.add(('a', 7), Instant::now());
        assert_eq!(queue.task_sizes(25).unwrap(), [3, 10, 10, 2]);
        assert_eq!(queue.task_sizes(33).unwrap(), [3, 10, 10, 10]);
        assert_eq!(queue.task_sizes(34).unwrap_err().code(), Code::Unavailable);
        queue.add(('b', 3), Instant::now());
        assert_eq!(queue.task_sizes(11).unwrap(), [10, 1]);
    }

    #[test]
    fn a_late_batch_is_cut_between_tasks() {
        let start = Instant::now();
        let late = |sizes: &[usize]| {
            let mut queue = Queue::new(QueueOptions { cut_to: vec![2, 4, 10], ..options() });
            "abcdefgh".chars().zip(sizes).for_each(|(name, &size)| queue.add((name, size), start));
            let first = names(queue.take(start + SECOND));
            (first, queue.deadline())
        };
        assert_eq!(late(&[1, 1, 2, 1, 1]), ("abc".to_owned(), Some(start + SECOND + SECOND * 2 / 3)));
        assert_eq!(late(&[3, 2]), ("ab".to_owned(), None), "a task would have to be split");
        assert_eq!(late(&[2, 2]), ("ab".to_owned(), None), "the size is allowed");
        assert_eq!(late(&[1]), ("a".to_owned(), None), "no size is small enough");
    }

    #[test]
    fn removed_tasks_leave_no_empty_batches() {
        let (mut queue, start) = (Queue::new(options()), Instant::now());
        [('a', 6), ('b', 6), ('a', 4)].into_iter().for_each(|task| queue.add(task, start));
        assert_eq!(queue.remove_all(|task| task.0 == 'a').len(), 2);
        assert_eq!(names(queue.take(start)), "");
        assert_eq!(queue.deadline(), Some(start + SECOND));
        assert_eq!(queue.remove_all(|_| true).len(), 1);
        assert_eq!((queue.deadline(), names(queue.take(start + SECOND * 9))), (None, String::new()));
    }
}
