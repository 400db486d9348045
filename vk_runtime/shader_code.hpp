// A SPIR-V module embedded in the program by garuda_add_shaders (cmake/GarudaShaders.cmake).
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace garuda::vk {

/// View of a module's words, in static storage. `name` is the entry of garuda_add_shaders ("join/build.vert",
/// "join/build.vert:KEY_WORDS=2") and identifies the code within the program.
struct ShaderCode {
  std::string_view name;
  std::span<std::uint32_t const> words;
};

/// Whether the module uses gl_NumWorkGroups for anything but the number of its workgroup, gl_WorkGroupID.y *
/// gl_NumWorkGroups.x + gl_WorkGroupID.x: then it cannot be dispatched in parts, of which each has a gl_NumWorkGroups
/// of its own. Read off the code, so that no pass can forget to say it; when in doubt it does.
bool strides_over_groups(ShaderCode const& code);

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
