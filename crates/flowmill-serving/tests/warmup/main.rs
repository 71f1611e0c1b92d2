//! Requests of examples, and requests that warm a model up before it is served.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod examples;
mod requests;
mod support;
