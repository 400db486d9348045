#include "operators/cpu/group_by/growing_groups.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "core/shortage.hpp"
#include "operators/cpu/group_by/accumulators.hpp"
#include "operators/cpu/group_by/column_values.hpp"
#include "operators/cpu/group_by/float_range.hpp"
#include "operators/cpu/group_by/group_table.hpp"
#include "operators/cpu/group_by/sum_rows.hpp"

namespace garuda::cpu {
namespace {

/// Rows whose groups stay in the first-level cache while their values are added.
constexpr std::uint64_t kStepRows = 2048;

/// More rows than a query sees: the sums of so many floats have room.
constexpr std::uint64_t kMostRows = std::uint64_t{1} << 40;

/// So few groups are added to one after the other.
constexpr std::uint64_t kFewGroups = 32;

/// The part of a request that a ColumnAccumulator keeps: counts follow from a group's rows and nulls, and sums of
/// floats are FixedPointSums.
contract::StateRequest accumulated(contract::StateRequest request) {
  if (sums_floats(request)) request.states &= static_cast<contract::StateSet>(~contract::kSumState);
  request.states &= static_cast<contract::StateSet>(~contract::kCountState);
  return request;
}

/// Sums of the floats of one column, a group each.
struct FixedPointSums {
  static constexpr std::size_t kWords = 2;

  FloatTotals totals;
  StateArray<std::uint64_t> words;  ///< kWords of each group
};

/// The groups of one lane.
class LaneGroups {
 public:
  /// `points`: of each request that sums floats.
  LaneGroups(std::span<contract::StateRequest const> requests, std::span<FixedPoint const> points)
      : requests_(requests.begin(), requests.end()), floats_(requests.size()), nulls_(requests.size()) {
    for (std::size_t c = 0; c < requests.size(); ++c) {
      columns_.emplace_back(accumulated(requests[c]));
      if (sums_floats(requests[c])) floats_[c].emplace(FloatTotals(requests[c].kind, points[c]));
    }
  }

  void add(contract::KeyedRows const& rows, std::vector<std::int64_t>& heads) {
    // Rows of a lane seldom come in another order than they stand: only then does a group's first row change.
    bool const is_behind = rows.first >= end_;
    end_ = std::max(end_, rows.first + rows.count);
    if (rows.words.empty()) return add_to_one(rows, heads);
    MoreWords const more(rows.words.begin() + 1, rows.words.end());
    if (slots_ == nullptr) slots_ = std::make_unique<HashSlots<std::uint64_t>>(0, more.size());
    std::uint32_t groups[kStepRows];
    for (std::uint64_t first = 0; first < rows.count; first += kStepRows) {
      std::span const found(groups, std::min(kStepRows, rows.count - first));
      find(rows, more, first, found, heads);
      if (!is_behind)
        for (std::size_t i = 0; i < found.size(); ++i)
          first_rows_[found[i]] = std::min(first_rows_[found[i]], rows.first + first + i);
      if (size() <= kFewGroups)
        add_by_group(rows, first, found);
      else
        add_row_by_row(rows, first, found);
    }
  }

  std::span<std::uint64_t const> first_rows() const noexcept { return first_rows_.values(); }
  std::uint64_t size() const noexcept { return first_rows_.size(); }

  /// Makes groups without rows.
  void resize(std::uint64_t num_groups) {
    first_rows_.resize(num_groups, ~std::uint64_t{0});
    rows_.resize(num_groups);
    for (std::size_t c = 0; c < columns_.size(); ++c) {
      columns_[c].resize(num_groups);
      if (floats_[c]) floats_[c]->words.resize(num_groups * FixedPointSums::kWords);
      if (!nulls_[c].empty()) nulls_[c].resize(num_groups);
    }
  }

  /// Adds the groups of `from`: group g to group_of[g].
  void merge(LaneGroups const& from, std::span<std::uint32_t const> group_of) {
    std::vector<std::uint32_t> all(group_of.size());
    std::iota(all.begin(), all.end(), 0U);
    for (std::size_t g = 0; g < all.size(); ++g) rows_[group_of[g]] += from.rows_[g];
    for (std::size_t c = 0; c < columns_.size(); ++c) {
      columns_[c].merge(from.columns_[c], all, group_of);
      if (floats_[c]) merge_floats(*from.floats_[c], group_of, *floats_[c]);
      if (from.nulls_[c].empty()) continue;
      nulls_[c].resize(size());
      for (std::size_t g = 0; g < all.size(); ++g) nulls_[c][group_of[g]] += from.nulls_[c][g];
    }
  }

  /// False: floats lay so far from where they were expected that their sums are lost.
  bool fits() const {
    return std::ranges::all_of(floats_, [](auto const& floats) { return !floats || floats->totals.fits(); });
  }

  std::vector<contract::AggregateState> states() const {
    std::vector<std::uint32_t> all(size());
    std::iota(all.begin(), all.end(), 0U);
    std::vector<contract::AggregateState> states;
    for (std::size_t c = 0; c < columns_.size(); ++c) {
      auto& state = states.emplace_back(columns_[c].states_of(all, nullptr));
      if (floats_[c]) {
        state.words_per_sum = FixedPointSums::kWords;
        state.sums.assign(floats_[c]->words.values().begin(), floats_[c]->words.values().end());
        state.sum_exponent = floats_[c]->totals.exponent();
      }
      if ((requests_[c].states & contract::kCountState) == 0) continue;
      state.counts.assign(rows_.values().begin(), rows_.values().end());
      for (std::uint64_t g = 0; g < nulls_[c].size(); ++g) state.counts[g] -= nulls_[c][g];
    }
    return states;
  }

 private:
  /// Adds rows without keys, which have one group.
  void add_to_one(contract::KeyedRows const& rows, std::vector<std::int64_t>& heads) {
    if (rows.count == 0) return;
    if (size() == 0) {
      resize(1);
      heads.push_back(0);
    }
    first_rows_[0] = std::min(first_rows_[0], rows.first);
    rows_[0] += rows.count;
    // Columns one after the other while their values are cached.
    for (std::uint64_t first = 0; first < rows.count; first += kStepRows) {
      RowsOfOne const step{first, std::min(kStepRows, rows.count - first)};
      for (std::size_t c = 0; c < columns_.size(); ++c) add_to_one(rows.values[c], c, step, 0);
      for (std::size_t c = 0; c < columns_.size(); ++c)
        if (floats_[c]) floats_[c]->totals.add_to_one(rows.values[c], first, step.count, floats_[c]->words.data());
    }
  }

  /// Adds rows of column `c` to a group, but for its floats.
  void add_to_one(contract::AggregateInput const& input, std::size_t c, RowsOfOne const& rows, std::uint32_t group) {
    columns_[c].add_to_one(input, rows, group);
    if (input.validity.empty()) return;
    nulls_[c].resize(size());
    std::uint64_t values = 0;
    for_valid_rows_of_one(input, rows, [&](std::uint64_t) { ++values; });
    nulls_[c][group] += rows.count - values;
  }

  void find(contract::KeyedRows const& rows, MoreWords const& more, std::uint64_t first, std::span<std::uint32_t> found,
            std::vector<std::int64_t>& heads) {
    auto next = static_cast<std::uint32_t>(size());
    slots_->find(rows.words[0] + first, more, first, found.size(), found.data());
    auto const groups = slots_->keys().size();
    if (groups == next) return;
    resize(groups);
    for (std::size_t i = 0; i < found.size() && next < groups; ++i) {
      if (found[i] != next) continue;
      heads.push_back(static_cast<std::int64_t>(first + i));
      first_rows_[next++] = rows.first + first + i;
    }
  }

  void add_row_by_row(contract::KeyedRows const& rows, std::uint64_t first, std::span<std::uint32_t const> found) {
    for (auto const group : found) ++rows_[group];
    for (std::size_t c = 0; c < columns_.size(); ++c) {
      auto const& input = rows.values[c];
      columns_[c].add(input, first, found);
      if (floats_[c]) floats_[c]->totals.add(input, first, found, floats_[c]->words.data(), FixedPointSums::kWords);
      if (input.validity.empty()) continue;
      nulls_[c].resize(size());
      for (std::size_t i = 0; i < found.size(); ++i) nulls_[c][found[i]] += is_valid(input, first + i) ? 0 : 1;
    }
  }

  /// Adds the rows of one group after those of another: a group's state stays in registers while a column is read.
  void add_by_group(contract::KeyedRows const& rows, std::uint64_t first, std::span<std::uint32_t const> found) {
    std::uint16_t positions[kStepRows];
    std::array<std::uint32_t, kFewGroups> ends{static_cast<std::uint32_t>(found.size())};
    if (size() > 1) ends = sort_by_group(found, positions);
    for (std::uint32_t group = 0, begin = 0; group < size(); begin = ends[group++]) rows_[group] += ends[group] - begin;
    // Column after column, whose values stay cached while all groups read them.
    for (std::size_t c = 0; c < columns_.size(); ++c) {
      auto const& input = rows.values[c];
      bool const have_short_sums = size() > 1 && columns_[c].have_short_sums(input, first, found.size());
      for (std::uint32_t group = 0, begin = 0; group < size(); begin = ends[group++]) {
        if (begin == ends[group]) continue;
        RowsOfOne const own{first, ends[group] - begin, size() > 1 ? positions + begin : nullptr, have_short_sums};
        add_to_one(input, c, own, group);
      }
    }
    for (std::size_t c = 0; c < columns_.size(); ++c) {
      if (!floats_[c]) continue;
      auto& [totals, words] = *floats_[c];
      if (size() == 1)
        totals.add_to_one(rows.values[c], first, found.size(), words.data());
      else
        totals.add(rows.values[c], first, found, words.data(), FixedPointSums::kWords);
    }
  }

  /// Writes the places of rows in `found`, group by group, and returns where those of each group end. Rows of several
  /// parts are counted side by side, as rows of one group often follow each other: a counter that was written has to be
  /// waited for.
  std::array<std::uint32_t, kFewGroups> sort_by_group(std::span<std::uint32_t const> found,
                                                      std::uint16_t* positions) const {
    constexpr std::size_t kParts = 4;
    std::uint32_t next[kFewGroups][kParts] = {};
    auto const of_part = found.size() / kParts;
    auto const for_rows = [&](auto const& visit) {
      for (std::size_t i = 0; i < of_part; ++i)
        for (std::size_t part = 0; part < kParts; ++part) visit(part * of_part + i, part);
      for (auto i = kParts * of_part; i < found.size(); ++i) visit(i, kParts - 1);
    };
    for_rows([&](std::size_t i, std::size_t part) { ++next[found[i]][part]; });
    std::array<std::uint32_t, kFewGroups> ends{};
    std::uint32_t end = 0;
    for (std::size_t group = 0; group < size(); ++group) {
      for (auto& begin : next[group]) begin = std::exchange(end, end + begin);
      ends[group] = end;
    }
    for_rows(
        [&](std::size_t i, std::size_t part) { positions[next[found[i]][part]++] = static_cast<std::uint16_t>(i); });
    return ends;
  }

  static void merge_floats(FixedPointSums const& from, std::span<std::uint32_t const> group_of, FixedPointSums& into) {
    into.totals.merge(from.totals);
    for (std::size_t g = 0; g < group_of.size(); ++g) {
      auto const* const words = &from.words[FixedPointSums::kWords * g];
      add_words(&into.words[FixedPointSums::kWords * group_of[g]], words[0], words[1]);
    }
  }

  std::vector<contract::StateRequest> requests_;
  std::unique_ptr<HashSlots<std::uint64_t>> slots_;  ///< once it is known how many words keys have
  StateArray<std::uint64_t> first_rows_;
  StateArray<std::uint64_t> rows_;
  std::vector<ColumnAccumulator> columns_;
  std::vector<std::optional<FixedPointSums>> floats_;  ///< of columns whose floats are summed
  std::vector<StateArray<std::uint64_t>> nulls_;       ///< of each column's groups; empty: there were none
  std::uint64_t end_ = 0;                              ///< behind the last of the rows that came
};

class CpuGrowingGroups final : public contract::GrowingGroups {
 public:
  CpuGrowingGroups(std::span<contract::StateRequest const> requests, std::size_t lanes)
      : requests_(requests.begin(), requests.end()), ranges_(requests.size()), lanes_(lanes) {}

  void sample(std::span<contract::AggregateInput const> values, std::uint64_t count) override {
    for (std::size_t c = 0; c < requests_.size(); ++c)
      if (sums_floats(requests_[c]) && !requests_[c].of_integers) ranges_[c].add(values[c], 0, count);
  }

  bool start() override {
    points_.resize(requests_.size());
    for (std::size_t c = 0; c < requests_.size(); ++c) {
      if (!sums_floats(requests_[c])) continue;
      auto const point = requests_[c].of_integers ? point_of_integers(requests_[c].kind) : ranges_[c].guess(kMostRows);
      if (!point) return false;
      points_[c] = *point;
    }
    for (auto& lane : lanes_) lane = std::make_unique<LaneGroups>(requests_, points_);
    return true;
  }

  Result<void> add(std::size_t lane, contract::KeyedRows const& rows, std::vector<std::int64_t>& heads) override {
    return or_out_of_memory("the groups of a pipeline", [&]() -> Result<void> {
      lanes_[lane]->add(rows, heads);
      return {};
    });
  }

  Result<std::optional<contract::MergedGroups>> merge(std::span<std::uint64_t const* const> words) override {
    return or_out_of_memory("the groups of a pipeline", [&]() -> Result<std::optional<contract::MergedGroups>> {
      contract::MergedGroups merged;
      auto const group_of = number_groups(words, merged.heads);
      LaneGroups all(requests_, points_);
      all.resize(merged.heads.size());
      std::size_t begin = 0;
      for (auto& lane : lanes_) {
        auto const count = static_cast<std::size_t>(lane->size());
        all.merge(*lane, std::span(group_of).subspan(begin, count));
        lane.reset();
        begin += count;
      }
      if (!all.fits()) return std::nullopt;
      merged.states = all.states();
      return merged;
    });
  }

 private:
  /// The group of each of the lanes' groups, in the order of the first rows of all, and the `heads` of MergedGroups.
  std::vector<std::uint32_t> number_groups(std::span<std::uint64_t const* const> words,
                                           std::vector<std::uint64_t>& heads) const {
    std::vector<std::uint64_t> positions;
    for (auto const& lane : lanes_) std::ranges::copy(lane->first_rows(), std::back_inserter(positions));
    std::vector<std::uint32_t> group_of(positions.size());  // in the order of lanes
    if (!words.empty()) {
      MoreWords const more(words.begin() + 1, words.end());
      HashSlots<std::uint64_t> slots(positions.size(), more.size());
      slots.find(words[0], more, 0, group_of.size(), group_of.data());
    }
    struct Head {
      std::uint64_t position;
      std::uint64_t head;
      std::uint32_t group;
    };
    std::vector<Head> order;
    for (std::size_t i = 0; i < positions.size(); ++i) {
      Head const head{positions[i], i, group_of[i]};
      if (head.group == order.size())
        order.push_back(head);
      else if (head.position < order[head.group].position)
        order[head.group] = head;
    }
    std::ranges::sort(order, {}, &Head::position);
    std::vector<std::uint32_t> rank(order.size());
    for (std::uint32_t r = 0; r < rank.size(); ++r) {
      rank[order[r].group] = r;
      heads.push_back(order[r].head);
    }
    for (auto& group : group_of) group = rank[group];
    return group_of;
  }

  std::vector<contract::StateRequest> requests_;
  std::vector<FloatRange> ranges_;  ///< of the samples of columns whose floats are summed
  std::vector<FixedPoint> points_;
  std::vector<std::unique_ptr<LaneGroups>> lanes_;
};

}  // namespace

Result<std::unique_ptr<contract::GrowingGroups>> open_cpu_growing_groups(
    std::span<contract::StateRequest const> requests, std::size_t lanes) {
  return or_out_of_memory("the groups of a pipeline", [&]() -> Result<std::unique_ptr<contract::GrowingGroups>> {
    return std::make_unique<CpuGrowingGroups>(requests, lanes);
  });
}

}  // namespace garuda::cpu
