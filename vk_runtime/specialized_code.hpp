// SPIR-V modules whose specialization constants have their values.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "vk_runtime/shader_code.hpp"

namespace garuda::vk {

/// Value of a specialization constant: layout(constant_id = id) const uint (or int, bool as 0/1, float bit for bit).
struct SpecConstant {
  std::uint32_t id = 0;
  std::uint32_t value = 0;
  bool operator==(SpecConstant const&) const = default;
};

/// The module's words with plain constants in place of specialization constants, `constants` or else their defaults,
/// and of what they give, and with no loop that asks to be unrolled: for drivers that unroll and compile what cannot
/// run (kSpecializationQuirk). Stays as it is: what depends on other types than booleans and 32-bit integers, on
/// operations of other signs than these have in GLSL's uint, or on a division by zero; and whatever follows a damaged
/// instruction. Operations: those of OpSpecConstantOp in the SPIR-V specification, 1.6.
std::vector<std::uint32_t> specialized_code(ShaderCode const& code, std::span<SpecConstant const> constants);

}  // namespace garuda::vk
