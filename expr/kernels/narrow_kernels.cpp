// Loops over integers of 64 bits, which the compiler vectorises for each set of instructions (GARUDA_KERNELS).
#include "expr/kernels/narrow_kernels.hpp"

namespace garuda::expr {
namespace {

bool narrow_all(Int128 const* values, std::size_t count, std::int64_t* to) {
  std::uint64_t excess = 0;
  for (std::size_t i = 0; i < count; ++i) {
    auto const low = static_cast<std::int64_t>(values[i]);
    excess |= static_cast<std::uint64_t>(values[i] >> 64) ^ static_cast<std::uint64_t>(low >> 63);
    to[i] = low;
  }
  return excess == 0;
}

void widen_all(std::int64_t const* values, std::size_t count, Int128* to) {
  for (std::size_t i = 0; i < count; ++i) to[i] = values[i];
}

std::uint64_t used_bits(std::int64_t const* values, std::size_t count) {
  std::uint64_t used = 0;
  for (std::size_t i = 0; i < count; ++i) used |= static_cast<std::uint64_t>(values[i] ^ (values[i] >> 63));
  return used;
}

std::int64_t wrapped_product(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
}

std::int64_t wrapped_sum(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
}

void linear(std::int64_t const* values, std::int64_t factor, std::int64_t addend, std::size_t count, std::int64_t* to) {
  for (std::size_t i = 0; i < count; ++i) to[i] = wrapped_sum(wrapped_product(values[i], factor), addend);
}

void add_scaled(std::int64_t const* a, std::int64_t a_factor, std::int64_t const* b, std::int64_t b_factor,
                std::size_t count, std::int64_t* to) {
  for (std::size_t i = 0; i < count; ++i)
    to[i] = wrapped_sum(wrapped_product(a[i], a_factor), wrapped_product(b[i], b_factor));
}

void multiply_all(std::int64_t const* a, std::int64_t const* b, std::size_t count, std::int64_t* to) {
  for (std::size_t i = 0; i < count; ++i) to[i] = wrapped_product(a[i], b[i]);
}

constexpr NarrowKernels kNarrowKernels{narrow_all, widen_all, used_bits, linear, add_scaled, multiply_all};

}  // namespace

GARUDA_KERNELS(NarrowKernels, narrow_kernels, kNarrowKernels)

}  // namespace garuda::expr
