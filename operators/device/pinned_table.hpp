// Tables in host memory that a device reads in place.
#pragma once

#include <cstdint>

#include "garuda/control.hpp"
#include "garuda/error.hpp"
#include "garuda/pinned_buffer.hpp"
#include "garuda/table.hpp"
#include "vk_runtime/device/device.hpp"

namespace garuda::device {

/// See Engine::allocate_pinned.
Result<PinnedBuffer> allocate_pinned(vk::Device& device, std::uint64_t bytes);

/// See Engine::pin.
Result<Table> pin_table(TableView table, vk::Device& device, Control const& control);

}  // namespace garuda::device
