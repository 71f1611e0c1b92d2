//! The description of the REST APIs.

/// The OpenAPI 3.0 description of all routes of both REST APIs, as JSON.
pub const OPENAPI: &str = include_str!("openapi.json");
