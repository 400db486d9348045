// CUDA statuses as errors of the library.
#pragma once

#include <cuda_runtime_api.h>

#include "garuda/error.hpp"

namespace garuda::cuda_backend {

/// Success, or what `status` of `call` means: out_of_memory; no_device for what a driver or device lacks;
/// device_failure else, which names the device as lost where the context cannot be used any more. Clears what CUDA
/// remembers of an error that it can recover from.
Result<void> check(cudaError_t status, char const* call);

}  // namespace garuda::cuda_backend

/// Returns from the calling function when a CUDA call or a launch failed.
#define GARUDA_CUDA_TRY(call) GARUDA_TRY(::garuda::cuda_backend::check((call), #call))
