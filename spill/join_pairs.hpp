// Cuts the join of two files into joins of tables that fit the memory limit.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "garuda/control.hpp"
#include "garuda/engine.hpp"
#include "garuda/error.hpp"
#include "garuda/join.hpp"
#include "garuda/table.hpp"
#include "operators/contract/join_kind.hpp"
#include "operators/run/query_run.hpp"
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

/// The pairs of tables whose joins, one after the other, are the join of both files.
class JoinPairs {
 public:
  /// Opens the files. `engine`, `request` and `recorder` must outlive this. Errors: those of TableInput::open.
  static Result<std::unique_ptr<JoinPairs>> open(Engine& engine, FileJoin const& request, run::RunRecorder& recorder);

  TableInput const& left() const noexcept { return left_; }
  TableInput const& right() const noexcept { return right_; }

  /// Reads the files; spills them unless they fit. Errors: those of TableInput and partition_rows.
  Result<void> read();

  /// True when the only pair is that of both tables.
  bool is_whole() const noexcept { return whole_; }
  std::uint64_t rows_left() const noexcept { return rows_left_; }
  std::uint64_t rows_right() const noexcept { return rows_right_; }

  TemporaryFolder const& folder() const noexcept { return folder_; }

  /// Bytes that tables of a pair and their join may take.
  std::uint64_t limit_bytes() const noexcept { return share_.limit_bytes; }

  /// Returns the next pair, nullopt after the last. Errors: those of SpillFile and, of joins in blocks, Engine::join.
  Result<std::optional<TablePair>> next();

 private:
  /// Rows of both sides whose keys have the same hash.
  struct Partition {
    SpillFile left;
    SpillFile right;
    std::uint32_t level = 0;
    std::uint64_t weight_above = 0;  ///< of the lighter side of the partition that it was split from

    SpillFile const& of(Side side) const noexcept { return side == Side::left ? left : right; }
  };

  JoinPairs(Engine& engine, FileJoin const& request, run::RunRecorder& recorder, TableInput left, TableInput right);

  Result<std::vector<SpillFile>> split(Side side, NextBatch const& next, std::uint32_t level, std::uint32_t bits,
                                       RowVolume const& sample);
  Result<bool> read_whole();
  Result<void> hold();
  Result<void> find_key_types();
  Result<void> spill_inputs();
  void push(std::vector<SpillFile> left, std::vector<SpillFile> right, std::uint32_t level, std::uint64_t weight_above);
  Result<void> split_again(Partition partition);
  Result<TablePair> load(Partition const& partition);
  Result<Table> load_side(SpillFile const& file, Side side) const;
  std::uint64_t weight(Partition const& partition, Side side) const noexcept;
  bool can_be_split(Partition const& partition) const noexcept;
  TableInput const& input(Side side) const noexcept { return side == Side::left ? left_ : right_; }

  Engine& engine_;
  FileJoin const& request_;
  contract::JoinParts parts_;
  run::RunRecorder& recorder_;
  TemporaryFolder folder_;
  MemoryShare share_;
  TableInput left_;
  TableInput right_;
  std::vector<int> left_keys_;
  std::vector<int> right_keys_;
  std::vector<DataType> key_types_;  // as which they are compared; known when they are read
  std::uint64_t rows_left_ = 0;
  std::uint64_t rows_right_ = 0;
  bool whole_ = false;
  bool whole_taken_ = false;
  std::vector<Partition> waiting_;    // the next one last
  std::optional<JoinBlocks> blocks_;  // of the partition that is being joined, when it comes in blocks
};

}  // namespace garuda::spill
