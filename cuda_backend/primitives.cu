#include "cuda_backend/primitives.hpp"

#include <cstddef>

#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_scan.cuh>
#include <cuda/std/functional>

#include "cuda_backend/launch.cuh"
#include "cuda_backend/status.hpp"

namespace garuda::cuda_backend {
namespace {

/// Calls `call` twice: without memory it says what it needs, with it it works.
template <class Call>
Result<void> with_scratch(Lane& lane, char const* name, Call const& call) {
  std::size_t bytes = 0;
  GARUDA_TRY(check(call(nullptr, bytes), name));
  GARUDA_TRY_ASSIGN(auto const scratch, lane.allocate(bytes, name));
  return check(call(scratch.template as<void>(), bytes), name);
}

template <class Value>
__global__ void gather_kernel(Value const* source, std::uint32_t const* rows, std::uint64_t count, Value* target) {
  for (auto i = global_thread(); i < count; i += grid_threads()) target[i] = source[rows[i]];
}

template <class Value>
Result<void> gather_values(Lane& lane, std::uint64_t source, std::uint32_t const* rows, std::uint64_t count,
                           void* target) {
  return launch_over(lane, count, gather_kernel<Value>, reinterpret_cast<Value const*>(source), rows, count,
                     static_cast<Value*>(target));
}

}  // namespace

template <class Sum>
Result<void> sum_up(Lane& lane, std::uint32_t const* words, Sum* sums, std::uint32_t count) {
  return with_scratch(lane, "prefix sums", [&](void* scratch, std::size_t& bytes) {
    return cub::DeviceScan::ExclusiveScan(scratch, bytes, words, sums, ::cuda::std::plus<Sum>{}, Sum{0}, count,
                                          lane.stream());
  });
}

template <class Key, class Value>
Result<void> sort_rows(Lane& lane, Key const* keys, Key* sorted_keys, Value const* rows, Value* sorted_rows,
                       std::uint32_t count, std::uint32_t bits) {
  return with_scratch(lane, "sorting", [&](void* scratch, std::size_t& bytes) {
    return cub::DeviceRadixSort::SortPairs(scratch, bytes, keys, sorted_keys, rows, sorted_rows, count, 0,
                                           static_cast<int>(bits), lane.stream());
  });
}

Result<void> gather(Lane& lane, GarudaCudaColumn const& column, std::uint32_t const* rows, std::uint64_t count,
                    void* target) {
  return column.bytes == 4 ? gather_values<std::uint32_t>(lane, column.address, rows, count, target)
                           : gather_values<std::uint64_t>(lane, column.address, rows, count, target);
}

template Result<void> sum_up(Lane&, std::uint32_t const*, std::uint32_t*, std::uint32_t);
template Result<void> sum_up(Lane&, std::uint32_t const*, std::uint64_t*, std::uint32_t);

#define GARUDA_SORT_ROWS(Key, Value) \
  template Result<void> sort_rows(Lane&, Key const*, Key*, Value const*, Value*, std::uint32_t, std::uint32_t)
GARUDA_SORT_ROWS(std::uint32_t, std::uint32_t);
GARUDA_SORT_ROWS(std::uint32_t, std::uint64_t);
GARUDA_SORT_ROWS(std::uint64_t, std::uint32_t);
GARUDA_SORT_ROWS(std::uint64_t, std::uint64_t);

}  // namespace garuda::cuda_backend
