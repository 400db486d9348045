// The graphics path: Vulkan render passes (GARUDA, VLDB 2023).
#pragma once

#include "operators/contract/offers/path_row.hpp"

namespace garuda::graphics {

extern contract::PathRow const kGraphicsPath;

}  // namespace garuda::graphics
