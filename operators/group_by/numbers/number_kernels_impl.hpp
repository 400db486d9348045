// Included once a set of instructions, in an unnamed namespace of its own: loops that the compiler vectorises for it.
// Nothing here calls an inline function that others share: the linker might keep this set's for all.
#include <cstring>

#include "operators/group_by/numbers/number_kernels.hpp"

namespace garuda::group_by {
namespace {

template <class Integer>
void extremes(void const* values, std::size_t count, Integer* least, Integer* greatest) {
  auto low = *least;
  auto high = *greatest;
  for (std::size_t i = 0; i < count; ++i) {
    Integer value;
    std::memcpy(&value, static_cast<char const*>(values) + i * sizeof(Integer), sizeof(Integer));
    low = value < low ? value : low;
    high = value > high ? value : high;
  }
  *least = low;
  *greatest = high;
}

void add_products(std::uint32_t const* one, std::uint32_t const* other, std::size_t count, std::uint32_t shift,
                  std::uint64_t* words) {
  if (other == nullptr)
    for (std::size_t i = 0; i < count; ++i) words[i] += std::uint64_t{one[i]} << shift;
  else
    for (std::size_t i = 0; i < count; ++i) words[i] += std::uint64_t{one[i]} * other[i] << shift;
}

constexpr NumberKernels kNumberKernels{extremes<std::int32_t>, extremes<std::int64_t>, add_products};

}  // namespace
}  // namespace garuda::group_by
