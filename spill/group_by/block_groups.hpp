// Group-bys of Parquet files whose groups are few, block by block.
#pragma once

#include <memory>
#include <optional>
#include <utility>

#include "garuda/engine.hpp"
#include "garuda/error.hpp"
#include "garuda/group_by.hpp"
#include "io/parquet/table_blocks.hpp"
#include "spill/group_by/file_group_by.hpp"

namespace garuda::spill {

/// A file that is better grouped in blocks as they are read, the exact states of their groups merged, than as one
/// table: fresh memory for all of its columns costs more than decoding into it. Move-only.
class BlockedGroupBy {
 public:
  /// nullopt: the file is to be read otherwise, because it has but one block, or such as the memory limit does not
  /// hold, because its footer does not say that groups are few beside the rows, or because an aggregate keeps all
  /// values of a group. Errors: those of io::read_table.
  static Result<std::optional<BlockedGroupBy>> open(FileGroupBy const& request);

  /// Groups the file, once. The bits are those of one table's group-by; groups that are not ordered come in the order
  /// of merged blocks, the same for the same file. Blocks until all are grouped. `engine` must outlive the result.
  /// Errors: those of io::read_table and Engine::group_by; under a memory limit contract::is_shortage, when blocks or
  /// groups turn out to weigh more than their share of it.
  Result<std::unique_ptr<GroupByResult>> group(Engine& engine) &&;

  /// The plan of group: that of the first block.
  Result<Plan> explain(Engine& engine) &&;

 private:
  BlockedGroupBy(FileGroupBy request, io::TableBlocks blocks)
      : request_(std::move(request)), blocks_(std::move(blocks)) {}

  FileGroupBy request_;
  io::TableBlocks blocks_;
};

}  // namespace garuda::spill
