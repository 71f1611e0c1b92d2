//! Matrix products against the host's.

use crate::cases::matrices;
use crate::compare::{Case, Random};
use crate::elementwise::compare;
use crate::recorder::Recorder;
use crate::setup::on_stub;
use flowmill::prelude::*;

#[test]
fn matrix_products_are_those_of_the_host() {
    compare(&matrices(&Recorder::new().device()));
}

#[test]
pub(crate) fn einsums_are_those_of_the_host() {
    on_stub(|| {
        let mut random = Random::new(81);
        let cases: [(&str, &[&[usize]]); 18] = [
            ("ij->ji", &[&[5, 7]]),
            ("ijk->ik", &[&[3, 4, 5]]),
            ("ii->i", &[&[4, 4]]),
            ("iij->j", &[&[3, 3, 2]]),
            ("i->ii", &[&[4]]),
            ("ij->", &[&[4, 3]]),
            ("ij,jk->ik", &[&[4, 5], &[5, 6]]),
            ("ij,jk->ki", &[&[4, 5], &[5, 6]]),
            ("ji,kj->ik", &[&[5, 4], &[6, 5]]),
            ("bij,bjk->bik", &[&[3, 4, 5], &[3, 5, 2]]),
            ("bthd,bshd->bhts", &[&[2, 3, 4, 5], &[2, 6, 4, 5]]),
            ("bhts,bshd->bthd", &[&[2, 4, 3, 6], &[2, 6, 4, 5]]),
            ("...ij,...jk->...ik", &[&[2, 3, 4, 5], &[5, 6]]),
            ("...ij,...jk->...ik", &[&[2, 1, 4, 5], &[3, 5, 6]]),
            ("abc,cd->abd", &[&[2, 3, 4], &[4, 5]]),
            ("i,j->ij", &[&[4], &[5]]),
            ("ij,ij->", &[&[4, 5], &[4, 5]]),
            ("ij,jk->ik", &[&[0, 5], &[5, 6]]),
        ];
        for (equation, shapes) in cases {
            for dtype in [DType::F32, DType::F64, DType::F16, DType::I64] {
                let inputs: Vec<Tensor> = shapes.iter().map(|dims| random.tensor(dtype, dims)).collect();
                Case::new("Einsum").list(inputs).attr("equation", equation).within(32.0).check();
            }
        }
    });
}
