// A SPIR-V module embedded in the program by garuda_add_shaders (cmake/GarudaShaders.cmake).
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

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

}  // namespace garuda::vk
