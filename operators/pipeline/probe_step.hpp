// Joins as a step: rows of a pipeline look up a build side.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "garuda/control.hpp"
#include "garuda/join.hpp"
#include "keys/join_keys.hpp"
#include "operators/contract/join_kernel.hpp"
#include "operators/contract/join_kind.hpp"
#include "operators/contract/row_marks.hpp"
#include "operators/contract/stats_sink.hpp"
#include "operators/pipeline/key_filter.hpp"
#include "operators/pipeline/step.hpp"
#include "operators/resolve/built_side.hpp"

namespace garuda::pipeline {

/// A join of the rows of a pipeline, the probe side, with a build side that is there.
struct ProbeSpec {
  std::shared_ptr<resolve::BuiltSide const> side;
  std::vector<Slot> keys;              ///< of the probe side, in the order of the build side's
  std::unique_ptr<MissFilter> misses;  ///< nullptr: rows of the probe side without a match are wanted, or not tested
  contract::SideRows probe_rows = contract::SideRows::none;
  contract::SideRows build_rows = contract::SideRows::none;
  bool pairs = true;
  std::uint64_t num_build_rows = 0;  ///< of the build side's table
  std::size_t build_origin = 0;
  /// A condition of matches beside equal keys, over slots of both sides.
  std::unique_ptr<Predicate> where;
  std::optional<Slot> mark;  ///< where a side comes with all its rows: the boolean beside them
  std::size_t lanes = 1;
  Control control;
  contract::StatsSink* stats = nullptr;
};

/// Gives the pairs of rows that match, and rows of one side alone, as JoinParts has them. Rows of the probe side keep
/// their order. Rows of the build side alone come when all chunks were pushed.
class ProbeStep final : public Step {
 public:
  /// `columns`: with the build side's table; outlives the step. Errors: those of JoinRow::open and Loader::create.
  static Result<std::unique_ptr<ProbeStep>> create(ProbeSpec spec, Columns const& columns);

  std::vector<Slot> reads() const override;
  std::vector<Slot> makes() const override { return spec_.mark ? std::vector{*spec_.mark} : std::vector<Slot>(); }
  bool takes_rows() const noexcept override { return spec_.pairs || spec_.probe_rows != contract::SideRows::all; }
  void set_live(Live live) override;
  Result<void> push(Chunk chunk, std::size_t lane, Next const& next) const override;
  Result<std::vector<Chunk>> finish() const override;

 private:
  ProbeStep(ProbeSpec spec, Columns const& columns) : spec_(std::move(spec)), columns_(columns) {}

  struct Matches;
  /// A byte a row of a chunk: 1 where it has a match.
  using Marks = std::vector<std::uint8_t>;

  static bool is_marked(contract::SideRows rows) noexcept { return rows != contract::SideRows::none; }
  /// These two return the number of matches, or 0 where they are not counted.
  Result<std::uint64_t> probe_piece(Chunk const& chunk, keys::EncodedKeys const& words, std::size_t piece,
                                    std::size_t lane, Marks& marks, Next const& next) const;
  Result<std::uint64_t> give_pairs(Chunk const& chunk, keys::EncodedKeys const& words, contract::JoinKernel& kernel,
                                   std::uint64_t first, Marks& marks, Next const& next) const;
  Result<void> probe_rows(Chunk chunk, std::size_t lane, Next const& next) const;
  Result<void> give_window(Chunk const& chunk, Matches matches, Marks& marks, Next const& next) const;
  Result<Matches> tested(Chunk const& chunk, Matches matches) const;
  Result<Chunk> paired(Chunk const& chunk, Matches const& matches, Live const& live) const;
  Result<void> give_probe_rows(Chunk chunk, Marks const& marks, Next const& next) const;
  ChunkColumn mark_column(std::span<std::uint8_t const> marks) const;
  Chunk chunk_of_build_rows(std::uint64_t begin, std::span<std::uint8_t const> marks) const;

  ProbeSpec spec_;
  Columns const& columns_;
  Live live_;
  Live arriving_;                 ///< columns and origins of chunks that this step or one behind it reads
  Live tested_live_;              ///< of pairs that the condition is tested on
  std::optional<Loader> tested_;  ///< reads the condition's columns of the build side
  std::vector<contract::KeySpan> pieces_;
  std::vector<std::uint64_t> piece_rows_;  ///< first row of each piece among the build side's words
  std::unique_ptr<contract::JoinBackend> backend_;
  std::unique_ptr<contract::RowMarks> build_marks_;  ///< by position among the build side's words
};

}  // namespace garuda::pipeline
