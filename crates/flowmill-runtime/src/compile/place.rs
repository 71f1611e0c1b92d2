//! Whether the devices that nodes ask for exist. There is one kind, the CPU, of which a session has as many as its options say.

use crate::session::SessionOptions;
use flowmill_graph::{Graph, Node};
use flowmill_tensor::sync::Mutex;
use flowmill_tensor::{Error, Result, error};

/// The devices of the nodes of a unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Placement {
    /// All on the session's one device.
    OneDevice,
}

/// How far a session's graph was checked.
#[derive(Default)]
pub(crate) struct Checked(Mutex<Extent>);

#[derive(Default, Clone, Copy)]
struct Extent {
    rewrite_count: u64,
    num_node_ids: usize,
}

impl Checked {
    /// Checks what was not checked before: TensorFlow places a whole graph before it prunes it, unless it is asked to do so afterwards.
    ///
    /// # Errors
    /// As [`check`], for the first node that has one.
    pub(crate) fn check(&self, graph: &Graph, options: &SessionOptions) -> Result<()> {
        let mut checked = self.0.lock();
        let now = Extent { rewrite_count: graph.rewrite_count(), num_node_ids: graph.num_node_ids() };
        let from = if checked.rewrite_count == now.rewrite_count { checked.num_node_ids } else { 0 };
        graph.op_nodes().filter(|n| n.id().index() >= from).try_for_each(|node| check(node, options))?;
        *checked = now;
        Ok(())
    }
}

/// Whether the session has the device that a node asks for.
///
/// # Errors
/// `InvalidArgument` for a name that is none, and for a device that the session does not have. With soft placement every type and number
/// stands for a CPU, but not another job or task.
pub(crate) fn check(node: &Node, options: &SessionOptions) -> Result<()> {
    if node.device().is_empty() {
        return Ok(());
    }
    let at = |e: Error| e.at_node(node.name(), node.op());
    let Some(wanted) = DeviceSpec::parse(node.device()) else {
        return Err(at(error!(InvalidArgument, "Malformed device specification '{}' in node: {}", node.device(), node.name())));
    };
    let cpus = options.device_count.get("CPU").copied().unwrap_or(1).max(1);
    if wanted.is_here(cpus, options.allow_soft_placement) {
        return Ok(());
    }
    let devices: Vec<String> = (0..cpus).map(|i| format!("/job:localhost/replica:0/task:0/device:CPU:{i}")).collect();
    Err(at(error!(
        InvalidArgument,
        "Cannot assign a device for operation {name}: {{{{node {name}}}}} was explicitly assigned to {} but available devices are [ {} ]. Make sure the device specification refers to a valid device, or allow soft placement.",
        node.device(),
        devices.join(", "),
        name = node.name()
    )))
}

/// A device's name taken apart; what it does not say is `None`.
#[derive(Debug, Default, PartialEq)]
struct DeviceSpec<'a> {
    job: Option<&'a str>,
    replica: Option<usize>,
    task: Option<usize>,
    device_type: Option<&'a str>,
    device_id: Option<usize>,
}

impl<'a> DeviceSpec<'a> {
    /// Reads `/job:NAME/replica:N/task:N/device:TYPE:N`, of which every part may be missing, and `*` stands for any; `/cpu:N` and `/gpu:N`
    /// are the same as `/device:CPU:N` and `/device:GPU:N`.
    fn parse(name: &'a str) -> Option<DeviceSpec<'a>> {
        let mut spec = DeviceSpec::default();
        if name == "/" {
            return Some(spec);
        }
        for part in name.strip_prefix('/')?.split('/') {
            let (kind, value) = part.split_once(':')?;
            match kind {
                "job" => spec.job = any_or(value, |v| is_name(v).then_some(v))?,
                "replica" => spec.replica = any_or(value, number)?,
                "task" => spec.task = any_or(value, number)?,
                "device" => {
                    let (device_type, id) = value.split_once(':').unwrap_or((value, "*"));
                    spec.device_type = any_or(device_type, |v| is_name(v).then_some(v))?;
                    spec.device_id = any_or(id, number)?;
                }
                "cpu" | "CPU" | "gpu" | "GPU" => {
                    spec.device_type = Some(if kind.eq_ignore_ascii_case("cpu") { "CPU" } else { "GPU" });
                    spec.device_id = any_or(value, number)?;
                }
                _ => return None,
            }
        }
        Some(spec)
    }

    fn is_here(&self, cpus: usize, soft: bool) -> bool {
        let process = self.job.is_none_or(|j| j == "localhost") && self.replica.is_none_or(|r| r == 0) && self.task.is_none_or(|t| t == 0);
        let device = self.device_type.is_none_or(|t| t.eq_ignore_ascii_case("cpu")) && self.device_id.is_none_or(|id| id < cpus);
        process && (soft || device)
    }
}

/// `Some(None)` for `*`, else what `read` makes of the text.
fn any_or<'a, T>(text: &'a str, read: impl Fn(&'a str) -> Option<T>) -> Option<Option<T>> {
    if text == "*" { Some(None) } else { read(text).map(Some) }
}

fn number(text: &str) -> Option<usize> {
    text.parse().ok()
}

fn is_name(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic()) && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_taken_apart() {
        let spec = DeviceSpec::parse("/job:worker/replica:0/task:3/device:GPU:1").unwrap();
        assert_eq!(
            (spec.job, spec.replica, spec.task, spec.device_type, spec.device_id),
            (Some("worker"), Some(0), Some(3), Some("GPU"), Some(1))
        );
        for same in ["/cpu:1", "/CPU:1", "/device:CPU:1"] {
            let spec = DeviceSpec::parse(same).unwrap();
            assert_eq!((spec.device_type, spec.device_id), (Some("CPU"), Some(1)), "{same}");
        }
        for any in ["/", "/job:*", "/device:*", "/device:*:*", "/replica:*/task:*"] {
            assert_eq!(DeviceSpec::parse(any), Some(DeviceSpec::default()), "{any}");
        }
        for bad in ["cpu:0", "/cpu", "/device", "/job:1x", "/task:x", "/device:CPU:-1", "//", "/tpu:0", "/job:a//task:0", "/device:CPU:0:0"]
        {
            assert_eq!(DeviceSpec::parse(bad), None, "{bad}");
        }
    }

    #[test]
    fn a_device_is_here_or_not() {
        let here = |name: &str, cpus, soft| DeviceSpec::parse(name).unwrap().is_here(cpus, soft);
        assert!(here("/job:localhost/replica:0/task:0/device:CPU:0", 1, false) && here("/device:CPU:*", 1, false));
        assert!(here("/cpu:1", 2, false) && !here("/cpu:1", 1, false) && here("/cpu:1", 1, true));
        assert!(!here("/gpu:0", 4, false) && here("/gpu:0", 1, true));
        assert!(!here("/job:worker", 1, true) && !here("/task:1", 1, true) && !here("/replica:1/gpu:0", 1, true));
    }
}
