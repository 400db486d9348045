// The graphics path: Vulkan render passes (GARUDA, VLDB 2023).
#pragma once

#include "operators/path_row.hpp"

namespace garuda::operators {

extern PathRow const kGraphicsPath;

}  // namespace garuda::operators
