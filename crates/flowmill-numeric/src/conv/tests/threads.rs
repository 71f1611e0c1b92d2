//! Results do not depend on the number of threads.

use super::*;

#[test]
fn bits_of_transposed_and_grouped_convolutions_do_not_depend_on_threads() {
    let rough = |seed, len| -> Vec<f32> { values(seed, len).iter().map(|x| (x / 7.0).exp()).collect() };
    let batch = |batch, w| Window { batch, ..w };
    let cases = [
        (Window::square(1, 33, 20, 4, 2, 1), 96, 1),
        (Window::square(2, 17, 34, 4, 2, 1), 80, 2),
        (Window::square(1, 8, 40, 5, 2, 2), 400, 1),
        (Window::square(1, 40, 16, 33, 1, 0), 24, 1),
        (Window::square(11, 10, 20, 7, 1, 0), 24, 1),
        (Window::square(1, 64, 32, 4, 2, 1), 48, 1),
        (Window::square(1, 33, 32, 3, 2, 1), 64, 2),
        (Window::square(9, 16, 16, 5, 2, 2), 32, 1),
        (Window::square(3, 31, 32, 2, 3, 0), 64, 1),
        (Window::square(1, 8, 256, 4, 2, 1), 64, 1),
        (Window::square(1, 41, 48, 6, 2, 2), 48, 1),
    ];
    let scattered: Vec<bool> = cases.iter().map(|(w, out, groups)| is_scattered(w, *out, *groups)).collect();
    assert!(scattered.contains(&true) && scattered.contains(&false), "{scattered:?}");
    for (w, out, groups) in cases {
        for w in [w, batch(2 * w.batch, w)] {
            let filter = rough(2, w.height * w.width * w.channels / groups * out);
            let (input, gradient) = (rough(1, w.input_len()), rough(3, w.positions() * out));
            let transposed = PackedTransposed::pack(&w, &filter, out, groups).unwrap();
            let grouped = PackedFilter::pack_for(Method::Direct, Precision::F32, &w, &filter, out, groups);
            let bias = rough(4, out);
            let run = |threads: usize| {
                rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap().install(|| {
                    let mut results = [vec![f32::NAN; input.len()], vec![f32::NAN; input.len()], vec![f32::NAN; gradient.len()]];
                    transposed.apply(&w, out, &gradient, &mut results[0]);
                    conv2d_backprop_input(&w, &filter, out, groups, &gradient, &mut results[1]);
                    let epilogue = Epilogue { bias: Some(&bias), residual: Some((&gradient, out)), ..Epilogue::default() };
                    conv2d(&w, &input, &grouped, &mut results[2], &epilogue);
                    results
                })
            };
            let one = run(1);
            assert!(one.iter().flatten().all(|x| x.is_finite()));
            for threads in [2, 3, 8] {
                assert!(run(threads) == one, "{threads} threads, {w:?} to {out} channels");
            }
        }
    }
}

#[test]
fn bits_do_not_depend_on_threads() {
    let w = Window::square(3, 20, 40, 3, 1, 1);
    let rough = |seed, len| -> Vec<f32> { values(seed, len).iter().map(|x| (x / 7.0).exp()).collect() };
    let input = rough(1, w.input_len());
    let filter = rough(2, 9 * 40 * 50);
    let gradient = rough(3, w.positions() * 50);
    let packed = PackedFilter::pack(Precision::F32, &w, &filter, 50, 1);
    let run = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let epilogue = Epilogue::bias_activation(None, Activation::Sigmoid);
            let mut results = vec![vec![0.0; gradient.len()], vec![0.0; input.len()], vec![0.0; filter.len()]];
            conv2d(&w, &input, &packed, &mut results[0], &epilogue);
            conv2d_backprop_input(&w, &filter, 50, 1, &gradient, &mut results[1]);
            conv2d_backprop_filter(&w, &input, 50, 1, &gradient, &mut results[2]);
            let mut narrow = vec![0.0; 9 * 40 * 4];
            conv2d_backprop_filter(&w, &input, 4, 1, &gradient, &mut narrow);
            results.push(narrow);
            let mut depthwise = vec![0.0; input.len()];
            depthwise_conv2d(&w, 1, &input, &filter[..9 * 40], &mut depthwise, &epilogue);
            results.push(depthwise);
            let mut pooled = vec![0.0; input.len()];
            avg_pool(&w.volume(), &input, &mut pooled);
            results.push(pooled);
            results
        })
    };
    let one = run(1);
    for threads in [2, 3, 5] {
        assert!(run(threads) == one, "{threads} threads");
    }
}
