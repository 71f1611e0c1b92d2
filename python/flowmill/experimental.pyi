# Made by python/make_stubs from the code.

from flowmill.dtypes import DType
from flowmill.data._specs import Optional as Optional

float8_e5m2: DType
float8_e4m3fn: DType
float8_e4m3fnuz: DType
float8_e4m3b11fnuz: DType
float8_e5m2fnuz: DType
int2: DType
int4: DType
uint2: DType
uint4: DType
