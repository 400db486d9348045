#include "operators/cpu/group_by/local_groups.hpp"

#include <oneapi/tbb/task_arena.h>

#include <algorithm>
#include <new>
#include <numeric>

#include "operators/cpu/group_by/floats/float_ranges.hpp"
#include "operators/cpu/group_by/partitioned_groups.hpp"

namespace garuda::cpu {
namespace {

/// Most groups, over all tables, that one thread merges into one table.
constexpr std::uint64_t kMergedGroups = std::uint64_t{1} << 17;

/// All groups in one table, given in the order of their keys.
template <class Word>
class MergedGroups final : public contract::WholeGroupBy {
 public:
  explicit MergedGroups(GroupTable<Word> table) : table_(std::move(table)) {}

  std::size_t num_parts() const noexcept override { return table_.num_slots() == 0 ? 0 : 1; }

  Result<contract::GroupPart> part(std::size_t) override {
    try {
      // Which thread found a group first is an accident; the keys are not.
      auto slots = table_.occupied(0, table_.num_slots());
      std::sort(slots.begin(), slots.end(), [&](std::uint32_t a, std::uint32_t b) { return table_.is_before(a, b); });
      return table_.part(slots);
    } catch (std::bad_alloc const&) {
      return fail(ErrorCode::out_of_memory, "no memory for the groups of a table");
    }
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

}  // namespace garuda::cpu
