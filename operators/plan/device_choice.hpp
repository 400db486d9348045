// Which device is meant by what a caller says of it: a pure function, so that every refusal is tested without a device.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "garuda/device_info.hpp"
#include "garuda/error.hpp"

namespace garuda::plan {

/// Chooses a device of `api`; returns its position. `request`: "auto", the best usable one by kind: discrete,
/// integrated, virtual, other, cpu; an index, of the device or of the same GPU under another API; else a part of the
/// name, whatever its case. Errors: no_device when none fits, naming each with its reason; usage when a name fits
/// usable devices of different names.
Result<std::size_t> choose_device(std::span<DeviceInfo const* const> devices, std::string_view request, DeviceApi api);

}  // namespace garuda::plan
