//! Staging areas: tuples of tensors that one step of a session puts away for another.

use crate::op::{Op, op};
use crate::shape;

pub(crate) const OPS: &[Op] = &[
    op("Stage", "(values: dtypes)")
        .attrs(
            "capacity: int >= 0 = 0; memory_limit: int >= 0 = 0; dtypes: list(type) >= 1; container: string = ''; shared_name: string = ''",
        )
        .stateful()
        .shape(shape::unknown),
    op("Unstage", "() -> (values: dtypes)")
        .attrs(
            "capacity: int >= 0 = 0; memory_limit: int >= 0 = 0; dtypes: list(type) >= 1; container: string = ''; shared_name: string = ''",
        )
        .stateful()
        .shape(shape::unknown),
    op("StagePeek", "(index: int32) -> (values: dtypes)")
        .attrs(
            "capacity: int >= 0 = 0; memory_limit: int >= 0 = 0; dtypes: list(type) >= 1; container: string = ''; shared_name: string = ''",
        )
        .stateful()
        .shape(shape::unknown),
    op("StageSize", "() -> (size: int32)")
        .attrs("capacity: int >= 0 = 0; memory_limit: int >= 0 = 0; dtypes: list(type); container: string = ''; shared_name: string = ''")
        .stateful()
        .shape(shape::scalars),
    op("StageClear", "()")
        .attrs("capacity: int >= 0 = 0; memory_limit: int >= 0 = 0; dtypes: list(type); container: string = ''; shared_name: string = ''")
        .stateful()
        .shape(shape::unknown),
];
