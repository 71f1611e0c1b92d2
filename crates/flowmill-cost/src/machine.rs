//! Machines: devices with speeds and memory, and the links between them.

use crate::kernel_class::{KernelClass, KernelRate};
use flowmill_tensor::{Error, Result, bail};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::Path;

/// The most devices of a [`Machine`].
pub const MAX_DEVICES: usize = 64;

/// The speed and the memory of one device. A device runs one node at a time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DeviceModel {
    /// The device's name, such as `CPU:0`.
    pub name: String,
    /// Arithmetic operations per second, as large kernels reach them.
    pub flops_per_second: f64,
    /// Bytes per second that kernels read and write.
    pub bytes_per_second: f64,
    /// Seconds that every node takes besides its arithmetic.
    pub launch_seconds: f64,
    /// The bytes that tensors may take; no limit if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_bytes: Option<u64>,
    /// The measured rates of classes of kernels. A class without one has its usual share of `flops_per_second`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub kernel_rates: BTreeMap<KernelClass, KernelRate>,
}

impl DeviceModel {
    /// Returns the device's type, the name up to the colon.
    pub fn device_type(&self) -> &str {
        self.name.split(':').next().unwrap_or_default()
    }

    /// Returns the nanoseconds of a node that computes `flops` operations and moves `bytes` bytes: whichever takes longer, after the launch.
    pub fn time(&self, flops: f64, bytes: f64) -> u64 {
        let seconds = self.launch_seconds + (flops / self.flops_per_second).max(bytes / self.bytes_per_second);
        nanoseconds(seconds)
    }

    /// Returns the nanoseconds of kernels that do this work. Each one takes the launch, the time per call of its class, and the time of its operations
    /// or that of its bytes, whichever is longer.
    pub fn time_of(&self, work: &[KernelWork]) -> u64 {
        let seconds = |part: &KernelWork| {
            let rate = self.rate(part.class);
            part.calls * (self.launch_seconds + rate.seconds_per_call)
                + (part.operations / rate.operations_per_second).max(part.bytes / self.bytes_per_second)
        };
        nanoseconds(work.iter().map(seconds).sum())
    }

    /// Returns the rate of a class of kernels.
    pub fn rate(&self, class: KernelClass) -> KernelRate {
        let usual = || KernelRate { operations_per_second: self.flops_per_second * class.usual_share(), seconds_per_call: 0.0 };
        self.kernel_rates.get(&class).copied().unwrap_or_else(usual)
    }
}

/// The work of calls of kernels of one class.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct KernelWork {
    /// The class of the kernels.
    pub class: KernelClass,
    /// The number of calls; 0 for work that another kernel does besides its own, such as an epilogue.
    pub calls: f64,
    /// Arithmetic operations of all calls.
    pub operations: f64,
    /// Bytes that all calls read and write.
    pub bytes: f64,
}

/// The cost of copies from one device to another.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bandwidth {
    /// Bytes per second. Copies over a link follow each other at this rate.
    pub bytes_per_second: f64,
    /// Seconds that each copy takes besides, during which the link is free for others.
    pub latency_seconds: f64,
}

impl Bandwidth {
    /// Returns the nanoseconds for which a copy of this many bytes occupies the link.
    pub fn occupancy(&self, bytes: u64) -> u64 {
        nanoseconds(bytes as f64 / self.bytes_per_second)
    }

    /// Returns the latency in nanoseconds.
    pub fn latency(&self) -> u64 {
        nanoseconds(self.latency_seconds)
    }

    /// Returns the nanoseconds from the start of a copy until its consumer may run, on a link without other copies.
    pub fn time(&self, bytes: u64) -> u64 {
        self.occupancy(bytes).saturating_add(self.latency())
    }
}

/// A link that differs from [`Machine::link`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Link {
    /// The name of the device that sends.
    pub from: String,
    /// The name of the device that receives.
    pub to: String,
    /// The cost of copies.
    pub bandwidth: Bandwidth,
}

/// The devices of a machine, by number, and a link in each direction between any two of them. `flowmill calibrate` measures one and writes it as JSON.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "MachineText", into = "MachineText")]
pub struct Machine {
    devices: Vec<DeviceModel>,
    links: Vec<Bandwidth>,
    text: MachineText,
}

/// The fields of a machine's file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct MachineText {
    devices: Vec<DeviceModel>,
    link: Bandwidth,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    links: Vec<Link>,
}

impl TryFrom<MachineText> for Machine {
    type Error = Error;

    fn try_from(text: MachineText) -> Result<Machine> {
        check(&text)?;
        let n = text.devices.len();
        let mut links = vec![text.link; n * n];
        for link in &text.links {
            let number = |name: &str| match text.devices.iter().position(|d| d.name == name) {
                Some(i) => Ok(i),
                None => bail!(InvalidArgument, "a link names the device '{name}', which the machine does not have"),
            };
            let (from, to) = (number(&link.from)?, number(&link.to)?);
            if let Some(entry) = links.get_mut(from * n + to) {
                *entry = link.bandwidth;
            }
        }
        Ok(Machine { devices: text.devices.clone(), links, text })
    }
}

impl From<Machine> for MachineText {
    fn from(machine: Machine) -> MachineText {
        machine.text
    }
}

/// # Errors
/// Returns `InvalidArgument` for a machine without devices, names that are not unique, and speeds that are not positive.
fn check(text: &MachineText) -> Result<()> {
    if text.devices.is_empty() || text.devices.len() > MAX_DEVICES {
        bail!(InvalidArgument, "a machine has 1 to {MAX_DEVICES} devices, not {}", text.devices.len());
    }
    let is_speed = |speed: f64| speed.is_finite() && speed > 0.0;
    let is_time = |seconds: f64| (0.0..1e6).contains(&seconds);
    for (i, device) in text.devices.iter().enumerate() {
        let name = &device.name;
        if name.is_empty() || text.devices.iter().take(i).any(|other| other.name == *name) {
            bail!(InvalidArgument, "'{name}' is not the name of exactly one device of the machine");
        }
        if !is_speed(device.flops_per_second) || !is_speed(device.bytes_per_second) || !is_time(device.launch_seconds) {
            bail!(InvalidArgument, "the speeds of device '{name}' must be positive and finite, and its launch time must not be negative");
        }
        if !device.kernel_rates.values().all(|rate| is_speed(rate.operations_per_second) && is_time(rate.seconds_per_call)) {
            bail!(
                InvalidArgument,
                "the kernel rates of device '{name}' must be positive and finite, and the times per call must not be negative"
            );
        }
    }
    for bandwidth in text.links.iter().map(|link| &link.bandwidth).chain([&text.link]) {
        if !is_speed(bandwidth.bytes_per_second) || !is_time(bandwidth.latency_seconds) {
            bail!(InvalidArgument, "the bandwidth of a link must be positive and finite, and its latency must not be negative");
        }
    }
    Ok(())
}

impl Machine {
    /// Makes a machine of these devices. All pairs of devices have the link `link`, except those in `links`.
    ///
    /// # Errors
    /// Returns `InvalidArgument` for no or more than [`MAX_DEVICES`] devices, names that are not unique, unknown names in links, and speeds that are
    /// not positive.
    pub fn new(devices: Vec<DeviceModel>, link: Bandwidth, links: Vec<Link>) -> Result<Machine> {
        Machine::try_from(MachineText { devices, link, links })
    }

    /// Makes a machine from types of devices and their numbers, such as `[("CPU", 2)]`, with usual speeds: those of one core for a CPU.
    ///
    /// # Errors
    /// Returns the errors of [`Machine::new`].
    pub fn usual(types: &[(String, usize)]) -> Result<Machine> {
        let device = |(device_type, i): (&str, usize)| {
            let (flops, bytes, launch) = if device_type == "CPU" { (5e10, 1e10, 2e-7) } else { (1e13, 8e11, 5e-6) };
            let name = format!("{device_type}:{i}");
            DeviceModel {
                name,
                flops_per_second: flops,
                bytes_per_second: bytes,
                launch_seconds: launch,
                memory_bytes: None,
                kernel_rates: BTreeMap::new(),
            }
        };
        let names = types.iter().flat_map(|(name, n)| (0..*n).map(move |i| (name.as_str(), i)));
        let devices: Vec<DeviceModel> = names.take(MAX_DEVICES + 1).map(device).collect();
        let latency_seconds = if types.iter().all(|(name, _)| name == "CPU") { 3e-7 } else { 1e-5 };
        Machine::new(devices, Bandwidth { bytes_per_second: 1e10, latency_seconds }, Vec::new())
    }

    /// Returns the machine with only so many devices of each type, the first ones.
    ///
    /// # Errors
    /// Returns `InvalidArgument` for more devices of a type than there are.
    pub fn with_devices(&self, types: &[(String, usize)]) -> Result<Machine> {
        let mut devices = Vec::new();
        for (device_type, n) in types {
            let found: Vec<&DeviceModel> = self.devices.iter().filter(|d| d.device_type() == device_type).take(*n).collect();
            if found.len() < *n {
                bail!(InvalidArgument, "the machine has {} devices of type {device_type}, not {n}", found.len());
            }
            devices.extend(found.into_iter().cloned());
        }
        let is_kept = |name: &String| devices.iter().any(|d: &DeviceModel| d.name == *name);
        let links = self.text.links.iter().filter(|link| is_kept(&link.from) && is_kept(&link.to)).cloned().collect();
        Machine::new(devices, self.text.link, links)
    }

    /// Reads a machine from JSON.
    ///
    /// # Errors
    /// Returns `InvalidArgument` for malformed text, and the errors of [`Machine::new`].
    pub fn from_json(text: &str) -> Result<Machine> {
        serde_json::from_str(text).map_err(|e| Error::invalid_argument(format!("a machine's description: {e}")))
    }

    /// Returns the machine as JSON, which [`Machine::from_json`] reads.
    pub fn to_json(&self) -> String {
        serde_json::to_string_pretty(self).unwrap_or_default()
    }

    /// Reads a machine from a file.
    ///
    /// # Errors
    /// Returns `NotFound` for a file that cannot be read, and the errors of [`Machine::from_json`].
    pub fn read(path: &Path) -> Result<Machine> {
        let text = std::fs::read_to_string(path).map_err(|e| Error::not_found(format!("{}: {e}", path.display())))?;
        Machine::from_json(&text).map_err(|e| e.context(path.display().to_string()))
    }

    /// Returns the devices, by number.
    pub fn devices(&self) -> &[DeviceModel] {
        &self.devices
    }

    /// Returns the number of devices.
    pub fn num_devices(&self) -> usize {
        self.devices.len()
    }

    /// Returns the link from one device to another; that of the first device for numbers out of range.
    pub fn link(&self, from: usize, to: usize) -> Bandwidth {
        self.links.get(from * self.devices.len() + to).copied().unwrap_or(self.text.link)
    }

    /// Returns the nanoseconds of a copy between two devices without contention; 0 on one device.
    pub fn copy_time(&self, from: usize, to: usize, bytes: u64) -> u64 {
        if from == to { 0 } else { self.link(from, to).time(bytes) }
    }

    /// Returns the mean nanoseconds of a copy over all pairs of different devices.
    pub fn mean_copy_time(&self, bytes: u64) -> u64 {
        let n = self.num_devices();
        let pairs = (0..n).flat_map(|from| (0..n).map(move |to| (from, to))).filter(|(from, to)| from != to);
        let sum: u64 = pairs.map(|(from, to)| self.copy_time(from, to, bytes)).fold(0, u64::saturating_add);
        sum / (n * n.saturating_sub(1)).max(1) as u64
    }
}

/// Rounds up, so that no work is free; except what is less than a thousandth of a nanosecond, which may be a rounding error of the product.
fn nanoseconds(seconds: f64) -> u64 {
    (seconds * 1e9 - 1e-3).ceil() as u64
}
