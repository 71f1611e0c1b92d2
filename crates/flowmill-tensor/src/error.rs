use std::fmt;

/// TensorFlow's canonical status codes; discriminants are its numbers.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[repr(u8)]
pub enum Code {
    /// The step was cancelled, by its caller or by another failure.
    Cancelled = 1,
    /// Nothing better is known.
    Unknown = 2,
    /// The caller passed something wrong, whatever the state of the system.
    InvalidArgument = 3,
    /// A timeout passed before the work ended.
    DeadlineExceeded = 4,
    /// A named thing does not exist.
    NotFound = 5,
    /// A named thing exists already.
    AlreadyExists = 6,
    /// The caller may not do this.
    PermissionDenied = 7,
    /// A limit of memory or of another resource was reached.
    ResourceExhausted = 8,
    /// The system is not in the state that the call needs.
    FailedPrecondition = 9,
    /// The operation was given up, such as a rendezvous that was closed.
    Aborted = 10,
    /// The end of a sequence was passed, such as a closed and empty queue.
    OutOfRange = 11,
    /// The operation is known but not supported.
    Unimplemented = 12,
    /// An invariant of Flowmill or of a kernel does not hold.
    Internal = 13,
    /// A service is away for now.
    Unavailable = 14,
    /// Data are lost or corrupted.
    DataLoss = 15,
    /// The caller is not known.
    Unauthenticated = 16,
}

/// The result of anything that can fail.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// A failure: a code, a message and, if they are known, the node and the op it happened at.
///
/// One pointer wide, so that `Result<()>` costs a register on the executor's paths.
#[derive(Clone, PartialEq, Eq)]
pub struct Error(Box<Inner>);

#[derive(Clone, PartialEq, Eq)]
struct Inner {
    code: Code,
    message: String,
    node: Option<String>,
    op: Option<String>,
    derived: bool,
}

macro_rules! constructors {
    ($($(#[$doc:meta])* $name:ident => $code:ident),* $(,)?) => {
        $($(#[$doc])*
        #[cold]
        pub fn $name(message: impl Into<String>) -> Error {
            Error::new(Code::$code, message)
        })*
    };
}

impl Error {
    /// Returns an error of the given code.
    #[cold]
    pub fn new(code: Code, message: impl Into<String>) -> Error {
        Error(Box::new(Inner { code, message: message.into(), node: None, op: None, derived: false }))
    }

    constructors! {
        /// The step was cancelled, by its caller or by another failure.
        cancelled => Cancelled,
        /// The caller passed something wrong, whatever the state of the system.
        invalid_argument => InvalidArgument,
        /// A timeout passed before the work ended.
        deadline_exceeded => DeadlineExceeded,
        /// A named thing does not exist.
        not_found => NotFound,
        /// A named thing exists already.
        already_exists => AlreadyExists,
        /// A limit of memory or of another resource was reached.
        resource_exhausted => ResourceExhausted,
        /// The system is not in the state that the call needs, such as a variable that was never initialised.
        failed_precondition => FailedPrecondition,
        /// The operation was given up, such as a rendezvous that was closed.
        aborted => Aborted,
        /// Past the end of a sequence, such as a closed and empty queue.
        out_of_range => OutOfRange,
        /// Known but not supported.
        unimplemented => Unimplemented,
        /// An invariant of Flowmill or of a kernel does not hold.
        internal => Internal,
        /// A service is away for now.
        unavailable => Unavailable,
        /// Data are lost or corrupted.
        data_loss => DataLoss,
        /// Nothing better is known.
        unknown => Unknown,
    }

    /// Returns the canonical code.
    pub fn code(&self) -> Code {
        self.0.code
    }

    /// Returns the message, without the code and the node.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// Returns the node the error happened at.
    pub fn node(&self) -> Option<&str> {
        self.0.node.as_deref()
    }

    /// Returns the type of that node's op.
    pub fn op(&self) -> Option<&str> {
        self.0.op.as_deref()
    }

    /// Names the node and op, unless an inner frame already did.
    #[must_use]
    pub fn at_node(mut self, node: &str, op: &str) -> Error {
        if self.0.node.is_none() {
            self.0.node = Some(node.to_owned());
            self.0.op = Some(op.to_owned());
        }
        self
    }

    /// Puts `context: ` before the message.
    #[must_use]
    pub fn context(mut self, context: impl fmt::Display) -> Error {
        self.0.message = format!("{context}: {}", self.0.message);
        self
    }

    /// Adds text after the message.
    #[must_use]
    pub fn append(mut self, text: impl fmt::Display) -> Error {
        self.0.message = format!("{}{text}", self.0.message);
        self
    }

    /// Marks an error that only follows from another one, such as a cancelled sibling. The first underived error is the one reported.
    #[must_use]
    pub fn derived(mut self) -> Error {
        self.0.derived = true;
        self
    }

    /// Returns true if the error is only a consequence of another one.
    pub fn is_derived(&self) -> bool {
        self.0.derived
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: {}", self.0.code, self.0.message)?;
        if let (Some(node), Some(op)) = (&self.0.node, &self.0.op) {
            write!(f, "\n\t [[{{{{node {node}}}}} = {op}]]")?;
        }
        Ok(())
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for Error {}

/// Builds an [`Error`]: `error!(InvalidArgument, "bad axis {axis}")`.
#[macro_export]
macro_rules! error {
    ($code:ident, $($arg:tt)*) => { $crate::Error::new($crate::Code::$code, format!($($arg)*)) };
}

/// Returns an [`Error`] from the enclosing function: `bail!(InvalidArgument, "bad axis {axis}")`.
#[macro_export]
macro_rules! bail {
    ($code:ident, $($arg:tt)*) => { return Err($crate::error!($code, $($arg)*)) };
}
