#include "operators/compute/radix_pass.hpp"

#include <algorithm>

#include "shaders/primitives/primitives_layout.h"

namespace garuda::operators {
namespace {

// Chunks that keep every multiprocessor of a large GPU busy to the end.
constexpr std::uint64_t kManyChunks = 4096;

std::uint32_t group_size(ComputeTuning const& tuning, bool stable) {
  return stable ? tuning.stable_group_size : tuning.partition_group_size;
}

std::uint64_t tile_rows(ComputeTuning const& tuning, bool stable) {
  return std::uint64_t{group_size(tuning, stable)} * tuning.partition_items;
}

std::uint64_t chunk_rows(std::uint64_t rows, ComputeTuning const& tuning, bool stable) {
  auto const tile = tile_rows(tuning, stable);
  return std::clamp<std::uint64_t>(rows / tile / kManyChunks, 1, tuning.partition_tiles) * tile;
}

/// What the passes over keys are specialised by.
struct RadixKind {
  RadixDigit digit;
  std::uint32_t key_words = 1;
  bool segmented = false;
  bool number_rows = false;
};

std::vector<vk::SpecConstant> key_constants(RadixKind const& kind) {
  return {{shaders::kSpecWords, kind.key_words},
          {shaders::kSpecBits, kind.digit.bits},
          {shaders::kSpecHashed, kind.digit.hashed ? 1U : 0U},
          {shaders::kSpecSegmented, kind.segmented ? 1U : 0U}};
}

PassShape count_shape(ComputeTuning const& tuning, RadixKind const& kind) {
  return {"primitives/partition_count.comp", group_size(tuning, kind.digit.stable), tuning.partition_items,
          sizeof(shaders::PartitionPush), key_constants(kind)};
}

PassShape scatter_shape(ComputeTuning const& tuning, RadixKind const& kind) {
  PassShape shape{"primitives/partition_scatter.comp", group_size(tuning, kind.digit.stable), tuning.partition_items,
                  sizeof(shaders::PartitionPush), key_constants(kind)};
  auto const bins = std::uint64_t{1} << kind.digit.bits;
  auto const counters = kind.digit.stable ? shape.group_size / tuning.subgroup_size * bins : 0;
  auto const scratch = std::max<std::uint64_t>(tile_rows(tuning, kind.digit.stable) + 1, counters);
  shape.constants.push_back({shaders::kSpecStable, kind.digit.stable ? 1U : 0U});
  shape.constants.push_back({shaders::kSpecIota, kind.number_rows ? 1U : 0U});
  shape.constants.push_back({shaders::kSpecScratch, static_cast<std::uint32_t>(scratch)});
  return shape;
}

shaders::PayloadColumn column_of(MovedColumn const& column) { return {column.source, column.target, column.words, 0}; }

PassShape starts_shape(bool segmented) {
  return {"primitives/bin_starts.comp",
          0,
          1,
          sizeof(shaders::BinStartsPush),
          {{shaders::kSpecSegmented, segmented ? 1U : 0U}}};
}

}  // namespace

std::uint64_t RadixPass::scratch_bytes(std::uint64_t rows, std::uint32_t segments, std::uint32_t bits,
                                       ComputeTuning const& tuning) noexcept {
  auto const chunks = rows / chunk_rows(rows, tuning, tuning.stable_join) + segments;
  return (chunks << bits) * 2 * sizeof(std::uint32_t);
}

Result<RadixPass> RadixPass::create(ComputeContext& context, std::uint64_t rows, std::uint32_t segments,
                                    RadixDigit const& digit, std::uint32_t payload_columns) {
  auto const& tuning = context.tuning();
  GARUDA_EXPECTS(digit.bits > 0 && digit.bits <= tuning.partition_bits);
  GARUDA_EXPECTS(rows <= std::uint64_t{1} << 31 && segments > 0);
  RadixPass pass;
  pass.digit_ = digit;
  pass.segments_ = segments;
  pass.chunk_rows_ = chunk_rows(rows, tuning, digit.stable);
  pass.max_chunks_ = groups_for(rows, pass.chunk_rows_);
  auto const bins = std::uint64_t{1} << digit.bits;
  if (segments > 1) {
    GARUDA_TRY_ASSIGN(pass.chunks_,
                      ChunkTable::create(context, rows, segments, static_cast<std::uint32_t>(pass.chunk_rows_),
                                         static_cast<std::uint32_t>(bins)));
    pass.max_chunks_ = pass.chunks_.max_chunks();
  }
  auto const cells = pass.max_chunks_ * bins;
  if (cells > kMaxScanElements) return fail(ErrorCode::limit_exceeded, "a partition has more chunks than are summed");
  GARUDA_TRY_ASSIGN(
      pass.columns_,
      context.device_buffer((payload_columns + std::uint64_t{1}) * sizeof(shaders::PayloadColumn), "payload columns"));
  GARUDA_TRY_ASSIGN(pass.matrix_, context.device_buffer(cells * 4, "digit counts"));
  GARUDA_TRY_ASSIGN(pass.sums_, context.device_buffer(cells * 4, "digit sums"));
  GARUDA_TRY_ASSIGN(pass.starts_, context.device_buffer((segments * bins + 1) * 4, "partition starts"));
  GARUDA_TRY_ASSIGN(pass.scan_, DeviceScan::create(context, cells));
  return pass;
}

shaders::PartitionPush RadixPass::push_for(RadixRows const& rows, Segments const& segments) const {
  bool const segmented = segments.starts != nullptr;
  GARUDA_EXPECTS(rows.rows > 0 && segments.count == segments_ && (segmented || segments_ == 1));
  shaders::PartitionPush push{};
  push.keys = rows.keys.source;
  push.keys_out = rows.keys.target;
  if (!rows.payload.empty()) push.first = column_of(rows.payload[0]);
  push.payload = columns_.address();
  push.chunks = segmented ? chunks_.chunks().address() : 0;
  push.matrix = matrix_.address();
  push.num_rows = static_cast<std::uint32_t>(rows.rows);
  push.num_chunks = static_cast<std::uint32_t>(segmented ? max_chunks_ : groups_for(rows.rows, chunk_rows_));
  push.chunk_rows = static_cast<std::uint32_t>(chunk_rows_);
  push.shift = digit_.shift;
  push.num_payload = static_cast<std::uint32_t>(rows.payload.size());
  return push;
}

Result<void> RadixPass::record_counts(ComputeContext& context, char const* phase, RadixRows const& rows,
                                      Segments const& segments) {
  bool const segmented = segments.starts != nullptr;
  auto const push = push_for(rows, segments);
  if (segmented) GARUDA_TRY(chunks_.record(context, phase, segments.starts->address()));
  auto const shape = count_shape(context.tuning(), {digit_, rows.keys.words, segmented, rows.number_rows});
  return context.dispatch(phase, shape, push, push.num_chunks, rows.rows);
}

Result<void> RadixPass::record_starts(ComputeContext& context, char const* phase, shaders::PartitionPush const& push,
                                      Segments const& segments) {
  bool const segmented = segments.starts != nullptr;
  shaders::BinStartsPush starts{};
  starts.matrix = sums_.address();
  starts.first_chunk = segmented ? chunks_.first_chunk().address() : 0;
  starts.segments = segmented ? segments.starts->address() : 0;
  starts.starts = starts_.address();
  starts.num_segments = segments_;
  starts.bins = 1U << digit_.bits;
  starts.num_rows = push.num_rows;
  starts.num_chunks = push.num_chunks;
  auto const groups = groups_for(num_starts() + std::uint64_t{1}, context.tuning().group_size);
  return context.dispatch(phase, starts_shape(segmented), starts, groups, num_starts());
}

Result<void> RadixPass::record(ComputeContext& context, RadixPhases const& phases, RadixRows const& rows,
                               Segments const& segments) {
  bool const segmented = segments.starts != nullptr;
  auto push = push_for(rows, segments);
  if (rows.payload.size() > 1) {
    std::vector<shaders::PayloadColumn> columns;
    for (auto const& column : rows.payload) columns.push_back(column_of(column));
    GARUDA_TRY(context.update(phases.count, columns_, std::as_bytes(std::span(columns))));
  }
  GARUDA_TRY(record_counts(context, phases.count, rows, segments));
  GARUDA_TRY(scan_.record(context, phases.scan, matrix_.address(), sums_.address(),
                          std::uint64_t{push.num_chunks} << digit_.bits));
  GARUDA_TRY(record_starts(context, phases.scan, push, segments));
  push.matrix = sums_.address();
  auto const shape = scatter_shape(context.tuning(), {digit_, rows.keys.words, segmented, rows.number_rows});
  return context.dispatch(phases.scatter, shape, push, push.num_chunks, rows.rows * (1 + rows.payload.size()), true);
}

std::vector<vk::ComputePipelineSpec> radix_pipelines(ComputeTuning const& tuning) {
  std::vector<vk::ComputePipelineSpec> specs;
  for (bool const segmented : {false, true}) {
    for (std::uint32_t const key_words : {1U, 2U}) {
      for (bool const hashed : {false, true}) {
        for (bool const stable : {false, true}) {
          RadixKind const kind{{tuning.partition_bits, 0, hashed, stable}, key_words, segmented, !segmented};
          specs.push_back(compute_pipeline(scatter_shape(tuning, kind), tuning));
          if (stable) specs.push_back(compute_pipeline(count_shape(tuning, kind), tuning));
        }
      }
    }
    specs.push_back(compute_pipeline(starts_shape(segmented), tuning));
  }
  return specs;
}

}  // namespace garuda::operators
