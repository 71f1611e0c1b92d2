//! The state that tests read and set: faults and counters of each device.

use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU32, AtomicU64, Ordering};

/// The number of devices.
pub const DEVICES: usize = 2;

/// The memory of a device unless a test sets another limit.
pub(crate) const DEFAULT_MEMORY: u64 = 256 << 20;

/// State that the tests and the driver share. It has no pointers, since the two are different copies of this crate.
#[derive(Debug)]
pub(crate) struct Controls {
    /// The seed of the asynchronous mode, or 0.
    pub(crate) seed: AtomicU64,
    pub(crate) has_blas_lt: AtomicBool,
    pub(crate) fails_products: AtomicBool,
    pub(crate) products: AtomicU64,
    pub(crate) has_dnn: AtomicBool,
    pub(crate) fails_convolutions: AtomicBool,
    pub(crate) convolutions: AtomicU64,
    pub(crate) unordered_convolutions: AtomicU64,
    /// True if the devices have no link to each other.
    pub(crate) has_no_peers: AtomicBool,
    /// The number of bytes that were copied from one device to another.
    pub(crate) peer_bytes: AtomicU64,
    pub(crate) devices: [DeviceControls; DEVICES],
}

#[derive(Debug)]
pub(crate) struct DeviceControls {
    pub(crate) memory_limit: AtomicU64,
    /// The number of launches until one is refused; negative if none is.
    pub(crate) launches_until_refusal: AtomicI64,
    /// The number of launches until a kernel faults; negative if none does.
    pub(crate) launches_until_fault: AtomicI64,
    /// The error that all calls return, or 0.
    pub(crate) error: AtomicU32,
    /// Live objects by [`Kind`].
    pub(crate) live: [AtomicI64; 6],
    /// The number of captures that were begun.
    pub(crate) captures: AtomicU64,
    pub(crate) graph_launches: AtomicU64,
    pub(crate) fails_captures: AtomicBool,
    pub(crate) launches: AtomicU64,
    pub(crate) copied_bytes: AtomicU64,
}

/// The counts of what is in use on a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Bytes of the device's memory.
    Memory,
    /// Bytes of page-locked memory of the host.
    Pinned,
    /// Streams.
    Streams,
    /// Events.
    Events,
    /// Modules.
    Modules,
    /// Captured graphs, and graphs that can be launched.
    Graphs,
}

impl Controls {
    pub(crate) const fn new() -> Controls {
        Controls {
            seed: AtomicU64::new(0),
            has_blas_lt: AtomicBool::new(false),
            fails_products: AtomicBool::new(false),
            products: AtomicU64::new(0),
            has_dnn: AtomicBool::new(false),
            fails_convolutions: AtomicBool::new(false),
            convolutions: AtomicU64::new(0),
            unordered_convolutions: AtomicU64::new(0),
            has_no_peers: AtomicBool::new(false),
            peer_bytes: AtomicU64::new(0),
            devices: [DeviceControls::new(), DeviceControls::new()],
        }
    }

    /// Takes back all faults, limits and counts but those of live objects.
    pub(crate) fn reset(&self) {
        self.seed.store(0, Ordering::SeqCst);
        self.has_blas_lt.store(false, Ordering::SeqCst);
        self.fails_products.store(false, Ordering::SeqCst);
        self.products.store(0, Ordering::SeqCst);
        self.has_dnn.store(false, Ordering::SeqCst);
        self.fails_convolutions.store(false, Ordering::SeqCst);
        self.convolutions.store(0, Ordering::SeqCst);
        self.unordered_convolutions.store(0, Ordering::SeqCst);
        self.has_no_peers.store(false, Ordering::SeqCst);
        self.peer_bytes.store(0, Ordering::SeqCst);
        for device in &self.devices {
            device.memory_limit.store(DEFAULT_MEMORY, Ordering::SeqCst);
            device.launches_until_refusal.store(-1, Ordering::SeqCst);
            device.launches_until_fault.store(-1, Ordering::SeqCst);
            device.error.store(0, Ordering::SeqCst);
            device.captures.store(0, Ordering::SeqCst);
            device.graph_launches.store(0, Ordering::SeqCst);
            device.fails_captures.store(false, Ordering::SeqCst);
            device.launches.store(0, Ordering::SeqCst);
            device.copied_bytes.store(0, Ordering::SeqCst);
        }
    }
}

impl DeviceControls {
    const fn new() -> DeviceControls {
        DeviceControls {
            memory_limit: AtomicU64::new(DEFAULT_MEMORY),
            launches_until_refusal: AtomicI64::new(-1),
            launches_until_fault: AtomicI64::new(-1),
            error: AtomicU32::new(0),
            live: [const { AtomicI64::new(0) }; 6],
            captures: AtomicU64::new(0),
            graph_launches: AtomicU64::new(0),
            fails_captures: AtomicBool::new(false),
            launches: AtomicU64::new(0),
            copied_bytes: AtomicU64::new(0),
        }
    }

    pub(crate) fn count(&self, kind: Kind, change: i64) {
        self.live[kind as usize].fetch_add(change, Ordering::SeqCst);
    }

    pub(crate) fn live(&self, kind: Kind) -> i64 {
        self.live[kind as usize].load(Ordering::SeqCst)
    }
}
