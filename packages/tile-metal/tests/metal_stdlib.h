// What the functions of the prelude need of the Metal library, for the host: one address space, no
// threads.
#define ONE_ADDRESS_SPACE 1
#define device
#define threadgroup
#define thread
#define constant
typedef unsigned char uchar;
typedef unsigned short ushort;
typedef unsigned int uint;
typedef unsigned long ulong;
typedef _Float16 half;
typedef uchar uchar2 __attribute__((ext_vector_type(2)));
typedef ushort ushort2 __attribute__((ext_vector_type(2)));
typedef uint uint2 __attribute__((ext_vector_type(2)));
typedef uint uint4 __attribute__((ext_vector_type(4)));

template <class T, class B>
T as_type(B bits) {
  return __builtin_bit_cast(T, bits);
}

namespace metal {
inline uint popcount(uint x) { return (uint)__builtin_popcount(x); }
inline uint clz(uint x) { return x == 0 ? 32 : (uint)__builtin_clz(x); }
inline float fabs(float x) { return __builtin_fabsf(x); }
inline float copysign(float x, float y) { return __builtin_copysignf(x, y); }
namespace precise {
inline float exp(float x) { return __builtin_expf(x); }
inline float log(float x) { return __builtin_logf(x); }
inline float sqrt(float x) { return __builtin_sqrtf(x); }
}  // namespace precise

enum memory_order { memory_order_relaxed };
template <class T>
struct atomic {
  T value;
};
template <class T>
T atomic_load_explicit(const atomic<T> *p, memory_order) {
  return p->value;
}
template <class T>
bool atomic_compare_exchange_weak_explicit(atomic<T> *p, T *expected, T wanted, memory_order,
                                           memory_order) {
  if (p->value != *expected) {
    *expected = p->value;
    return false;
  }
  p->value = wanted;
  return true;
}
}  // namespace metal
