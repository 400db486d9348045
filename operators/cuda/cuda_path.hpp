// The CUDA path: the plug-in of cuda_backend.
#pragma once

#include "operators/contract/offers/path_row.hpp"

namespace garuda::cuda {

extern contract::PathRow const kCudaPath;

}  // namespace garuda::cuda
