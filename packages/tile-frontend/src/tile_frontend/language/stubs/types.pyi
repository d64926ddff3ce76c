# Written by docs/generate/stubs.py: run nox -s surface.
"""The element types."""

from tile_frontend.trace.values import dtype

bfloat16: dtype
"""16 bits."""
bfloat16x16: dtype
"""16 lanes of 16 bits."""
bfloat16x2: dtype
"""2 lanes of 16 bits."""
bfloat16x32: dtype
"""32 lanes of 16 bits."""
bfloat16x4: dtype
"""4 lanes of 16 bits."""
bfloat16x64: dtype
"""64 lanes of 16 bits."""
bfloat16x8: dtype
"""8 lanes of 16 bits."""
bool: dtype
"""1 bit."""
boolean: dtype
"""1 bit."""
double: dtype
"""64 bits."""
float: dtype
"""32 bits."""
float16: dtype
"""16 bits."""
float16x16: dtype
"""16 lanes of 16 bits."""
float16x2: dtype
"""2 lanes of 16 bits."""
float16x32: dtype
"""32 lanes of 16 bits."""
float16x4: dtype
"""4 lanes of 16 bits."""
float16x64: dtype
"""64 lanes of 16 bits."""
float16x8: dtype
"""8 lanes of 16 bits."""
float32: dtype
"""32 bits."""
float32x16: dtype
"""16 lanes of 32 bits."""
float32x2: dtype
"""2 lanes of 32 bits."""
float32x32: dtype
"""32 lanes of 32 bits."""
float32x4: dtype
"""4 lanes of 32 bits."""
float32x64: dtype
"""64 lanes of 32 bits."""
float32x8: dtype
"""8 lanes of 32 bits."""
float4_e2m1_unpacked: dtype
"""4 bits."""
float4_e2m1fn: dtype
"""4 bits."""
float4_e2m1fnx16: dtype
"""16 lanes of 4 bits."""
float4_e2m1fnx2: dtype
"""2 lanes of 4 bits."""
float4_e2m1fnx32: dtype
"""32 lanes of 4 bits."""
float4_e2m1fnx4: dtype
"""4 lanes of 4 bits."""
float4_e2m1fnx64: dtype
"""64 lanes of 4 bits."""
float4_e2m1fnx8: dtype
"""8 lanes of 4 bits."""
float64: dtype
"""64 bits."""
float64x16: dtype
"""16 lanes of 64 bits."""
float64x2: dtype
"""2 lanes of 64 bits."""
float64x32: dtype
"""32 lanes of 64 bits."""
float64x4: dtype
"""4 lanes of 64 bits."""
float64x64: dtype
"""64 lanes of 64 bits."""
float64x8: dtype
"""8 lanes of 64 bits."""
float6_e2m3fn: dtype
"""6 bits."""
float6_e2m3fnx16: dtype
"""16 lanes of 6 bits."""
float6_e2m3fnx2: dtype
"""2 lanes of 6 bits."""
float6_e2m3fnx32: dtype
"""32 lanes of 6 bits."""
float6_e2m3fnx4: dtype
"""4 lanes of 6 bits."""
float6_e2m3fnx64: dtype
"""64 lanes of 6 bits."""
float6_e2m3fnx8: dtype
"""8 lanes of 6 bits."""
float6_e3m2fn: dtype
"""6 bits."""
float6_e3m2fnx16: dtype
"""16 lanes of 6 bits."""
float6_e3m2fnx2: dtype
"""2 lanes of 6 bits."""
float6_e3m2fnx32: dtype
"""32 lanes of 6 bits."""
float6_e3m2fnx4: dtype
"""4 lanes of 6 bits."""
float6_e3m2fnx64: dtype
"""64 lanes of 6 bits."""
float6_e3m2fnx8: dtype
"""8 lanes of 6 bits."""
float8_e3m4: dtype
"""8 bits."""
float8_e3m4x16: dtype
"""16 lanes of 8 bits."""
float8_e3m4x2: dtype
"""2 lanes of 8 bits."""
float8_e3m4x32: dtype
"""32 lanes of 8 bits."""
float8_e3m4x4: dtype
"""4 lanes of 8 bits."""
float8_e3m4x64: dtype
"""64 lanes of 8 bits."""
float8_e3m4x8: dtype
"""8 lanes of 8 bits."""
float8_e4m3: dtype
"""8 bits."""
float8_e4m3b11fnuz: dtype
"""8 bits."""
float8_e4m3b11fnuzx16: dtype
"""16 lanes of 8 bits."""
float8_e4m3b11fnuzx2: dtype
"""2 lanes of 8 bits."""
float8_e4m3b11fnuzx32: dtype
"""32 lanes of 8 bits."""
float8_e4m3b11fnuzx4: dtype
"""4 lanes of 8 bits."""
float8_e4m3b11fnuzx64: dtype
"""64 lanes of 8 bits."""
float8_e4m3b11fnuzx8: dtype
"""8 lanes of 8 bits."""
float8_e4m3fn: dtype
"""8 bits."""
float8_e4m3fnuz: dtype
"""8 bits."""
float8_e4m3fnuzx16: dtype
"""16 lanes of 8 bits."""
float8_e4m3fnuzx2: dtype
"""2 lanes of 8 bits."""
float8_e4m3fnuzx32: dtype
"""32 lanes of 8 bits."""
float8_e4m3fnuzx4: dtype
"""4 lanes of 8 bits."""
float8_e4m3fnuzx64: dtype
"""64 lanes of 8 bits."""
float8_e4m3fnuzx8: dtype
"""8 lanes of 8 bits."""
float8_e4m3fnx16: dtype
"""16 lanes of 8 bits."""
float8_e4m3fnx2: dtype
"""2 lanes of 8 bits."""
float8_e4m3fnx32: dtype
"""32 lanes of 8 bits."""
float8_e4m3fnx4: dtype
"""4 lanes of 8 bits."""
float8_e4m3fnx64: dtype
"""64 lanes of 8 bits."""
float8_e4m3fnx8: dtype
"""8 lanes of 8 bits."""
float8_e5m2: dtype
"""8 bits."""
float8_e5m2fnuz: dtype
"""8 bits."""
float8_e5m2fnuzx16: dtype
"""16 lanes of 8 bits."""
float8_e5m2fnuzx2: dtype
"""2 lanes of 8 bits."""
float8_e5m2fnuzx32: dtype
"""32 lanes of 8 bits."""
float8_e5m2fnuzx4: dtype
"""4 lanes of 8 bits."""
float8_e5m2fnuzx64: dtype
"""64 lanes of 8 bits."""
float8_e5m2fnuzx8: dtype
"""8 lanes of 8 bits."""
float8_e5m2x16: dtype
"""16 lanes of 8 bits."""
float8_e5m2x2: dtype
"""2 lanes of 8 bits."""
float8_e5m2x32: dtype
"""32 lanes of 8 bits."""
float8_e5m2x4: dtype
"""4 lanes of 8 bits."""
float8_e5m2x64: dtype
"""64 lanes of 8 bits."""
float8_e5m2x8: dtype
"""8 lanes of 8 bits."""
float8_e8m0fnu: dtype
"""8 bits."""
float8_e8m0fnux16: dtype
"""16 lanes of 8 bits."""
float8_e8m0fnux2: dtype
"""2 lanes of 8 bits."""
float8_e8m0fnux32: dtype
"""32 lanes of 8 bits."""
float8_e8m0fnux4: dtype
"""4 lanes of 8 bits."""
float8_e8m0fnux64: dtype
"""64 lanes of 8 bits."""
float8_e8m0fnux8: dtype
"""8 lanes of 8 bits."""
half: dtype
"""16 bits."""
int: dtype
"""32 bits."""
int16: dtype
"""16 bits."""
int16x16: dtype
"""16 lanes of 16 bits."""
int16x2: dtype
"""2 lanes of 16 bits."""
int16x32: dtype
"""32 lanes of 16 bits."""
int16x4: dtype
"""4 lanes of 16 bits."""
int16x64: dtype
"""64 lanes of 16 bits."""
int16x8: dtype
"""8 lanes of 16 bits."""
int32: dtype
"""32 bits."""
int32x16: dtype
"""16 lanes of 32 bits."""
int32x2: dtype
"""2 lanes of 32 bits."""
int32x32: dtype
"""32 lanes of 32 bits."""
int32x4: dtype
"""4 lanes of 32 bits."""
int32x64: dtype
"""64 lanes of 32 bits."""
int32x8: dtype
"""8 lanes of 32 bits."""
int4: dtype
"""4 bits."""
int4x16: dtype
"""16 lanes of 4 bits."""
int4x2: dtype
"""2 lanes of 4 bits."""
int4x32: dtype
"""32 lanes of 4 bits."""
int4x4: dtype
"""4 lanes of 4 bits."""
int4x64: dtype
"""64 lanes of 4 bits."""
int4x8: dtype
"""8 lanes of 4 bits."""
int64: dtype
"""64 bits."""
int64x16: dtype
"""16 lanes of 64 bits."""
int64x2: dtype
"""2 lanes of 64 bits."""
int64x32: dtype
"""32 lanes of 64 bits."""
int64x4: dtype
"""4 lanes of 64 bits."""
int64x64: dtype
"""64 lanes of 64 bits."""
int64x8: dtype
"""8 lanes of 64 bits."""
int8: dtype
"""8 bits."""
int8x16: dtype
"""16 lanes of 8 bits."""
int8x2: dtype
"""2 lanes of 8 bits."""
int8x32: dtype
"""32 lanes of 8 bits."""
int8x4: dtype
"""4 lanes of 8 bits."""
int8x64: dtype
"""64 lanes of 8 bits."""
int8x8: dtype
"""8 lanes of 8 bits."""
long: dtype
"""64 bits."""
short: dtype
"""16 bits."""
tfloat32: dtype
"""19 bits."""
tfloat32x16: dtype
"""16 lanes of 19 bits."""
tfloat32x2: dtype
"""2 lanes of 19 bits."""
tfloat32x32: dtype
"""32 lanes of 19 bits."""
tfloat32x4: dtype
"""4 lanes of 19 bits."""
tfloat32x64: dtype
"""64 lanes of 19 bits."""
tfloat32x8: dtype
"""8 lanes of 19 bits."""
uint: dtype
"""32 bits."""
uint16: dtype
"""16 bits."""
uint16x16: dtype
"""16 lanes of 16 bits."""
uint16x2: dtype
"""2 lanes of 16 bits."""
uint16x32: dtype
"""32 lanes of 16 bits."""
uint16x4: dtype
"""4 lanes of 16 bits."""
uint16x64: dtype
"""64 lanes of 16 bits."""
uint16x8: dtype
"""8 lanes of 16 bits."""
uint32: dtype
"""32 bits."""
uint32x16: dtype
"""16 lanes of 32 bits."""
uint32x2: dtype
"""2 lanes of 32 bits."""
uint32x32: dtype
"""32 lanes of 32 bits."""
uint32x4: dtype
"""4 lanes of 32 bits."""
uint32x64: dtype
"""64 lanes of 32 bits."""
uint32x8: dtype
"""8 lanes of 32 bits."""
uint4: dtype
"""4 bits."""
uint4x16: dtype
"""16 lanes of 4 bits."""
uint4x2: dtype
"""2 lanes of 4 bits."""
uint4x32: dtype
"""32 lanes of 4 bits."""
uint4x4: dtype
"""4 lanes of 4 bits."""
uint4x64: dtype
"""64 lanes of 4 bits."""
uint4x8: dtype
"""8 lanes of 4 bits."""
uint64: dtype
"""64 bits."""
uint64x16: dtype
"""16 lanes of 64 bits."""
uint64x2: dtype
"""2 lanes of 64 bits."""
uint64x32: dtype
"""32 lanes of 64 bits."""
uint64x4: dtype
"""4 lanes of 64 bits."""
uint64x64: dtype
"""64 lanes of 64 bits."""
uint64x8: dtype
"""8 lanes of 64 bits."""
uint8: dtype
"""8 bits."""
uint8x16: dtype
"""16 lanes of 8 bits."""
uint8x2: dtype
"""2 lanes of 8 bits."""
uint8x32: dtype
"""32 lanes of 8 bits."""
uint8x4: dtype
"""4 lanes of 8 bits."""
uint8x64: dtype
"""64 lanes of 8 bits."""
uint8x8: dtype
"""8 lanes of 8 bits."""
