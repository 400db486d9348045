// The CUDA path: the plug-in of cuda_backend.
#pragma once

#include "operators/path_row.hpp"

namespace garuda::operators {

extern PathRow const kCudaPath;

}  // namespace garuda::operators
