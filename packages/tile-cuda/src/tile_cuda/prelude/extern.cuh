/* The address of an element, which becomes a pointer of the type that a function takes. */
struct tile_place {
  void *place;
  template <typename T>
  __device__ __forceinline__ operator T *() const {
    return (T *)place;
  }
};
