// The Vulkan compute path on resident tables, for the benchmarks.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "bench/resident_path.hpp"
#include "garuda/error.hpp"

namespace garuda::bench {

/// Opens `device` ("auto", an index or a part of a name) with the device's tuning changed by `tuning`
/// ("partition_items=16,…"). Samples are timed by the device where its timestamps can be trusted.
/// Errors: no_device; usage for a tuning that is unknown or does not fit the device.
Result<std::unique_ptr<ResidentPath>> open_compute_path(std::string_view device, std::string const& tuning);

}  // namespace garuda::bench
