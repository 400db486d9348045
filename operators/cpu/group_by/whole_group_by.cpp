#include "operators/cpu/group_by/whole_group_by.hpp"

#include <oneapi/tbb/task_arena.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <mutex>
#include <numeric>
#include <optional>
#include <utility>

#include "core/shortage.hpp"
#include "operators/cpu/group_by/float_range.hpp"
#include "operators/cpu/group_by/table_rows.hpp"

namespace garuda::cpu {
namespace {

/// Most slots of a part: their groups stay in a core's cache until they are written.
constexpr std::uint64_t kMostPartSlots = std::uint64_t{1} << 15;
/// Fewest slots of a part of several threads' groups: fewer take less time to merge than a batch takes to make.
constexpr std::uint64_t kFewestPartSlots = std::uint64_t{1} << 12;

Addressing addressing_of(contract::WholeTable const& table) {
  auto const* keys = std::get_if<contract::KeySpan>(&table.keys);
  if (keys == nullptr) return {true, 0, 0, 1};
  auto const shift = shift_of(table);
  return {true, keys->min, shift, ((keys->max - keys->min) >> shift) + 1};
}

template <class Word>
class DirectGroups final : public contract::WholeGroupBy {
 public:
  DirectGroups(Addressing const& addressing, GroupStates const& states, bool has_keys)
      : addressing_(addressing), states_(states), has_keys_(has_keys) {}

  Result<void> add_rows(TableRows<Word> const& rows, contract::WholeGroupByOptions const& options) {
    auto const& blocks = rows.table().blocks;
    auto const threads = static_cast<std::size_t>(oneapi::tbb::this_task_arena::max_concurrency());
    tables_.resize(std::min(threads, std::max<std::size_t>(blocks.size(), 1)));
    std::atomic<std::size_t> next{0};
    FirstError errors;
    GARUDA_TRY(for_each_block(tables_.size(), options.control, [&](std::size_t t) {
      // Cleared by the thread that uses it, when there is anything to add.
      for (auto b = next++; b < blocks.size() && !errors.failed() && fits_; b = next++) {
        if (is_cancelled(options.control)) return;
        if (!tables_[t]) tables_[t].emplace(addressing_, states_);
        errors.keep(rows.add(blocks[b], *tables_[t]));
        if (!tables_[t]->fits()) fits_ = false;
      }
    }));
    std::erase_if(tables_, [](auto const& table) { return !table; });
    // Tables are merged part by part: a part a thread, so that all threads merge.
    if (tables_.size() > 1)
      part_slots_ = std::clamp(std::bit_ceil(addressing_.slots / tables_.size()), kFewestPartSlots, kMostPartSlots);
    return errors.result();
  }

  /// False: floats lie elsewhere than was guessed.
  bool fits() const noexcept { return fits_; }

  std::size_t num_parts() const noexcept override {
    return tables_.empty() ? 0 : static_cast<std::size_t>((addressing_.slots + part_slots_ - 1) / part_slots_);
  }

  Result<contract::GroupPart> part(std::size_t index) override {
    return or_out_of_memory("the groups of a range of keys", [&]() -> Result<contract::GroupPart> {
      auto const begin = index * part_slots_;
      auto const end = std::min(begin + part_slots_, addressing_.slots);
      auto part = tables_.size() == 1 ? tables_[0]->part(tables_[0]->occupied(begin, end)) : merged(begin, end);
      if (!has_keys_) part.keys.clear();
      return part;
    });
  }

 private:
  /// Not into one of the tables: their other slots are other parts', which other threads make.
  contract::GroupPart merged(std::uint64_t begin, std::uint64_t end) const {
    Addressing range = addressing_;
    range.min = addressing_.min + (begin << addressing_.shift);
    range.slots = end - begin;
    GroupTable<Word> all(range, states_);
    for (auto const& table : tables_) all.merge(*table, table->occupied(begin, end));
    return all.part(all.occupied(0, range.slots));
  }

  Addressing addressing_;
  GroupStates states_;
  bool has_keys_;
  std::atomic<bool> fits_{true};
  std::uint64_t part_slots_ = kMostPartSlots;
  std::vector<std::optional<GroupTable<Word>>> tables_;  ///< a thread each
};

/// Adds all rows, then gives the groups by ranges of keys, ascending. Word: u32 or u64. Throws std::bad_alloc.
/// Requires: the table has no keys, or a range of at most kMostDirectSlots. Errors: out_of_memory, cancelled.
template <class Word>
Result<std::unique_ptr<contract::WholeGroupBy>> open_direct_groups(TableRows<Word> const& rows,
                                                                   GroupStates const& states,
                                                                   contract::WholeGroupByOptions const& options) {
  auto const num_rows = rows.table().num_rows;
  contract::PhaseTimer const clock(options.stats, "group", num_rows * sizeof(Word), num_rows);
  auto groups = std::make_unique<DirectGroups<Word>>(addressing_of(rows.table()), states, rows.has_keys());
  GARUDA_TRY(groups->add_rows(rows, options));
  if (!groups->fits()) return nullptr;
  return groups;
}

/// Most groups, over all tables, that one thread merges into one table.
constexpr std::uint64_t kMergedGroups = std::uint64_t{1} << 17;

/// Gives all groups of one table in the order of their keys.
template <class Word>
class MergedGroups final : public contract::WholeGroupBy {
 public:
  explicit MergedGroups(GroupTable<Word> table) : table_(std::move(table)) {}

  std::size_t num_parts() const noexcept override { return table_.num_slots() == 0 ? 0 : 1; }

  Result<contract::GroupPart> part(std::size_t) override {
    return or_out_of_memory("the groups of a table", [&]() -> Result<contract::GroupPart> {
      // Which thread found a group first is an accident; the keys are not.
      auto slots = table_.occupied(0, table_.num_slots());
      std::sort(slots.begin(), slots.end(), [&](std::uint32_t a, std::uint32_t b) { return table_.is_before(a, b); });
      return table_.part(slots);
    });
  }

 private:
  GroupTable<Word> table_;
};

/// The tables of all threads, and the rows that are in none of them.
template <class Word>
class LocalTables {
 public:
  LocalTables(TableRows<Word> const& rows, GroupStates const& states, std::uint64_t most_groups)
      : rows_(rows), states_(states), most_groups_(most_groups) {}

  Result<void> add_rows(Control const* control) {
    auto const& blocks = rows_.table().blocks;
    auto const threads = static_cast<std::size_t>(oneapi::tbb::this_task_arena::max_concurrency());
    FirstError errors;
    GARUDA_TRY(for_each_block(std::min(threads, std::max<std::size_t>(blocks.size(), 1)), control,
                              [&](std::size_t) { errors.keep(fill_tables(control)); }));
    return errors.result();
  }

  /// The first block that no table has.
  std::size_t first_left() const { return std::min(next_.load(), rows_.table().blocks.size()); }
  std::vector<GroupTable<Word>> take() { return std::move(tables_); }
  /// False: floats lie elsewhere than was guessed, and tables mean nothing.
  bool fits() const { return fits_; }

 private:
  Addressing addressing() const { return {false, 0, 0, std::min<std::uint64_t>(most_groups_, kFirstGroups)}; }

  /// Works on one block after the other until none is left or it does not pay.
  Result<void> fill_tables(Control const* control) {
    auto const& blocks = rows_.table().blocks;
    std::optional<GroupTable<Word>> table;
    std::uint64_t num_rows = 0;
    while (!gave_up_) {
      GARUDA_TRY(check_cancelled(control));
      auto const block = next_++;
      if (block >= blocks.size()) break;
      if (!table) table.emplace(addressing(), states_);
      GARUDA_TRY(rows_.add(blocks[block], *table));
      if (!table->fits()) return misfit();
      num_rows += blocks[block].count;
      if (table->num_slots() <= most_groups_) continue;
      if (num_rows < kFewestRowsPerGroup * table->num_slots()) gave_up_ = true;
      put_aside(*std::exchange(table, std::nullopt));
      num_rows = 0;
    }
    if (table) put_aside(std::move(*table));
    return {};
  }

  Result<void> misfit() {
    fits_ = false;
    gave_up_ = true;
    return {};
  }

  void put_aside(GroupTable<Word> table) {
    std::lock_guard const lock(mutex_);
    tables_.push_back(std::move(table));
  }

  static constexpr std::uint64_t kFirstGroups = 1024;

  TableRows<Word> rows_;
  GroupStates const& states_;
  std::uint64_t most_groups_;
  std::atomic<std::size_t> next_{0};
  std::atomic<bool> gave_up_{false};
  std::atomic<bool> fits_{true};
  std::mutex mutex_;
  std::vector<GroupTable<Word>> tables_;
};

}  // namespace

template <class Word>
Result<std::unique_ptr<contract::WholeGroupBy>> open_local_groups(TableRows<Word> const& rows,
                                                                  GroupStates const& states, std::uint64_t most_groups,
                                                                  contract::WholeGroupByOptions const& options,
                                                                  PartitionSizes const& sizes) {
  auto const& table = rows.table();
  GroupedBefore<Word> before;
  {
    contract::PhaseTimer const clock(options.stats, "group", table.num_rows * sizeof(Word), table.num_rows);
    LocalTables<Word> local(rows, states, most_groups);
    GARUDA_TRY(local.add_rows(options.control));
    if (!local.fits()) return nullptr;
    before.first_block = local.first_left();
    before.tables = local.take();
  }
  GARUDA_TRY_ASSIGN(bool const fits, rest_fits(table, states.fixed_points, before.first_block, options));
  if (!fits) return nullptr;
  if (options.stats != nullptr)
    options.stats->add_counter("rows_preaggregated", before.first_block == table.blocks.size()
                                                         ? table.num_rows
                                                         : table.blocks[before.first_block].first);
  if (before.first_block < table.blocks.size() || before.num_groups() > kMergedGroups)
    return open_partitioned_groups(rows, states, std::move(before), options, sizes);
  GroupTable<Word> all({false, 0, 0, before.num_groups()}, states);
  for (auto const& part : before.tables) all.merge(part, part.occupied(0, part.num_slots()));
  return std::make_unique<MergedGroups<Word>>(std::move(all));
}

template Result<std::unique_ptr<contract::WholeGroupBy>> open_local_groups(TableRows<std::uint32_t> const&,
                                                                           GroupStates const&, std::uint64_t,
                                                                           contract::WholeGroupByOptions const&,
                                                                           PartitionSizes const&);
template Result<std::unique_ptr<contract::WholeGroupBy>> open_local_groups(TableRows<std::uint64_t> const&,
                                                                           GroupStates const&, std::uint64_t,
                                                                           contract::WholeGroupByOptions const&,
                                                                           PartitionSizes const&);

namespace {

/// nullptr: a guess of `states` was wrong.
template <class Word>
Result<std::unique_ptr<contract::WholeGroupBy>> open(contract::WholeTable const& table, GroupStates const& states,
                                                     contract::WholeGroupByOptions const& options) {
  TableRows<Word> const rows(table);
  if (options.grouping == Grouping::direct) return open_direct_groups(rows, states, options);
  if (options.grouping == Grouping::local)
    return open_local_groups(
        rows, states,
        std::max<std::uint64_t>(kLocalTableBytes / (state_bytes(table.requests, table.wants_first_rows) + kHashBytes +
                                                    8 * table.more_words.size()),
                                1),
        options);
  return open_partitioned_groups(rows, states, {}, options);
}

}  // namespace

Result<std::unique_ptr<contract::WholeGroupBy>> open_cpu_whole_group_by(contract::WholeTable const& table,
                                                                        contract::WholeGroupByOptions const& options) {
  GARUDA_EXPECTS(options.grouping != Grouping::automatic && options.grouping != Grouping::slices);
  GARUDA_EXPECTS(options.grouping == Grouping::partitioned || !std::ranges::any_of(table.requests, keeps_all_values));
  GARUDA_EXPECTS(options.grouping == Grouping::direct || std::holds_alternative<contract::KeySpan>(table.keys));
  return or_out_of_memory("the groups of a table", [&]() -> Result<std::unique_ptr<contract::WholeGroupBy>> {
    auto const open_with = [&](std::vector<FixedPoint> points) {
      GroupStates const states{table.requests, std::move(points), table.wants_first_rows, table.more_words.size()};
      auto const* const keys = std::get_if<contract::KeySpan>(&table.keys);
      auto const is_narrow = keys == nullptr || std::holds_alternative<std::span<std::uint32_t const>>(keys->words);
      return is_narrow ? open<std::uint32_t>(table, states, options) : open<std::uint64_t>(table, states, options);
    };
    // Where rows are added as they are read, floats are looked at only then: a sample says where they should lie.
    if (options.grouping != Grouping::partitioned) {
      GARUDA_TRY_ASSIGN(auto guessed, guess_fixed_points(table));
      if (guessed) {
        GARUDA_TRY_ASSIGN(auto groups, open_with(std::move(*guessed)));
        if (groups != nullptr) return groups;
      }
    }
    GARUDA_TRY_ASSIGN(auto found, find_fixed_points(table, options));
    if (!found) return nullptr;
    return open_with(std::move(*found));
  });
}

}  // namespace garuda::cpu
