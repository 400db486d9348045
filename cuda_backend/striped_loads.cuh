// Loads that a thread has under way together.
#pragma once

#include <cstdint>

namespace garuda::cuda_backend {

/// loaded[i] = values[first + i · kThreads + threadIdx.x], where that lies before `end`; others stay as they are.
template <unsigned kThreads, unsigned kItems, class Value, class Row>
__device__ void load_striped(Value const* values, Row first, Row end, Value (&loaded)[kItems]) {
#pragma unroll
  for (unsigned item = 0; item < kItems; ++item) {
    auto const row = first + item * kThreads + threadIdx.x;
    if (row < end) loaded[item] = values[row];
  }
}

}  // namespace garuda::cuda_backend
