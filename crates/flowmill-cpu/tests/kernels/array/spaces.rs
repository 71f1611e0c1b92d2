use super::*;
use crate::testing::ints;

/// Returns `1 … 16` as an image of 4 × 4 pixels.
fn image() -> Tensor {
    t([1, 4, 4, 1], &(1..17).collect::<Vec<i32>>())
}

#[test]
fn space_goes_to_batch_and_back() {
    let to_batch = |blocks: &[i32], paddings: &[i32]| {
        call("SpaceToBatchND", DType::I32).inputs(vec![image(), v(blocks), t([paddings.len() / 2, 2], paddings)]).run1()
    };
    let want = [0, 1, 3, 0, 9, 11, 0, 2, 4, 0, 10, 12, 0, 5, 7, 0, 13, 15, 0, 6, 8, 0, 14, 16];
    assert_eq!(to_batch(&[2, 2], &[0, 0, 2, 0]).unwrap(), t([4, 2, 3, 1], &want));
    invalid(to_batch(&[2, 3], &[0; 4]), "padded_shape[1]=4 is not divisible by block_shape[1]=3");
    invalid(to_batch(&[2, 2], &[-1, 0, 0, 0]), "Paddings must be non-negative");
    invalid(to_batch(&[0, 2], &[0; 4]), "All values in block_shape must be positive, got value, 0 at index 0.");
    invalid(to_batch(&[2, 2], &[0, 0]), "paddings should have shape [2, 2] instead of [1,2]");
    let to_space = |blocks: &[i32], crops: &[i32]| {
        call("BatchToSpaceND", DType::I32).inputs(vec![iota([4, 1, 2, 1]), v(blocks), t([2, 2], crops)]).run1()
    };
    assert_eq!(to_space(&[2, 2], &[0, 1, 1, 0]).unwrap(), t([1, 1, 3, 1], &[2, 1, 3]));
    invalid(to_space(&[2, 3], &[0; 4]), "Input batch dimension (4) is not divisible by product of block sizes (6)");
    invalid(to_space(&[2, 2], &[2, 1, 1, 0]), "cropped_shape[0]=-1 must be non-negative");
    let four = call("SpaceToBatch", DType::I32).attr("block_size", 2).inputs(vec![image(), t([2, 2], &[0; 4])]).run1().unwrap();
    assert_eq!(four, t([4, 2, 2, 1], &[1, 3, 9, 11, 2, 4, 10, 12, 5, 7, 13, 15, 6, 8, 14, 16]));
    let back = call("BatchToSpace", DType::I32).attr("block_size", 2).inputs(vec![four, t([2, 2], &[0; 4])]).run1().unwrap();
    assert_eq!(back, image());
}

#[test]
fn space_goes_to_depth_and_back() {
    let op = |op: &str, x: Tensor, block: i64, format: &str| {
        call(op, x.dtype()).attr("block_size", block).attr("data_format", format).input(x).run1()
    };
    let deep = op("SpaceToDepth", image(), 2, "NHWC").unwrap();
    assert_eq!(deep, t([1, 2, 2, 4], &[1, 2, 5, 6, 3, 4, 7, 8, 9, 10, 13, 14, 11, 12, 15, 16]));
    assert_eq!(op("DepthToSpace", deep, 2, "NHWC").unwrap(), image());
    let first = iota([1, 2, 4, 4]);
    let deep = op("SpaceToDepth", first.clone(), 2, "NCHW").unwrap();
    assert_eq!(deep.shape().to_vec(), [1, 8, 2, 2]);
    assert_eq!(op("DepthToSpace", deep, 2, "NCHW").unwrap(), first);
    invalid(op("SpaceToDepth", image(), 3, "NHWC"), "Image width 4 and height 4 should be divisible by block_size: 3");
    invalid(op("DepthToSpace", image(), 3, "NHWC"), "Input depth dimension 1 should be divisible by: 9");
    invalid(op("SpaceToDepth", v(&[1]), 2, "NHWC"), "Input rank should be 4 instead of 1");
}

#[test]
fn patches_are_the_windows_of_a_convolution() {
    let patches = |strides: &[i64], ksizes: &[i64], padding: &str| {
        call("ExtractImagePatches", DType::I32)
            .attr("ksizes", ints(ksizes))
            .attr("strides", ints(strides))
            .attr("rates", ints(&[1, 1, 2, 1]))
            .attr("padding", padding)
            .input(image())
            .run1()
    };
    let same = [0, 2, 0, 6, 1, 3, 5, 7, 2, 4, 6, 8, 3, 0, 7, 0, 0, 14, 0, 0, 13, 15, 0, 0, 14, 16, 0, 0, 15, 0, 0, 0];
    assert_eq!(patches(&[1, 3, 1, 1], &[1, 2, 2, 1], "SAME").unwrap(), t([1, 2, 4, 4], &same));
    let valid = [1, 3, 5, 7, 2, 4, 6, 8, 9, 11, 13, 15, 10, 12, 14, 16];
    assert_eq!(patches(&[1, 2, 1, 1], &[1, 2, 2, 1], "VALID").unwrap(), t([1, 2, 2, 4], &valid));
    assert_eq!(patches(&[1, 2, 1, 1], &[1, 6, 2, 1], "VALID").unwrap().shape().to_vec(), [1, 0, 2, 12]);
    invalid(patches(&[1, 2, 1, 1], &[1, 9, 2, 1], "VALID"), "Computed output size would be negative");
}
