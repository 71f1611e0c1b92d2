//! A server on free ports of this machine, and a client that speaks just enough HTTP.
#![allow(dead_code, clippy::unwrap_used, clippy::panic)]

use flowmill_serving::repository::RepositoryConfig;
use flowmill_serving::{Server, ServerOptions};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// The model of the digits demo.
pub const DIGITS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/digits");

/// A frozen graph with the input `x` and the output `y`.
pub const MLP: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/data/models/mlp.pb");

/// Options of a server of the digits on free ports.
pub fn digits() -> ServerOptions {
    let free = Some(SocketAddr::from(([127, 0, 0, 1], 0)));
    ServerOptions { rest: free, grpc: free, repository: RepositoryConfig::of_model("digits", DIGITS), ..ServerOptions::default() }
}

/// Starts a server and waits for its models.
pub fn start(options: ServerOptions) -> Server {
    let server = Server::start(options).unwrap();
    server.wait_until_ready(Duration::from_secs(60)).unwrap();
    server
}

/// An answer.
pub struct Answer {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl Answer {
    pub fn text(&self) -> &str {
        std::str::from_utf8(&self.body).unwrap()
    }

    pub fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.text()))
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(header, _)| header.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
    }
}

/// Sends a request on a connection of its own.
pub fn request(server: &Server, method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Answer {
    request_to(server.rest_address().unwrap(), method, path, headers, body)
}

/// Like [`request`], to another address.
pub fn request_to(address: SocketAddr, method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Answer {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    let mut head = format!("{method} {path} HTTP/1.1\r\nhost: test\r\nconnection: close\r\ncontent-length: {}\r\n", body.len());
    headers.iter().for_each(|(name, value)| head += &format!("{name}: {value}\r\n"));
    stream.write_all(format!("{head}\r\n").as_bytes()).unwrap();
    // A server that refuses the request may have closed the connection.
    let _ = stream.write_all(body);
    read_answer(stream)
}

/// Reads an answer up to the end of the connection.
pub fn read_answer(mut stream: TcpStream) -> Answer {
    let mut bytes = Vec::new();
    let _ = stream.read_to_end(&mut bytes);
    let end = bytes.windows(4).position(|window| window == b"\r\n\r\n").unwrap_or_else(|| panic!("no answer: {bytes:?}"));
    let head = String::from_utf8(bytes[..end].to_vec()).unwrap();
    let mut lines = head.split("\r\n");
    let status = lines.next().unwrap().split(' ').nth(1).unwrap().parse().unwrap();
    let headers = lines.filter_map(|line| line.split_once(": ")).map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
    Answer { status, headers, body: bytes[end + 4..].to_vec() }
}

pub fn get(server: &Server, path: &str) -> Answer {
    request(server, "GET", path, &[], b"")
}

pub fn post(server: &Server, path: &str, body: &str) -> Answer {
    request(server, "POST", path, &[], body.as_bytes())
}

/// An image of the digits' model as JSON, all pixels of one value.
pub fn image(value: f32) -> String {
    let row = format!("[{}]", vec![format!("[{value:?}]"); 8].join(","));
    format!("[{}]", vec![row; 8].join(","))
}

/// Writes a frozen graph whose output `steps` counts to the input `limit`, one at a time: as slow as the request wants it.
pub fn counting_model(directory: &std::path::Path) -> std::path::PathBuf {
    use flowmill::prelude::*;
    let b = GraphBuilder::new().unwrap();
    let limit = b.node().name("limit").placeholder(DType::I64, []).unwrap();
    let start = [b.constant(0i64).unwrap()];
    let [count] = b.while_loop(start, |[i]| b.less(i, limit), |[i]| Ok([i + 1i64])).unwrap();
    b.node().name("steps").identity(count).unwrap();
    let path = directory.join("counting.pb");
    let bytes = flowmill::proto::Message::encode_to_vec(&b.graph_def().unwrap());
    std::fs::write(&path, bytes).unwrap();
    path
}
