#include "operators/cpu/group_by/cpu_group_by.hpp"

#include <algorithm>
#include <bit>
#include <limits>
#include <numeric>
#include <type_traits>
#include <utility>

#include "core/numbers/float_parts.hpp"
#include "core/numbers/wide_integer.hpp"
#include "core/parallel_blocks.hpp"
#include "core/shortage.hpp"
#include "operators/cpu/group_by/column_values.hpp"
#include "operators/cpu/group_by/group_table.hpp"

namespace garuda::cpu {
namespace {

using Ids = std::span<std::uint32_t const>;

/// Largest table over the range of keys: entries a row, and in any case.
constexpr std::uint64_t kDirectEntriesPerRow = 4;
constexpr std::uint64_t kDirectEntries = std::uint64_t{1} << 12;
/// Groups for which a hash table has room at first.
constexpr std::uint64_t kFirstGroups = 512;

/// Calls number(first, ids) for block after block of rows, which writes the ids of their groups in the order of first
/// rows, and notes the heads. Errors: cancelled.
template <class Number>
Result<void> number_rows(RowGroups& groups, Control const* control, Number const& number) {
  for (std::uint64_t first = 0; first < groups.ids.size(); first += kBlockRows) {
    GARUDA_TRY(check_cancelled(control));
    auto const ids = std::span(groups.ids).subspan(first, std::min(kBlockRows, groups.ids.size() - first));
    number(first, ids);
    for (std::size_t i = 0; i < ids.size(); ++i)
      if (ids[i] == groups.heads.size()) groups.heads.push_back(static_cast<std::uint32_t>(first + i));
  }
  return {};
}

/// Numbers rows at the positions of their keys in the key range, which has `entries` of them.
template <class Word>
Result<void> number_by_range(std::span<Word const> keys, std::uint64_t min, std::uint32_t shift, std::uint64_t entries,
                             RowGroups& groups, Control const* control) {
  constexpr auto kNone = std::numeric_limits<std::uint32_t>::max();
  std::vector<std::uint32_t> numbers(entries, kNone);
  std::uint32_t next = 0;
  return number_rows(groups, control, [&](std::uint64_t first, std::span<std::uint32_t> ids) {
    for (std::size_t i = 0; i < ids.size(); ++i) {
      // Keys of the caller's memory may have changed since their range was found.
      auto& number = numbers[std::min<std::uint64_t>((keys[first + i] - min) >> shift, entries - 1)];
      if (number == kNone) number = next++;
      ids[i] = number;
    }
  });
}

template <class Word>
Result<void> number_by_hash(std::span<Word const> keys, MoreWords const& more_words, RowGroups& groups,
                            Control const* control) {
  HashSlots<Word> slots(kFirstGroups, more_words.size());
  return number_rows(groups, control, [&](std::uint64_t first, std::span<std::uint32_t> ids) {
    slots.find(keys.data() + first, more_words, first, ids.size(), ids.data());
  });
}

template <class Word>
Result<void> number_words(std::span<Word const> keys, contract::KeySpan const& span, std::uint32_t shift,
                          RowGroups& groups, Control const* control) {
  auto const last = (span.max - span.min) >> shift;
  if (last < std::max(kDirectEntries, keys.size() * kDirectEntriesPerRow))
    return number_by_range(keys, span.min, shift, last + 1, groups, control);
  return number_by_hash(keys, {}, groups, control);
}

/// Keys of several words of 32 bits are numbered as words of 64.
Result<void> number_many_words(contract::KeyWords const& keys, RowGroups& groups, Control const* control) {
  std::vector<std::vector<std::uint64_t>> wide((keys.words.size() + 1) / 2);
  MoreWords more_words;
  for (std::size_t w = 0; w < wide.size(); ++w) {
    auto const low = keys.words[2 * w];
    auto const high = 2 * w + 1 < keys.words.size() ? keys.words[2 * w + 1] : std::span<std::uint32_t const>{};
    wide[w].resize(low.size());
    for (std::size_t i = 0; i < low.size(); ++i)
      wide[w][i] = low[i] | (high.empty() ? 0 : std::uint64_t{high[i]} << 32);
    if (w > 0) more_words.push_back(wide[w].data());
  }
  return number_by_hash(std::span<std::uint64_t const>(wide[0]), more_words, groups, control);
}

Result<RowGroups> group(contract::GroupSlice const& slice, Control const* control) {
  RowGroups groups;
  groups.ids.resize(slice.num_rows);
  if (slice.num_rows == 0) return groups;
  if (auto const* span = std::get_if<contract::KeySpan>(&slice.keys)) {
    GARUDA_TRY(std::visit([&](auto keys) { return number_words(keys, *span, slice.shared_low_bits, groups, control); },
                          span->words));
  } else if (auto const* words = std::get_if<contract::KeyWords>(&slice.keys)) {
    GARUDA_TRY(number_many_words(*words, groups, control));
  } else {
    groups.heads.push_back(0);
  }
  return groups;
}

/// Calls body(first, groups of these rows) for block after block of rows. Errors: cancelled.
template <class Body>
Result<void> for_row_blocks(Ids ids, Control const* control, Body const& body) {
  for (std::uint64_t first = 0; first < ids.size(); first += kBlockRows) {
    GARUDA_TRY(check_cancelled(control));
    body(first, ids.subspan(first, std::min<std::uint64_t>(kBlockRows, ids.size() - first)));
  }
  return {};
}

/// Calls body(row, group) for every row with a value. Errors: cancelled.
template <class Body>
Result<void> for_all_values(contract::AggregateInput const& input, Ids ids, Control const* control, Body const& body) {
  return for_row_blocks(ids, control,
                        [&](std::uint64_t first, Ids groups) { for_valid_rows(input, first, groups, body); });
}

/// First and last window that the values of a group touch; first > last: none.
struct WindowRange {
  std::uint8_t first = std::numeric_limits<std::uint8_t>::max();
  std::uint8_t last = 0;
};

template <class T>
Result<void> sum_floats(contract::AggregateInput const& input, Ids ids, std::uint64_t num_groups,
                        Control const* control, contract::FloatSums& sums) {
  sums.flags.assign(num_groups, 0);
  sums.first_window.assign(num_groups, 0);
  sums.offsets.assign(num_groups + 1, 0);
  std::vector<WindowRange> ranges(num_groups);
  GARUDA_TRY(for_all_values(input, ids, control, [&](std::uint64_t row, std::uint32_t group) {
    auto const parts = split_float(value_at<T>(input, row));
    sums.flags[group] |= parts.special;
    if (parts.magnitude == 0) return;
    auto const highest = parts.position + static_cast<std::uint32_t>(std::bit_width(parts.magnitude)) - 1;
    auto& range = ranges[group];
    range.first = std::min(range.first, static_cast<std::uint8_t>(parts.position / 64));
    range.last = std::max(range.last, static_cast<std::uint8_t>(highest / 64));
  }));
  for (std::size_t g = 0; g < num_groups; ++g) {
    auto const any = ranges[g].first <= ranges[g].last;
    sums.first_window[g] = any ? ranges[g].first : std::uint8_t{0};
    sums.offsets[g + 1] = sums.offsets[g] + (any ? 1U + ranges[g].last - ranges[g].first : 0U);
  }
  std::vector<Int128> windows(sums.offsets.back());
  GARUDA_TRY(for_all_values(input, ids, control, [&](std::uint64_t row, std::uint32_t group) {
    auto const parts = split_float(value_at<T>(input, row));
    if (parts.magnitude == 0) return;
    auto const shifted = UInt128{parts.magnitude} << (parts.position % 64);
    auto const low = static_cast<Int128>(static_cast<std::uint64_t>(shifted));
    auto const high = static_cast<Int128>(static_cast<std::uint64_t>(shifted >> 64));
    auto* const window = &windows[sums.offsets[group] + parts.position / 64 - sums.first_window[group]];
    window[0] += parts.negative ? -low : low;
    if (high != 0) window[1] += parts.negative ? -high : high;
  }));
  sums.windows.resize(windows.size() * 2);
  for (std::size_t w = 0; w < windows.size(); ++w) {
    sums.windows[2 * w] = static_cast<std::uint64_t>(windows[w]);
    sums.windows[2 * w + 1] = static_cast<std::uint64_t>(windows[w] >> 64);
  }
  return {};
}

Result<contract::AggregateState> aggregate(contract::AggregateInput const& input, Ids ids, std::uint64_t num_groups,
                                           Control const* control) {
  bool const has_float_sum = contract::is_float(input.kind) && (input.states & contract::kSumState) != 0;
  contract::StateRequest request{input.kind, input.states, !input.validity.empty(), input.order};
  if (has_float_sum) request.states &= static_cast<contract::StateSet>(~contract::kSumState);
  contract::AggregateState state;
  if (request.states != 0) {
    ColumnAccumulator column(request);
    column.resize(num_groups);
    column.reserve_rows(ids.size());
    GARUDA_TRY(
        for_row_blocks(ids, control, [&](std::uint64_t first, Ids groups) { column.add(input, first, groups); }));
    std::vector<std::uint32_t> all(num_groups);
    std::iota(all.begin(), all.end(), 0U);
    state = column.states_of(all, control);
    GARUDA_TRY(check_cancelled(control));
  }
  if (input.kind == contract::ValueKind::float32 && has_float_sum)
    GARUDA_TRY(sum_floats<float>(input, ids, num_groups, control, state.float_sums));
  if (input.kind == contract::ValueKind::float64 && has_float_sum)
    GARUDA_TRY(sum_floats<double>(input, ids, num_groups, control, state.float_sums));
  if (!state.sums.empty()) {
    widen_sums(input.kind, contract::sum_words(input.kind), state);
    state.words_per_sum = 0;  // as kernels of devices leave it
  }
  return state;
}

class CpuGroupByKernel final : public contract::GroupByKernel {
 public:
  CpuGroupByKernel(contract::GroupSlice const& slice, Control const* control, contract::StatsSink* stats)
      : slice_(slice), control_(control), stats_(stats) {}

  Result<std::uint64_t> group() override {
    contract::PhaseTimer const timer(stats_, "group", slice_.num_rows * 4, slice_.num_rows);
    GARUDA_TRY_ASSIGN(groups_, group_rows(slice_, control_));
    return groups_.heads.size();
  }

  Result<std::span<std::uint32_t const>> heads() override { return groups_.heads; }

  Result<void> group_ids(std::span<std::uint32_t> out) override {
    GARUDA_EXPECTS(out.size() == groups_.ids.size());
    std::copy(groups_.ids.begin(), groups_.ids.end(), out.begin());
    return {};
  }

  Result<contract::AggregateState> aggregate(contract::AggregateInput const& input) override {
    contract::PhaseTimer const timer(stats_, "aggregate", input.values.size_bytes() + slice_.num_rows * 4,
                                     slice_.num_rows);
    return aggregate_rows(input, groups_.ids, groups_.heads.size(), control_);
  }

 private:
  contract::GroupSlice slice_;
  Control const* control_;
  contract::StatsSink* stats_;
  RowGroups groups_;
};

class CpuGroupByBackend final : public contract::GroupByBackend {
 public:
  explicit CpuGroupByBackend(contract::GroupByBackendOptions const& options)
      : control_(options.control), stats_(options.stats) {}

  Result<std::unique_ptr<contract::GroupByKernel>> begin(contract::GroupSlice const& slice, std::uint32_t) override {
    return std::make_unique<CpuGroupByKernel>(slice, control_, stats_);
  }

 private:
  Control const* control_;
  contract::StatsSink* stats_;
};

}  // namespace

Result<RowGroups> group_rows(contract::GroupSlice const& slice, Control const* control) {
  GARUDA_EXPECTS(slice.num_rows < std::numeric_limits<std::uint32_t>::max());
  return or_out_of_memory("the groups of a slice", [&] { return group(slice, control); });
}

Result<contract::AggregateState> aggregate_rows(contract::AggregateInput const& input,
                                                std::span<std::uint32_t const> ids, std::uint64_t num_groups,
                                                Control const* control) {
  return or_out_of_memory("the aggregates of a slice", [&] { return aggregate(input, ids, num_groups, control); });
}

void widen_sums(contract::ValueKind kind, std::uint32_t words, contract::AggregateState& state) {
  auto const before = state.words_per_sum;
  if (before >= words) return;
  bool const is_unsigned = kind == contract::ValueKind::uint32 || kind == contract::ValueKind::uint64;
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

Result<std::unique_ptr<contract::GroupByBackend>> open_cpu_group_by(contract::GroupByBackendOptions const& options) {
  return std::make_unique<CpuGroupByBackend>(options);
}

}  // namespace garuda::cpu
