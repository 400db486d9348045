// The part of SPIR-V 1.6 that vk_runtime reads in modules.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

namespace garuda::vk::spirv {

using Words = std::span<std::uint32_t const>;

enum Op : std::uint32_t {
  op_ext_inst = 12,
  op_type_bool = 20,
  op_type_int = 21,
  op_constant_true = 41,
  op_constant_false = 42,
  op_constant = 43,
  op_constant_composite = 44,
  op_spec_constant_true = 48,
  op_spec_constant_false = 49,
  op_spec_constant = 50,
  op_spec_constant_composite = 51,
  op_spec_constant_op = 52,
  op_function = 54,
  op_load = 61,
  op_store = 62,
  op_access_chain = 65,
  op_in_bounds_access_chain = 66,
  op_decorate = 71,
  op_vector_shuffle = 79,
  op_composite_extract = 81,
  op_composite_insert = 82,
  op_i_add = 128,
  op_i_sub = 130,
  op_i_mul = 132,
  op_u_div = 134,
  op_u_mod = 137,
  op_logical_equal = 164,
  op_logical_not_equal = 165,
  op_logical_or = 166,
  op_logical_and = 167,
  op_logical_not = 168,
  op_select = 169,
  op_i_equal = 170,
  op_i_not_equal = 171,
  op_u_greater_than = 172,
  op_u_greater_than_equal = 174,
  op_u_less_than = 176,
  op_u_less_than_equal = 178,
  op_shift_right_logical = 194,
  op_shift_left_logical = 196,
  op_bitwise_or = 197,
  op_bitwise_xor = 198,
  op_bitwise_and = 199,
  op_not = 200,
  op_loop_merge = 246,
  op_switch = 251,
};
inline constexpr std::uint32_t kDecorationSpecId = 1;
inline constexpr std::uint32_t kDecorationBuiltIn = 11;
inline constexpr std::uint32_t kBuiltInNumWorkgroups = 24;
inline constexpr std::uint32_t kBuiltInWorkgroupId = 26;
inline constexpr std::uint32_t kLoopControlUnroll = 1;

inline constexpr std::size_t kHeaderWords = 5;

/// Calls `take(op, operands)` for each instruction, until one says false or is cut short. Returns the words before that
/// one, header included.
template <class Take>
std::size_t for_instructions(Words module, Take const& take) {
  auto at = std::min(kHeaderWords, module.size());
  while (at < module.size()) {
    auto const length = module[at] >> 16U;
    if (length == 0 || length > module.size() - at) break;
    if (!take(module[at] & 0xffffU, module.subspan(at + 1, length - 1))) break;
    at += length;
  }
  return at;
}

}  // namespace garuda::vk::spirv
