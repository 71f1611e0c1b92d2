//! Messages of protocol buffers whose types are known at run time: `DecodeProtoV2`, `EncodeProto`.

mod decode;
mod encode;
mod wire;

use flowmill_graph::Attrs;
use flowmill_runtime::KernelRegistry;
use flowmill_tensor::{Bytes, DType, Error, Result, bail, error};
use prost_reflect::{Cardinality, DescriptorPool, ExtensionDescriptor, FieldDescriptor, Kind, MessageDescriptor, Value};
use std::sync::OnceLock;

pub(super) fn register(registry: &mut KernelRegistry) {
    decode::register(registry);
    encode::register(registry);
}

/// A field of a message's type, its own or an extension.
enum Field {
    Own(FieldDescriptor),
    Extension(ExtensionDescriptor),
}

/// Calls a method that both kinds of `Field` have.
macro_rules! of_both {
    ($self:ident . $method:ident ()) => {
        match $self {
            Field::Own(field) => field.$method(),
            Field::Extension(field) => field.$method(),
        }
    };
}

impl Field {
    fn number(&self) -> u32 {
        of_both!(self.number())
    }

    fn full_name(&self) -> &str {
        of_both!(self.full_name())
    }

    fn is_repeated(&self) -> bool {
        of_both!(self.cardinality()) == Cardinality::Repeated
    }

    fn is_packed(&self) -> bool {
        of_both!(self.is_packed())
    }

    fn kind(&self) -> Kind {
        of_both!(self.kind())
    }

    fn is_group(&self) -> bool {
        of_both!(self.is_group())
    }

    fn default_value(&self) -> Value {
        of_both!(self.default_value())
    }

    /// The type's name in a `.proto` file.
    fn type_name(&self) -> &'static str {
        match self.kind() {
            Kind::Double => "double",
            Kind::Float => "float",
            Kind::Int32 => "int32",
            Kind::Int64 => "int64",
            Kind::Uint32 => "uint32",
            Kind::Uint64 => "uint64",
            Kind::Sint32 => "sint32",
            Kind::Sint64 => "sint64",
            Kind::Fixed32 => "fixed32",
            Kind::Fixed64 => "fixed64",
            Kind::Sfixed32 => "sfixed32",
            Kind::Sfixed64 => "sfixed64",
            Kind::Bool => "bool",
            Kind::String => "string",
            Kind::Bytes => "bytes",
            Kind::Message(_) if self.is_group() => "group",
            Kind::Message(_) => "message",
            Kind::Enum(_) => "enum",
        }
    }

    /// Returns the type that has this one's values in C++, by its name there.
    fn cpp_type_name(&self) -> &'static str {
        match self.kind() {
            Kind::Int32 | Kind::Sint32 | Kind::Sfixed32 => "int32",
            Kind::Int64 | Kind::Sint64 | Kind::Sfixed64 => "int64",
            Kind::Uint32 | Kind::Fixed32 => "uint32",
            Kind::Uint64 | Kind::Fixed64 => "uint64",
            Kind::String | Kind::Bytes => "string",
            Kind::Message(_) => "message",
            _ => self.type_name(),
        }
    }

    /// Returns true if a tensor of this type can hold the field's values.
    fn fits(&self, dtype: DType) -> bool {
        match self.kind() {
            Kind::Double => dtype == DType::F64,
            Kind::Float => matches!(dtype, DType::F32 | DType::F64),
            Kind::Int32 | Kind::Sint32 | Kind::Sfixed32 => matches!(dtype, DType::I32 | DType::I64),
            Kind::Int64 | Kind::Sint64 | Kind::Sfixed64 => dtype == DType::I64,
            Kind::Uint32 | Kind::Fixed32 => matches!(dtype, DType::U32 | DType::U64),
            Kind::Uint64 | Kind::Fixed64 => dtype == DType::U64,
            Kind::Bool => dtype == DType::Bool,
            Kind::Enum(_) => dtype == DType::I32,
            Kind::String | Kind::Bytes | Kind::Message(_) => dtype == DType::String,
        }
    }
}

/// Returns the type of messages that a node's attributes name.
///
/// # Errors
/// `InvalidArgument` if there are no descriptors, or none of the type.
fn message_type(attrs: &Attrs) -> Result<(DescriptorPool, MessageDescriptor)> {
    let pool = pool(attrs.get::<&Bytes>("descriptor_source")?)?;
    let name: &str = attrs.get("message_type")?;
    match pool.get_message_by_name(name) {
        Some(message) => Ok((pool, message)),
        None => bail!(InvalidArgument, "No descriptor found for message type {name}"),
    }
}

/// Returns the descriptors that `source` gives: `local://` for TensorFlow's own messages, the name of a file, or `bytes://` and a file's contents.
fn pool(source: &[u8]) -> Result<DescriptorPool> {
    static OWN: OnceLock<Option<DescriptorPool>> = OnceLock::new();
    let unknown = || -> Error {
        let source = String::from_utf8_lossy(source);
        error!(
            InvalidArgument,
            "Source does not represent serialized file descriptor set proto. This may be due to a missing dependency on the file containing \
             REGISTER_DESCRIPTOR_POOL(\"{source}\", ...);"
        )
    };
    if source == b"local://" {
        return OWN.get_or_init(|| DescriptorPool::decode(flowmill_proto::DESCRIPTORS).ok()).clone().ok_or_else(unknown);
    }
    // No message is larger.
    let limit = flowmill_tensor::memory_limit().min(i32::MAX as usize);
    let of_file = std::str::from_utf8(source).ok().and_then(|path| flowmill_kernels::files::read_file(path, limit).ok());
    if let Some(pool) = of_file.and_then(|contents| DescriptorPool::decode(contents.as_slice()).ok()) {
        return Ok(pool);
    }
    let contents = source.strip_prefix(b"bytes://").ok_or_else(unknown)?;
    DescriptorPool::decode(contents).map_err(|_| unknown())
}

/// The fields of these names.
fn fields(pool: Option<&DescriptorPool>, message: &MessageDescriptor, names: &[&str]) -> Result<Vec<Field>> {
    let find = |name: &str| match (message.get_field_by_name(name), pool) {
        (Some(field), _) => Some(Field::Own(field)),
        (None, Some(_)) => message.get_extension_by_full_name(name).map(Field::Extension),
        (None, None) => None,
    };
    let found = |&name: &&str| match find(name) {
        Some(field) => Ok(field),
        None => bail!(InvalidArgument, "Unknown field: {name} in message type {}", message.full_name()),
    };
    names.iter().map(found).collect()
}
