#include "operators/compute/primitives/device_scan.hpp"

#include "shaders/primitives/primitives_layout.h"

namespace garuda::compute {
namespace {

// Clearing the states that several workgroups need costs more than summing so few tiles one after another.
constexpr std::uint64_t kMostTilesOfOneGroup = 4;

std::uint64_t tile_elements(ComputeTuning const& tuning) { return std::uint64_t{tuning.group_size} * kScanItems; }

PassShape scan_shape(std::string_view entry, ComputeTuning const& tuning, bool lists) {
  return {entry, tuning.group_size, kScanItems, sizeof(shaders::PrefixPush), {{shaders::kSpecLists, lists ? 1U : 0U}}};
}

constexpr std::string_view kLookBack = "primitives/scan.comp:LOOK_BACK";
constexpr std::string_view kOneGroup = "primitives/scan.comp:ONE_GROUP";

}  // namespace

Result<DeviceScan> DeviceScan::create(ComputeContext& context, std::uint64_t elements) {
  GARUDA_EXPECTS(elements <= kMaxScanElements);
  DeviceScan scan;
  scan.elements_ = elements;
  auto const tiles = groups_for(elements, tile_elements(context.tuning()));
  GARUDA_TRY_ASSIGN(scan.states_, context.device_buffer((tiles + 1) * 8, "states of tiles"));
  GARUDA_TRY_ASSIGN(scan.total_, context.device_buffer(8, "total"));
  return scan;
}

bool DeviceScan::is_one_pass(ComputeTuning const& tuning, std::uint64_t elements) noexcept {
  return groups_for(elements, tile_elements(tuning)) <= kMostTilesOfOneGroup;
}

std::uint32_t DeviceScan::num_state_words(ComputeTuning const& tuning, std::uint64_t elements) noexcept {
  if (is_one_pass(tuning, elements)) return 0;
  return static_cast<std::uint32_t>((groups_for(elements, tile_elements(tuning)) + 1) * 2);
}

Result<void> DeviceScan::record(ComputeContext& context, char const* phase, ScannedWords const& words,
                                bool independent) {
  auto const elements = words.elements;
  GARUDA_EXPECTS(elements > 0 && elements <= elements_ && !(words.lists && words.copy != 0));
  GARUDA_EXPECTS(words.source % 16 == 0 && words.target % 16 == 0 && words.copy % 16 == 0);
  GARUDA_EXPECTS(words.source != words.target && words.source != words.copy);
  auto const& tuning = context.tuning();
  auto const tiles = groups_for(elements, tile_elements(tuning));
  shaders::PrefixPush push{};
  push.source = words.source;
  push.target = words.target;
  push.states = states_.address();
  push.total = total_.address();
  push.copy = words.copy;
  push.num_elements = static_cast<std::uint32_t>(elements);
  push.num_tiles = static_cast<std::uint32_t>(tiles);
  push.spins = tuning.scan_spins;
  if (is_one_pass(tuning, elements))
    return context.dispatch(phase, scan_shape(kOneGroup, tuning, words.lists), push, 1, elements, independent);
  if (!words.cleared) {
    GARUDA_TRY(context.fill(phase, states_, 0));
    independent = false;
  }
  return context.dispatch(phase, scan_shape(kLookBack, tuning, words.lists), push, tiles, elements, independent);
}

Result<std::uint64_t> DeviceScan::read_total(ComputeContext& context, char const* phase) {
  std::uint64_t total = 0;
  GARUDA_TRY(context.order_all(phase));
  GARUDA_TRY(context.read_back(phase, total_, 0, std::as_writable_bytes(std::span<std::uint64_t, 1>(&total, 1))));
  return total;
}

std::vector<vk::ComputePipelineSpec> scan_pipelines(ComputeTuning const& tuning) {
  std::vector<vk::ComputePipelineSpec> specs;
  for (bool const lists : {false, true})
    for (auto const entry : {kLookBack, kOneGroup})
      specs.push_back(compute_pipeline(scan_shape(entry, tuning, lists), tuning));
  return specs;
}

}  // namespace garuda::compute
