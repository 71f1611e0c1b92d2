//! The options of tracing, which OpenTelemetry's environment variables set.

use super::context::{RemoteParent, TraceId};
use axum::http::{HeaderName, HeaderValue, Uri};
use flowmill::tensor::{bail, error};
use flowmill::{Error, Result};
use percent_encoding::percent_decode_str;
use std::time::Duration;

/// The path of traces below an endpoint for all signals.
const TRACES_PATH: &str = "v1/traces";

/// Decides which requests are traced.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sampler {
    /// The part of traces that is sampled, from 0 to 1. The same traces are chosen by every service that has the same part.
    pub ratio: f64,
    /// Do as the caller if the request comes with a trace.
    pub follows_parent: bool,
}

impl Default for Sampler {
    fn default() -> Sampler {
        Sampler { ratio: 1.0, follows_parent: true }
    }
}

impl Sampler {
    /// Returns the sampler of a name in `OTEL_TRACES_SAMPLER`, with the argument of `OTEL_TRACES_SAMPLER_ARG`.
    ///
    /// # Errors
    /// `InvalidArgument` for another name or an argument that is no number from 0 to 1.
    pub fn from_name(name: &str, argument: Option<&str>) -> Result<Sampler> {
        let (follows_parent, kind) = name.strip_prefix("parentbased_").map_or((false, name), |kind| (true, kind));
        let ratio = match kind {
            "always_on" => 1.0,
            "always_off" => 0.0,
            "traceidratio" => {
                let ratio = argument.map_or(Some(1.0), |text| text.parse().ok());
                ratio.filter(|ratio| (0.0..=1.0).contains(ratio)).ok_or_else(|| {
                    error!(InvalidArgument, "OTEL_TRACES_SAMPLER_ARG must be a number from 0 to 1, not '{}'", argument.unwrap_or_default())
                })?
            }
            _ => bail!(
                InvalidArgument,
                "OTEL_TRACES_SAMPLER: there is no sampler '{name}'; there are always_on, always_off, traceidratio, and each with parentbased_ before it"
            ),
        };
        Ok(Sampler { ratio, follows_parent })
    }

    /// Returns true if a request of `trace` is traced.
    pub(crate) fn samples(&self, trace: TraceId, parent: Option<&RemoteParent>) -> bool {
        if let Some(parent) = parent.filter(|_| self.follows_parent) {
            return parent.is_sampled;
        }
        // The lower 7 bytes of a trace's number are random, as the W3C's recommendation says.
        let random = u128::from_be_bytes(trace.0) as u64 & ((1 << 56) - 1);
        (random as f64) < self.ratio * (1u64 << 56) as f64
    }
}

/// Options of tracing: where spans are sent, and which.
#[derive(Clone, Debug)]
pub struct TracingOptions {
    /// The URL that spans are posted to by OTLP over HTTP, such as `http://localhost:4318/v1/traces`.
    pub endpoint: String,
    /// Headers of each post, such as a token.
    pub headers: Vec<(String, String)>,
    /// Compress posts by gzip.
    pub gzip: bool,
    /// The time in which a post, with all its retries, is to end. 10 s by default.
    pub timeout: Duration,
    /// The requests to trace.
    pub sampler: Sampler,
    /// The attributes of the resource that all spans belong to. `service.name` is `flowmill` unless it is given.
    pub resource: Vec<(String, String)>,
    /// Requests whose spans wait to be sent; the spans of more are dropped, and counted. 2,048 by default.
    pub max_queue_size: usize,
    /// Requests whose spans are sent in one post. 512 by default.
    pub max_export_batch_size: usize,
    /// The time that spans wait for others to be sent with. 5 s by default.
    pub schedule_delay: Duration,
}

impl Default for TracingOptions {
    fn default() -> TracingOptions {
        TracingOptions {
            endpoint: "http://localhost:4318/v1/traces".to_owned(),
            headers: Vec::new(),
            gzip: false,
            timeout: Duration::from_secs(10),
            sampler: Sampler::default(),
            resource: Vec::new(),
            max_queue_size: 2048,
            max_export_batch_size: 512,
            schedule_delay: Duration::from_secs(5),
        }
    }
}

impl TracingOptions {
    /// Reads OpenTelemetry's environment variables. `endpoint` is the URL of a collector, in place of `OTEL_EXPORTER_OTLP_ENDPOINT`. Returns `None` without
    /// an endpoint, and if `OTEL_SDK_DISABLED` is `true` or `OTEL_TRACES_EXPORTER` is `none`.
    ///
    /// # Errors
    /// `InvalidArgument` for a value that is not legal, and `Unimplemented` for another protocol than `http/protobuf`.
    pub fn from_environment(endpoint: Option<&str>) -> Result<Option<TracingOptions>> {
        TracingOptions::from_variables(endpoint, |name| std::env::var(name).ok())
    }

    fn from_variables(endpoint: Option<&str>, variable: impl Fn(&str) -> Option<String>) -> Result<Option<TracingOptions>> {
        let get = |name: &str| variable(name).map(|value| value.trim().to_owned()).filter(|value| !value.is_empty());
        // A variable for traces alone goes before the one for all signals.
        let of_exporter =
            |name: &str| get(&format!("OTEL_EXPORTER_OTLP_TRACES_{name}")).or_else(|| get(&format!("OTEL_EXPORTER_OTLP_{name}")));
        let number = |name: &str, default: usize| match get(name) {
            None => Ok(default),
            Some(text) => text.parse().map_err(|_| error!(InvalidArgument, "{name} must be a number, not '{text}'")),
        };
        let milliseconds =
            |name: &str, default: Duration| number(name, default.as_millis() as usize).map(|ms| Duration::from_millis(ms as u64));
        let below = |base: &str| format!("{}/{TRACES_PATH}", base.trim_end_matches('/'));
        let endpoint = endpoint.map(below).or_else(|| get("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"));
        let Some(endpoint) = endpoint.or_else(|| get("OTEL_EXPORTER_OTLP_ENDPOINT").map(|base| below(&base))) else { return Ok(None) };
        let is_off = get("OTEL_SDK_DISABLED").is_some_and(|value| value.eq_ignore_ascii_case("true"));
        if is_off || get("OTEL_TRACES_EXPORTER").is_some_and(|exporter| exporter == "none") {
            return Ok(None);
        }
        if let Some(protocol) = of_exporter("PROTOCOL").filter(|protocol| protocol != "http/protobuf") {
            bail!(Unimplemented, "OTEL_EXPORTER_OTLP_PROTOCOL: spans are sent by http/protobuf, not by {protocol}");
        }
        let gzip = match of_exporter("COMPRESSION").as_deref() {
            None | Some("none") => false,
            Some("gzip") => true,
            Some(other) => bail!(InvalidArgument, "OTEL_EXPORTER_OTLP_COMPRESSION must be gzip or none, not '{other}'"),
        };
        let defaults = TracingOptions::default();
        let timeout = match of_exporter("TIMEOUT") {
            None => defaults.timeout,
            Some(text) => Duration::from_millis(
                text.parse()
                    .map_err(|_| error!(InvalidArgument, "OTEL_EXPORTER_OTLP_TIMEOUT must be a number of milliseconds, not '{text}'"))?,
            ),
        };
        let mut resource = pairs("OTEL_RESOURCE_ATTRIBUTES", &get("OTEL_RESOURCE_ATTRIBUTES").unwrap_or_default())?;
        if let Some(name) = get("OTEL_SERVICE_NAME") {
            resource.retain(|(key, _)| key != SERVICE_NAME);
            resource.push((SERVICE_NAME.to_owned(), name));
        }
        let options = TracingOptions {
            endpoint,
            headers: pairs("OTEL_EXPORTER_OTLP_HEADERS", &of_exporter("HEADERS").unwrap_or_default())?,
            gzip,
            timeout,
            sampler: match get("OTEL_TRACES_SAMPLER") {
                None => Sampler::default(),
                Some(name) => Sampler::from_name(&name, get("OTEL_TRACES_SAMPLER_ARG").as_deref())?,
            },
            resource,
            max_queue_size: number("OTEL_BSP_MAX_QUEUE_SIZE", defaults.max_queue_size)?,
            max_export_batch_size: number("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", defaults.max_export_batch_size)?,
            schedule_delay: milliseconds("OTEL_BSP_SCHEDULE_DELAY", defaults.schedule_delay)?,
        };
        options.target()?;
        options.header_values()?;
        Ok(Some(options))
    }

    /// Returns the endpoint's URL.
    ///
    /// # Errors
    /// `InvalidArgument` for a text that is no URL of HTTP, `Unimplemented` for HTTPS.
    pub(super) fn target(&self) -> Result<Uri> {
        let uri: Uri = self.endpoint.parse().map_err(|error| error!(InvalidArgument, "the OTLP endpoint '{}': {error}", self.endpoint))?;
        match uri.scheme_str() {
            Some("http") if uri.host().is_some() => Ok(uri),
            Some("https") => Err(Error::unimplemented(format!(
                "the OTLP endpoint '{}': spans are sent by HTTP without TLS, to a collector of the same machine or network, which passes them on",
                self.endpoint
            ))),
            _ => bail!(InvalidArgument, "the OTLP endpoint '{}' is no URL such as http://localhost:4318", self.endpoint),
        }
    }

    /// Returns the headers of each post.
    ///
    /// # Errors
    /// `InvalidArgument` for a name or a value that HTTP does not have.
    pub(super) fn header_values(&self) -> Result<Vec<(HeaderName, HeaderValue)>> {
        let header = |(name, value): &(String, String)| match (name.parse(), value.parse()) {
            (Ok(name), Ok(value)) => Ok((name, value)),
            _ => bail!(InvalidArgument, "'{}' is no header of HTTP", name.escape_debug()),
        };
        self.headers.iter().map(header).collect()
    }
}

/// The attribute with the name of the service.
pub(super) const SERVICE_NAME: &str = "service.name";

/// Reads `key=value,key=value`, whose values have percent codes.
fn pairs(variable: &str, text: &str) -> Result<Vec<(String, String)>> {
    let pair = |part: &str| {
        let (key, value) = part.split_once('=').ok_or_else(|| error!(InvalidArgument, "{variable}: '{part}' is no key=value"))?;
        let value = percent_decode_str(value.trim()).decode_utf8();
        Ok((
            key.trim().to_owned(),
            value.map_err(|_| error!(InvalidArgument, "{variable}: the value of '{key}' is not UTF-8"))?.into_owned(),
        ))
    };
    text.split(',').map(str::trim).filter(|part| !part.is_empty()).map(pair).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use flowmill::Code;

    fn read(endpoint: Option<&str>, variables: &[(&str, &str)]) -> Result<Option<TracingOptions>> {
        TracingOptions::from_variables(endpoint, |name| {
            variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn variables_of_the_environment_set_options() {
        const ALL: &str = "OTEL_EXPORTER_OTLP_ENDPOINT";
        assert!(read(None, &[]).unwrap().is_none());
        assert!(read(None, &[(ALL, "http://c:4318"), ("OTEL_SDK_DISABLED", "TRUE")]).unwrap().is_none());
        assert!(read(None, &[(ALL, "http://c:4318"), ("OTEL_TRACES_EXPORTER", "none")]).unwrap().is_none());
        let endpoint = |given: Option<&str>, variables: &[(&str, &str)]| read(given, variables).unwrap().unwrap().endpoint;
        assert_eq!(endpoint(None, &[(ALL, "http://c:4318/")]), "http://c:4318/v1/traces");
        let traces = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "http://t/x");
        assert_eq!(endpoint(None, &[(ALL, "http://c:4318"), traces]), "http://t/x");
        assert_eq!(endpoint(Some("http://d:1"), &[traces]), "http://d:1/v1/traces");
        let options = read(
            None,
            &[
                (ALL, "http://c:4318"),
                ("OTEL_EXPORTER_OTLP_HEADERS", "authorization=Bearer%20x, x-a = b"),
                ("OTEL_EXPORTER_OTLP_COMPRESSION", "gzip"),
                ("OTEL_EXPORTER_OTLP_TIMEOUT", "250"),
                ("OTEL_SERVICE_NAME", "digits"),
                ("OTEL_RESOURCE_ATTRIBUTES", "service.name=other,deployment.environment=test"),
                ("OTEL_TRACES_SAMPLER", "parentbased_traceidratio"),
                ("OTEL_TRACES_SAMPLER_ARG", "0.25"),
                ("OTEL_BSP_MAX_QUEUE_SIZE", "7"),
                ("OTEL_BSP_SCHEDULE_DELAY", "100"),
            ],
        );
        let options = options.unwrap().unwrap();
        assert_eq!(options.headers, [("authorization".to_owned(), "Bearer x".to_owned()), ("x-a".to_owned(), "b".to_owned())]);
        assert_eq!(
            options.resource,
            [("deployment.environment".to_owned(), "test".to_owned()), ("service.name".to_owned(), "digits".to_owned())]
        );
        assert_eq!(options.sampler, Sampler { ratio: 0.25, follows_parent: true });
        assert_eq!((options.gzip, options.timeout, options.schedule_delay), (true, Duration::from_millis(250), Duration::from_millis(100)));
        assert_eq!((options.max_queue_size, options.max_export_batch_size), (7, 512));
    }

    #[test]
    fn wrong_values_are_refused_by_name() {
        let endpoint = ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://c:4318");
        for (name, value, code) in [
            ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc", Code::Unimplemented),
            ("OTEL_EXPORTER_OTLP_COMPRESSION", "zstd", Code::InvalidArgument),
            ("OTEL_EXPORTER_OTLP_TIMEOUT", "soon", Code::InvalidArgument),
            ("OTEL_TRACES_SAMPLER", "sometimes", Code::InvalidArgument),
            ("OTEL_RESOURCE_ATTRIBUTES", "alone", Code::InvalidArgument),
            ("OTEL_BSP_MAX_QUEUE_SIZE", "-1", Code::InvalidArgument),
        ] {
            let error = read(None, &[endpoint, (name, value)]).unwrap_err();
            assert_eq!(error.code(), code, "{error}");
            assert!(error.message().contains(name), "{error}");
        }
        for (wrong, code) in [("https://c", Code::Unimplemented), ("c:4318", Code::InvalidArgument), ("http://", Code::InvalidArgument)] {
            assert_eq!(read(Some(wrong), &[]).unwrap_err().code(), code, "{wrong}");
        }
        assert!(Sampler::from_name("traceidratio", Some("1.5")).is_err());
    }

    #[test]
    fn samplers_choose_their_part_of_all_traces() {
        let ids = super::super::context::IdGenerator::default();
        let sampler = Sampler::from_name("traceidratio", Some("0.25")).unwrap();
        let count = (0..10_000).filter(|_| sampler.samples(ids.trace(), None)).count();
        assert!((2_200..2_800).contains(&count), "{count}");
        let parent = |is_sampled| RemoteParent { trace: ids.trace(), span: ids.span(), is_sampled, state: String::new() };
        for (name, alone, below_sampled, below_unsampled) in [
            ("always_on", true, true, true),
            ("always_off", false, false, false),
            ("parentbased_always_on", true, true, false),
            ("parentbased_always_off", false, true, false),
        ] {
            let sampler = Sampler::from_name(name, None).unwrap();
            let found = [None, Some(parent(true)), Some(parent(false))].map(|parent| sampler.samples(ids.trace(), parent.as_ref()));
            assert_eq!(found, [alone, below_sampled, below_unsampled], "{name}");
        }
    }
}
