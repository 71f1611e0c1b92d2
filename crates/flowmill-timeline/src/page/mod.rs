//! The timeline as one HTML file that loads nothing from elsewhere.
//!
//! The events are JSON in the page, a column per field, drawn on a canvas by `page.js`; `panel.js` has the panel, search, mouse and keyboard. Names come
//! into the page as text only.

use crate::chrome::describe;
use crate::shares::{Shares, op_of};
use crate::timeline::{Event, Timeline};
use rustc_hash::FxHashMap;
use serde_json::{Value, json};
use std::io::{self, Write};

const HTML: &str = include_str!("page.html");
const CSS: &str = include_str!("page.css");
const SCRIPTS: [&str; 2] = [include_str!("page.js"), include_str!("panel.js")];

/// The rows of the tables of ops and scopes.
const ROWS: usize = 12;

impl Timeline {
    /// Writes the page.
    ///
    /// # Errors
    /// Returns the error of `out`.
    pub fn write_page(&self, mut out: impl Write, title: &str) -> io::Result<()> {
        // In a script element, only `<` could end the data.
        let data = self.page_data().to_string().replace('<', "\\u003c");
        let mut rest = HTML;
        while let Some((before, after)) = rest.split_once("{{") {
            out.write_all(before.as_bytes())?;
            let (name, after) = after.split_once("}}").unwrap_or((after, ""));
            match name {
                "title" => out.write_all(escape(title).as_bytes())?,
                "css" => out.write_all(CSS.as_bytes())?,
                "data" => out.write_all(data.as_bytes())?,
                _ => SCRIPTS.iter().try_for_each(|script| out.write_all(script.as_bytes()))?,
            }
            rest = after;
        }
        out.write_all(rest.as_bytes())?;
        out.flush()
    }

    fn page_data(&self) -> Value {
        let mut strings = Strings::default();
        let mut columns: [Vec<Value>; 12] = Default::default();
        let (mut producers, mut first_producer) = (Vec::new(), vec![0usize]);
        for event in &self.events {
            let iteration = event.iteration.as_ref().map(|(frame, numbers)| format!("{numbers} of {frame}"));
            let copy = event.copy.as_ref().map(|copy| format!("{} from {} to {}", copy.tensor, copy.from, copy.to));
            let outputs: Vec<String> = event.outputs.iter().map(describe).collect();
            let row: [Value; 12] = [
                strings.number(&event.name).into(),
                strings.number(op_of(event)).into(),
                event.device.into(),
                event.lane.into(),
                event.depth.into(),
                event.start.into(),
                event.duration().into(),
                event.wait().into(),
                strings.optional(iteration.as_deref()),
                strings.optional(copy.as_deref()),
                strings.optional((!outputs.is_empty()).then(|| outputs.join("; ")).as_deref()),
                event.sender.map_or(-1, |sender| sender as i64).into(),
            ];
            columns.iter_mut().zip(row).for_each(|(column, value)| column.push(value));
            producers.extend(self.producers(event));
            first_producer.push(producers.len());
        }
        let [name, op, device, lane, depth, start, duration, wait, iteration, copy, outputs, sender] = columns;
        let path = self.critical_path();
        let memory = |((device, allocator), samples): ((usize, std::sync::Arc<str>), Vec<crate::MemorySample>)| {
            let (time, bytes): (Vec<u64>, Vec<u64>) = samples.iter().map(|sample| (sample.time, sample.bytes)).unzip();
            json!({"device": device, "name": format!("memory ({allocator})"), "time": time, "bytes": bytes})
        };
        let lanes = |device: &crate::Device| device.lanes.iter().map(|lane| lane.name.clone()).collect::<Vec<_>>();
        json!({
            "duration": self.duration(),
            "devices": self.devices.iter().map(|device| json!({"name": device.name, "lanes": lanes(device)})).collect::<Vec<_>>(),
            "events": {
                "name": name, "op": op, "device": device, "lane": lane, "depth": depth, "start": start, "duration": duration, "wait": wait,
                "iteration": iteration, "copy": copy, "outputs": outputs, "sender": sender, "producer": producers, "first_producer": first_producer,
            },
            "critical": {"events": path.events, "running": path.running, "waiting": path.waiting},
            "memory": self.memory().into_iter().map(memory).collect::<Vec<_>>(),
            "by_op": table(&self.by_op()),
            "by_scope": table(&self.by_scope(1)),
            "strings": strings.list,
        })
    }

    /// Returns the events that an event's inputs come from, without repetition.
    fn producers(&self, event: &Event) -> Vec<usize> {
        let mut found: Vec<usize> = event.inputs.iter().filter_map(|input| input.producer).chain(event.sender).collect();
        found.sort_unstable();
        found.dedup();
        found
    }
}

fn table(shares: &Shares) -> Value {
    let rows: Vec<Value> =
        shares.rows.iter().take(ROWS).map(|row| json!({"name": row.name, "calls": row.calls, "nanos": row.nanos})).collect();
    json!({"rows": rows, "nanos": shares.nanos})
}

/// The texts of the page, each once.
#[derive(Default)]
struct Strings {
    numbers: FxHashMap<String, usize>,
    list: Vec<String>,
}

impl Strings {
    fn number(&mut self, text: &str) -> usize {
        if let Some(&number) = self.numbers.get(text) {
            return number;
        }
        self.numbers.insert(text.to_owned(), self.list.len());
        self.list.push(text.to_owned());
        self.list.len() - 1
    }

    fn optional(&mut self, text: Option<&str>) -> Value {
        text.map_or(Value::from(-1), |text| self.number(text).into())
    }
}

/// Returns text that is valid in an element of HTML.
fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
