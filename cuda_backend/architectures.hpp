// Which GPUs a build of the plug-in has code for.
#pragma once

#include <cstdint>
#include <string_view>

namespace garuda::cuda_backend {

/// Whether a device of compute capability `capability` (10 × major + minor) runs what was built for `architectures`:
/// entries of CMAKE_CUDA_ARCHITECTURES, by comma. Machine code runs on the devices of its major version from its minor
/// one on, PTX on all from its own on; "86-real" is machine code only, "90-virtual" PTX only, "90" both. An entry that
/// is no number (native, all) says nothing of what it stood for, and counts as having code.
bool has_code_for(std::string_view architectures, std::uint32_t capability) noexcept;

}  // namespace garuda::cuda_backend
