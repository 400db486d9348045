// The codes of the plug-in's border beside the errors that they stand for.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

#include "cuda_backend/plugin.h"
#include "garuda/error.hpp"

namespace garuda::cuda_backend {

/// Other errors cross the border as GARUDA_CUDA_DEVICE_FAILURE.
inline constexpr std::array<std::pair<ErrorCode, GarudaCudaCode>, 6> kCodes{{
    {ErrorCode::device_failure, GARUDA_CUDA_DEVICE_FAILURE},
    {ErrorCode::usage, GARUDA_CUDA_USAGE},
    {ErrorCode::no_device, GARUDA_CUDA_NO_DEVICE},
    {ErrorCode::out_of_memory, GARUDA_CUDA_OUT_OF_MEMORY},
    {ErrorCode::limit_exceeded, GARUDA_CUDA_LIMIT_EXCEEDED},
    {ErrorCode::cancelled, GARUDA_CUDA_CANCELLED},
}};

constexpr GarudaCudaCode code_of(ErrorCode error) noexcept {
  auto const* const found = std::ranges::find(kCodes, error, [](auto const& code) { return code.first; });
  return (found != kCodes.end() ? found : kCodes.begin())->second;
}

constexpr ErrorCode error_of(std::int32_t code) noexcept {
  auto const* const found = std::ranges::find(kCodes, code, [](auto const& pair) { return std::int32_t{pair.second}; });
  return (found != kCodes.end() ? found : kCodes.begin())->first;
}

}  // namespace garuda::cuda_backend
