//! Staging areas: tuples of tensors that one step of a session puts away for another, in order or under keys.

use crate::op::{Op, op};
use crate::shape;

const BOUNDED: &str =
    "capacity: int >= 0 = 0; memory_limit: int >= 0 = 0; dtypes: list(type); container: string = ''; shared_name: string = ''";
const BOUNDED_TUPLE: &str =
    "capacity: int >= 0 = 0; memory_limit: int >= 0 = 0; dtypes: list(type) >= 1; container: string = ''; shared_name: string = ''";
const BOUNDED_PART: &str = "capacity: int >= 0 = 0; memory_limit: int >= 0 = 0; dtypes: list(type); fake_dtypes: list(type) >= 1;
     container: string = ''; shared_name: string = ''";

pub(crate) const OPS: &[Op] = &[
    op("Stage", "(values: dtypes)").attrs(BOUNDED_TUPLE).stateful().shape(shape::unknown),
    op("Unstage", "() -> (values: dtypes)").attrs(BOUNDED_TUPLE).stateful().shape(shape::unknown),
    op("StagePeek", "(index: int32) -> (values: dtypes)").attrs(BOUNDED_TUPLE).stateful().shape(shape::unknown),
    op("StageSize", "() -> (size: int32)").attrs(BOUNDED).stateful().shape(shape::scalars),
    op("StageClear", "()").attrs(BOUNDED).stateful().shape(shape::unknown),
    op("MapStage", "(key: int64, indices: int32, values: fake_dtypes)").attrs(BOUNDED_PART).stateful().shape(shape::unknown),
    op("MapPeek", "(key: int64, indices: int32) -> (values: dtypes)").attrs(BOUNDED_TUPLE).stateful().shape(shape::unknown),
    op("MapUnstage", "(key: int64, indices: int32) -> (values: dtypes)").attrs(BOUNDED_TUPLE).stateful().shape(shape::unknown),
    op("MapUnstageNoKey", "(indices: int32) -> (key: int64, values: dtypes)").attrs(BOUNDED_TUPLE).stateful().shape(shape::unknown),
    op("MapSize", "() -> (size: int32)").attrs(BOUNDED).stateful().shape(shape::scalars),
    op("MapIncompleteSize", "() -> (size: int32)").attrs(BOUNDED).stateful().shape(shape::scalars),
    op("MapClear", "()").attrs(BOUNDED).stateful().shape(shape::unknown),
    op("OrderedMapStage", "(key: int64, indices: int32, values: fake_dtypes)").attrs(BOUNDED_PART).stateful().shape(shape::unknown),
    op("OrderedMapPeek", "(key: int64, indices: int32) -> (values: dtypes)").attrs(BOUNDED_TUPLE).stateful().shape(shape::unknown),
    op("OrderedMapUnstage", "(key: int64, indices: int32) -> (values: dtypes)").attrs(BOUNDED_TUPLE).stateful().shape(shape::unknown),
    op("OrderedMapUnstageNoKey", "(indices: int32) -> (key: int64, values: dtypes)").attrs(BOUNDED_TUPLE).stateful().shape(shape::unknown),
    op("OrderedMapSize", "() -> (size: int32)").attrs(BOUNDED).stateful().shape(shape::scalars),
    op("OrderedMapIncompleteSize", "() -> (size: int32)").attrs(BOUNDED).stateful().shape(shape::scalars),
    op("OrderedMapClear", "()").attrs(BOUNDED).stateful().shape(shape::unknown),
];
