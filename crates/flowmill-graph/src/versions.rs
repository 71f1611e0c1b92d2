//! Versions of the graph format, and which of them can be read.

use flowmill_proto::VersionDef;
use flowmill_tensor::{Result, bail};

/// The version of the graph format that this engine reads and writes: TensorFlow 2.21's.
pub const GRAPH_DEF_VERSION: i32 = 2474;
/// The oldest producer whose graphs are read.
pub const GRAPH_DEF_VERSION_MIN_PRODUCER: i32 = 0;
/// The oldest consumer that can read what this engine writes.
pub const GRAPH_DEF_VERSION_MIN_CONSUMER: i32 = 0;

/// Returns the versions of a new graph.
pub(crate) fn current() -> VersionDef {
    VersionDef { producer: GRAPH_DEF_VERSION, min_consumer: GRAPH_DEF_VERSION_MIN_CONSUMER, ..Default::default() }
}

/// Checks that a file of these versions can be read by a consumer of version `consumer` that reads producers from `min_producer` on.
///
/// # Errors
/// `InvalidArgument` if the file is too old, too new, or names this consumer as one that must not read it. The message calls the file `what`, such
/// as `GraphDef`.
pub fn check_versions(versions: &VersionDef, consumer: i32, min_producer: i32, what: &str) -> Result<()> {
    let VersionDef { producer, min_consumer, bad_consumers, .. } = versions;
    if *producer < min_producer {
        bail!(
            InvalidArgument,
            "{what} producer version {producer} below min producer {min_producer} supported by this engine.  Please regenerate your {}.",
            what.to_lowercase()
        );
    }
    if *min_consumer > consumer {
        bail!(
            InvalidArgument,
            "{what} min consumer version {min_consumer} above current version {consumer} of this engine.  Please upgrade."
        );
    }
    if bad_consumers.contains(&consumer) {
        bail!(InvalidArgument, "{what} disallows consumer version {consumer}.  Please upgrade: this version is likely buggy.");
    }
    Ok(())
}

/// Returns the versions of a graph that has parts of both.
pub(crate) fn merge(a: &VersionDef, b: &VersionDef) -> VersionDef {
    let mut bad_consumers = a.bad_consumers.clone();
    bad_consumers.extend(b.bad_consumers.iter().filter(|v| !a.bad_consumers.contains(v)));
    VersionDef {
        producer: a.producer.min(b.producer),
        min_consumer: a.min_consumer.max(b.min_consumer),
        bad_consumers,
        unknown_fields: a.unknown_fields.clone(),
    }
}
