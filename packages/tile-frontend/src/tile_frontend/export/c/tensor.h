#ifndef TILE_TENSOR_DEFINED
#define TILE_TENSOR_DEFINED
/* An array. The layout is that of DLPack's DLTensor, version 1, so a pointer to one may be cast.
 * `strides` are in elements; NULL means row-major without gaps. Types narrower than a byte are
 * passed packed, as bytes; extents and strides then count bytes. */
typedef struct {
  void *data;
  struct {
    int32_t device_type, device_id;
  } device;
  int32_t ndim;
  struct {
    uint8_t code, bits;
    uint16_t lanes;
  } dtype;
  int64_t *shape;
  int64_t *strides;
  uint64_t byte_offset;
} tile_tensor;
#endif
