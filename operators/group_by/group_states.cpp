#include "operators/group_by/group_states.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <new>
#include <numeric>
#include <span>
#include <type_traits>
#include <utility>

#include "core/numbers/wide_integer.hpp"
#include "keys/key_layout.hpp"
#include "operators/cpu/group_by/cpu_aggregates.hpp"
#include "operators/cpu/group_by/group_rows.hpp"

namespace garuda::group_by {
namespace {

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

/// Windows of a group: [first, first + count).
struct Windows {
  std::uint32_t first = 0;
  std::uint32_t count = 0;

  std::uint32_t end() const noexcept { return first + count; }
};

Windows windows_of(contract::FloatSums const& sums, std::uint64_t group) {
  return {sums.first_window[group], static_cast<std::uint32_t>(sums.offsets[group + 1] - sums.offsets[group])};
}

Windows unite(Windows a, Windows b) {
  if (a.count == 0) return b;
  if (b.count == 0) return a;
  auto const first = std::min(a.first, b.first);
  return {first, std::max(a.end(), b.end()) - first};
}

void add_windows(contract::FloatSums const& from, std::uint64_t from_group, contract::FloatSums& into,
                 std::uint64_t into_group) {
  auto const source = windows_of(from, from_group);
  for (std::uint32_t w = 0; w < source.count; ++w) {
    auto const target = into.offsets[into_group] + source.first + w - into.first_window[into_group];
    add_words(&into.windows[2 * target], &from.windows[2 * (from.offsets[from_group] + w)], 2);
  }
  into.flags[into_group] |= from.flags[from_group];
}

void merge_float_sums(contract::FloatSums const& from, std::vector<std::uint32_t> const& ids,
                      contract::FloatSums& into) {
  auto const groups = into.flags.size();
  std::vector<Windows> ranges(groups);
  for (std::size_t g = 0; g < groups; ++g) ranges[g] = windows_of(into, g);
  for (std::size_t g = 0; g < ids.size(); ++g) ranges[ids[g]] = unite(ranges[ids[g]], windows_of(from, g));
  contract::FloatSums merged;
  merged.flags.assign(groups, 0);
  merged.first_window.resize(groups);
  merged.offsets.assign(groups + 1, 0);
  for (std::size_t g = 0; g < groups; ++g) {
    merged.first_window[g] = static_cast<std::uint8_t>(ranges[g].first);
    merged.offsets[g + 1] = merged.offsets[g] + ranges[g].count;
  }
  merged.windows.assign(2 * merged.offsets.back(), 0);
  for (std::size_t g = 0; g < groups; ++g) add_windows(into, g, merged, g);
  for (std::size_t g = 0; g < ids.size(); ++g) add_windows(from, g, merged, ids[g]);
  into = std::move(merged);
}

/// Values of groups that `from` adds to come behind those of `into`.
void merge_lists(contract::ValueLists const& from, std::vector<std::uint32_t> const& ids, std::uint32_t words,
                 contract::ValueLists& into) {
  contract::ValueLists merged;
  merged.offsets.assign(into.offsets.size(), 0);
  for (std::size_t g = 0; g + 1 < into.offsets.size(); ++g)
    merged.offsets[g + 1] = into.offsets[g + 1] - into.offsets[g];
  for (std::size_t g = 0; g < ids.size(); ++g)
    merged.offsets[std::size_t{ids[g]} + 1] += from.offsets[g + 1] - from.offsets[g];
  std::partial_sum(merged.offsets.begin(), merged.offsets.end(), merged.offsets.begin());
  merged.words.resize(words * merged.offsets.back());
  auto next = merged.offsets;
  auto const copy = [&](contract::ValueLists const& lists, std::size_t group, std::size_t to) {
    auto const count = lists.offsets[group + 1] - lists.offsets[group];
    std::copy_n(lists.words.begin() + static_cast<std::ptrdiff_t>(words * lists.offsets[group]), words * count,
                merged.words.begin() + static_cast<std::ptrdiff_t>(words * next[to]));
    next[to] += count;
  };
  for (std::size_t g = 0; g + 1 < into.offsets.size(); ++g) copy(into, g, g);
  for (std::size_t g = 0; g < ids.size(); ++g) copy(from, g, ids[g]);
  into = std::move(merged);
}

/// Appends offsets that begin at 0 to others.
void append_offsets(contract::Words const& from, contract::Words& into) {
  if (from.empty()) return;
  if (into.empty()) into.push_back(0);
  auto const base = into.back();
  for (std::size_t g = 1; g < from.size(); ++g) into.push_back(base + from[g]);
}

/// Gives sums at least `words` words a group.
void widen_sums(contract::ValueKind kind, std::uint32_t words, contract::AggregateState& state) {
  auto const before = state.words_per_sum;
  if (before >= words) return;
  auto const is_unsigned = kind == contract::ValueKind::uint32 || kind == contract::ValueKind::uint64;
  auto const groups = before == 0 ? 0 : state.sums.size() / before;
  contract::Words wide(groups * words);
  for (std::size_t g = 0; g < groups; ++g) {
    auto const* const from = &state.sums[g * before];
    auto const sign = !is_unsigned && (from[before - 1] >> 63) != 0 ? ~std::uint64_t{0} : 0;
    auto* const to = &wide[g * words];
    std::copy_n(from, before, to);
    std::fill(to + before, to + words, sign);
  }
  state.sums = std::move(wide);
  state.words_per_sum = words;
}

bool has_float_sum(resolve::StateColumn const& column) {
  return contract::is_float(column.kind) && (column.states & contract::kSumState) != 0;
}
bool has_integer_sum(resolve::StateColumn const& column) {
  return !contract::is_float(column.kind) && (column.states & contract::kSumState) != 0;
}

/// Makes room for more groups, all without values.
void grow_state(resolve::StateColumn const& column, std::uint64_t num_groups, contract::AggregateState& state) {
  auto const grow_offsets = [&](contract::Words& offsets) {
    if (offsets.empty()) offsets.push_back(0);
    offsets.resize(num_groups + 1, offsets.back());
  };
  if ((column.states & contract::kCountState) != 0) state.counts.resize(num_groups, 0);
  if (has_integer_sum(column)) state.sums.resize(num_groups * contract::sum_words(column.kind), 0);
  if (has_float_sum(column)) {
    auto& sums = state.float_sums;
    sums.flags.resize(num_groups, 0);
    sums.first_window.resize(num_groups, 0);
    grow_offsets(sums.offsets);
  }
  if (column.has_lists()) grow_offsets(state.lists.offsets);
  auto const words = num_groups * contract::extreme_words(column.kind);
  if ((column.states & contract::kMinState) != 0) state.minima.resize(words, std::numeric_limits<std::uint64_t>::max());
  if ((column.states & contract::kMaxState) != 0) state.maxima.resize(words, 0);
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
    grow_state(column, 1, group.states.emplace_back());
  }
  return group;
}

void merge_state(resolve::StateColumn const& column, contract::AggregateState const& from,
                 std::vector<std::uint32_t> const& ids, contract::AggregateState& into) {
  auto const words = contract::extreme_words(column.kind);
  auto const num_sum_words = contract::sum_words(column.kind);
  for (std::size_t g = 0; g < ids.size(); ++g) {
    auto const to = std::size_t{ids[g]};
    // The extremes of a group without values are unspecified.
    bool const is_first = resolve::is_empty_group(into, to);
    if (!from.counts.empty()) into.counts[to] += from.counts[g];
    if (!from.sums.empty()) add_words(&into.sums[to * num_sum_words], &from.sums[g * num_sum_words], num_sum_words);
    if (resolve::is_empty_group(from, g)) continue;
    auto const take = [&](auto const& source, auto& target, bool less) {
      if (source.empty()) return;
      auto const* const value = &source[g * words];
      auto* const best = &target[to * words];
      bool const better = less ? is_less(column.order, value, best, words) : is_less(column.order, best, value, words);
      if (is_first || better) std::copy_n(value, words, best);
    };
    take(from.minima, into.minima, true);
    take(from.maxima, into.maxima, false);
  }
  if (has_float_sum(column)) merge_float_sums(from.float_sums, ids, into.float_sums);
  if (column.has_lists()) merge_lists(from.lists, ids, words, into.lists);
}

Result<void> merge_groups(std::vector<resolve::StateColumn> const& columns, GroupChunk const& next,
                          Control const& control, GroupChunk& groups) {
  try {
    auto const before = groups.size();
    if (before + next.size() >= std::numeric_limits<std::uint32_t>::max())
      return fail(ErrorCode::limit_exceeded,
                  fmt::format("too many groups in one partition, use more radix bits: {}", before + next.size()));
    groups.keys.append(next.keys);
    auto const total = before + next.size();
    GARUDA_TRY_ASSIGN(auto const merged, cpu::group_rows(groups.keys.slice(total), &control));
    std::vector<std::uint32_t> const ids(merged.ids.begin() + static_cast<std::ptrdiff_t>(before), merged.ids.end());
    for (std::size_t c = 0; c < columns.size(); ++c) {
      grow_state(columns[c], merged.heads.size(), groups.states[c]);
      merge_state(columns[c], next.states[c], ids, groups.states[c]);
    }
    for (std::size_t g = before; g < merged.heads.size(); ++g)
      groups.head_rows.push_back(next.head_rows[merged.heads[g] - before]);
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
    widen_sums(columns[c].kind, from.words_per_sum, into);
    widen_sums(columns[c].kind, into.words_per_sum, from);
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
