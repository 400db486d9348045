// Errors cross the plug-in's border as a code and one sentence, in place of results and exceptions.
#pragma once

#include <cstdint>
#include <exception>
#include <new>
#include <string_view>

#include "cuda_backend/codes.hpp"
#include "cuda_backend/plugin.h"
#include "garuda/error.hpp"

namespace garuda::cuda_backend {

/// Writes the sentence, cut to what `error` holds, and returns the code.
inline std::int32_t report(GarudaCudaCode code, std::string_view sentence, GarudaCudaError* error) noexcept {
  auto const length = sentence.copy(error->message, sizeof error->message - 1);
  error->message[length] = 0;
  return code;
}

/// Calls `body`, which returns a Result<void>. Exceptions are reported, too: a bug, unless host memory ran out.
template <class Body>
std::int32_t guarded(GarudaCudaError* error, Body const& body) noexcept {
  try {
    Result<void> const result = body();
    if (result) return GARUDA_CUDA_OK;
    return report(code_of(result.error().code()), result.error().describe(), error);
  } catch (std::bad_alloc const&) {
    return report(GARUDA_CUDA_OUT_OF_MEMORY, "the CUDA plug-in ran out of host memory", error);
  } catch (std::exception const& exception) {
    return report(GARUDA_CUDA_DEVICE_FAILURE, exception.what(), error);
  } catch (...) {
    return report(GARUDA_CUDA_DEVICE_FAILURE, "the CUDA plug-in threw what is no exception of C++", error);
  }
}

}  // namespace garuda::cuda_backend
