//! Loads a server with requests for one model and prints the rate and the percentiles of the latency:
//! `cargo run --release -p flowmill-serving --example load -- --url 127.0.0.1:8501 --kind json --connections 16 --seconds 5`.
//!
//! Without `--rate`, each connection sends its next request when it has its answer. With it, requests are due at fixed times, and a request's latency
//! counts from the time it was due: a server that stops for a second is seen to delay all requests of that second, not only those that were sent.
//! Each row of the request has `--size` values of 0.5, in the input `--input`.

use flowmill_serving::proto::tfs::prediction_service_client::PredictionServiceClient;
use flowmill_serving::proto::tfs::{ModelSpec, PredictRequest};
use std::collections::BTreeMap;
use std::error::Error;
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

type Result<T> = std::result::Result<T, Box<dyn Error + Send + Sync>>;

/// The requests to send, and their rate.
#[derive(Clone)]
struct Options {
    url: String,
    kind: String,
    model: String,
    input: String,
    shape: Vec<usize>,
    connections: usize,
    seconds: f64,
    /// Requests per second over all connections.
    rate: Option<f64>,
}

fn options() -> Result<Options> {
    let mut options = Options {
        url: "127.0.0.1:8501".into(),
        kind: "json".into(),
        model: "digits".into(),
        input: "images".into(),
        shape: vec![1, 8, 8, 1],
        connections: 16,
        seconds: 5.0,
        rate: None,
    };
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        let value = args.next().ok_or_else(|| format!("{arg} needs a value"))?;
        match arg.as_str() {
            "--url" => options.url = value,
            "--kind" => options.kind = value,
            "--model" => options.model = value,
            "--input" => options.input = value,
            "--shape" => options.shape = value.split(',').map(str::parse).collect::<std::result::Result<_, _>>()?,
            "--connections" => options.connections = value.parse()?,
            "--seconds" => options.seconds = value.parse()?,
            "--rate" => options.rate = Some(value.parse()?),
            _ => return Err(format!("unknown option {arg}").into()),
        }
    }
    Ok(options)
}

/// The latencies and the number of failures of one connection.
#[derive(Default)]
struct Outcome {
    latencies: Vec<Duration>,
    failures: usize,
}

/// A way to send one request and wait for its answer; true if it succeeded.
trait Client {
    async fn call(&mut self) -> Result<bool>;
}

struct Rest {
    stream: TcpStream,
    request: Vec<u8>,
    buffer: Vec<u8>,
}

impl Rest {
    async fn connect(options: &Options) -> Result<Rest> {
        let stream = TcpStream::connect(&options.url).await?;
        stream.set_nodelay(true)?;
        let Options { model, input, shape, .. } = options;
        let count: usize = shape.iter().product();
        let (path, headers, body) = match options.kind.as_str() {
            "json" => {
                let rows = nested(shape);
                (format!("/v1/models/{model}:predict"), String::new(), format!("{{\"inputs\":{{\"{input}\":{rows}}}}}").into_bytes())
            }
            "binary" => {
                let size = count * 4;
                let json = format!(
                    "{{\"inputs\":[{{\"name\":\"{input}\",\"shape\":{shape:?},\"datatype\":\"FP32\",\"parameters\":{{\"binary_data_size\":{size}}}}}],\
                     \"parameters\":{{\"binary_data_output\":true}}}}"
                );
                let mut body = json.clone().into_bytes();
                (0..count).for_each(|_| body.extend(0.5f32.to_le_bytes()));
                (format!("/v2/models/{model}/infer"), format!("Inference-Header-Content-Length: {}\r\n", json.len()), body)
            }
            kind => return Err(format!("unknown kind {kind}; there are json, binary and grpc").into()),
        };
        let mut request = format!("POST {path} HTTP/1.1\r\nhost: load\r\n{headers}content-length: {}\r\n\r\n", body.len()).into_bytes();
        request.extend(body);
        Ok(Rest { stream, request, buffer: Vec::new() })
    }
}

/// Returns nested arrays of 0.5.
fn nested(shape: &[usize]) -> String {
    match shape {
        [] => "0.5".into(),
        [first, rest @ ..] => format!("[{}]", vec![nested(rest); *first].join(",")),
    }
}

impl Client for Rest {
    async fn call(&mut self) -> Result<bool> {
        self.stream.write_all(&self.request).await?;
        self.buffer.clear();
        let head = loop {
            if self.stream.read_buf(&mut self.buffer).await? == 0 {
                return Err("the server closed the connection".into());
            }
            if let Some(end) = self.buffer.windows(4).position(|window| window == b"\r\n\r\n") {
                break end + 4;
            }
        };
        let text = std::str::from_utf8(&self.buffer[..head])?.to_ascii_lowercase();
        let length = text.lines().find_map(|line| line.strip_prefix("content-length: ")).ok_or("no content-length")?;
        let (length, succeeded) = (length.trim().parse::<usize>()?, text.starts_with("http/1.1 200"));
        while self.buffer.len() < head + length {
            if self.stream.read_buf(&mut self.buffer).await? == 0 {
                return Err("the answer is cut off".into());
            }
        }
        Ok(succeeded)
    }
}

struct Grpc {
    client: PredictionServiceClient<tonic::transport::Channel>,
    request: PredictRequest,
}

impl Grpc {
    async fn connect(options: &Options) -> Result<Grpc> {
        let channel = tonic::transport::Endpoint::new(format!("http://{}", options.url))?.tcp_nodelay(true).connect().await?;
        let values = vec![0.5f32; options.shape.iter().product()];
        let tensor = flowmill::Tensor::from_slice(options.shape.as_slice(), &values)?.to_proto()?;
        let model_spec = Some(ModelSpec { name: options.model.clone(), ..ModelSpec::default() });
        let inputs = BTreeMap::from([(options.input.clone(), tensor)]);
        let request = PredictRequest { model_spec, inputs, output_filter: Vec::new() };
        Ok(Grpc { client: PredictionServiceClient::new(channel), request })
    }
}

impl Client for Grpc {
    async fn call(&mut self) -> Result<bool> {
        Ok(self.client.predict(self.request.clone()).await.is_ok())
    }
}

/// Sends requests until `end`, each when it is due if there is a rate.
async fn run(mut client: impl Client, options: Options, index: usize, start: Instant) -> Result<Outcome> {
    let end = start + Duration::from_secs_f64(options.seconds);
    let interval = options.rate.map(|rate| Duration::from_secs_f64(options.connections as f64 / rate));
    // Connections send at different times of an interval.
    let mut due = start + interval.unwrap_or_default().mul_f64(index as f64 / options.connections as f64);
    let mut outcome = Outcome::default();
    while Instant::now() < end && due < end {
        let from = match interval {
            None => Instant::now(),
            Some(interval) => {
                tokio::time::sleep_until(due.into()).await;
                let from = due;
                due += interval;
                from
            }
        };
        match client.call().await? {
            true => outcome.latencies.push(from.elapsed()),
            false => outcome.failures += 1,
        }
    }
    Ok(outcome)
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    let options = options()?;
    let start = Instant::now() + Duration::from_millis(200);
    let mut tasks = Vec::new();
    for index in 0..options.connections {
        let options = options.clone();
        tasks.push(tokio::spawn(async move {
            match options.kind.as_str() {
                "grpc" => run(Grpc::connect(&options).await?, options, index, start).await,
                _ => run(Rest::connect(&options).await?, options, index, start).await,
            }
        }));
    }
    let mut all = Outcome::default();
    for task in tasks {
        let outcome = task.await??;
        all.latencies.extend(outcome.latencies);
        all.failures += outcome.failures;
    }
    let seconds = start.elapsed().as_secs_f64();
    all.latencies.sort_unstable();
    let percentile = |p: f64| {
        let index = ((all.latencies.len() as f64 * p) as usize).min(all.latencies.len().saturating_sub(1));
        all.latencies.get(index).map_or(0.0, |latency| latency.as_secs_f64() * 1e3)
    };
    println!(
        "{} {} connections: {:.0} requests/s, p50 {:.3} ms, p90 {:.3}, p99 {:.3}, p99.9 {:.3}, max {:.3}, {} failures",
        options.kind,
        options.connections,
        all.latencies.len() as f64 / seconds,
        percentile(0.5),
        percentile(0.9),
        percentile(0.99),
        percentile(0.999),
        percentile(1.0),
        all.failures
    );
    Ok(())
}
