#include "operators/compute/group_by/row_groups.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "shaders/compute/group_by/grouping_layout.h"
#include "shaders/shared/hash.h"

namespace garuda::compute {
namespace {

// Seeds tried before keys are taken for ones that no seed tells apart.
constexpr std::uint32_t kMostSeeds = 16;

PassShape enter_shape(std::uint32_t key_words, bool direct) {
  return {"compute/group_by/enter_rows.comp",
          0,
          1,
          sizeof(shaders::EnterRowsPush),
          {{shaders::kSpecWords, key_words}, {shaders::kSpecDirectSlots, direct ? 1U : 0U}}};
}

PassShape number_shape(std::string_view entry) { return {entry, 0, 1, sizeof(shaders::NumberRowsPush), {}}; }

constexpr std::string_view kMarkFirstRows = "compute/group_by/mark_first_rows.comp";
constexpr std::string_view kNumberGroups = "compute/group_by/number_groups.comp";

}  // namespace

std::uint64_t hash_table_slots(std::uint64_t rows) noexcept {
  return std::bit_ceil(std::max<std::uint64_t>(rows / 3 * 4, 16));
}

Result<RowGroups> RowGroups::create(ComputeContext& context, RowKeys const& keys, TableAddress const& address) {
  RowGroups groups;
  groups.keys_ = keys;
  groups.address_ = address;
  auto const bytes = std::uint64_t{keys.rows} * 4;
  GARUDA_TRY_ASSIGN(groups.table_, context.device_buffer(address.slots * 4, "table of groups"));
  GARUDA_TRY_ASSIGN(groups.slots_, context.device_buffer(bytes, "slots of rows"));
  GARUDA_TRY_ASSIGN(groups.heads_, context.device_buffer(bytes, "first rows"));
  GARUDA_TRY_ASSIGN(groups.offsets_, context.device_buffer(bytes, "group ids of first rows"));
  GARUDA_TRY_ASSIGN(groups.lost_, context.device_buffer(4, "rows without a slot"));
  GARUDA_TRY_ASSIGN(groups.scan_, DeviceScan::create(context, keys.rows));
  return groups;
}

Result<void> RowGroups::enter_rows(ComputeContext& context) {
  shaders::EnterRowsPush push{};
  push.keys = keys_.address;
  push.table = table_.address();
  push.slots = slots_.address();
  push.lost = lost_.address();
  push.num_rows = keys_.rows;
  push.num_words = keys_.num_words;
  push.mask = static_cast<std::uint32_t>(address_.slots - 1);
  push.min_low = static_cast<std::uint32_t>(address_.min);
  push.min_high = static_cast<std::uint32_t>(address_.min >> 32);
  push.shift = address_.shift;
  for (std::uint32_t turn = 0; turn < kMostSeeds; ++turn) {
    push.seed = turn == 0 ? 0 : shaders::mix32(turn);
    GARUDA_TRY(context.fill(vulkan::phase::kHash, table_, shaders::kFreeSlot));
    GARUDA_TRY(context.fill(vulkan::phase::kHash, lost_, 0));
    GARUDA_TRY(
        context.dispatch_each(vulkan::phase::kHash, enter_shape(keys_.key_words, address_.direct), push, keys_.rows));
    if (address_.direct) return {};
    std::uint32_t lost = 0;
    GARUDA_TRY(context.order_all(vulkan::phase::kHash));
    GARUDA_TRY(context.read_back(vulkan::phase::kHash, lost_, 0, std::as_writable_bytes(std::span(&lost, 1))));
    if (lost == 0) return {};
  }
  return fail(ErrorCode::limit_exceeded,
              fmt::format("no hash spreads the keys of a slice over its table, tried: {}", kMostSeeds));
}

Result<std::uint64_t> RowGroups::run(ComputeContext& context, VkDeviceAddress ids, VkDeviceAddress head_rows) {
  GARUDA_TRY(enter_rows(context));
  shaders::NumberRowsPush push{};
  push.table = table_.address();
  push.slots = slots_.address();
  push.heads = heads_.address();
  push.offsets = offsets_.address();
  push.ids = ids;
  push.head_rows = head_rows;
  push.num_rows = keys_.rows;
  GARUDA_TRY(context.dispatch_each(vulkan::phase::kMap, number_shape(kMarkFirstRows), push, keys_.rows));
  GARUDA_TRY(scan_.record(context, vulkan::phase::kPrefix, {heads_.address(), offsets_.address(), keys_.rows}));
  GARUDA_TRY(context.dispatch_each(vulkan::phase::kPrefix, number_shape(kNumberGroups), push, keys_.rows));
  return scan_.read_total(context, vulkan::phase::kPrefix);
}

std::vector<vk::ComputePipelineSpec> RowGroups::pipelines(ComputeTuning const& tuning) {
  std::vector<vk::ComputePipelineSpec> specs;
  for (std::uint32_t const key_words : {0U, 1U, 2U}) {
    specs.push_back(compute_pipeline(enter_shape(key_words, false), tuning));
    if (key_words > 0) specs.push_back(compute_pipeline(enter_shape(key_words, true), tuning));
  }
  for (auto const entry : {kMarkFirstRows, kNumberGroups})
    specs.push_back(compute_pipeline(number_shape(entry), tuning));
  return specs;
}

}  // namespace garuda::compute
