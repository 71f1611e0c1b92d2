//! The decoders work without a graph, and files that the crate writes can be read again.

use flowmill_codecs::jpeg::{self, Dct, DensityUnit, EncodeOptions};
use flowmill_codecs::json::{Parser, Scalar};
use flowmill_codecs::{ImageFormat, csv, png, wav};

#[test]
fn a_png_file_has_the_samples_it_was_made_of() {
    let samples: Vec<u8> = (0..2 * 3 * 4).collect();
    let file = png::encode(2, 3, 4, false, &samples, -1).unwrap();
    assert_eq!(ImageFormat::of(&file), Some(ImageFormat::Png));
    let image = png::decode(&file, 0, false).unwrap();
    assert_eq!((image.height, image.width, image.channels), (2, 3, 4));
    assert!(matches!(image.samples, png::Samples::Bytes(found) if found == samples));
}

#[test]
fn a_jpeg_file_of_one_colour_has_that_colour() {
    let encoding = EncodeOptions {
        quality: 100,
        progressive: false,
        optimize: false,
        downsample: false,
        density: (300, 300),
        density_unit: DensityUnit::Inches,
        xmp: Vec::new(),
    };
    let file = jpeg::encode(&[128; 16 * 8], 16, 8, true, &encoding).unwrap();
    assert_eq!(jpeg::dimensions(&file), Ok((8, 16, 1)));
    let decoding =
        jpeg::Options { channels: 0, ratio: 1, fancy: true, recover: false, acceptable_fraction: 1.0, dct: Dct::Accurate, crop: None };
    let image = jpeg::decode(&file, &decoding).unwrap();
    assert_eq!((image.height, image.width, image.pixels), (8, 16, vec![128; 16 * 8]));
}

#[test]
fn a_wav_file_has_its_samples_and_rate() {
    let file = wav::encode(&[0.5, -0.5, 0.0, 1.0], 2, 2, 8000).unwrap();
    let sound = wav::Sound::read(&file).unwrap();
    let samples: Vec<i16> = sound.samples.chunks_exact(2).map(|s| i16::from_le_bytes([s[0], s[1]])).collect();
    assert_eq!((sound.channels, sound.rate, samples), (2, 8000, vec![16384, -16384, 0, i16::MAX]));
    assert!(wav::Sound::read(&file[..30]).is_err());
}

#[test]
fn a_quoted_field_may_hold_delimiters_and_quotes() {
    let rules = csv::Rules { delimiter: b',', quotes: true, columns: csv::Columns::Only(vec![0, 2]) };
    assert_eq!(rules.fields(br#""a,""b""",skipped,c"#).unwrap(), [br#"a,"b""#.to_vec(), b"c".to_vec()]);
    assert!(rules.fields(br#""open"#).is_err());
}

#[test]
fn records_of_a_csv_file_end_at_line_ends_outside_of_quotes() {
    let rules = csv::Rules { delimiter: b',', quotes: true, columns: csv::Columns::Except(vec![1]) };
    let mut file: &[u8] = b"a,x,\"b\r\n\"\"c\"\"\"\rd,x\r\n\ne\"f,x,g\n\"h\"i\",x\nj,x,\"k";
    let mut next = || rules.read_record(&mut file).unwrap().map(|record| (record.fields, record.error.map(|e| e.to_string())));
    let fields = |fields: &[&str]| fields.iter().map(|field| field.as_bytes().to_vec()).collect::<Vec<_>>();
    assert_eq!(next(), Some((fields(&["a", "b\r\n\"c\""]), None)));
    assert_eq!(next(), Some((fields(&["d"]), None)));
    assert_eq!(next(), Some((fields(&[""]), None)));
    for (before, message) in [(&[][..], "quotes inside"), (&[], "escaped by another quote"), (&["j"], "without closing quoted field")] {
        let (read, error) = next().unwrap();
        assert_eq!(read, fields(before));
        assert!(error.unwrap().contains(message));
    }
    assert_eq!(next(), None);
}

#[test]
fn an_error_of_json_says_where_it_is() {
    let mut parser = Parser::new(br#"{"size": nope}"#, "example.Message");
    let error = parser.object(|parser, key| parser.within(&format!(".{key}"), "int", |parser| parser.elements(&mut 0, &mut |_, _| Ok(()))));
    let error = error.unwrap_err();
    assert!(error.contains("example.Message @ size: int, near 1:10 (offset 9)"), "{error}");

    let mut values = Vec::new();
    let mut parser = Parser::new(b"[1, [2, 'three']]", "example.Message");
    let read = parser.elements(&mut 0, &mut |_, value| {
        match value {
            Scalar::Number(text) | Scalar::Text(text) => values.push(text),
            Scalar::Null | Scalar::Other => {}
        }
        Ok(())
    });
    assert_eq!((read, values.join(" ")), (Ok(()), "1 2 three".to_owned()));
}
