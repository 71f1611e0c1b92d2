use crate::testing::{run, run1};
use flowmill_tensor::Tensor;

#[test]
fn what_is_written_is_read() {
    let values = [0.0f32, 0.5, -1.0, 2.0, 0.25, -0.25];
    let file = run1("EncodeWav", &[], vec![Tensor::from_slice([3, 2], &values).unwrap(), Tensor::scalar(8000i32)]).unwrap();
    let out = run("DecodeWav", &[], vec![file.clone()]).unwrap();
    let read = out[0].as_ref().unwrap();
    assert_eq!(
        (read.shape().dims(), read.as_slice::<f32>().unwrap()),
        (&[3, 2][..], &[0.0, 0.5, -1.0, 32767.0 / 32768.0, 0.25, -0.25][..])
    );
    assert_eq!(out[1].as_ref().unwrap().to_scalar::<i32>().unwrap(), 8000);
    let attrs = [("desired_channels", 3i64.into()), ("desired_samples", 4i64.into())];
    let more = run1("DecodeWav", &attrs, vec![file.clone()]).unwrap();
    assert_eq!(more.as_slice::<f32>().unwrap()[..3], [0.0, 0.5, 0.5]);
    assert_eq!(more.as_slice::<f32>().unwrap()[9..], [0.0; 3]);
    // A file that is truncated anywhere is an error.
    let bytes = file.as_strings().unwrap()[0].clone();
    for length in 0..bytes.len() {
        assert!(run("DecodeWav", &[], vec![Tensor::string(bytes.slice(..length))]).is_err(), "{length}");
    }
}

#[test]
fn summaries_have_a_file_for_each_sound() {
    use flowmill_proto::summary::value::Value;
    use flowmill_proto::{Message, Summary};

    let sounds = Tensor::from_slice([3, 2, 1], &[0.0f32, 0.5, -1.0, 2.0, 0.25, f32::NAN]).unwrap();
    let two = [("max_outputs", 2i64.into())];
    let out = run1("AudioSummaryV2", &two, vec![Tensor::string("t"), sounds.clone(), Tensor::scalar(8.5f32)]).unwrap();
    let summary = Summary::decode(out.as_strings().unwrap()[0].clone()).unwrap();
    assert_eq!(summary.value.iter().map(|v| v.tag.as_str()).collect::<Vec<_>>(), ["t/audio/0", "t/audio/1"]);
    let Some(Value::Audio(audio)) = &summary.value[1].value else { panic!("no sound") };
    assert_eq!((audio.sample_rate, audio.num_channels, audio.length_frames, audio.content_type.as_str()), (8.5, 1, 2, "audio/wav"));
    let read = run("DecodeWav", &[], vec![Tensor::string(audio.encoded_audio_string.clone())]).unwrap();
    assert_eq!(read[0].as_ref().unwrap().as_slice::<f32>().unwrap(), [-1.0, 32767.0 / 32768.0]);
    assert_eq!(read[1].as_ref().unwrap().to_scalar::<i32>().unwrap(), 8);
    let one = [("max_outputs", 1i64.into()), ("sample_rate", 0.1f32.into())];
    let out = run1("AudioSummary", &one, vec![Tensor::string("t"), Tensor::from_slice([1, 2], &[0.0f32, 1.0]).unwrap()]).unwrap();
    assert_eq!(Summary::decode(out.as_strings().unwrap()[0].clone()).unwrap().value[0].tag, "t/audio");

    let error = |inputs| run1("AudioSummaryV2", &[], inputs).unwrap_err().message().to_owned();
    let (tag, rate) = (Tensor::string("t"), Tensor::scalar(8.0f32));
    assert_eq!(error(vec![Tensor::from_strings([0], vec![]).unwrap(), sounds.clone(), rate.clone()]), "Tag must be a scalar");
    assert_eq!(error(vec![tag.clone(), rate.clone(), rate]), "Tensor must be 3-D or 2-D, got: []");
    for bad in [0.0, -1.0, f32::NAN] {
        assert_eq!(error(vec![tag.clone(), sounds.clone(), Tensor::scalar(bad)]), "sample_rate must be > 0");
    }
    assert!(error(vec![tag.clone(), sounds.clone(), Tensor::scalar(1e30f32)]).contains("sample_rate must be in (0, 2^32)"));
    assert!(error(vec![tag, sounds.clone(), sounds]).contains("sample_rate must be rank-0"));
}
