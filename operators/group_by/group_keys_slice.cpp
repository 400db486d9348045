#include "operators/group_by/group_keys_slice.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "core/parallel_blocks.hpp"

namespace garuda::group_by {

std::vector<GroupTask> cut_group_tasks(std::vector<std::uint64_t> const& offsets, std::uint64_t slice_rows) {
  GARUDA_EXPECTS(slice_rows > 0);
  std::vector<GroupTask> tasks;
  for (std::size_t p = 0; p + 1 < offsets.size(); ++p) {
    auto const whole = offsets[p + 1] - offsets[p] <= slice_rows;
    for (auto begin = offsets[p]; begin < offsets[p + 1]; begin += slice_rows)
      tasks.push_back({static_cast<std::uint32_t>(p), begin, std::min(begin + slice_rows, offsets[p + 1]), whole});
  }
  return tasks;
}

PartitionedGroupKeys PartitionedGroupKeys::without_keys(std::uint64_t num_rows) {
  PartitionedGroupKeys keys;
  keys.order_.offsets = {0, num_rows};
  keys.order_.ranges.resize(1);
  return keys;
}

Result<PartitionedGroupKeys> PartitionedGroupKeys::partition(keys::EncodedGroupKeys keys, partition::RadixDigit digit,
                                                             Control const& control) {
  PartitionedGroupKeys out;
  out.form_ = keys.is_packed ? Form::packed : Form::words;
  out.digit_ = digit;
  out.keys_ = std::move(keys);
  if (out.form_ == Form::packed) {
    partition::PartitionOptions options;
    options.ranges = true;
    GARUDA_TRY_ASSIGN(out.order_,
                      partition::radix_partition(std::move(out.keys_.packed), digit, control, std::move(options)));
    return out;
  }
  GARUDA_TRY_ASSIGN(out.order_, partition::radix_partition(keys::partition_words(out.keys_), digit, control));
  // Slices take the words themselves, only their order comes from the partitioning.
  out.order_.keys = nullptr;
  out.order_.owned_keys = {};
  return out;
}

Result<PartitionedGroupKeys::Slice> PartitionedGroupKeys::slice(GroupTask const& task, Control const& control) const {
  Slice slice;
  slice.keys.num_rows = task.size();
  if (form_ == Form::none) return slice;
  if (form_ == Form::packed) {
    contract::KeySpan span;
    if (order_.key_bits == 32)
      span.words = order_.keys32().subspan(task.begin, task.size());
    else
      span.words = order_.keys64().subspan(task.begin, task.size());
    span.min = order_.ranges[task.partition].min;
    span.max = order_.ranges[task.partition].max;
    slice.keys.keys = span;
    slice.keys.shared_low_bits = partition::shared_low_bits(digit_);
    return slice;
  }
  // Both halves of the first word, which is a hash of all where there are others.
  contract::KeyWords words{{}, 0, 2};
  auto const rows = this->rows(task);
  for (std::size_t w = 0; w < keys_.words.size(); ++w) {
    auto const from = keys_.word(w);
    std::array<std::uint32_t*, 2> halves{};
    for (auto& half : halves) {
      GARUDA_TRY_ASSIGN(auto buffer, AlignedBuffer::allocate(static_cast<std::int64_t>(task.size() * 4)));
      half = buffer.as<std::uint32_t>();
      words.words.emplace_back(half, task.size());
      slice.words.push_back(std::move(buffer));
    }
    auto const blocks = (task.size() + kBlockRows - 1) / kBlockRows;
    GARUDA_TRY(for_each_block(blocks, &control, [&](std::size_t block) {
      auto const end = std::min(task.size(), (block + 1) * kBlockRows);
      for (auto i = block * kBlockRows; i < end; ++i) {
        auto const word = from[rows.is_sequential() ? task.begin + i : rows[i]];
        halves[0][i] = static_cast<std::uint32_t>(word);
        halves[1][i] = static_cast<std::uint32_t>(word >> 32);
      }
    }));
  }
  slice.keys.keys = std::move(words);
  return slice;
}

}  // namespace garuda::group_by
