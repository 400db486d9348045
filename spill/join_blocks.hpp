// Every block of the one side with every block of the other: what is left when one key fills a partition.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "garuda/engine.hpp"
#include "garuda/error.hpp"
#include "garuda/join.hpp"
#include "garuda/table.hpp"
#include "operators/contract/join_kind.hpp"
#include "spill/file_join.hpp"
#include "spill/memory_share.hpp"
#include "spill/spill_file.hpp"
#include "spill/table_input.hpp"

namespace garuda::spill {

/// Tables whose join, of that kind, is a part of the result.
struct TablePair {
  Table left;
  Table right;
  JoinKind kind = JoinKind::inner;
  std::uint64_t data_bytes = 0;  ///< of both, and of what is held beside them
};

/// The rows of one side of a partition, and the file that they came from.
struct PartitionSide {
  SpillFile rows;
  TableInput const* input = nullptr;
};

/// Cuts the join of a partition that does not fit. An inner join is that of every pair of blocks. A row is unmatched
/// only when no block of the other side has a match. So the side whose unmatched rows are wanted is the outer one, and
/// the rows of each of its blocks without a match yet (`rest_`) are kept while the inner blocks pass; a pair is then
/// made of the rows that match and no others. A full join makes a second pass for the right side, without pairs.
class JoinBlocks {
 public:
  /// `engine` and `request` must outlive this.
  JoinBlocks(Engine& engine, FileJoin const& request, MemoryShare const& share, PartitionSide left,
             PartitionSide right);

  /// Returns the next pair, nullopt after the last. Errors: those of SpillFile and Engine::join.
  Result<std::optional<TablePair>> next();

 private:
  using BatchPtr = std::shared_ptr<arrow::RecordBatch>;
  struct Reader {
    NextBatch next;
    BatchPtr ahead;
  };

  PartitionSide const& of(Side side) const noexcept { return side == Side::left ? left_ : right_; }
  bool is_inner() const noexcept;
  /// Bytes that are held where it is not an inner join.
  std::uint64_t kept_bytes() const noexcept { return share_.limit_bytes / 4 * 3; }
  JoinKind pair_kind() const noexcept;
  Result<bool> next_outer_block();
  Result<io::ArrowBatches> next_block(Reader& reader) const;
  Result<std::optional<TablePair>> match(io::ArrowBatches inner_block);
  Result<Table> rows_of(JoinKind kind, Table const& outer, Table const& inner) const;
  TablePair pair_of(Table outer, Table inner, std::uint64_t data_bytes) const;

  Engine& engine_;
  FileJoin const& request_;
  contract::JoinParts parts_;
  MemoryShare share_;
  PartitionSide left_;
  PartitionSide right_;
  std::vector<Side> passes_;  // outer sides to come, the next one last
  bool gives_pairs_ = true;   // of this pass
  Side outer_side_ = Side::left;
  std::optional<Reader> outer_;
  Reader inner_;
  io::ArrowBatches outer_block_;
  std::uint64_t outer_bytes_ = 0;
  std::optional<Table> rest_;  // of the outer block
};

}  // namespace garuda::spill
