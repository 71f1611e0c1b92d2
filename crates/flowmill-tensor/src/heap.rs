//! The reference-counted block behind a tensor that does not fit two words.

use crate::alloc::{Buffer, Strings};
use crate::{ResourceHandle, Shape, Variant};
use std::any::Any;
use std::fmt;
use std::sync::Arc;

/// Dense data up to this many bytes lie in the block itself.
pub(crate) const INLINE_BYTES: usize = 64;

/// Memory of a device other than the host, which holds the elements of a tensor.
///
/// The device knows the type behind the trait and finds it by `Any`; everybody else sees the device's name.
pub trait DeviceMemory: Any + Send + Sync {
    /// Returns the name of the device whose memory it is.
    fn device(&self) -> &str;
}

impl fmt::Debug for dyn DeviceMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "memory of {}", self.device())
    }
}

pub(crate) struct HeapTensor {
    pub(crate) shape: Shape,
    pub(crate) storage: Storage,
}

pub(crate) enum Storage {
    /// Dense, at most [`INLINE_BYTES`].
    Inline([u64; INLINE_BYTES / 8]),
    /// Dense, owned.
    Owned(Buffer),
    /// Dense and read-only: memory that `owner` keeps alive, such as a mapped file, a NumPy array, or another tensor.
    Foreign {
        ptr: *const u8,
        owner: Arc<dyn Any + Send + Sync>,
    },
    /// Dense, in the memory of a device other than the host. The tensor's word says so too.
    Device(Arc<dyn DeviceMemory>),
    Strings(Strings),
    Resources(Vec<ResourceHandle>),
    Variants(Vec<Variant>),
}

// SAFETY: `ptr` of `Foreign` points into memory that `owner` keeps alive and that is only read; every other variant is `Send + Sync` by itself.
unsafe impl Send for Storage {}
// SAFETY: as above.
unsafe impl Sync for Storage {}

impl HeapTensor {
    /// Start of the dense data; `None` for strings, resources and variants, and for data that are not in the host's memory.
    pub(crate) fn data(&self) -> Option<*const u8> {
        match &self.storage {
            Storage::Inline(words) => Some(words.as_ptr().cast()),
            Storage::Owned(buffer) => Some(buffer.as_ptr()),
            Storage::Foreign { ptr, .. } => Some(*ptr),
            _ => None,
        }
    }

    /// Start of the dense data for writing; `None` if the memory is not ours alone to write.
    pub(crate) fn data_mut(&mut self) -> Option<*mut u8> {
        match &mut self.storage {
            Storage::Inline(words) => Some(words.as_mut_ptr().cast()),
            Storage::Owned(buffer) => Some(buffer.as_mut().as_mut_ptr()),
            _ => None,
        }
    }
}
