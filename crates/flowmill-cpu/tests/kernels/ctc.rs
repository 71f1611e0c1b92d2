use crate::testing::{Call, run, ty};
use flowmill_tensor::{DType, Result, Tensor};

/// Returns logits `[4, 2, 3]` that go up and down.
fn logits() -> Tensor {
    let values: Vec<f64> = (0..24).map(|i| f64::from(i * 7 % 11) / 4.0 - 1.0).collect();
    Tensor::from_slice([4, 2, 3], &values).unwrap()
}

fn loss(op: &str, logits: Tensor, rows: &[&[i32]], lengths: &[i32]) -> Result<Vec<Option<Tensor>>> {
    let places: Vec<i64> = rows.iter().enumerate().flat_map(|(b, row)| (0..row.len()).flat_map(move |t| [b as i64, t as i64])).collect();
    let labels = rows.concat();
    let attrs = [("T", ty(logits.dtype()))];
    let inputs = vec![logits, Tensor::from_slice([labels.len(), 2], &places)?, Tensor::vector(&labels)?, Tensor::vector(lengths)?];
    run(op, &attrs, inputs)
}

/// Returns the loss by its definition: the sum of the probabilities of all sequences of classes that have these labels.
fn by_definition(logits: &Tensor, item: usize, labels: &[usize], length: usize, blank: usize) -> f64 {
    let x = logits.as_slice::<f64>().unwrap();
    let y = |t: usize, class: usize| {
        let row = &x[(t * 2 + item) * 3..][..3];
        row[class].exp() / row.iter().map(|v| v.exp()).sum::<f64>()
    };
    let mut sum = 0.0;
    for code in 0..3usize.pow(length as u32) {
        let path: Vec<usize> = (0..length).map(|t| code / 3usize.pow(t as u32) % 3).collect();
        let mut collapsed = path.clone();
        collapsed.dedup();
        collapsed.retain(|&class| class != blank);
        if collapsed == labels {
            sum += path.iter().enumerate().map(|(t, &class)| y(t, class)).product::<f64>();
        }
    }
    -sum.ln()
}

#[test]
fn the_loss_is_that_of_all_paths() {
    let out = loss("CTCLoss", logits(), &[&[0, 0], &[1]], &[4, 3]).unwrap();
    let found = out[0].as_ref().unwrap().as_slice::<f64>().unwrap();
    for (found, wanted) in found.iter().zip([by_definition(&logits(), 0, &[0, 0], 4, 2), by_definition(&logits(), 1, &[1], 3, 2)]) {
        assert!((found - wanted).abs() < 1e-12, "{found} {wanted}");
    }
    // After an item's end the gradient is zero; at each time it is a difference of distributions.
    let gradient = out[1].as_ref().unwrap().as_slice::<f64>().unwrap();
    assert_eq!(gradient[21..], [0.0; 3]);
    assert!(gradient.chunks(3).all(|row| row.iter().sum::<f64>().abs() < 1e-12));
}

#[test]
fn the_second_version_has_its_blank_in_front() {
    let single: Vec<f32> = logits().as_slice::<f64>().unwrap().iter().map(|&v| v as f32).collect();
    let single = Tensor::from_slice([4, 2, 3], &single).unwrap();
    let out = loss("CTCLossV2", single.clone(), &[&[1, 1], &[2, 0]], &[4, 3]).unwrap();
    let found = out[0].as_ref().unwrap().as_slice::<f32>().unwrap();
    for (found, wanted) in found.iter().zip([by_definition(&logits(), 0, &[1, 1], 4, 0), by_definition(&logits(), 1, &[2], 3, 0)]) {
        assert!((f64::from(*found) - wanted).abs() < 1e-5, "{found} {wanted}");
    }
    let e = loss("CTCLossV2", single, &[&[3], &[1]], &[4, 3]).unwrap_err();
    assert!(e.message().starts_with("No label may be greater than num_classes."), "{e}");
}

#[test]
fn a_wide_beam_finds_the_likeliest_labels() {
    let attrs = [("beam_width", 100i64.into()), ("top_paths", 3i64.into()), ("merge_repeated", false.into()), ("T", ty(DType::F64))];
    let out = run("CTCBeamSearchDecoder", &attrs, vec![logits(), Tensor::vector(&[4i32, 0]).unwrap()]);
    assert_eq!(out.unwrap_err().message(), "Less leaves in the beam search than requested.");
    let call = Call::new("CTCBeamSearchDecoder").attrs(&attrs).outputs(10);
    let out = call.input(logits()).input(Tensor::vector(&[4i32, 3]).unwrap()).run().unwrap();
    let of_item = |path: usize, item: i64| -> Vec<usize> {
        let places = out[path].as_ref().unwrap().as_slice::<i64>().unwrap();
        let values = out[3 + path].as_ref().unwrap().as_slice::<i64>().unwrap();
        places.chunks(2).zip(values).filter(|(place, _)| place[0] == item).map(|(_, &value)| value as usize).collect()
    };
    let logs = out[9].as_ref().unwrap().as_slice::<f64>().unwrap();
    for (item, length) in [(0, 4), (1, 3)] {
        let found: Vec<f64> = (0..3).map(|path| -by_definition(&logits(), item, &of_item(path, item as i64), length, 2)).collect();
        assert!(found.is_sorted_by(|a, b| a >= b), "{found:?}");
        assert!(found.iter().zip(&logs[3 * item..]).all(|(a, b)| (a - b).abs() < 1e-12), "{found:?} {logs:?}");
    }
}
