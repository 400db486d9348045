#include "operators/compute/hash_grouping.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <variant>

#include "shaders/compute/grouping_layout.h"
#include "shaders/shared/hash.h"

namespace garuda::operators {
namespace {

constexpr std::uint64_t kMostDirectSlots = std::uint64_t{1} << 28;
// Seeds tried before keys are taken for ones that no seed tells apart.
constexpr std::uint32_t kMostSeeds = 16;

PassShape enter_shape(std::uint32_t key_words, bool direct) {
  return {"compute/enter_rows.comp",
          0,
          1,
          sizeof(shaders::EnterRowsPush),
          {{shaders::kSpecWords, key_words}, {shaders::kSpecDirectSlots, direct ? 1U : 0U}}};
}

PassShape number_shape(std::string_view entry) { return {entry, 0, 1, sizeof(shaders::NumberRowsPush), {}}; }

constexpr std::string_view kMarkFirstRows = "compute/mark_first_rows.comp";
constexpr std::string_view kNumberGroups = "compute/number_groups.comp";

}  // namespace

std::uint64_t hash_table_slots(std::uint64_t rows) noexcept {
  return std::bit_ceil(std::max<std::uint64_t>(rows / 3 * 4, 16));
}

Result<TableAddress> choose_table_address(GroupSlice const& slice, Address asked) {
  TableAddress address;
  address.slots = hash_table_slots(slice.num_rows);
  if (asked == Address::hash) return address;
  auto const* packed = std::get_if<KeySpan>(&slice.keys);
  auto const range = packed == nullptr ? std::nullopt : direct_pixels(packed->min, packed->max, slice.shared_low_bits);
  if (range && *range <= (asked == Address::direct ? kMostDirectSlots : address.slots)) {
    return TableAddress{true, packed->min, slice.shared_low_bits, *range};
  }
  if (asked != Address::direct) return address;
  if (packed == nullptr) return fail(ErrorCode::usage, "address=direct was asked for, but the keys have several words");
  return fail(ErrorCode::usage,
              fmt::format("address=direct was asked for, but the keys of a slice span more than the largest table: {}",
                          kMostDirectSlots));
}

Result<std::unique_ptr<SliceGrouping>> HashGrouping::start(Resources const& resources, GroupContext& context,
                                                           GroupSlice const& slice) {
  std::unique_ptr<HashGrouping> grouping(new HashGrouping(resources, context));
  grouping->num_rows_ = static_cast<std::uint32_t>(slice.num_rows);
  GARUDA_TRY_ASSIGN(grouping->address_, choose_table_address(slice, context.tuning().address));
  context.add_counter(grouping->address_.direct ? "direct_slices" : "hash_slices", 1);
  context.max_counter("table_slots", grouping->address_.slots);
  GARUDA_TRY(grouping->upload(slice));
  GARUDA_TRY(grouping->take_memory());
  return std::unique_ptr<SliceGrouping>(std::move(grouping));
}

Result<void> HashGrouping::upload(GroupSlice const& slice) {
  if (auto const* packed = std::get_if<KeySpan>(&slice.keys)) {
    auto const source = std::visit([](auto const& words) { return std::as_bytes(words); }, packed->words);
    key_words_ = static_cast<std::uint32_t>(source.size() / 4 / num_rows_);
    GARUDA_TRY_ASSIGN(keys_, context_.upload_buffer(source.size(), "keys"));
    return context_.upload(keys_, 0, source);
  }
  auto const& words = std::get<KeyWords>(slice.keys).words;
  num_words_ = static_cast<std::uint32_t>(words.size());
  auto const word_bytes = std::uint64_t{num_rows_} * 4;
  GARUDA_TRY_ASSIGN(keys_, context_.upload_buffer(word_bytes * num_words_, "key words"));
  for (std::size_t word = 0; word < words.size(); ++word) {
    GARUDA_EXPECTS(words[word].size() == num_rows_);
    GARUDA_TRY(context_.upload(keys_, word * word_bytes, std::as_bytes(words[word])));
  }
  return {};
}

Result<void> HashGrouping::take_memory() {
  auto const bytes = std::uint64_t{num_rows_} * 4;
  GARUDA_TRY_ASSIGN(table_, context_.device_buffer(address_.slots * 4, "table of groups"));
  GARUDA_TRY_ASSIGN(slots_, context_.device_buffer(bytes, "slots of rows"));
  GARUDA_TRY_ASSIGN(heads_, context_.device_buffer(bytes, "first rows"));
  GARUDA_TRY_ASSIGN(offsets_, context_.device_buffer(bytes, "group ids of first rows"));
  GARUDA_TRY_ASSIGN(lost_, context_.device_buffer(4, "rows without a slot"));
  GARUDA_TRY_ASSIGN(scan_, DeviceScan::create(context_, num_rows_));
  return {};
}

Result<void> HashGrouping::enter_rows() {
  shaders::EnterRowsPush push{};
  push.keys = keys_.address();
  push.table = table_.address();
  push.slots = slots_.address();
  push.lost = lost_.address();
  push.num_rows = num_rows_;
  push.num_words = num_words_;
  push.mask = static_cast<std::uint32_t>(address_.slots - 1);
  push.min_low = static_cast<std::uint32_t>(address_.min);
  push.min_high = static_cast<std::uint32_t>(address_.min >> 32);
  push.shift = address_.shift;
  for (std::uint32_t turn = 0; turn < kMostSeeds; ++turn) {
    push.seed = turn == 0 ? 0 : shaders::mix32(turn);
    GARUDA_TRY(context_.fill(phase::kHash, table_, shaders::kFreeSlot));
    GARUDA_TRY(context_.fill(phase::kHash, lost_, 0));
    GARUDA_TRY(context_.dispatch(phase::kHash, enter_shape(key_words_, address_.direct), push,
                                 groups_for(num_rows_, context_.tuning().group_size), num_rows_));
    if (address_.direct) return {};
    std::uint32_t lost = 0;
    GARUDA_TRY(context_.order_all(phase::kHash));
    GARUDA_TRY(context_.read_back(phase::kHash, lost_, 0, std::as_writable_bytes(std::span(&lost, 1))));
    if (lost == 0) return {};
  }
  return fail(ErrorCode::limit_exceeded,
              fmt::format("no hash spreads the keys of a slice over its table, tried: {}", kMostSeeds));
}

Result<void> HashGrouping::number_groups(DeviceGroups& groups) {
  shaders::NumberRowsPush push{};
  push.table = table_.address();
  push.slots = slots_.address();
  push.heads = heads_.address();
  push.offsets = offsets_.address();
  push.ids = groups.ids.address();
  push.head_rows = groups.head_rows.address();
  push.num_rows = num_rows_;
  auto const workgroups = groups_for(num_rows_, context_.tuning().group_size);
  GARUDA_TRY(context_.dispatch(phase::kMap, number_shape(kMarkFirstRows), push, workgroups, num_rows_));
  GARUDA_TRY(scan_.record(context_, phase::kPrefix, heads_.address(), offsets_.address(), num_rows_));
  GARUDA_TRY(context_.dispatch(phase::kPrefix, number_shape(kNumberGroups), push, workgroups, num_rows_));
  GARUDA_TRY_ASSIGN(auto const total, scan_.read_total(context_, phase::kPrefix));
  groups.num_groups = static_cast<std::uint32_t>(total);
  return {};
}

Result<void> HashGrouping::run(GroupContext&, DeviceGroups& groups) {
  GARUDA_TRY(enter_rows());
  return number_groups(groups);
}

std::vector<vk::ComputePipelineSpec> hash_grouping_pipelines(ComputeTuning const& tuning) {
  std::vector<vk::ComputePipelineSpec> specs;
  for (std::uint32_t const key_words : {0U, 1U, 2U}) {
    specs.push_back(compute_pipeline(enter_shape(key_words, false), tuning));
    if (key_words > 0) specs.push_back(compute_pipeline(enter_shape(key_words, true), tuning));
  }
  for (auto const entry : {kMarkFirstRows, kNumberGroups})
    specs.push_back(compute_pipeline(number_shape(entry), tuning));
  return specs;
}

}  // namespace garuda::operators
