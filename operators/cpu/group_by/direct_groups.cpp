#include "operators/cpu/group_by/direct_groups.hpp"

#include <oneapi/tbb/task_arena.h>

#include <algorithm>
#include <bit>
#include <new>

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
    try {
      auto const begin = index * part_slots_;
      auto const end = std::min(begin + part_slots_, addressing_.slots);
      auto part = tables_.size() == 1 ? tables_[0]->part(tables_[0]->occupied(begin, end)) : merged(begin, end);
      if (!has_keys_) part.keys.clear();
      return part;
    } catch (std::bad_alloc const&) {
      return fail(ErrorCode::out_of_memory, "no memory for the groups of a range of keys");
    }
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

}  // namespace

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

template Result<std::unique_ptr<contract::WholeGroupBy>> open_direct_groups(TableRows<std::uint32_t> const&,
                                                                            GroupStates const&,
                                                                            contract::WholeGroupByOptions const&);
template Result<std::unique_ptr<contract::WholeGroupBy>> open_direct_groups(TableRows<std::uint64_t> const&,
                                                                            GroupStates const&,
                                                                            contract::WholeGroupByOptions const&);

}  // namespace garuda::cpu
