//! The options of a view.

use flowmill_proto::tfprof::OptionsProto;
use flowmill_tensor::{Error, Result};
use regex::Regex;

/// The way in which a profile is organised.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum View {
    /// A tree of name scopes.
    Scope,
    /// A tree of nodes with the producers of their inputs below them.
    Graph,
    /// A list of ops.
    Op,
    /// A tree of calls of Python.
    Code,
}

impl View {
    /// Reads the name of a view: `scope`, `graph`, `op` or `code`.
    ///
    /// # Errors
    /// Returns `InvalidArgument` for another name.
    pub fn from_name(name: &str) -> Result<View> {
        Ok(match name {
            "scope" => View::Scope,
            "graph" => View::Graph,
            "op" => View::Op,
            "code" => View::Code,
            _ => return Err(Error::invalid_argument(format!("unknown cmd: {name}"))),
        })
    }
}

/// Options of a view, which are TensorFlow's by name and meaning.
#[derive(Clone, Debug)]
pub struct ProfileOptions {
    pub(crate) message: OptionsProto,
    pub(crate) account_types: Patterns,
    pub(crate) start_names: Patterns,
    pub(crate) trim_names: Patterns,
    pub(crate) show_names: Patterns,
    pub(crate) hide_names: Patterns,
}

impl ProfileOptions {
    /// Reads options.
    ///
    /// # Errors
    /// Returns `InvalidArgument` for a pattern that is no regular expression.
    pub fn new(message: OptionsProto) -> Result<ProfileOptions> {
        Ok(ProfileOptions {
            account_types: Patterns::new(&message.account_type_regexes)?,
            start_names: Patterns::new(&message.start_name_regexes)?,
            trim_names: Patterns::new(&message.trim_name_regexes)?,
            show_names: Patterns::new(&message.show_name_regexes)?,
            hide_names: Patterns::new(&message.hide_name_regexes)?,
            message,
        })
    }

    /// Returns the options of time and memory, sorted by time, with all nodes.
    pub fn time_and_memory() -> ProfileOptions {
        let all = Patterns(vec![Pattern::All]);
        let message = OptionsProto {
            max_depth: 10_000,
            step: -1,
            order_by: "micros".to_owned(),
            select: vec!["micros".to_owned(), "bytes".to_owned(), "occurrence".to_owned()],
            ..OptionsProto::default()
        };
        let none = Patterns(Vec::new());
        ProfileOptions {
            message,
            account_types: all.clone(),
            start_names: all.clone(),
            trim_names: none.clone(),
            show_names: all,
            hide_names: none,
        }
    }

    /// Returns the same options with another depth of the tree.
    #[must_use]
    pub fn with_max_depth(mut self, max_depth: usize) -> ProfileOptions {
        self.message.max_depth = i64::try_from(max_depth).unwrap_or(i64::MAX);
        self
    }

    pub(crate) fn shows(&self, column: &str) -> bool {
        self.message.select.iter().any(|selected| selected == column)
    }
}

/// Regular expressions of which one must match a whole text.
#[derive(Clone, Debug)]
pub(crate) struct Patterns(Vec<Pattern>);

#[derive(Clone, Debug)]
enum Pattern {
    All,
    Regex(Regex),
}

impl Patterns {
    fn new(texts: &[String]) -> Result<Patterns> {
        let pattern = |text: &String| match text.as_str() {
            ".*" => Ok(Pattern::All),
            _ => Regex::new(&format!("^(?s:{text})$")).map(Pattern::Regex).map_err(|e| Error::invalid_argument(format!("'{text}': {e}"))),
        };
        texts.iter().map(pattern).collect::<Result<Vec<_>>>().map(Patterns)
    }

    pub(crate) fn matches(&self, text: &str) -> bool {
        self.0.iter().any(|pattern| match pattern {
            Pattern::All => true,
            Pattern::Regex(regex) => regex.is_match(text),
        })
    }

    /// Returns true if the patterns are `.*` alone.
    pub(crate) fn is_all(&self) -> bool {
        matches!(self.0[..], [Pattern::All])
    }
}
