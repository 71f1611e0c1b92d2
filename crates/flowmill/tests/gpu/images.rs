//! Resizing and normalization of images give the CPU's results on a GPU.

use crate::compare::{Case, Random, ints};
use crate::setup::on_stub;
use flowmill::prelude::*;

const FLOATS: [DType; 4] = [DType::F32, DType::F16, DType::BF16, DType::F64];
/// `align_corners` and `half_pixel_centers`.
const MAPPINGS: [(bool, bool); 3] = [(false, false), (true, false), (false, true)];

#[test]
pub(crate) fn images_are_resized() {
    on_stub(|| {
        let mut random = Random::new(71);
        let sizes =
            [([2, 5, 7, 3], [9, 4]), ([1, 8, 6, 1], [3, 13]), ([2, 3, 3, 2], [1, 1]), ([1, 4, 4, 5], [8, 8]), ([0, 4, 4, 5], [8, 8])];
        for (dims, size) in sizes {
            for (align_corners, half_pixel_centers) in MAPPINGS {
                let case = |op| Case::new(op).attr("align_corners", align_corners).attr("half_pixel_centers", half_pixel_centers);
                for dtype in FLOATS.into_iter().chain([DType::U8, DType::I32]) {
                    let x = random.tensor(dtype, &dims);
                    case("ResizeBilinear").input(x.clone()).input(ints(&size)).within(4.0).check();
                    case("ResizeNearestNeighbor").input(x).input(ints(&size)).check();
                }
                let resized = [dims[0], size[0] as usize, size[1] as usize, dims[3]];
                for dtype in FLOATS {
                    let gradient = random.unit(DType::F32, &resized);
                    case("ResizeBilinearGrad").input(gradient).input(random.tensor(dtype, &dims)).within(16.0).check();
                    let original = ints(&[dims[1] as i32, dims[2] as i32]);
                    case("ResizeNearestNeighborGrad").input(random.unit(dtype, &resized)).input(original).within(16.0).check();
                }
            }
        }
    });
}

#[test]
pub(crate) fn channels_are_normalized_by_their_neighbours() {
    on_stub(|| {
        let mut random = Random::new(72);
        for (radius, beta) in [(2i64, 0.5f32), (1, 0.75), (9, 0.6)] {
            for dtype in [DType::F32, DType::F16, DType::BF16] {
                let dims = [2, 3, 2, 7];
                let x = random.unit(dtype, &dims);
                let case = |op| {
                    let case = Case::new(op).attr("depth_radius", radius).attr("beta", beta).attr("alpha", 0.4f32).attr("bias", 1.5f32);
                    case.within(16.0)
                };
                case("LRN").input(x.clone()).check();
                case("LRNGrad").input(random.unit(dtype, &dims)).input(x).input(random.unit(dtype, &dims)).check();
            }
        }
    });
}
