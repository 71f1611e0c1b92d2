//! Loads a server with requests for one model and prints the rate and the percentiles of the latency:
//! `cargo run --release -p flowmill-serving --example load -- --url 127.0.0.1:8501 --kind json --connections 16 --seconds 5`.
//!
//! Without `--rate`, each connection sends its next request when it has its answer. With it, requests are due at fixed times, and a request's latency
//! counts from the time it was due: a server that stops for a second is seen to delay all requests of that second, not only those that were sent.
//! The request has values of 0.5 of the shape `--shape`, in the input `--input`. Its bytes are made once, and as little of an answer is read as tells success from failure, so that
//! the client takes little of a machine that it shares with the server.

use flowmill_serving::proto::tfs::{ModelSpec, PredictRequest};
use prost::Message;
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

/// Calls `Predict` with one stream of HTTP/2 after the other.
struct Grpc {
    stream: TcpStream,
    /// The frames of a request.
    request: Vec<u8>,
    /// The places of the stream's number in them.
    numbers: Vec<usize>,
    next_stream: u32,
    buffer: Vec<u8>,
}

/// Types and flags of HTTP/2's frames.
mod frame {
    pub const DATA: u8 = 0;
    pub const HEADERS: u8 = 1;
    pub const RST_STREAM: u8 = 3;
    pub const SETTINGS: u8 = 4;
    pub const PING: u8 = 6;
    pub const GOAWAY: u8 = 7;
    pub const WINDOW_UPDATE: u8 = 8;
    pub const END_STREAM: u8 = 1;
    pub const ACK: u8 = 1;
    pub const END_HEADERS: u8 = 4;
    /// Bytes before a frame's payload: its length, type, flags and stream.
    pub const HEAD: usize = 9;
    /// The largest payload that every server takes.
    pub const MAX_BYTES: usize = 16_384;
}

fn push_frame(out: &mut Vec<u8>, kind: u8, flags: u8, payload: &[u8]) {
    out.extend(&(payload.len() as u32).to_be_bytes()[1..]);
    out.extend([kind, flags, 0, 0, 0, 0]);
    out.extend(payload);
}

impl Grpc {
    async fn connect(options: &Options) -> Result<Grpc> {
        let mut stream = TcpStream::connect(&options.url).await?;
        stream.set_nodelay(true)?;
        let values = vec![0.5f32; options.shape.iter().product()];
        let tensor = flowmill::Tensor::from_slice(options.shape.as_slice(), &values)?.to_proto()?;
        let model_spec = Some(ModelSpec { name: options.model.clone(), ..ModelSpec::default() });
        let inputs = BTreeMap::from([(options.input.clone(), tensor)]);
        let message = PredictRequest { model_spec, inputs, output_filter: Vec::new() }.encode_to_vec();
        // Before the server's settings are known, a request fits into the smallest window.
        const MAX_MESSAGE: usize = 65_535 - 5;
        if message.len() > MAX_MESSAGE {
            return Err(format!("the request has {} bytes, more than {MAX_MESSAGE}", message.len()).into());
        }
        let mut body = vec![0];
        body.extend((message.len() as u32).to_be_bytes());
        body.extend(message);
        // HPACK: `:method: POST` and `:scheme: http` by their number in the static table, the others as text.
        let mut headers = vec![0x83, 0x86];
        let mut text = |name: &[u8], value: &str| {
            headers.extend(name);
            headers.push(value.len() as u8);
            headers.extend(value.as_bytes());
        };
        text(&[0x04], "/tensorflow.serving.PredictionService/Predict");
        text(&[0x01], "load");
        text(&[0x0f, 0x10], "application/grpc");
        text(b"\0\x02te", "trailers");
        let mut request = Vec::new();
        push_frame(&mut request, frame::HEADERS, frame::END_HEADERS, &headers);
        let mut numbers = vec![5];
        let mut chunks = body.chunks(frame::MAX_BYTES).peekable();
        while let Some(chunk) = chunks.next() {
            numbers.push(request.len() + 5);
            push_frame(&mut request, frame::DATA, if chunks.peek().is_none() { frame::END_STREAM } else { 0 }, chunk);
        }
        let mut hello = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec();
        // Windows that no answer fills: those of streams by a setting, that of the connection by what it has more than 64 KiB.
        const INITIAL_WINDOW_SIZE: u16 = 4;
        const LARGEST: u32 = (1 << 31) - 1;
        push_frame(&mut hello, frame::SETTINGS, 0, &[&INITIAL_WINDOW_SIZE.to_be_bytes()[..], &LARGEST.to_be_bytes()].concat());
        push_frame(&mut hello, frame::WINDOW_UPDATE, 0, &(LARGEST - 65_535).to_be_bytes());
        stream.write_all(&hello).await?;
        Ok(Grpc { stream, request, numbers, next_stream: 1, buffer: Vec::new() })
    }
}

impl Client for Grpc {
    async fn call(&mut self) -> Result<bool> {
        let number = self.next_stream.to_be_bytes();
        self.next_stream += 2;
        for &at in &self.numbers {
            self.request[at..at + 4].copy_from_slice(&number);
        }
        self.stream.write_all(&self.request).await?;
        // An error is an answer without a message.
        let mut has_message = false;
        loop {
            let length = |buffer: &[u8]| u32::from_be_bytes([0, buffer[0], buffer[1], buffer[2]]) as usize + frame::HEAD;
            while self.buffer.len() < frame::HEAD || self.buffer.len() < length(&self.buffer) {
                if self.stream.read_buf(&mut self.buffer).await? == 0 {
                    return Err("the server closed the connection".into());
                }
            }
            let rest = self.buffer.split_off(length(&self.buffer));
            let received = std::mem::replace(&mut self.buffer, rest);
            let (kind, flags, payload) = (received[3], received[4], &received[frame::HEAD..]);
            let is_of_request = received[5..frame::HEAD] == number;
            let mut reply = Vec::new();
            match kind {
                frame::SETTINGS if flags & frame::ACK == 0 => push_frame(&mut reply, frame::SETTINGS, frame::ACK, &[]),
                frame::PING if flags & frame::ACK == 0 => push_frame(&mut reply, frame::PING, frame::ACK, payload),
                frame::GOAWAY => return Err("the server ends the connection".into()),
                frame::RST_STREAM if is_of_request => return Ok(false),
                frame::DATA if is_of_request => has_message |= !payload.is_empty(),
                _ => (),
            }
            if !reply.is_empty() {
                self.stream.write_all(&reply).await?;
            }
            if is_of_request && matches!(kind, frame::DATA | frame::HEADERS) && flags & frame::END_STREAM != 0 {
                return Ok(has_message && kind == frame::HEADERS);
            }
        }
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
                // On a thread of its own: timers of the runtime are a millisecond late.
                std::thread::sleep(due.saturating_duration_since(Instant::now()));
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

async fn run_connection(options: Options, index: usize, start: Instant) -> Result<Outcome> {
    match options.kind.as_str() {
        "grpc" => run(Grpc::connect(&options).await?, options, index, start).await,
        _ => run(Rest::connect(&options).await?, options, index, start).await,
    }
}

fn runtime() -> Result<tokio::runtime::Runtime> {
    Ok(tokio::runtime::Builder::new_current_thread().enable_all().build()?)
}

/// Runs all connections: each on a thread of its own if there is a rate, else all on one thread.
fn run_all(options: &Options, start: Instant) -> Result<Vec<Outcome>> {
    let connections = (0..options.connections).map(|index| run_connection(options.clone(), index, start));
    if options.rate.is_some() {
        let threads: Vec<_> = connections.map(|run| std::thread::spawn(|| runtime()?.block_on(run))).collect();
        return threads.into_iter().map(|thread| thread.join().map_err(|_| "a connection panicked")?).collect();
    }
    runtime()?.block_on(async {
        let tasks: Vec<_> = connections.map(tokio::spawn).collect();
        let mut outcomes = Vec::new();
        for task in tasks {
            outcomes.push(task.await??);
        }
        Ok(outcomes)
    })
}

fn main() -> Result<()> {
    let options = options()?;
    let start = Instant::now() + Duration::from_millis(200);
    let mut all = Outcome::default();
    for outcome in run_all(&options, start)? {
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
