#include "operators/compute/join/dealt_slice.hpp"

#include <algorithm>
#include <utility>
#include <variant>

namespace garuda::compute {
namespace {

keys::EncodedKeys encoded(contract::KeySpan const& span, std::uint32_t shared_low_bits) {
  keys::EncodedKeys keys;
  keys.key_bits = std::holds_alternative<std::span<std::uint32_t const>>(span.words) ? 32 : 64;
  keys.num_rows = keys.table_rows = span.size();
  keys.words = std::visit([](auto const& words) { return static_cast<void const*>(words.data()); }, span.words);
  keys.min = span.min;
  keys.max = span.max;
  keys.common_low_bits = shared_low_bits;
  return keys;
}

}  // namespace

Result<DealtSlice> DealtSlice::create(contract::JoinSlice const& slice, std::uint32_t bits, Control const& control) {
  auto left = encoded(slice.left, slice.shared_low_bits);
  auto right = encoded(slice.right, slice.shared_low_bits);
  GARUDA_TRY_ASSIGN(auto choice, partition::choose_digit(left, right, bits, control));
  // Both sides have row numbers, so there are two partitions at least.
  if (choice.digit.bits == 0) choice = {{1, 0, true}, {}, {}};
  DealtSlice dealt;
  dealt.bits_ = choice.digit.bits;
  partition::PartitionOptions options;
  options.counts = std::move(choice.left);
  GARUDA_TRY_ASSIGN(dealt.left_,
                    partition::radix_partition(std::move(left), choice.digit, control, std::move(options)));
  options = {};
  options.counts = std::move(choice.right);
  GARUDA_TRY_ASSIGN(dealt.right_,
                    partition::radix_partition(std::move(right), choice.digit, control, std::move(options)));
  return dealt;
}

Result<PartitionedSide> DealtSlice::side(ComputeContext& context, Side side) const {
  auto const& keys = side == Side::left ? left_ : right_;
  DealtRows dealt;
  dealt.rows = keys.num_rows();
  dealt.key_words = keys.key_bits / 32;
  dealt.bits = bits_;
  auto const bytes = [&](void const* words, std::uint64_t each) {
    return std::span(static_cast<std::byte const*>(words), dealt.rows * each);
  };
  GARUDA_TRY_ASSIGN(dealt.keys, context.input(bytes(keys.keys, keys.key_bits / 8), "dealt keys", keys.key_bits / 8));
  GARUDA_TRY_ASSIGN(dealt.numbers, context.input(bytes(keys.row_ids, 4), "dealt row numbers", 4));
  GARUDA_TRY_ASSIGN(dealt.starts, context.upload_buffer(keys.offsets.size() * 4, "starts of partitions"));
  GARUDA_TRY(context.make(dealt.starts, [&](std::span<std::uint32_t> starts) {
    std::ranges::transform(keys.offsets, starts.begin(), [](auto start) { return static_cast<std::uint32_t>(start); });
  }));
  return PartitionedSide(std::move(dealt));
}

}  // namespace garuda::compute
