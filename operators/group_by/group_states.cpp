#include "operators/group_by/group_states.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <new>
#include <numeric>
#include <span>
#include <utility>

#include "core/numbers/wide_integer.hpp"
#include "keys/key_layout.hpp"
#include "operators/cpu/group_by/cpu_group_by.hpp"

namespace garuda::group_by {
namespace {

using Ids = std::span<std::uint32_t const>;

template <class Vector>
void append(Vector& into, Vector const& from) {
  into.insert(into.end(), from.begin(), from.end());
}

template <class Vector>
std::uint64_t bytes_of(Vector const& values) {
  return values.capacity() * sizeof(typename Vector::value_type);
}

/// into += from, two's complement integers of `words` words.
void add_words(std::uint64_t* into, std::uint64_t const* from, std::uint32_t words) {
  std::uint64_t carry = 0;
  for (std::uint32_t w = 0; w < words; ++w) {
    auto const total = UInt128{into[w]} + from[w] + carry;
    into[w] = static_cast<std::uint64_t>(total);
    carry = static_cast<std::uint64_t>(total >> 64);
  }
}

bool is_less(keys::ColumnOrder const* order, std::uint64_t const* a, std::uint64_t const* b, std::uint32_t words) {
  if (order != nullptr) return order->is_less(wide_word(a), wide_word(b));
  while (words-- > 0)
    if (a[words] != b[words]) return a[words] < b[words];
  return false;
}

/// Windows of a group: [first, end).
struct Windows {
  std::uint32_t first = std::numeric_limits<std::uint32_t>::max();
  std::uint32_t end = 0;

  std::uint32_t count() const noexcept { return first < end ? end - first : 0; }
};

contract::FloatSums folded_sums(contract::FloatSums const& from, Ids ids, std::uint64_t num_groups) {
  std::vector<Windows> ranges(num_groups);
  for (std::size_t g = 0; g < ids.size(); ++g) {
    auto const count = static_cast<std::uint32_t>(from.offsets[g + 1] - from.offsets[g]);
    if (count == 0) continue;
    auto& range = ranges[ids[g]];
    range.first = std::min<std::uint32_t>(range.first, from.first_window[g]);
    range.end = std::max(range.end, from.first_window[g] + count);
  }
  contract::FloatSums into;
  into.flags.assign(num_groups, 0);
  into.first_window.resize(num_groups);
  into.offsets.assign(num_groups + 1, 0);
  for (std::size_t g = 0; g < num_groups; ++g) {
    if (ranges[g].count() > 0) into.first_window[g] = static_cast<std::uint8_t>(ranges[g].first);
    into.offsets[g + 1] = into.offsets[g] + ranges[g].count();
  }
  into.windows.assign(2 * into.offsets.back(), 0);
  for (std::size_t g = 0; g < ids.size(); ++g) {
    into.flags[ids[g]] |= from.flags[g];
    auto to = into.offsets[ids[g]] + from.first_window[g] - into.first_window[ids[g]];
    for (auto w = from.offsets[g]; w < from.offsets[g + 1]; ++w, ++to)
      add_words(&into.windows[2 * to], &from.windows[2 * w], 2);
  }
  return into;
}

/// The values of groups that become one follow one another in the order of these groups.
contract::ValueLists folded_lists(contract::ValueLists const& from, Ids ids, std::uint64_t num_groups,
                                  std::uint32_t words) {
  contract::ValueLists into;
  into.offsets.assign(num_groups + 1, 0);
  for (std::size_t g = 0; g < ids.size(); ++g)
    into.offsets[std::size_t{ids[g]} + 1] += from.offsets[g + 1] - from.offsets[g];
  std::partial_sum(into.offsets.begin(), into.offsets.end(), into.offsets.begin());
  into.words.resize(words * into.offsets.back());
  auto next = into.offsets;
  for (std::size_t g = 0; g < ids.size(); ++g) {
    auto const count = from.offsets[g + 1] - from.offsets[g];
    std::copy_n(from.words.begin() + static_cast<std::ptrdiff_t>(words * from.offsets[g]), words * count,
                into.words.begin() + static_cast<std::ptrdiff_t>(words * next[ids[g]]));
    next[ids[g]] += count;
  }
  return into;
}

/// The states of `num_groups` groups, of which group ids[g] takes what group g of `from` has. A group that takes
/// nothing has no values.
contract::AggregateState folded(resolve::StateColumn const& column, contract::AggregateState const& from, Ids ids,
                                std::uint64_t num_groups) {
  auto const words = contract::extreme_words(column.kind);
  auto const sum_words = contract::sum_words(column.kind);
  auto const wants = [&](contract::StateSet states) { return (column.states & states) != 0; };
  bool const has_integer_sum = wants(contract::kSumState) && !contract::is_float(column.kind);
  contract::AggregateState into;
  if (wants(contract::kCountState)) into.counts.resize(num_groups, 0);
  if (has_integer_sum) into.sums.resize(num_groups * sum_words, 0);
  if (wants(contract::kMinState)) into.minima.resize(num_groups * words, std::numeric_limits<std::uint64_t>::max());
  if (wants(contract::kMaxState)) into.maxima.resize(num_groups * words, 0);
  if (wants(contract::kSumState) && !has_integer_sum) into.float_sums = folded_sums(from.float_sums, ids, num_groups);
  if (column.has_lists()) into.lists = folded_lists(from.lists, ids, num_groups, words);
  std::vector<bool> has_extremes(num_groups);  // those of a group without values are unspecified
  for (std::size_t g = 0; g < ids.size(); ++g) {
    auto const to = std::size_t{ids[g]};
    if (!into.counts.empty()) into.counts[to] += from.counts[g];
    if (has_integer_sum) add_words(&into.sums[to * sum_words], &from.sums[g * sum_words], sum_words);
    if (resolve::is_empty_group(from, g)) continue;
    bool const is_first = !has_extremes[to];
    has_extremes[to] = true;
    auto const take = [&](auto const& source, auto& target, bool less) {
      if (target.empty()) return;
      auto const* const value = &source[g * words];
      auto* const best = &target[to * words];
      bool const better = less ? is_less(column.order, value, best, words) : is_less(column.order, best, value, words);
      if (is_first || better) std::copy_n(value, words, best);
    };
    take(from.minima, into.minima, true);
    take(from.maxima, into.maxima, false);
  }
  return into;
}

/// Appends offsets that begin at 0 to others.
void append_offsets(contract::Words const& from, contract::Words& into) {
  if (from.empty()) return;
  if (into.empty()) into.push_back(0);
  auto const base = into.back();
  for (std::size_t g = 1; g < from.size(); ++g) into.push_back(base + from[g]);
}

}  // namespace

HeadKeys HeadKeys::of(contract::GroupSlice const& slice, std::span<std::uint32_t const> heads) {
  HeadKeys keys;
  auto const pick = [&](auto const& from, auto& to) {
    to.reserve(heads.size());
    for (auto const head : heads) to.push_back(from[head]);
  };
  if (auto const* span = std::get_if<contract::KeySpan>(&slice.keys)) {
    if (auto const* words = std::get_if<std::span<std::uint32_t const>>(&span->words)) pick(*words, keys.packed32);
    if (auto const* words = std::get_if<std::span<std::uint64_t const>>(&span->words)) pick(*words, keys.packed64);
  } else if (auto const* words = std::get_if<contract::KeyWords>(&slice.keys)) {
    keys.words.resize(words->words.size());
    for (std::size_t w = 0; w < keys.words.size(); ++w) pick(words->words[w], keys.words[w]);
  }
  return keys;
}

void HeadKeys::append(HeadKeys const& other) {
  group_by::append(packed32, other.packed32);
  group_by::append(packed64, other.packed64);
  words.resize(other.words.size());
  for (std::size_t w = 0; w < words.size(); ++w) group_by::append(words[w], other.words[w]);
}

contract::GroupSlice HeadKeys::slice(std::uint64_t num_rows) const {
  constexpr auto kMax = std::numeric_limits<std::uint64_t>::max();
  contract::GroupSlice slice{num_rows, contract::NoKeys{}, 0};
  if (!packed32.empty())
    slice.keys = contract::KeySpan{std::span(packed32), 0, std::numeric_limits<std::uint32_t>::max(), {}};
  if (!packed64.empty()) slice.keys = contract::KeySpan{std::span(packed64), 0, kMax - 1, {}};
  if (!words.empty()) slice.keys = contract::KeyWords{{words.begin(), words.end()}};
  return slice;
}

std::uint64_t GroupChunk::bytes() const noexcept {
  auto bytes = bytes_of(head_rows) + bytes_of(keys.packed32) + bytes_of(keys.packed64);
  for (auto const& word : keys.words) bytes += bytes_of(word);
  for (auto const& word : key_words) bytes += bytes_of(word);
  for (auto const& state : states)
    bytes += bytes_of(state.counts) + bytes_of(state.sums) + bytes_of(state.minima) + bytes_of(state.maxima) +
             bytes_of(state.lists.offsets) + bytes_of(state.lists.words) + bytes_of(state.float_sums.flags) +
             bytes_of(state.float_sums.first_window) + bytes_of(state.float_sums.offsets) +
             bytes_of(state.float_sums.windows);
  return bytes;
}

Result<contract::AggregateState> states_on_host(contract::GroupByKernel& kernel, contract::AggregateInput const& input,
                                                std::uint64_t num_rows, std::uint64_t num_groups,
                                                run::RunRecorder& recorder, Control const& control) {
  run::PhaseTimer const timer(recorder, "aggregate", input.values.size_bytes(), num_rows);
  std::vector<std::uint32_t> ids(num_rows);
  GARUDA_TRY(kernel.group_ids(ids));
  return cpu::aggregate_rows(input, ids, num_groups, &control);
}

GroupChunk chunk_of(contract::GroupPart part, std::uint32_t partition) {
  GroupChunk chunk;
  chunk.partition = partition;
  chunk.head_rows = std::move(part.first_rows);
  chunk.key_words.push_back(std::move(part.keys));
  for (auto& words : part.more_words) chunk.key_words.push_back(std::move(words));
  std::vector<std::uint64_t*> columns;
  for (auto& words : chunk.key_words) columns.push_back(words.data());
  keys::fold_words(columns, chunk.key_words[0].size());
  chunk.states = std::move(part.states);
  return chunk;
}

GroupChunk no_rows_group(std::vector<resolve::StateColumn> const& columns) {
  GroupChunk group;
  group.head_rows.push_back(0);
  for (auto column : columns) {
    column.states |= contract::kCountState;  // 0 of them: the group has no values
    group.states.push_back(folded(column, {}, {}, 1));
  }
  return group;
}

Result<void> merge_groups(std::vector<resolve::StateColumn> const& columns, GroupChunk next, Control const& control,
                          GroupChunk& groups) {
  try {
    auto const total = groups.size() + next.size();
    if (total >= std::numeric_limits<std::uint32_t>::max())
      return fail(ErrorCode::limit_exceeded,
                  fmt::format("too many groups in one partition, use more radix bits: {}", total));
    groups.keys.append(next.keys);
    append_groups(columns, std::move(next), groups);
    GARUDA_TRY_ASSIGN(auto const merged, cpu::group_rows(groups.keys.slice(total), &control));
    if (merged.heads.size() == total) return {};
    for (std::size_t c = 0; c < columns.size(); ++c)
      groups.states[c] = folded(columns[c], groups.states[c], merged.ids, merged.heads.size());
    for (std::size_t g = 0; g < merged.heads.size(); ++g) groups.head_rows[g] = groups.head_rows[merged.heads[g]];
    groups.head_rows.resize(merged.heads.size());
    groups.keys = HeadKeys::of(groups.keys.slice(total), merged.heads);
    return {};
  } catch (std::bad_alloc const&) {
    return fail(ErrorCode::out_of_memory, "no memory to merge the groups of a partition's slices");
  }
}

void append_groups(std::vector<resolve::StateColumn> const& columns, GroupChunk&& next, GroupChunk& groups) {
  append(groups.head_rows, next.head_rows);
  for (std::size_t w = 0; w < next.key_words.size(); ++w) append(groups.key_words[w], next.key_words[w]);
  for (std::size_t c = 0; c < next.states.size(); ++c) {
    auto& into = groups.states[c];
    auto from = std::exchange(next.states[c], {});
    append(into.counts, from.counts);
    cpu::widen_sums(columns[c].kind, from.words_per_sum, into);
    cpu::widen_sums(columns[c].kind, into.words_per_sum, from);
    append(into.sums, from.sums);
    into.sum_exponent = from.sum_exponent;
    append(into.minima, from.minima);
    append(into.maxima, from.maxima);
    auto& sums = into.float_sums;
    append(sums.flags, from.float_sums.flags);
    append(sums.first_window, from.float_sums.first_window);
    append(sums.windows, from.float_sums.windows);
    append_offsets(from.float_sums.offsets, sums.offsets);
    append(into.lists.words, from.lists.words);
    append_offsets(from.lists.offsets, into.lists.offsets);
  }
}

void reserve_groups(std::uint64_t count, GroupChunk& groups) {
  auto const size = std::max<std::uint64_t>(groups.size(), 1);
  auto const reserve = [=](auto& words) { words.reserve(words.size() / size * count); };
  reserve(groups.head_rows);
  for (auto& words : groups.key_words) reserve(words);
  for (auto& state : groups.states)
    for (auto* words : {&state.counts, &state.sums, &state.minima, &state.maxima}) reserve(*words);
}

}  // namespace garuda::group_by
