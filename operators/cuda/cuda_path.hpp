// The CUDA path: the plug-in of cuda_backend.
#pragma once

#include "operators/contract/path_row.hpp"

namespace garuda::cuda {

extern contract::PathRow const kCudaPath;

}  // namespace garuda::cuda
