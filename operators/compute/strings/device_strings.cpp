#include "operators/compute/strings/device_strings.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

#include "operators/contract/offers/costs.hpp"

namespace garuda::compute {
namespace {

constexpr char const* kStringsPhase = "strings";

constexpr char const* kStringNumbersPhase = "number strings";
constexpr char const* kStringKeysPhase = "string keys";

PassShape hash_strings_shape() {
  return {"compute/strings/hash_strings.comp", 0, 1, sizeof(shaders::HashStringsPush), {}};
}
PassShape number_strings_shape() {
  return {"compute/strings/number_strings.comp", 0, 1, sizeof(shaders::NumberStringsPush), {}};
}
PassShape string_keys_shape() {
  return {"compute/strings/string_keys.comp", 0, 1, sizeof(shaders::StringKeysPush), {}};
}

/// A quarter of the slots stays free at least.
std::uint64_t string_slots(std::uint64_t strings) noexcept {
  return std::bit_ceil(std::max<std::uint64_t>(strings + strings / 3 + 1, 16));
}

/// Random reads of a string that is equal to an earlier one: its hash, offsets, piece of bytes.
constexpr double kComparedReads = 3;
/// The string's own offset and hash, written and read.
constexpr double kEntryBytes = 12;
/// A row's number of a string, and its key.
constexpr double kKeyBytes = 8;

constexpr char const* kStringGatherPhase = "gather strings";
constexpr std::uint32_t kStringCopyItems = 4;

PassShape string_lengths_shape() {
  return {"compute/strings/string_lengths.comp", 0, 1, sizeof(shaders::StringLengthsPush), {}};
}
PassShape copy_strings_shape() {
  return {"compute/strings/copy_strings.comp", 0, kStringCopyItems, sizeof(shaders::CopyStringsPush), {}};
}

}  // namespace

Result<DeviceStrings> DeviceStrings::create(ComputeContext& context, std::span<StringPiece const> pieces) {
  GARUDA_EXPECTS(pieces.size() <= kMostStringPieces);
  std::vector<shaders::StringPiece> table;
  std::uint64_t first = 0;
  for (auto const& piece : pieces) {
    // A search would find the last of pieces that begin with the same number.
    if (piece.strings == 0) continue;
    table.push_back({piece.offsets, piece.bytes, piece.valid, static_cast<std::uint32_t>(first),
                     static_cast<std::uint32_t>(piece.target)});
    first += piece.strings;
  }
  GARUDA_EXPECTS(first <= kMostStrings);
  DeviceStrings strings;
  auto const bytes = std::as_bytes(std::span(table));
  GARUDA_TRY_ASSIGN(strings.pieces_, context.device_buffer(bytes.size(), "pieces of strings"));
  if (!bytes.empty()) GARUDA_TRY(context.update(kStringsPhase, strings.pieces_, bytes));
  strings.view_ = {strings.pieces_.address(), static_cast<std::uint32_t>(table.size()),
                   static_cast<std::uint32_t>(first)};
  return strings;
}

std::uint64_t string_numbers_scratch_bytes(std::uint64_t strings) noexcept {
  return (strings + string_slots(strings)) * sizeof(std::uint32_t);
}

Result<void> record_string_numbers(ComputeContext& context, DeviceStrings const& strings, std::uint32_t hash_bits,
                                   vk::Buffer const& numbers) {
  GARUDA_EXPECTS(hash_bits >= 1);
  auto const count = strings.size();
  if (count == 0) return {};
  auto const slots = string_slots(count);
  GARUDA_TRY_ASSIGN(auto const hashes, context.device_buffer(count * sizeof(std::uint32_t), "hashes of strings"));
  GARUDA_TRY_ASSIGN(auto const table, context.device_buffer(slots * sizeof(std::uint32_t), "slots of strings"));
  GARUDA_TRY(context.fill(kStringNumbersPhase, table, shaders::kNoString));
  shaders::HashStringsPush hash{};
  hash.strings = strings.view();
  hash.hashes = hashes.address();
  hash.mask = hash_bits >= kStringHashBits ? ~std::uint32_t{0} : (1U << hash_bits) - 1;
  GARUDA_TRY(context.dispatch_each(kStringNumbersPhase, hash_strings_shape(), hash, count));
  shaders::NumberStringsPush push{};
  push.strings = strings.view();
  push.hashes = hashes.address();
  push.slots = table.address();
  push.numbers = numbers.address();
  push.mask = static_cast<std::uint32_t>(slots - 1);
  return context.dispatch_each(kStringNumbersPhase, number_strings_shape(), push, count);
}

Result<void> record_string_keys(ComputeContext& context, DeviceStrings const& strings, StringKeys const& rows,
                                VkDeviceAddress keys) {
  shaders::StringKeysPush push{};
  push.strings = strings.view();
  push.rows = rows.rows;
  push.numbers = rows.numbers;
  push.keys = keys;
  push.num_rows = static_cast<std::uint32_t>(rows.num_rows);
  return context.dispatch_each(kStringKeysPhase, string_keys_shape(), push, rows.num_rows);
}

contract::PhaseCosts string_number_costs(NumberedStrings const& strings, rates::DeviceRates const& rates) {
  if (strings.strings == 0) return {};
  double numbered = 0;
  if (!strings.are_kept) {
    auto const scratch = static_cast<double>(string_numbers_scratch_bytes(static_cast<std::uint64_t>(strings.strings)));
    numbered = contract::stream_ns(2 * strings.bytes + strings.strings * kEntryBytes + scratch, rates) +
               contract::atomic_ns(strings.strings, rates) +
               contract::read_ns(kComparedReads * strings.strings, rates) + rates.submission_ns;
  }
  return {
      {"number strings", numbered},
      {"string keys", contract::stream_ns(strings.rows * kKeyBytes, rates) + contract::read_ns(strings.rows, rates)}};
}

Result<StringGather> StringGather::create(ComputeContext& context, std::uint64_t rows) {
  StringGather gather;
  GARUDA_TRY_ASSIGN(gather.scan_, DeviceScan::create(context, rows));
  GARUDA_TRY_ASSIGN(gather.lengths_, context.device_buffer(rows * sizeof(std::uint32_t), "lengths of strings"));
  GARUDA_TRY_ASSIGN(gather.sums_, context.device_buffer(rows * sizeof(std::uint32_t), "offsets of strings"));
  return gather;
}

Result<std::uint64_t> StringGather::measure(ComputeContext& context, DeviceStrings const& strings,
                                            StringRows const& rows, VkDeviceAddress offsets) {
  shaders::StringLengthsPush push{};
  push.strings = strings.view();
  push.numbers = rows.numbers;
  push.nulls = rows.nulls ? rows.nulls->words : 0;
  push.lengths = lengths_.address();
  push.null_mask = rows.nulls ? 1U << rows.nulls->bit : 0;
  push.num_rows = static_cast<std::uint32_t>(rows.rows);
  GARUDA_TRY(context.dispatch_each(kStringGatherPhase, string_lengths_shape(), push, rows.rows));
  GARUDA_TRY(scan_.record(context, kStringGatherPhase, {lengths_.address(), sums_.address(), rows.rows, offsets}));
  return scan_.read_total(context, kStringGatherPhase);
}

Result<void> StringGather::record_copy(ComputeContext& context, DeviceStrings const& strings, StringRows const& rows,
                                       VkDeviceAddress offsets, std::uint64_t bytes, VkDeviceAddress target) {
  GARUDA_EXPECTS(bytes > 0 && bytes >> 32U == 0);
  shaders::CopyStringsPush push{};
  push.strings = strings.view();
  push.numbers = rows.numbers;
  push.offsets = offsets;
  push.target = target;
  push.num_rows = static_cast<std::uint32_t>(rows.rows);
  push.num_bytes = static_cast<std::uint32_t>(bytes);
  auto const words = groups_for(bytes, sizeof(std::uint32_t));
  auto const tile = std::uint64_t{context.tuning().group_size} * kStringCopyItems;
  return context.dispatch(kStringGatherPhase, copy_strings_shape(), push, groups_for(words, tile), words);
}

std::vector<vk::ComputePipelineSpec> string_pipelines(ComputeTuning const& tuning) {
  std::vector<vk::ComputePipelineSpec> specs;
  for (auto const& shape : {hash_strings_shape(), number_strings_shape(), string_keys_shape(), string_lengths_shape(),
                            copy_strings_shape()})
    specs.push_back(compute_pipeline(shape, tuning));
  return specs;
}

}  // namespace garuda::compute
