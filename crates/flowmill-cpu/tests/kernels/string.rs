//! The string ops, compared with values obtained from TensorFlow 2.21.
use crate::testing::{Call, ints, run1, ty, types};
use flowmill_proto::AttrValue;
use flowmill_tensor::{Bytes, Code, DType, Element, Result, Tensor};

type Attrs<'a> = &'a [(&'a str, AttrValue)];

fn s(values: &[&str]) -> Tensor {
    Tensor::from_strings([values.len()], values.iter().map(|v| Bytes::copy_from_slice(v.as_bytes())).collect()).unwrap()
}

fn v<T: Element>(values: &[T]) -> Tensor {
    Tensor::vector(values).unwrap()
}

fn grid(rows: usize, values: &[&str]) -> Tensor {
    s(values).reshaped([rows, values.len() / rows]).unwrap()
}

#[track_caller]
fn invalid<T: std::fmt::Debug>(result: Result<T>, phrase: &str) {
    let e = result.unwrap_err();
    assert!(e.code() == Code::InvalidArgument && e.message().contains(phrase), "{e}");
}

#[track_caller]
fn texts(result: Result<Tensor>, want: &[&str]) {
    assert_eq!(result.unwrap().as_strings().unwrap(), want);
}

#[test]
fn numbers_become_text() {
    let as_string = |x: Tensor, attrs: Attrs| Call::new("AsString").attr("T", ty(x.dtype())).attrs(attrs).input(x).run1();
    let x = || v(&[0.0f32, -0.0, 0.1, -2.5, 1e10, 1e-7, 123456.789, f32::NAN, f32::INFINITY, f32::NEG_INFINITY]);
    texts(
        as_string(x(), &[]),
        &["0.000000", "-0.000000", "0.100000", "-2.500000", "10000000000.000000", "0.000000", "123456.789062", "nan", "inf", "-inf"],
    );
    let scientific = [
        "0.000000e+00",
        "-0.000000e+00",
        "1.000000e-01",
        "-2.500000e+00",
        "1.000000e+10",
        "1.000000e-07",
        "1.234568e+05",
        "nan",
        "inf",
        "-inf",
    ];
    texts(as_string(x(), &[("scientific", true.into())]), &scientific);
    texts(
        as_string(x(), &[("shortest", true.into()), ("precision", 3.into())]),
        &["0", "-0", "0.1", "-2.5", "1e+10", "1e-07", "1.23e+05", "nan", "inf", "-inf"],
    );
    let small = || v(&[0.0f32, -0.0]);
    texts(as_string(small(), &[("width", 12.into()), ("fill", "0".into())]), &["00000.000000", "-0000.000000"]);
    texts(as_string(small(), &[("width", 12.into()), ("fill", "-".into())]), &["0.000000    ", "-0.000000   "]);
    let integers = || v(&[1, -1]);
    texts(as_string(integers(), &[("width", 5.into())]), &["    1", "   -1"]);
    texts(as_string(integers(), &[("width", 5.into()), ("fill", "0".into())]), &["00001", "-0001"]);
    texts(as_string(integers(), &[("width", 5.into()), ("fill", "+".into())]), &["   +1", "   -1"]);
    texts(as_string(v(&[u64::MAX]), &[]), &["18446744073709551615"]);
    texts(as_string(v(&[true, false]), &[("width", 7.into())]), &["true", "false"]);
    texts(as_string(v(&[flowmill_tensor::Complex::new(1.0f64, 2.0)]), &[("precision", 1.into())]), &["(1.0,2.0)"]);
    texts(as_string(s(&["a"]), &[("width", 4.into())]), &["   a"]);
    invalid(as_string(integers(), &[("precision", 2.into())]), "precision not supported for datatype int32");
    invalid(as_string(integers(), &[("scientific", true.into())]), "scientific and shortest format not supported for datatype int32");
    invalid(as_string(small(), &[("fill", "x".into())]), "Fill argument not supported: \"x\"");
    invalid(as_string(small(), &[("fill", "xy".into())]), "Fill string must be one or fewer characters");
}

#[test]
fn templates_are_filled() {
    let format = |template: &str, inputs: Vec<Tensor>| {
        let dtypes: Vec<DType> = inputs.iter().map(Tensor::dtype).collect();
        run1(
            "StringFormat",
            &[("template", template.into()), ("placeholder", "{}".into()), ("summarize", 3.into()), ("T", types(&dtypes))],
            inputs,
        )
    };
    texts(format("a {} b {}", vec![v(&[1, 2, 3, 4, 5, 6, 7, 8]), Tensor::scalar(1.5f32)]), &["a [1 2 3 ... 6 7 8] b 1.5"]);
    texts(format("none", vec![]), &["none"]);
    invalid(format("{} {}", vec![v(&[1])]), "num placeholders in template and num inputs must match: 2 vs. 1");
}

#[test]
fn strings_are_joined() {
    let join = |inputs: Vec<Tensor>| run1("StringJoin", &[("separator", "-".into())], inputs);
    texts(join(vec![s(&["a", "b"]), Tensor::string("c")]), &["a-c", "b-c"]);
    texts(join(vec![Tensor::string("a"), Tensor::string("b")]), &["a-b"]);
    invalid(join(vec![s(&["a", "b"]), s(&["c"])]), "Input shapes do not match: [2] vs. [1]");
    let reduce = |axes: &[i32], keep: bool| {
        run1("ReduceJoin", &[("separator", ".".into()), ("keep_dims", keep.into())], vec![grid(2, &["a", "b", "c", "d"]), v(axes)])
    };
    texts(reduce(&[0], false), &["a.c", "b.d"]);
    texts(reduce(&[0, 1], false), &["a.c.b.d"]);
    texts(reduce(&[1, 0], false), &["a.b.c.d"]);
    assert_eq!(reduce(&[-1], true).unwrap().shape().to_vec(), [2, 1]);
    texts(reduce(&[], false), &["a", "b", "c", "d"]);
    texts(run1("ReduceJoin", &[], vec![Tensor::from_strings([0, 2], vec![]).unwrap(), v(&[0])]), &["", ""]);
    invalid(reduce(&[0, -2], false), "Duplicate reduction dimension -2");
    assert_eq!(reduce(&[2], false).unwrap_err().code(), Code::OutOfRange);
    let segments = |ids: &[i32], n: i32| {
        run1("UnsortedSegmentJoin", &[("separator", ":".into())], vec![s(&["a", "b", "c"]), v(ids), Tensor::scalar(n)])
    };
    texts(segments(&[2, 0, 2], 3), &["b", "", "a:c"]);
    invalid(segments(&[2, -1, 2], 3), "segment_ids are not allowed to exceed num_segments or to have negative values.");
    invalid(segments(&[0, 0, 0], -1), "Number of segments must be non-negative but got -1");
}

#[track_caller]
fn split(op: &str, attrs: Attrs, input: &[&str], separator: &str, rows: &[i64], pieces: &[&str], widest: i64) {
    let out = Call::new(op).attrs(attrs).inputs(vec![s(input), Tensor::string(separator.to_owned())]).outputs(3).run().unwrap();
    let places = out[0].as_ref().unwrap().as_slice::<i64>().unwrap().to_vec();
    assert_eq!(places.chunks(2).map(|place| place[0]).collect::<Vec<_>>(), rows);
    assert_eq!(out[1].as_ref().unwrap().as_strings().unwrap(), pieces);
    assert_eq!(out[2].as_ref().unwrap().as_slice::<i64>().unwrap(), [input.len() as i64, widest]);
}

#[test]
fn strings_are_split() {
    let abc = ["a b  c", "", " d"];
    split("StringSplit", &[], &abc, " ", &[0, 0, 0, 2], &["a", "b", "c", "d"], 3);
    split("StringSplit", &[("skip_empty", false.into())], &abc, " ", &[0, 0, 0, 0, 2, 2], &["a", "b", "", "c", "", "d"], 4);
    split("StringSplit", &[], &["a,b;c"], ",;", &[0, 0, 0], &["a", "b", "c"], 3);
    split("StringSplit", &[], &["abc"], "", &[0, 0, 0], &["a", "b", "c"], 3);
    split("StringSplitV2", &[], &["a b  c", "", " d "], "", &[0, 0, 0, 2], &["a", "b", "c", "d"], 3);
    split("StringSplitV2", &[("maxsplit", 2.into())], &["a b  c d", "", " d "], "", &[0, 0, 0, 2], &["a", "b", "c d", "d"], 3);
    split("StringSplitV2", &[("maxsplit", 1.into())], &["1<>2<>3", ""], "<>", &[0, 0, 1], &["1", "2<>3", ""], 2);
    split("StringSplitV2", &[], &["<>4<>5<><>6<>"], "<>", &[0; 6], &["", "4", "5", "", "6", ""], 6);
    invalid(Call::new("StringSplitV2").inputs(vec![s(&["a"]), s(&["b"])]).run(), "sep must be a scalar, got shape: [1]");
    invalid(Call::new("StringSplit").inputs(vec![Tensor::string("a"), Tensor::string("b")]).run(), "input must be a vector, got shape: []");
}

#[test]
fn n_grams_of_each_row() {
    let ngrams = |widths: &[i64], pads: (&str, &str, i64), preserve: bool, splits: &[i64]| {
        let attrs = [
            ("separator", "|".into()),
            ("ngram_widths", ints(widths)),
            ("left_pad", pads.0.into()),
            ("right_pad", pads.1.into()),
            ("pad_width", pads.2.into()),
            ("preserve_short_sequences", preserve.into()),
        ];
        Call::new("StringNGrams").attrs(&attrs).inputs(vec![s(&["a", "b", "c", "d"]), v(splits)]).outputs(2).run()
    };
    let out = ngrams(&[2, 3], ("<", ">", -1), false, &[0, 3, 4]).unwrap();
    let want = ["<|a", "a|b", "b|c", "c|>", "<|<|a", "<|a|b", "a|b|c", "b|c|>", "c|>|>", "<|d", "d|>", "<|<|d", "<|d|>", "d|>|>"];
    assert_eq!(out, [Some(s(&want)), Some(v(&[0i64, 9, 14]))]);
    assert_eq!(ngrams(&[3], ("", "", 0), true, &[0, 3, 4]).unwrap(), [Some(s(&["a|b|c", "d"])), Some(v(&[0i64, 1, 2]))]);
    invalid(ngrams(&[3], ("", "", 0), true, &[0, 5, 4]), "Invalid split value 5, must be in [0, 4]");
}

#[test]
fn lengths_cases_and_edges() {
    let run = |op: &str, attrs: Attrs, x: &[&str]| run1(op, attrs, vec![s(x)]);
    assert_eq!(run("StringLength", &[("unit", "UTF8_CHAR".into())], &["hé", ""]).unwrap(), v(&[2, 0]));
    assert_eq!(run("StringLength", &[], &["hé", ""]).unwrap(), v(&[3, 0]));
    texts(run("StringLower", &[], &["AbC É"]), &["abc É"]);
    texts(run("StringLower", &[("encoding", "utf-8".into())], &["AbC É İ"]), &["abc é i\u{307}"]);
    texts(run("StringUpper", &[("encoding", "utf-8".into())], &["abc éß"]), &["ABC ÉSS"]);
    invalid(run("StringUpper", &[("encoding", "x".into())], &["a"]), "only utf-8 or '' (no encoding) is supported, received x");
    texts(run("StringStrip", &[], &[" \t a b \n\r\u{b}\u{c}", "\u{a0}x", " "]), &["a b", "\u{a0}x", ""]);
}

#[test]
fn parts_of_strings() {
    let substr = |x: Tensor, pos: Tensor, len: Tensor, unit: &str| run1("Substr", &[("unit", unit.into())], vec![x, pos, len]);
    let two = || s(&["hello", "world"]);
    texts(substr(two(), Tensor::scalar(1), Tensor::scalar(3), "BYTE"), &["ell", "orl"]);
    texts(substr(two(), v(&[-3, -5]), v(&[2, 9]), "BYTE"), &["ll", "world"]);
    texts(substr(two(), v(&[5, 0]), v(&[2, 9]), "BYTE"), &["", "world"]);
    texts(substr(s(&["hello"]), v(&[2]), v(&[-1]), "BYTE"), &["llo"]);
    let broadcast = substr(grid(2, &["hello", "world"]), v(&[1, 2]), v(&[1, 1]), "BYTE").unwrap();
    assert_eq!(broadcast, grid(2, &["e", "l", "o", "r"]));
    texts(substr(s(&["héllo"]), v(&[1]), v(&[2]), "UTF8_CHAR"), &["él"]);
    texts(substr(s(&["héllo"]), v(&[-2]), v(&[5]), "UTF8_CHAR"), &["lo"]);
    texts(substr(s(&["héllo"]), v(&[5]), v(&[5]), "UTF8_CHAR"), &[""]);
    invalid(substr(two(), v(&[6, 0]), v(&[2, 9]), "BYTE"), "pos 6 out of range for string b'hello' at index 0");
    invalid(substr(two(), v(&[-6, 0]), v(&[2, 9]), "BYTE"), "pos -6 out of range for string b'hello' at index 0");
    invalid(substr(s(&["héllo"]), v(&[6]), v(&[5]), "UTF8_CHAR"), "pos 6 out of range for string at index 0");
    invalid(substr(two(), v(&[1, 2]), Tensor::scalar(1), "BYTE"), "pos and len should have the same shape, got: [2] vs. []");
    invalid(substr(two(), v(&[1, 2, 3]), v(&[1, 1, 1]), "BYTE"), "Incompatible shapes: [2] vs. [3]");
}

#[test]
fn regular_expressions_match_and_replace() {
    let matches = |x: &[&str], pattern: &str| {
        let input = Call::new("RegexFullMatch").inputs(vec![s(x), Tensor::string(pattern.to_owned())]).run1()?;
        let fixed = run1("StaticRegexFullMatch", &[("pattern", pattern.into())], vec![s(x)])?;
        assert_eq!(input, fixed);
        Ok::<_, flowmill_tensor::Error>(input.as_slice::<bool>().unwrap().to_vec())
    };
    assert_eq!(matches(&["abc", "xabc", "abcd"], "a.c|abcd").unwrap(), [true, false, true]);
    assert_eq!(matches(&["a\nc"], "a.c").unwrap(), [false]);
    // The Perl classes are ASCII; brackets may contain an unescaped bracket.
    assert_eq!(matches(&["5", "٥"], r"\d").unwrap(), [true, false]);
    assert_eq!(matches(&["[", "]", "x"], r"[[\]]").unwrap(), [true, true, false]);
    assert_eq!(matches(&["a-", "é"], r"[\w-]+").unwrap(), [true, false]);
    assert_eq!(matches(&["a.b"], r"\Qa.b\E").unwrap(), [true]);
    invalid(matches(&["a"], "a(c"), "Invalid pattern: a(c, error:");
    invalid(Call::new("RegexFullMatch").inputs(vec![s(&["a"]), s(&["a"])]).run(), "Pattern must be scalar, but received [1]");
    let replace = |x: &str, pattern: &str, rewrite: &str| {
        let inputs = vec![s(&[x]), Tensor::string(pattern.to_owned()), Tensor::string(rewrite.to_owned())];
        Call::new("RegexReplace").inputs(inputs).run1()
    };
    texts(replace("abcabc", "a(b)c", r"x\1\0y"), &["xbabcyxbabcy"]);
    texts(replace("abc", "x*", "-"), &["-a-b-c-"]);
    texts(replace("abcabc", "a", r"\1"), &["abcabc"]);
    texts(replace("abcabc", "a", r"\x"), &["bcbc"]);
    let attrs = [("pattern", "a(b)c".into()), ("rewrite", r"\\z\1".into()), ("replace_global", false.into())];
    texts(run1("StaticRegexReplace", &attrs, vec![s(&["abcabc"])]), &[r"\zbabc"]);
}

#[test]
fn numbers_are_parsed() {
    let parse = |text: &str, dtype: DType| run1("StringToNumber", &[("out_type", ty(dtype))], vec![Tensor::string(text.to_owned())]);
    let floats = [
        (" 1 ", 1.0),
        ("-3e5", -3e5),
        ("0x1f", 31.0),
        ("-Infinity", f32::NEG_INFINITY),
        ("1e400", f32::INFINITY),
        ("1.", 1.0),
        (".5", 0.5),
        ("+5", 5.0),
    ];
    for (text, want) in floats {
        assert_eq!(parse(text, DType::F32).unwrap(), Tensor::scalar(want), "{text}");
    }
    assert_eq!(parse(" +5", DType::I32).unwrap(), Tensor::scalar(5));
    assert_eq!(parse("99999999999", DType::I64).unwrap(), Tensor::scalar(99_999_999_999i64));
    for (text, dtype) in [
        ("", DType::F32),
        ("abc", DType::F64),
        ("1e", DType::F32),
        ("1_000", DType::F32),
        ("1.5", DType::I32),
        ("99999999999", DType::I32),
        ("0x1f", DType::I64),
    ] {
        invalid(parse(text, dtype), &format!("StringToNumberOp could not correctly convert string: {text}"));
    }
}

#[test]
fn hash_buckets_are_tensorflows() {
    let plain =
        run1("StringToHashBucket", &[("num_buckets", 1_000_000.into())], vec![s(&["a", "", "hello world", &"x".repeat(50)])]).unwrap();
    assert_eq!(plain, v(&[535_868i64, 283_899, 204_655, 501_975]));
    let buckets = (1i64 << 62) + 1;
    let fast = |n: usize| {
        let text: Vec<u8> = (0..n).map(|i| ((i * 7 + n) % 256) as u8).collect();
        run1("StringToHashBucketFast", &[("num_buckets", buckets.into())], vec![Tensor::string(text)]).unwrap()
    };
    let want = [
        (0, 1936946117179621453i64),
        (1, 550085751958558781),
        (3, 50737162503519587),
        (7, 3398365883158499589),
        (8, 3403648104430010918),
        (16, 663651183927826902),
        (17, 3125010364355856012),
        (32, 3992320350721670009),
        (33, 3233698670931835595),
        (64, 1859692024977922282),
        (65, 444801980686921533),
        (100, 1729132356228634541),
        (128, 2003798058489048518),
        (300, 3886849482814154720),
    ];
    for (n, hash) in want {
        assert_eq!(fast(n), Tensor::scalar(hash), "{n} bytes");
    }
    let strong = |key: &[i64]| {
        run1("StringToHashBucketStrong", &[("num_buckets", buckets.into()), ("key", ints(key))], vec![s(&["a", "", "hello world"])])
    };
    assert_eq!(strong(&[98_765, 132]).unwrap(), v(&[2545703790749078879i64, 3690537531697442811, 1460419232922127990]));
    invalid(strong(&[98_765]), "Key must have 2 elements");
}

#[test]
fn base64_and_raw_bytes() {
    let encode = |pad: bool| {
        run1(
            "EncodeBase64",
            &[("pad", pad.into())],
            vec![Tensor::from_strings([3], vec![Bytes::new(), Bytes::from_static(b"\xff\xfe"), Bytes::from_static(b"abcd")]).unwrap()],
        )
    };
    texts(encode(false), &["", "__4", "YWJjZA"]);
    texts(encode(true), &["", "__4=", "YWJjZA=="]);
    let decode = |x: &[&str]| run1("DecodeBase64", &[], vec![s(x)]);
    texts(decode(&["", "YWJj", "YWJjZA==", "YWJjZA"]), &["", "abc", "abcd", "abcd"]);
    invalid(decode(&["a"]), "Base64 string length cannot be 1 modulo 4.");
    invalid(decode(&["a+b/"]), "Invalid character found in base64.");
    let raw = |x: &[&str], little: bool| run1("DecodeRaw", &[("out_type", ty(DType::I16)), ("little_endian", little.into())], vec![s(x)]);
    assert_eq!(raw(&["\u{1}\u{2}\u{3}\u{4}"], true).unwrap(), Tensor::from_slice([1, 2], &[513i16, 1027]).unwrap());
    assert_eq!(raw(&["\u{1}\u{2}\u{3}\u{4}"], false).unwrap(), Tensor::from_slice([1, 2], &[258i16, 772]).unwrap());
    assert_eq!(raw(&[], true).unwrap().shape().to_vec(), [0, 0]);
    invalid(raw(&["abc"], true), "Input to DecodeRaw has length 3 that is not a multiple of 2, the size of int16");
    invalid(raw(&["ab", "abcd"], true), "DecodeRaw requires input strings to all be the same size, but element 1 has size 2 != 4");
    let padded =
        |n: i32| run1("DecodePaddedRaw", &[("out_type", ty(DType::I16))], vec![s(&["\u{1}\u{2}\u{3}\u{4}", "\u{1}"]), Tensor::scalar(n)]);
    assert_eq!(padded(4).unwrap(), Tensor::from_slice([2, 2], &[513i16, 1027, 1, 0]).unwrap());
    assert_eq!(padded(2).unwrap(), Tensor::from_slice([2, 1], &[513i16, 1]).unwrap());
    invalid(padded(3), "fixed_length (3) must be a multiple of the size of out_type (2)");
}
