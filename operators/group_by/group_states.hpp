// Groups of a slice or a partition with their partial states, and how those of several slices become one.
#pragma once

#include <cstdint>
#include <vector>

#include "garuda/control.hpp"
#include "garuda/error.hpp"
#include "operators/contract/group_by_kernel.hpp"
#include "operators/resolve/group_by_columns.hpp"
#include "operators/run/query_run.hpp"

namespace garuda::group_by {

/// Keys of groups, copied from their heads; as in the slice's keys. Empty for NoKeys.
struct HeadKeys {
  std::vector<std::uint32_t> packed32;
  std::vector<std::uint64_t> packed64;
  std::vector<std::vector<std::uint32_t>> words;

  /// The keys of the groups `heads` of `slice`.
  static HeadKeys of(contract::GroupSlice const& slice, std::span<std::uint32_t const> heads);
  void append(HeadKeys const& other);
  /// These states as a slice of `num_rows` rows; borrows this.
  contract::GroupSlice slice(std::uint64_t num_rows) const;
};

/// Groups: of slices in the order of their first rows. Either `head_rows` or `key_words` may be empty, not both.
struct GroupChunk {
  std::uint32_t partition = 0;
  contract::Words head_rows;                     ///< of the table
  std::vector<contract::Words> key_words;        ///< word by word, a group each; none: keys are those of rows
  HeadKeys keys;                                 ///< only where groups have to be merged
  std::vector<contract::AggregateState> states;  ///< a state column each

  std::size_t size() const noexcept {
    return head_rows.empty() && !key_words.empty() ? key_words[0].size() : head_rows.size();
  }
  /// Host memory held, in bytes.
  std::uint64_t bytes() const noexcept;
};

/// The groups of part `partition` of a whole table's.
GroupChunk chunk_of(contract::GroupPart part, std::uint32_t partition);

/// The states of bytes and lists, which kernels do not see, of the rows that `kernel` has grouped. Errors: those of the
/// kernel.
Result<contract::AggregateState> states_on_host(contract::GroupByKernel& kernel, contract::AggregateInput const& input,
                                                std::uint64_t num_rows, std::uint64_t num_groups,
                                                run::RunRecorder& recorder, Control const& control);

/// The one group of a table without rows that is grouped by no key.
GroupChunk no_rows_group(std::vector<resolve::StateColumn> const& columns);

/// Merges the groups of `next` into `groups`, whose rows all come before those of `next`.
/// Errors: out_of_memory, cancelled.
Result<void> merge_groups(std::vector<resolve::StateColumn> const& columns, GroupChunk next, Control const& control,
                          GroupChunk& groups);

/// Makes room for `count` groups in all, of what each group has equally much.
void reserve_groups(std::uint64_t count, GroupChunk& groups);

/// Appends the groups of `next`, none of which has the key of one of `groups`, and frees their states one by one.
void append_groups(std::vector<resolve::StateColumn> const& columns, GroupChunk&& next, GroupChunk& groups);

}  // namespace garuda::group_by
