// Groups and their partial states → batches of result columns.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "garuda/error.hpp"
#include "garuda/group_by.hpp"
#include "operators/group_by/group_by.hpp"
#include "operators/materialize/gather.hpp"

namespace garuda::group_by {

/// Writes result rows: keys decoded, or gathered from the groups' first rows, then aggregates made of their states.
class GroupWriter {
 public:
  /// `decoder`: of the keys; nullptr: they are gathered. Outlives the writer.
  static Result<GroupWriter> create(TableView table, resolve::ResolvedGroupBy const& columns,
                                    keys::KeyDecoder const* decoder);

  Schema const& schema() const noexcept { return schema_; }

  /// Writes as many of `range`'s groups as 32-bit string offsets allow, at least one; the batch's num_rows says how
  /// many. Works in the calling thread's arena. `values`: a reader a state column.
  /// Errors: invalid_input for an aggregate beyond its type, naming the group; out_of_memory; cancelled.
  Result<Batch> write(GroupChunk const& groups, resolve::GroupRange range, std::vector<ValueReader> const& values,
                      Control const& control) const;

 private:
  GroupWriter(TableView table, resolve::ResolvedGroupBy columns, keys::KeyDecoder const* decoder)
      : table_(table), columns_(std::move(columns)), decoder_(decoder) {}

  struct Memory;
  Result<void> write_keys(GroupChunk const& groups, resolve::GroupRange& range, Control const& control,
                          Memory& memory) const;
  Result<void> decode_keys(GroupChunk const& groups, resolve::GroupRange& range, Control const& control,
                           Memory& memory) const;
  Result<void> gather_keys(GroupChunk const& groups, resolve::GroupRange& range, Memory& memory) const;
  resolve::FinaliseInput input_of(std::size_t aggregate, GroupChunk const& groups,
                                  std::vector<ValueReader> const& values) const;
  Result<void> write_gathered(GroupChunk const& groups, resolve::GroupRange& range,
                              std::vector<ValueReader> const& values, Control const& control, Memory& memory) const;
  Result<ArrayView> write_values(std::size_t aggregate, GroupChunk const& groups, resolve::GroupRange const& range,
                                 std::vector<ValueReader> const& readers, Control const& control, Memory& memory) const;
  Result<Error> overflow(std::size_t aggregate, GroupChunk const& groups, std::uint64_t group,
                         Control const& control) const;

  TableView table_;
  resolve::ResolvedGroupBy columns_;
  keys::KeyDecoder const* decoder_;
  std::optional<Gatherer> keys_;                   ///< nullopt: no keys
  std::vector<std::optional<Gatherer>> gathered_;  ///< an aggregate each; nullopt: its values are not those of rows
  Schema schema_;
};

/// The result of a group-by, in the order of partitions, or of the groups' first rows when the spec asks for that.
Result<std::unique_ptr<GroupByResult>> grouped_result(resolve::GroupByRequest const& request,
                                                      std::unique_ptr<PartitionedGroupBy> run);

}  // namespace garuda::group_by
