//! Names of devices, in whole or in part.

use flowmill_tensor::{Result, bail, error};
use std::fmt;
use std::str::FromStr;

/// The parts of a device's name: `/job:worker/replica:0/task:3/device:GPU:1`. A part that is `None` matches any.
///
/// Parses TensorFlow's forms: the canonical one above, of which every part may be missing and in which `*` is any; the legacy
/// `/gpu:1` and `/cpu:0`; and the names of local devices, `GPU:1`. The type is kept in the case that TensorFlow prints: upper case for
/// `cpu` and `gpu`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct DeviceName {
    /// The job, such as `worker`.
    pub job: Option<String>,
    /// The replica's number.
    pub replica: Option<u32>,
    /// The task's number within the job.
    pub task: Option<u32>,
    /// The type of the device, such as `CPU`.
    pub device_type: Option<String>,
    /// The device's number among those of its type in its task.
    pub device_id: Option<u32>,
}

impl DeviceName {
    /// Returns the full name of a device of this process.
    pub fn local(device_type: &str, device_id: u32) -> DeviceName {
        DeviceName {
            job: Some("localhost".to_owned()),
            replica: Some(0),
            task: Some(0),
            device_type: Some(device_type.to_owned()),
            device_id: Some(device_id),
        }
    }

    /// Returns true if every part is given.
    pub fn is_full(&self) -> bool {
        self.job.is_some() && self.replica.is_some() && self.task.is_some() && self.device_type.is_some() && self.device_id.is_some()
    }

    /// Returns true if each part that is given is equal to that of `other`.
    pub fn matches(&self, other: &DeviceName) -> bool {
        fn part<T: PartialEq>(wanted: &Option<T>, other: &Option<T>) -> bool {
            wanted.is_none() || wanted == other
        }
        part(&self.job, &other.job)
            && part(&self.replica, &other.replica)
            && part(&self.task, &other.task)
            && part(&self.device_type, &other.device_type)
            && part(&self.device_id, &other.device_id)
    }

    /// Returns the name that has the parts of both.
    ///
    /// # Errors
    /// `InvalidArgument` if both give a part, and differ.
    pub fn merged(&self, other: &DeviceName) -> Result<DeviceName> {
        let conflict = |part: &str| error!(InvalidArgument, "Cannot merge devices with incompatible {part}: '{self}' and '{other}'");
        fn part<T: Clone + PartialEq>(
            a: &Option<T>,
            b: &Option<T>,
            conflict: impl FnOnce() -> flowmill_tensor::Error,
        ) -> Result<Option<T>> {
            match (a, b) {
                (Some(a), Some(b)) if a != b => Err(conflict()),
                (a, b) => Ok(a.as_ref().or(b.as_ref()).cloned()),
            }
        }
        Ok(DeviceName {
            job: part(&self.job, &other.job, || conflict("jobs"))?,
            replica: part(&self.replica, &other.replica, || conflict("replicas"))?,
            task: part(&self.task, &other.task, || conflict("tasks"))?,
            device_type: part(&self.device_type, &other.device_type, || conflict("types"))?,
            device_id: part(&self.device_id, &other.device_id, || conflict("ids"))?,
        })
    }

    /// Returns this name with the parts that `other` gives in the place of its own.
    pub fn overridden_by(&self, other: &DeviceName) -> DeviceName {
        let mut name = self.clone();
        name.job = other.job.clone().or(name.job);
        name.replica = other.replica.or(name.replica);
        name.task = other.task.or(name.task);
        name.device_type = other.device_type.clone().or(name.device_type);
        name.device_id = other.device_id.or(name.device_id);
        name
    }
}

impl fmt::Display for DeviceName {
    /// Writes the canonical form, without the parts that are not given.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(job) = &self.job {
            write!(f, "/job:{job}")?;
        }
        if let Some(replica) = self.replica {
            write!(f, "/replica:{replica}")?;
        }
        if let Some(task) = self.task {
            write!(f, "/task:{task}")?;
        }
        match (&self.device_type, self.device_id) {
            (None, None) => Ok(()),
            (device_type, id) => {
                write!(f, "/device:{}:", device_type.as_deref().unwrap_or("*"))?;
                match id {
                    Some(id) => write!(f, "{id}"),
                    None => f.write_str("*"),
                }
            }
        }
    }
}

impl FromStr for DeviceName {
    type Err = flowmill_tensor::Error;

    /// Parses a name.
    ///
    /// # Errors
    /// `InvalidArgument` for text that is no device's name.
    fn from_str(text: &str) -> Result<DeviceName> {
        match parse(text) {
            Some(name) => Ok(name),
            None => bail!(InvalidArgument, "'{text}' is not a valid device name"),
        }
    }
}

fn parse(text: &str) -> Option<DeviceName> {
    let mut name = DeviceName::default();
    if text.is_empty() || text == "/" {
        return Some(name);
    }
    let Some(parts) = text.strip_prefix('/') else {
        // A local device, such as `GPU:1`.
        let (device_type, id) = text.split_once(':')?;
        name.device_type = Some(type_name(device_type)?);
        name.device_id = Some(id.parse().ok()?);
        return Some(name);
    };
    for part in parts.split('/') {
        let (kind, value) = part.split_once(':')?;
        match kind {
            "job" => name.job = any_or(value, |v| is_identifier(v).then(|| v.to_owned()))?,
            "replica" => name.replica = any_or(value, |v| v.parse().ok())?,
            "task" => name.task = any_or(value, |v| v.parse().ok())?,
            "device" => {
                let (device_type, id) = value.split_once(':').unwrap_or((value, "*"));
                name.device_type = any_or(device_type, type_name)?;
                name.device_id = any_or(id, |v| v.parse().ok())?;
            }
            "cpu" | "CPU" | "gpu" | "GPU" => {
                name.device_type = Some(kind.to_ascii_uppercase());
                name.device_id = any_or(value, |v| v.parse().ok())?;
            }
            _ => return None,
        }
    }
    Some(name)
}

/// `Some(None)` for `*`, else what `read` makes of the text.
fn any_or<T>(text: &str, read: impl Fn(&str) -> Option<T>) -> Option<Option<T>> {
    if text == "*" { Some(None) } else { read(text).map(Some) }
}

fn type_name(text: &str) -> Option<String> {
    let is_built_in = text.eq_ignore_ascii_case("cpu") || text.eq_ignore_ascii_case("gpu");
    is_identifier(text).then(|| if is_built_in { text.to_ascii_uppercase() } else { text.to_owned() })
}

fn is_identifier(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic()) && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(text: &str) -> DeviceName {
        text.parse().unwrap()
    }

    #[test]
    fn every_form_is_parsed_and_the_canonical_one_printed() {
        let full = name("/job:worker/replica:0/task:3/device:GPU:1");
        assert_eq!(full.to_string(), "/job:worker/replica:0/task:3/device:GPU:1");
        assert!(full.is_full());
        for same in ["/cpu:1", "/CPU:1", "/device:CPU:1", "/device:cpu:1", "CPU:1", "cpu:1"] {
            assert_eq!(name(same).to_string(), "/device:CPU:1", "{same}");
        }
        for any in ["", "/", "/job:*", "/device:*", "/device:*:*", "/replica:*/task:*"] {
            assert_eq!(name(any), DeviceName::default(), "{any}");
        }
        assert_eq!(name("/device:TPU").to_string(), "/device:TPU:*");
        assert_eq!(name("/device:*:2").to_string(), "/device:*:2");
        for bad in
            ["cpu", "/cpu", "/device", "/job:1x", "/task:x", "/device:CPU:-1", "//", "/tpu:0", "/job:a//task:0", "/device:CPU:0:0", "CPU:*"]
        {
            assert!(bad.parse::<DeviceName>().is_err(), "{bad}");
        }
    }

    #[test]
    fn names_match_merge_and_override() {
        let device = DeviceName::local("CPU", 1);
        assert!(name("/cpu:1").matches(&device) && name("").matches(&device) && name("/job:localhost").matches(&device));
        assert!(!name("/cpu:0").matches(&device) && !name("/task:1").matches(&device) && !device.matches(&name("/cpu:1")));
        assert_eq!(name("/job:a").merged(&name("/gpu:0")).unwrap().to_string(), "/job:a/device:GPU:0");
        let error = name("/cpu:0").merged(&name("/cpu:1")).unwrap_err();
        assert_eq!(error.message(), "Cannot merge devices with incompatible ids: '/device:CPU:0' and '/device:CPU:1'");
        assert_eq!(name("/job:a/cpu:0").overridden_by(&name("/device:GPU:*")).to_string(), "/job:a/device:GPU:0");
    }
}
