//! Names of devices, in whole or in part.

use flowmill_tensor::{Error, Result, bail, error};
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

    /// Returns true if no part is given.
    pub fn is_empty(&self) -> bool {
        *self == DeviceName::default()
    }

    /// Returns true if no part is given in both names with different values.
    pub fn is_compatible_with(&self, other: &DeviceName) -> bool {
        fn part<T: PartialEq>(a: &Option<T>, b: &Option<T>) -> bool {
            a.is_none() || b.is_none() || a == b
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
    /// Returns `InvalidArgument` if a part is given in both names with different values.
    pub fn merged(&self, other: &DeviceName) -> Result<DeviceName> {
        self.merge(other, false)
    }

    /// Like [`DeviceName::merged`], for soft placement: types that differ are dropped together with the number, and so is a number that differs.
    ///
    /// # Errors
    /// Returns `InvalidArgument` if the jobs, replicas or tasks differ.
    pub fn merged_softly(&self, other: &DeviceName) -> Result<DeviceName> {
        self.merge(other, true)
    }

    fn merge(&self, other: &DeviceName, is_soft: bool) -> Result<DeviceName> {
        /// Returns true if the part is given in both names with different values. Otherwise it is completed.
        fn differs<T: Clone + PartialEq>(target: &mut Option<T>, other: &Option<T>) -> bool {
            match (&*target, other) {
                (Some(a), Some(b)) => a != b,
                (None, Some(b)) => {
                    *target = Some(b.clone());
                    false
                }
                (_, None) => false,
            }
        }
        let mut target = self.clone();
        let conflict = |target: &DeviceName, parts: &str| -> Result<DeviceName> {
            bail!(InvalidArgument, "Cannot merge devices with incompatible {parts}: '{target}' and '{other}'")
        };
        if differs(&mut target.job, &other.job) {
            return conflict(&target, "jobs");
        }
        if differs(&mut target.replica, &other.replica) {
            return conflict(&target, "replicas");
        }
        if differs(&mut target.task, &other.task) {
            return conflict(&target, "tasks");
        }
        if differs(&mut target.device_type, &other.device_type) {
            return if is_soft { Ok(target.address_space()) } else { conflict(&target, "types") };
        }
        if differs(&mut target.device_id, &other.device_id) {
            return if is_soft { Ok(DeviceName { device_id: None, ..target }) } else { conflict(&target, "ids") };
        }
        Ok(target)
    }

    /// Returns this name with the parts that `other` gives in the place of its own.
    pub fn overridden_by(&self, other: &DeviceName) -> DeviceName {
        let other = other.clone();
        DeviceName {
            job: other.job.or_else(|| self.job.clone()),
            replica: other.replica.or(self.replica),
            task: other.task.or(self.task),
            device_type: other.device_type.or_else(|| self.device_type.clone()),
            device_id: other.device_id.or(self.device_id),
        }
    }

    /// Returns the job, replica and task alone.
    pub fn address_space(&self) -> DeviceName {
        DeviceName { device_type: None, device_id: None, ..self.clone() }
    }

    /// Returns TensorFlow's older form of a full name, `/job:worker/replica:0/task:3/gpu:1`, or `None` if a part is missing.
    pub fn legacy_name(&self) -> Option<String> {
        match self {
            DeviceName {
                job: Some(job),
                replica: Some(replica),
                task: Some(task),
                device_type: Some(device_type),
                device_id: Some(id),
            } => Some(format!("/job:{job}/replica:{replica}/task:{task}/{}:{id}", device_type.to_ascii_lowercase())),
            _ => None,
        }
    }

    /// Parses the name that a node requests: one of the forms that begin with a slash, or empty text.
    ///
    /// # Errors
    /// Returns `InvalidArgument` for text that is no such name.
    pub fn parse_requested(text: &str) -> Result<DeviceName> {
        let name = if text.is_empty() || text.starts_with('/') { parse(text) } else { None };
        name.ok_or_else(|| invalid(text))
    }

    /// Parses the text of a `tf.DeviceSpec`. It is more liberal than a node's request: parts may be in any order, slashes may be missing at both ends,
    /// and `cpu`, `GPU:1` and `tpu:0` are parts. A wildcard is kept as a job or type called `*`.
    ///
    /// # Errors
    /// Returns `InvalidArgument` for a part that is unknown, for two device types, and for malformed numbers.
    pub fn parse_spec(text: &str) -> Result<DeviceName> {
        let mut name = DeviceName::default();
        let id = |id: &str| if id == "*" { Ok(None) } else { number(id).map(Some) };
        for part in text.split('/').filter(|part| !part.is_empty()) {
            let words: Vec<&str> = part.split(':').collect();
            let (device_type, device_id) = match words[..] {
                ["job", job] => {
                    name.job = Some(job.to_owned());
                    continue;
                }
                ["replica", replica] => {
                    name.replica = Some(number(replica)?);
                    continue;
                }
                ["task", task] => {
                    name.task = Some(number(task)?);
                    continue;
                }
                ["device", "cpu" | "gpu", device_id] => (words[1].to_ascii_uppercase(), id(device_id)?),
                ["device", device_type, device_id] => (device_type.to_owned(), id(device_id)?),
                [device_type] if is_short_type(device_type) => (device_type.to_ascii_uppercase(), None),
                [device_type, device_id] if is_short_type(device_type) => (device_type.to_ascii_uppercase(), id(device_id)?),
                ["", ..] => continue,
                _ => bail!(InvalidArgument, "Unknown attribute '{}' is encountered while parsing the device spec: '{text}'.", words[0]),
            };
            if name.device_type.is_some() {
                bail!(InvalidArgument, "Multiple device types are not allowed while parsing the device spec: {text}.");
            }
            name.device_type = Some(device_type);
            name.device_id = device_id;
        }
        Ok(name)
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
    type Err = Error;

    /// Parses a name.
    ///
    /// # Errors
    /// `InvalidArgument` for text that is no device's name.
    fn from_str(text: &str) -> Result<DeviceName> {
        parse(text).ok_or_else(|| invalid(text))
    }
}

fn invalid(text: &str) -> Error {
    error!(InvalidArgument, "'{text}' is not a valid device name")
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
        name.device_id = Some(digits(id)?);
        return Some(name);
    };
    for part in parts.split('/') {
        let (kind, value) = part.split_once(':')?;
        match kind {
            "job" => name.job = any_or(value, |v| is_identifier(v).then(|| v.to_owned()))?,
            "replica" => name.replica = any_or(value, digits)?,
            "task" => name.task = any_or(value, digits)?,
            "device" => {
                let (device_type, id) = value.split_once(':').unwrap_or((value, "*"));
                name.device_type = any_or(device_type, type_name)?;
                name.device_id = any_or(id, digits)?;
            }
            "cpu" | "CPU" | "gpu" | "GPU" => {
                name.device_type = Some(kind.to_ascii_uppercase());
                name.device_id = any_or(value, digits)?;
            }
            _ => return None,
        }
    }
    Some(name)
}

/// Returns `Some(None)` for `*`, and otherwise the text as `read` reads it.
fn any_or<T>(text: &str, read: impl Fn(&str) -> Option<T>) -> Option<Option<T>> {
    if text == "*" { Some(None) } else { read(text).map(Some) }
}

/// Reads a number of decimal digits, without a sign.
fn digits(text: &str) -> Option<u32> {
    text.bytes().all(|b| b.is_ascii_digit()).then(|| text.parse().ok())?
}

fn number(text: &str) -> Result<u32> {
    digits(text).ok_or_else(|| error!(InvalidArgument, "invalid literal in a device spec: '{text}' is not a number that is at least 0"))
}

/// Returns true for the types that `tf.DeviceSpec` reads without the word "device" before them.
fn is_short_type(text: &str) -> bool {
    ["CPU", "GPU", "TPU", "CUSTOM", "EPU"].iter().any(|short| text.eq_ignore_ascii_case(short))
}

fn type_name(text: &str) -> Option<String> {
    is_identifier(text).then(|| built_in_type(text))
}

/// Returns the name of a type: that of CPUs and GPUs is written in upper case.
fn built_in_type(text: &str) -> String {
    let is_built_in = text.eq_ignore_ascii_case("cpu") || text.eq_ignore_ascii_case("gpu");
    if is_built_in { text.to_ascii_uppercase() } else { text.to_owned() }
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
        for bad in [
            "cpu",
            "/cpu",
            "/device",
            "/job:1x",
            "/task:x",
            "/device:CPU:-1",
            "//",
            "/tpu:0",
            "/job:a//task:0",
            "/device:CPU:0:0",
            "CPU:*",
            "/task:+1",
        ] {
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
        let conflict = name("/job:a/cpu:0").merged(&name("/job:b")).unwrap_err();
        assert_eq!(conflict.message(), "Cannot merge devices with incompatible jobs: '/job:a/device:CPU:0' and '/job:b'");
        assert_eq!(name("/job:a/cpu:0").overridden_by(&name("/device:GPU:*")).to_string(), "/job:a/device:GPU:0");
    }

    #[test]
    fn soft_placement_drops_types_and_numbers_that_differ() {
        let soft = |a: &str, b: &str| name(a).merged_softly(&name(b)).map(|n| n.to_string());
        assert_eq!(soft("/cpu:0", "/job:a/gpu:0").unwrap(), "/job:a");
        assert_eq!(soft("/cpu:0", "/cpu:1").unwrap(), "/device:CPU:*");
        assert_eq!(soft("/task:1", "/cpu:1").unwrap(), "/task:1/device:CPU:1");
        assert!(soft("/task:1", "/task:2").is_err());
    }

    #[test]
    fn names_are_compatible_if_no_part_differs() {
        assert!(name("/job:a").is_compatible_with(&name("/cpu:0")) && name("").is_compatible_with(&name("/cpu:0")));
        assert!(!name("/job:a/cpu:0").is_compatible_with(&name("/cpu:1")));
    }

    #[test]
    fn full_names_have_an_older_form() {
        assert_eq!(DeviceName::local("GPU", 2).legacy_name().unwrap(), "/job:localhost/replica:0/task:0/gpu:2");
        assert_eq!(name("/gpu:2").legacy_name(), None);
        assert_eq!(name(&DeviceName::local("GPU", 2).legacy_name().unwrap()), DeviceName::local("GPU", 2));
    }

    #[test]
    fn a_node_requests_no_local_name() {
        assert!(DeviceName::parse_requested("CPU:0").is_err() && DeviceName::parse_requested("/cpu:0").is_ok());
        assert!(DeviceName::parse_requested("").unwrap().is_empty());
    }

    #[test]
    fn specs_have_their_parts_in_any_order() {
        let spec = |text: &str| DeviceName::parse_spec(text).map(|n| n.to_string());
        assert_eq!(spec("cpu").unwrap(), "/device:CPU:*");
        assert_eq!(spec("GPU:1/task:2/job:0").unwrap(), "/job:0/task:2/device:GPU:1");
        assert_eq!(spec("/job:*/device:*:1/").unwrap(), "/job:*/device:*:1");
        assert_eq!(spec("/device:tpu:*").unwrap(), "/device:tpu:*");
        for (bad, part) in
            [("/cpu:0/gpu:1", "Multiple device types"), ("/foo:1", "Unknown attribute 'foo'"), ("/task:x", "'x' is not a number")]
        {
            assert!(spec(bad).unwrap_err().message().contains(part), "{bad}");
        }
    }
}
