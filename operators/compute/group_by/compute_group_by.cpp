#include "operators/compute/group_by/compute_group_by.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <variant>

#include "operators/compute/group_by/device_keys.hpp"
#include "operators/compute/group_by/slice_states.hpp"
#include "operators/vulkan/group_slice.hpp"
#include "operators/vulkan/vulkan_devices.hpp"

namespace garuda::compute {
namespace {

constexpr std::uint64_t kMostDirectSlots = std::uint64_t{1} << 28;

/// Addresses for the keys of `slice`. Automatic: direct while that takes no more slots than hashing.
/// Errors: usage when direct addresses are asked for and the keys have several words or span more than 2^28 slots.
Result<TableAddress> choose_address(contract::GroupSlice const& slice, Address asked) {
  TableAddress address;
  address.slots = hash_table_slots(slice.num_rows);
  if (asked == Address::hash) return address;
  auto const* packed = std::get_if<contract::KeySpan>(&slice.keys);
  if (packed != nullptr) {
    auto const shift = slice.shared_low_bits;
    auto const last = shift >= 64 ? 0 : (packed->max - packed->min) >> shift;
    if (last < (asked == Address::direct ? kMostDirectSlots : address.slots))
      return TableAddress{true, packed->min, shift, last + 1};
  }
  if (asked != Address::direct) return address;
  if (packed == nullptr) return fail(ErrorCode::usage, "address=direct was asked for, but the keys have several words");
  return fail(ErrorCode::usage,
              fmt::format("address=direct was asked for, but the keys of a slice span more than the largest table: {}",
                          kMostDirectSlots));
}

class ComputeSlice final : public vulkan::SliceWork {
 public:
  ComputeSlice(vk::Lane& lane, vk::PipelineStore& pipelines, ComputeTuning const& tuning,
               contract::GroupByBackendOptions const& options, std::uint64_t memory_budget_bytes)
      : options_(options),
        submissions_(lane, options.control, options.stats),
        context_(lane, pipelines, submissions_, tuning, memory_budget_bytes) {}

  vulkan::PassContext& context() override { return context_; }
  Result<void> start_grouping(contract::GroupSlice const& slice) override;
  Result<void> group(vulkan::DeviceGroups& groups) override {
    GARUDA_TRY_ASSIGN(auto const total, groups_.run(context_, groups.ids.address(), groups.head_rows.address()));
    groups.num_groups = static_cast<std::uint32_t>(total);
    return {};
  }
  void end_grouping() override {
    groups_ = {};
    keys_ = {};
  }
  Result<contract::AggregateState> aggregate(vulkan::DeviceGroups& groups,
                                             contract::AggregateInput const& input) override {
    return slice_states(context_, groups, input);
  }

 private:
  contract::GroupByBackendOptions const& options_;
  vulkan::Submissions submissions_;
  ComputeContext context_;
  vk::Buffer keys_;
  RowGroups groups_;
};

Result<void> ComputeSlice::start_grouping(contract::GroupSlice const& slice) {
  GARUDA_TRY_ASSIGN(auto const address, choose_address(slice, options_.tuning.address));
  if (options_.stats != nullptr) {
    options_.stats->add_counter(address.direct ? "direct_slices" : "hash_slices", 1);
    options_.stats->max_counter("table_slots", address.slots);
  }
  RowKeys keys;
  keys.rows = static_cast<std::uint32_t>(slice.num_rows);
  std::vector<std::span<std::byte const>> columns;
  if (auto const* packed = std::get_if<contract::KeySpan>(&slice.keys)) {
    columns.push_back(std::visit([](auto const& words) { return std::as_bytes(words); }, packed->words));
    keys.key_words = static_cast<std::uint32_t>(columns.front().size() / 4 / slice.num_rows);
  } else {
    for (auto const& words : std::get<contract::KeyWords>(slice.keys).words) columns.push_back(std::as_bytes(words));
    keys.num_words = static_cast<std::uint32_t>(columns.size());
  }
  auto const bytes = columns.front().size();
  if (columns.size() == 1) {
    GARUDA_TRY_ASSIGN(keys_, context_.input(columns.front(), "keys", bytes / slice.num_rows));
  } else {
    GARUDA_TRY_ASSIGN(keys_, context_.upload_buffer(bytes * columns.size(), "keys"));
    for (std::size_t c = 0; c < columns.size(); ++c) {
      GARUDA_EXPECTS(columns[c].size() == bytes);
      GARUDA_TRY(context_.upload(keys_, c * bytes, columns[c]));
    }
  }
  keys.address = keys_.address();
  GARUDA_TRY_ASSIGN(groups_, RowGroups::create(context_, keys, address));
  return {};
}

class ComputeGroupByBackend final : public contract::GroupByBackend {
 public:
  static Result<std::unique_ptr<contract::GroupByBackend>> open(vk::Device& device, vk::PipelineStore& pipelines,
                                                                contract::GroupByBackendOptions const& options) {
    GARUDA_EXPECTS(options.lanes > 0);
    std::unique_ptr<ComputeGroupByBackend> backend(new ComputeGroupByBackend(pipelines, options));
    GARUDA_TRY_ASSIGN(backend->tuning_, compute_tuning(device.traits()));
    GARUDA_TRY_ASSIGN(backend->lanes_,
                      vulkan::DeviceLanes::open(device, {options.lanes, options.tuning.upload,
                                                         options.device_memory_limit_bytes, "compute group-by lane"}));
    return std::unique_ptr<contract::GroupByBackend>(std::move(backend));
  }

  Result<std::unique_ptr<contract::GroupByKernel>> begin(contract::GroupSlice const& slice,
                                                         std::uint32_t lane) override {
    GARUDA_TRY_ASSIGN(auto* const own, lanes_.take(lane));
    return vulkan::GroupSliceKernel::start(
        std::make_unique<ComputeSlice>(*own, pipelines_, tuning_, options_, lanes_.lane_budget_bytes), slice, options_);
  }

 private:
  ComputeGroupByBackend(vk::PipelineStore& pipelines, contract::GroupByBackendOptions const& options)
      : pipelines_(pipelines), options_(options) {}

  vk::PipelineStore& pipelines_;
  contract::GroupByBackendOptions options_;
  ComputeTuning tuning_;
  vulkan::DeviceLanes lanes_;
};

}  // namespace

std::uint64_t compute_group_by_slice_bytes(std::uint64_t rows, std::uint32_t key_words,
                                           std::uint32_t value_words) noexcept {
  // Ids and heads stay; keys, table, slots, first rows and their sums go before values come.
  auto const grouping = rows * (4 * std::uint64_t{key_words} + 3 * 4 + 1) + hash_table_slots(rows) * 4;
  return rows * 8 + std::max(grouping, slice_states_bytes(rows, value_words));
}

Result<std::unique_ptr<contract::GroupByBackend>> open_compute_group_by(
    vk::Device& device, vk::PipelineStore& pipelines, contract::GroupByBackendOptions const& options) {
  return ComputeGroupByBackend::open(device, pipelines, options);
}

}  // namespace garuda::compute
