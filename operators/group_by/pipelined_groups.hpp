// A group-by whose rows come batch by batch, from several threads at once, and are not kept.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "garuda/control.hpp"
#include "garuda/error.hpp"
#include "garuda/group_by.hpp"
#include "garuda/table.hpp"
#include "keys/stable_words.hpp"
#include "operators/contract/group_by_kernel.hpp"
#include "operators/contract/offers/path_row.hpp"
#include "operators/group_by/group_states.hpp"
#include "operators/resolve/group_by_columns.hpp"

namespace garuda::group_by {

/// The path that keeps groups while rows come.
contract::PathRow const& path_of_growing_groups();

/// Whether a group-by needs nothing of a column but counts and sums of its values.
bool only_sums(GroupBySpec const& spec, std::string_view column);

/// The groups of rows that a pipeline gives, where each lane keeps groups and nobody keeps rows. It pays while groups
/// have several rows each; a sample of the first rows tells.
class PipelinedGroups {
 public:
  /// The columns of the batches. Those of int64 at `integers` come in place of the float64s next to their values, of
  /// which nothing but sums is wanted (only_sums).
  struct Rows {
    Schema schema;
    std::vector<bool> have_one_dictionary;  ///< all batches one whose values differ; a column each
    std::vector<std::size_t> integers{};
  };

  /// nullptr: keys, aggregates or types need all rows at once. `shown`: names of the result's columns in errors.
  /// `control` outlives the groups. Errors: those of resolve_group_by; out_of_memory.
  static Result<std::unique_ptr<PipelinedGroups>> create(Rows const& rows, GroupBySpec spec,
                                                         std::span<std::string const> shown, std::size_t lanes,
                                                         Control const& control);

  /// Whether pays() and start() look at samples.
  bool wants_samples() const noexcept;

  /// Whether rows are to be grouped so of which `samples` come from different places, and about `num_rows` are
  /// expected: where several rows of one place have one key, or where keys come again in other places. Errors: those of
  /// StableWords::write. Called before start(), or not at all.
  Result<bool> pays(std::span<TableView const> samples, std::uint64_t num_rows);

  /// Whether rows can be grouped so: not where samples of them do not tell where the floats lie that are summed.
  /// Errors: those of ValueReader. Called once, before any row is added.
  Result<bool> start(std::span<TableView const> samples);

  /// Adds rows, one batch with the columns of create(), of which the first stands at `first` among all rows; one thread
  /// a lane. Decimals of 128 bits of which nothing but sums is wanted may have 64. Keeps the keys of groups that are
  /// new in the lane. Errors: those of Gatherer and of GrowingGroups.
  Result<void> add(std::size_t lane, std::uint64_t first, TableView rows);

  /// The groups, in the order of their first rows; nullopt: floats lay so far from those of the samples that sums are
  /// lost, and the rows have to be grouped in another way. Called once, last; runs on the threads of the calling task
  /// arena. Errors: invalid_input for an aggregate beyond its type, naming the group; out_of_memory; cancelled.
  Result<std::optional<Table>> finish();

 private:
  struct Lane {
    std::optional<keys::StableWords> words;
    std::vector<Batch> heads;  ///< the keys of its groups
  };

  PipelinedGroups(Schema const& rows, GroupBySpec spec, Control const& control)
      : schema_(rows), spec_(std::move(spec)), control_(control) {}

  /// The values of all states, and the memory that they refer to.
  struct Values {
    std::vector<contract::SliceValues> memory;
    std::vector<contract::AggregateInput> inputs;
  };

  Result<Values> read_values(TableView rows) const;
  std::vector<DataType> key_types() const;
  Result<Table> heads_of_lanes();
  /// Brings groups of equal keys together: `heads` are those of lanes.
  Result<std::optional<contract::MergedGroups>> merge(TableView heads);
  Result<std::vector<Batch>> write(TableView heads, GroupChunk const& groups, Schema& schema) const;

  Schema schema_;
  GroupBySpec spec_;
  Control const& control_;
  resolve::ResolvedGroupBy columns_;
  std::vector<resolve::StateColumn> read_;  ///< the states' columns as batches have them
  std::unique_ptr<contract::GrowingGroups> groups_;
  std::uint64_t one_word_columns_ = 0;  ///< of keys, as keys::StableWords has them
  std::vector<Lane> lanes_;
};

}  // namespace garuda::group_by
