#include "operators/compute/group_by/hash_grouping.hpp"

#include <fmt/format.h>

#include <variant>

namespace garuda::compute {
namespace {

constexpr std::uint64_t kMostDirectSlots = std::uint64_t{1} << 28;

}  // namespace

Result<TableAddress> choose_table_address(contract::GroupSlice const& slice, Address asked) {
  TableAddress address;
  address.slots = hash_table_slots(slice.num_rows);
  if (asked == Address::hash) return address;
  auto const* packed = std::get_if<contract::KeySpan>(&slice.keys);
  auto const range =
      packed == nullptr ? std::nullopt : graphics::direct_pixels(packed->min, packed->max, slice.shared_low_bits);
  if (range && *range <= (asked == Address::direct ? kMostDirectSlots : address.slots)) {
    return TableAddress{true, packed->min, slice.shared_low_bits, *range};
  }
  if (asked != Address::direct) return address;
  if (packed == nullptr) return fail(ErrorCode::usage, "address=direct was asked for, but the keys have several words");
  return fail(ErrorCode::usage,
              fmt::format("address=direct was asked for, but the keys of a slice span more than the largest table: {}",
                          kMostDirectSlots));
}

Result<std::unique_ptr<graphics::SliceGrouping>> HashGrouping::start(Resources const& resources,
                                                                     graphics::GroupContext& context,
                                                                     contract::GroupSlice const& slice) {
  std::unique_ptr<HashGrouping> grouping(new HashGrouping(resources, context));
  grouping->row_keys_.rows = static_cast<std::uint32_t>(slice.num_rows);
  GARUDA_TRY_ASSIGN(auto const address, choose_table_address(slice, context.tuning().address));
  context.add_counter(address.direct ? "direct_slices" : "hash_slices", 1);
  context.max_counter("table_slots", address.slots);
  GARUDA_TRY(grouping->upload(slice));
  grouping->row_keys_.address = grouping->keys_.address();
  GARUDA_TRY_ASSIGN(grouping->groups_, RowGroups::create(grouping->context_, grouping->row_keys_, address));
  return std::unique_ptr<graphics::SliceGrouping>(std::move(grouping));
}

Result<void> HashGrouping::upload(contract::GroupSlice const& slice) {
  auto const rows = row_keys_.rows;
  if (auto const* packed = std::get_if<contract::KeySpan>(&slice.keys)) {
    auto const source = std::visit([](auto const& words) { return std::as_bytes(words); }, packed->words);
    row_keys_.key_words = static_cast<std::uint32_t>(source.size() / 4 / rows);
    GARUDA_TRY_ASSIGN(keys_, context_.upload_buffer(source.size(), "keys"));
    return context_.upload(keys_, 0, source);
  }
  auto const& words = std::get<contract::KeyWords>(slice.keys).words;
  row_keys_.num_words = static_cast<std::uint32_t>(words.size());
  auto const word_bytes = std::uint64_t{rows} * 4;
  GARUDA_TRY_ASSIGN(keys_, context_.upload_buffer(word_bytes * words.size(), "key words"));
  for (std::size_t word = 0; word < words.size(); ++word) {
    GARUDA_EXPECTS(words[word].size() == rows);
    GARUDA_TRY(context_.upload(keys_, word * word_bytes, std::as_bytes(words[word])));
  }
  return {};
}

Result<void> HashGrouping::run(graphics::GroupContext&, graphics::DeviceGroups& groups) {
  GARUDA_TRY_ASSIGN(auto const total, groups_.run(context_, groups.ids.address(), groups.head_rows.address()));
  groups.num_groups = static_cast<std::uint32_t>(total);
  return {};
}

std::vector<vk::ComputePipelineSpec> hash_grouping_pipelines(ComputeTuning const& tuning) {
  return RowGroups::pipelines(tuning);
}

}  // namespace garuda::compute
