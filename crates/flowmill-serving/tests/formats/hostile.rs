//! Damaged requests are answered with errors, and take memory in proportion to their size.

use crate::{limits, model, specs};
use flowmill::DType;
use flowmill_serving::formats::kserve::parse_infer;
use flowmill_serving::formats::tfs::{parse_examples, parse_predict};
use proptest::prelude::*;
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

/// Counts the bytes that a thread allocates.
struct Counting;

thread_local! {
    static LIVE: Cell<isize> = const { Cell::new(0) };
    static PEAK: Cell<isize> = const { Cell::new(0) };
}

fn count(bytes: isize) {
    let _ = LIVE.try_with(|live| {
        live.set(live.get() + bytes);
        let _ = PEAK.try_with(|peak| peak.set(peak.get().max(live.get())));
    });
}

// SAFETY: every call is passed on to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size() as isize);
        // SAFETY: the caller keeps the contract.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, ptr: *mut u8, layout: Layout) {
        count(-(layout.size() as isize));
        // SAFETY: the caller keeps the contract.
        unsafe { System.dealloc(ptr, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Runs `parse` and returns the most bytes that it held at one time.
fn peak_of(parse: impl FnOnce()) -> usize {
    let before = LIVE.get();
    PEAK.set(before);
    parse();
    (PEAK.get() - before) as usize
}

const SEEDS: [&str; 6] = [
    r#"{"signature_name": "strings", "instances": ["a", {"b64": "QQ=="}, "\u00e9\ud83d\ude00"]}"#,
    r#"{"instances": [{"x": [1.5, -2e3], "n": 7}, {"x": [NaN, 0.25], "n": 8}]}"#,
    r#"{"inputs": {"x": [[[1, 2], [3, 4]]], "n": -9223372036854775808}}"#,
    r#"{"examples": [{"a": [1.5, 2.5], "s": "t"}, {"a": 3.5}], "context": {"c": [1, 2, 3]}}"#,
    r#"{"id":"1","inputs":[{"name":"x","shape":[2,2],"datatype":"FP32","data":[[1,2],[3,4]]},{"name":"n","shape":[1],"datatype":"INT64","parameters":{"binary_data_size":8}}],"outputs":[{"name":"y","parameters":{"binary_data":true}}]}12345678"#,
    r#"{"inputs":[{"data":[1,2,3],"name":"x","datatype":"FP32","shape":[3]}],"parameters":{"a":1,"b":"c","d":1e5}}"#,
];

/// Parses a body as a request of each kind.
fn parse_all(body: &[u8]) {
    let inputs = [("x", DType::F32), ("n", DType::I64)];
    let _ = parse_predict(body, &model(&inputs), &limits());
    let _ = parse_predict(body, &model(&inputs[..1]), &limits());
    let _ = parse_examples(body, &limits());
    let body = bytes::Bytes::copy_from_slice(body);
    for json_len in [None, Some(0), body.len().checked_sub(8)] {
        let _ = parse_infer(body.clone(), json_len, &specs(&inputs), &limits());
        let _ = parse_infer(body.clone(), json_len, &specs(&inputs[..1]), &limits());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]
    #[test]
    fn mutated_requests_take_memory_in_proportion(seed in 0..SEEDS.len(), changes in prop::collection::vec((any::<prop::sample::Index>(), 0u8..4, any::<u8>()), 0..6)) {
        let mut body = SEEDS[seed].as_bytes().to_vec();
        for (at, change, byte) in changes {
            let at = at.index(body.len().max(1));
            match change {
                _ if body.is_empty() => body.push(byte),
                0 => body[at] = byte,
                1 => body.truncate(at),
                2 => drop(body.remove(at)),
                _ => body.insert(at, b"[]{}\",:0e-."[usize::from(byte) % 11]),
            }
        }
        let peak = peak_of(|| parse_all(&body));
        prop_assert!(peak < 64 * body.len() + (1 << 14), "{peak} bytes for {}", body.len());
    }
}

#[test]
fn large_requests_take_memory_in_proportion() {
    const SIZE: usize = 1 << 20;
    let claimed = r#"{"inputs":[{"name":"x","shape":[200000000],"datatype":"FP32","data":[1]}]}"#.to_owned();
    let inputs: [(&str, String); 9] = [
        ("claimed shape", claimed),
        ("numbers", format!("{{\"inputs\": [{}1]}}", "1,".repeat(SIZE))),
        ("empty strings", format!("{{\"signature_name\": \"strings\", \"inputs\": [{}\"\"]}}", "\"\",".repeat(SIZE))),
        ("empty arrays", format!("{{\"inputs\": [{}[]]}}", "[],".repeat(SIZE))),
        ("instances", format!("{{\"instances\": [{}{{\"x\":1}}]}}", "{\"x\":1},".repeat(SIZE / 4))),
        ("empty examples", format!("{{\"examples\": [{}{{}}]}}", "{},".repeat(60_000))),
        ("open arrays", "[".repeat(SIZE)),
        ("open objects", "{\"a\":".repeat(SIZE)),
        ("digits", format!("{{\"inputs\": 1{}}}", "0".repeat(SIZE))),
    ];
    for (name, body) in inputs {
        let peak = peak_of(|| {
            let _ = parse_predict(body.as_bytes(), &model(&[("x", DType::F32)]), &limits());
            let _ = parse_examples(body.as_bytes(), &limits());
        });
        assert!(peak < 48 * body.len() + (1 << 16), "{name}: {peak} bytes for {}", body.len());
        let body = bytes::Bytes::from(body);
        let peak = peak_of(|| drop(parse_infer(body.clone(), None, &specs(&[("x", DType::F32)]), &limits())));
        assert!(peak < 48 * body.len() + (1 << 16), "{name}: {peak} bytes for {}", body.len());
    }
}
