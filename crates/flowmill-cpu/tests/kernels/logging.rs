use crate::testing::{run, run1};
use flowmill_tensor::{Code, Tensor};

#[test]
fn print_passes_its_input_on() {
    let out = run1("Print", &[("message", "x = ".into())], vec![Tensor::scalar(1f32), Tensor::vector(&[1i32, 2]).unwrap()]).unwrap();
    assert_eq!(out.to_scalar::<f32>().unwrap(), 1.0);
}

#[test]
fn text_goes_to_files_and_only_to_known_streams() {
    let path = std::env::temp_dir().join(format!("flowmill-print-{}", std::process::id()));
    let stream = format!("file://{}", path.display());
    for text in ["one", "two"] {
        run("PrintV2", &[("output_stream", stream.as_str().into()), ("end", ";".into())], vec![Tensor::string(text)]).unwrap();
    }
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "one;two;");
    std::fs::remove_file(path).unwrap();
    let e = run("PrintV2", &[("output_stream", "foo".into())], vec![Tensor::string("x")]).unwrap_err();
    assert_eq!(e.message(), "Unknown output stream: foo, Valid streams are: stdout stderr log(info) log(warning) log(error)");
    let e = run("PrintV2", &[], vec![Tensor::from_strings([1], vec!["x".into()]).unwrap()]).unwrap_err();
    assert_eq!(e.message(), "Input is expected to be scalar, but got [1]");
    assert_eq!(
        run("PrintV2", &[("output_stream", "file:///nonexistent/x".into())], vec![Tensor::string("x")]).unwrap_err().code(),
        Code::InvalidArgument
    );
}
