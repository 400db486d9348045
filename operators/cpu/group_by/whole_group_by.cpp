#include "operators/cpu/group_by/whole_group_by.hpp"

#include <oneapi/tbb/task_arena.h>

#include <algorithm>
#include <new>
#include <utility>

#include "operators/cpu/group_by/direct_groups.hpp"
#include "operators/cpu/group_by/floats/float_ranges.hpp"
#include "operators/cpu/group_by/local_groups.hpp"
#include "operators/cpu/group_by/partitioned_groups.hpp"
#include "operators/cpu/group_by/table_rows.hpp"

namespace garuda::cpu {
namespace {

/// Bytes of a row that partitioning moves: twice over, since what was there before stays.
std::uint64_t partitioned_row_bytes(contract::WholeTable const& table, contract::KeySpan const& keys) {
  std::uint64_t bytes = std::holds_alternative<std::span<std::uint32_t const>>(keys.words) ? 4 : 8;
  bytes += 8 * table.more_words.size();
  bytes += table.num_rows > (std::uint64_t{1} << 32) ? 8 : 4;
  for (auto const& request : table.requests) bytes += 4 * std::uint64_t{contract::value_words(request.kind)};
  return bytes + kept_row_bytes(table.requests);
}

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

contract::WholeSizes whole_sizes(contract::WholeTable const& table) {
  contract::WholeSizes sizes;
  sizes.group_bytes = state_bytes(table.requests, table.wants_first_rows);
  if (auto const* keys = std::get_if<contract::KeySpan>(&table.keys)) {
    sizes.has_keys = true;
    sizes.slots = table.more_words.empty() ? ((keys->max - keys->min) >> shift_of(table)) + 1 : 0;
    sizes.row_bytes = partitioned_row_bytes(table, *keys);
  }
  return sizes;
}

Result<std::unique_ptr<contract::WholeGroupBy>> open_cpu_whole_group_by(contract::WholeTable const& table,
                                                                        contract::WholeGroupByOptions const& options) {
  GARUDA_EXPECTS(options.grouping != Grouping::automatic && options.grouping != Grouping::slices);
  GARUDA_EXPECTS(options.grouping == Grouping::partitioned || !std::ranges::any_of(table.requests, keeps_all_values));
  GARUDA_EXPECTS(options.grouping == Grouping::direct || std::holds_alternative<contract::KeySpan>(table.keys));
  try {
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
  } catch (std::bad_alloc const&) {
    return fail(ErrorCode::out_of_memory, "no memory for the groups of a table");
  }
}

}  // namespace garuda::cpu
