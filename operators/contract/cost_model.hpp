// Estimates of cost: nanoseconds a phase of every way to run, from shape, statistics and rates. What a way costs stands
// with the path that it is of; pure functions, all of them.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "operators/contract/machine.hpp"
#include "operators/contract/sizing.hpp"
#include "operators/rates/rates.hpp"
#include "vk_runtime/device/device_traits.hpp"
#include "vk_runtime/memory/transfer.hpp"

namespace garuda::contract {

/// Estimates by phase, named as the phases of a run.
using PhaseCosts = std::vector<std::pair<std::string, double>>;
double total_ns(PhaseCosts const& costs);

/// How a device cuts the work of a join or a group-by.
struct DeviceCut {
  std::uint32_t radix_bits = 0;
  std::uint32_t lanes = 1;
  std::uint64_t slices = 1;
  std::uint64_t chunk_rows = kLargestChunkRows;  ///< most rows of a batch
  double pixels = 0;                             ///< of all hash images together, one layer each
  vk::UploadMode upload = vk::UploadMode::stage;
};

/// The way to upload that takes least for slices of `bytes` bytes, of those that the device has: where it reads host
/// memory in place, that.
vk::UploadMode cheapest_upload(rates::DeviceRates const& rates, vk::DeviceTraits const& traits, double bytes);

}  // namespace garuda::contract
