use crate::testing::run;
use flowmill_tensor::Tensor;

#[test]
fn switch_sends_its_data_to_one_output() {
    for (predicate, live) in [(false, 0), (true, 1)] {
        let out = run("Switch", &[], vec![Tensor::scalar(7.5f32), Tensor::scalar(predicate)]).unwrap();
        assert_eq!(out[live].as_ref().unwrap().to_scalar::<f32>().unwrap(), 7.5);
        assert!(out[1 - live].is_none());
    }
    let e = run("Switch", &[], vec![Tensor::scalar(1i32), Tensor::vector(&[true]).unwrap()]).unwrap_err();
    assert_eq!(e.message(), "The second input must be a scalar, but it has shape [1]");
}

#[test]
fn switch_n_gives_the_last_output_to_an_index_out_of_range() {
    for (index, live) in [(0, 0), (2, 2), (7, 7), (8, 7), (-1, 7)] {
        let out = run("_SwitchN", &[], vec![Tensor::scalar(1i64), Tensor::scalar(index)]).unwrap();
        let found: Vec<usize> = (0..8).filter(|&i| out[i].is_some()).collect();
        assert_eq!(found, [live], "index {index}");
    }
}

#[test]
fn a_false_assertion_shows_its_data() {
    let data = vec![Tensor::scalar(false), Tensor::string("x is"), Tensor::vector(&[1.5f32, 2.0, 3.0, 4.0]).unwrap()];
    let e = run("Assert", &[], data.clone()).unwrap_err();
    assert_eq!(e.message(), "assertion failed: [x is] [1.5 2 3...]");
    let mut data = data;
    data[0] = Tensor::scalar(true);
    assert!(run("Assert", &[], data).is_ok());
}
