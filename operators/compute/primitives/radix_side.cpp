#include "operators/compute/primitives/radix_side.hpp"

#include <algorithm>
#include <utility>

#include "shaders/primitives/primitives_layout.h"

namespace garuda::compute {
namespace {

constexpr std::uint32_t kHashBits = 32;

// Phases of a pass over partitions, by its number; all passes of a sort are timed as one.
constexpr std::array<RadixPhases, 3> kPartitionPhases{{{"histogram 1", "scan 1", "scatter 1"},
                                                       {"histogram 2", "scan 2", "scatter 2"},
                                                       {"histogram 3", "scan 3", "scatter 3"}}};
constexpr RadixPhases kSortPhases{"sort histogram", "sort scan", "sort scatter"};

// Larger groups add fewer counts to those that all share.
constexpr std::uint32_t kCountGroupSize = 1024;
// Keys that an invocation of a counting pass has under way, at most.
constexpr std::uint32_t kCountItems = 16;
constexpr std::uint32_t kCountItemsOnSoftware = 2;
// Workgroups of a counting pass at least, before one counts several chunks, and chunks that it counts at most.
constexpr std::uint64_t kCountGroups = 1024;
constexpr std::uint64_t kMostChunksEach = 8;

std::uint64_t tile_rows(ComputeTuning const& tuning, RadixDigit const& digit) {
  auto const tile = scatter_tile(tuning, digit.bits, digit.stable, digit.wide);
  return std::uint64_t{tile.group_size} * tile.items;
}

/// Chunks that a workgroup counts together: in an order of any kind they share counters.
std::uint32_t chunks_each(std::uint64_t chunks, bool stable) {
  if (stable) return 1;
  return static_cast<std::uint32_t>(std::clamp<std::uint64_t>(chunks / kCountGroups, 1, kMostChunksEach));
}

/// Constants by which the passes over keys are specialised.
struct RadixKind {
  RadixDigit digit;
  std::uint32_t key_words = 1;
  bool segmented = false;
  bool number_rows = false;
  bool narrow = false;  ///< elements of the first payload column are a word
  bool more = true;     ///< there are other payload columns
  bool wide = true;     ///< some payload column's elements have an even number of words
};

std::vector<vk::SpecConstant> key_constants(RadixKind const& kind) {
  return {{shaders::kSpecWords, kind.key_words},
          {shaders::kSpecBits, kind.digit.bits},
          {shaders::kSpecHashed, kind.digit.hashed ? 1U : 0U},
          {shaders::kSpecStable, kind.digit.stable ? 1U : 0U},
          {shaders::kSpecSegmented, kind.segmented ? 1U : 0U}};
}

PassShape count_shape(ComputeTuning const& tuning, RadixKind const& kind) {
  // Chunks of whole tiles: what is less than one is counted key by key.
  auto const chunk = tile_rows(tuning, kind.digit);
  bool const is_small = kind.digit.stable || tuning.is_software;
  auto const group = is_small ? tuning.group_size : std::min(kCountGroupSize, tuning.most_group_size);
  auto const most = tuning.is_software ? kCountItemsOnSoftware : kCountItems;
  auto items = static_cast<std::uint32_t>(std::clamp<std::uint64_t>(chunk / group, 1, most));
  if (chunk % group == 0)
    while (chunk / group % items != 0) --items;
  return {"primitives/partition_count.comp", group, items, sizeof(shaders::PartitionPush), key_constants(kind)};
}

PassShape scatter_shape(ComputeTuning const& tuning, RadixKind const& kind) {
  auto const& digit = kind.digit;
  auto const tile = scatter_tile(tuning, digit.bits, digit.stable, digit.wide);
  PassShape shape{"primitives/partition_scatter.comp", tile.group_size, tile.items, sizeof(shaders::PartitionPush),
                  key_constants(kind)};
  shape.constants.push_back({shaders::kSpecMaskBits, tile.mask_bits});
  shape.constants.push_back({shaders::kSpecPacked, tile.packed ? 1U : 0U});
  shape.constants.push_back({shaders::kSpecFullApart, tile.full_apart ? 1U : 0U});
  shape.constants.push_back({shaders::kSpecNarrow, kind.narrow ? 1U : 0U});
  shape.constants.push_back({shaders::kSpecRounds, tile.rounds});
  shape.constants.push_back({shaders::kSpecMore, !kind.narrow || kind.more ? 1U : 0U});
  shape.constants.push_back({shaders::kSpecWidePayload, kind.wide ? 1U : 0U});
  shape.constants.push_back({shaders::kSpecIota, kind.number_rows ? 1U : 0U});
  shape.constants.push_back(
      {shaders::kSpecScratch, scatter_scratch_words(tuning, digit.bits, digit.stable, digit.wide)});
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

std::uint64_t RadixPass::scratch_bytes(std::uint64_t rows, std::uint32_t segments, std::uint32_t bits, bool stable,
                                       ComputeTuning const& tuning) noexcept {
  auto const counters = stable ? rows / tile_rows(tuning, {bits, 0, true, true}) + segments : segments;
  return (counters << bits) * 2 * sizeof(std::uint32_t);
}

Result<RadixPass> RadixPass::create(ComputeContext& context, std::uint64_t rows, std::uint32_t segments,
                                    RadixDigit const& digit, std::uint32_t payload_columns) {
  auto const& tuning = context.tuning();
  GARUDA_EXPECTS(digit.bits > 0 && digit.bits <= (digit.stable ? kStableBits : partition_bits(tuning)));
  GARUDA_EXPECTS(rows <= std::uint64_t{1} << 31 && segments > 0);
  RadixPass pass;
  pass.digit_ = digit;
  pass.segments_ = segments;
  pass.chunk_rows_ = tile_rows(tuning, digit);
  pass.max_chunks_ = groups_for(rows, pass.chunk_rows_);
  auto const bins = std::uint64_t{1} << digit.bits;
  if (segments > 1) {
    GARUDA_TRY_ASSIGN(pass.chunks_,
                      ChunkTable::create(context, rows, segments, static_cast<std::uint32_t>(pass.chunk_rows_),
                                         static_cast<std::uint32_t>(bins), !digit.stable));
    pass.max_chunks_ = pass.chunks_.max_chunks();
  }
  pass.chunks_each_ = chunks_each(pass.max_chunks_, digit.stable);
  auto const cells = (digit.stable ? pass.max_chunks_ : segments) * bins;
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
  push.chunks_each = chunks_each_;
  return push;
}

Result<void> RadixPass::record_clears(ComputeContext& context, char const* phase, RadixRows const& rows,
                                      bool independent) {
  if (!digit_.stable) {
    GARUDA_TRY(context.fill(phase, matrix_, 0, independent));
    independent = true;
  }
  if (rows.payload.size() <= 1) return {};
  std::vector<shaders::PayloadColumn> columns;
  for (auto const& column : rows.payload) columns.push_back(column_of(column));
  return context.update(phase, columns_, std::as_bytes(std::span(columns)), independent);
}

Result<void> RadixPass::record_chunk_counts(ComputeContext& context, char const* phase, RadixJob const& job,
                                            bool independent) {
  auto push = push_for(job.rows, job.segments);
  auto const shape = count_shape(context.tuning(), {digit_, job.rows.keys.words, job.segments.starts != nullptr});
  auto const groups = groups_for(push.num_chunks, push.chunks_each);
  push.cleared = scan_.states().address();
  push.num_cleared = DeviceScan::num_state_words(context.tuning(), num_sums(push));
  GARUDA_EXPECTS(push.num_cleared <= groups * shape.group_size);
  return context.dispatch(phase, shape, push, groups, job.rows.rows, independent);
}

Result<void> RadixPass::record_counts(ComputeContext& context, char const* phase, RadixRows const& rows) {
  GARUDA_TRY(record_clears(context, phase, rows, false));
  return record_chunk_counts(context, phase, {this, rows, {}}, false);
}

std::uint64_t RadixPass::num_sums(shaders::PartitionPush const& push) const {
  return digit_.stable ? std::uint64_t{push.num_chunks} << digit_.bits : num_starts();
}

Result<void> RadixPass::record_starts(ComputeContext& context, char const* phase, shaders::PartitionPush const& push,
                                      Segments const& segments, bool independent) {
  bool const segmented = segments.starts != nullptr;
  shaders::BinStartsPush starts{};
  starts.matrix = sums_.address();
  starts.first_chunk = segmented ? chunks_.first_chunk().address() : 0;
  starts.segments = segmented ? segments.starts->address() : 0;
  starts.starts = starts_.address();
  starts.num_rows = push.num_rows;
  starts.num_segments = segments_;
  starts.bins = 1U << digit_.bits;
  starts.num_chunks = push.num_chunks;
  auto const groups = groups_for(num_starts() + std::uint64_t{1}, context.tuning().group_size);
  return context.dispatch(phase, starts_shape(segmented), starts, groups, num_starts(), independent);
}

Result<void> RadixPass::record_sums(ComputeContext& context, char const* phase, RadixJob const& job, bool independent) {
  auto const push = push_for(job.rows, job.segments);
  ScannedWords words{matrix_.address(), sums_.address(), num_sums(push)};
  words.cleared = true;
  // In any order all chunks count in the same cells, one a bin: their sums are the starts, and are moved on in the
  // other place.
  if (!digit_.stable) words.copy = starts_.address();
  return scan_.record(context, phase, words, independent);
}

Result<void> RadixPass::record_scatter(ComputeContext& context, char const* phase, RadixJob const& job,
                                       bool independent) {
  auto push = push_for(job.rows, job.segments);
  push.matrix = sums_.address();
  auto const& payload = job.rows.payload;
  RadixKind kind{digit_, job.rows.keys.words, job.segments.starts != nullptr, job.rows.number_rows};
  kind.narrow = !payload.empty() && payload[0].words == 1;
  kind.more = payload.size() > 1;
  kind.wide = std::ranges::any_of(payload, [](auto const& column) { return column.words % 2 == 0; });
  auto const shape = scatter_shape(context.tuning(), kind);
  if (digit_.stable) {
    // Both read the sums alone.
    GARUDA_TRY(record_starts(context, phase, push, job.segments, independent));
    independent = true;
  }
  return context.dispatch(phase, shape, push, push.num_chunks, job.rows.rows * (1 + payload.size()), independent);
}

Result<void> RadixPass::record_side_by_side(ComputeContext& context, RadixPhases const& phases,
                                            std::span<RadixJob const> jobs) {
  auto const for_all = [&](auto const& step) -> Result<void> {
    bool independent = false;
    for (auto const& job : jobs) {
      GARUDA_TRY(step(job, independent));
      independent = true;
    }
    return {};
  };
  GARUDA_EXPECTS(!jobs.empty());
  if (jobs[0].segments.starts != nullptr) {
    GARUDA_TRY(for_all([&](RadixJob const& job, bool independent) {
      return job.pass->chunks_.record_firsts(context, phases.count, job.segments.starts->address(), independent);
    }));
    GARUDA_TRY(for_all([&](RadixJob const& job, bool independent) {
      return job.pass->chunks_.record_chunks(context, phases.count, job.segments.starts->address(), independent);
    }));
  }
  GARUDA_TRY(for_all([&](RadixJob const& job, bool independent) {
    return job.pass->record_chunk_counts(context, phases.count, job, independent);
  }));
  GARUDA_TRY(for_all([&](RadixJob const& job, bool independent) {
    return job.pass->record_sums(context, phases.scan, job, independent);
  }));
  return for_all([&](RadixJob const& job, bool independent) {
    return job.pass->record_scatter(context, phases.scatter, job, independent);
  });
}

Result<void> RadixPass::record(ComputeContext& context, RadixPhases const& phases, RadixRows const& rows,
                               Segments const& segments) {
  GARUDA_TRY(record_clears(context, phases.count, rows, false));
  RadixJob const job{this, rows, segments};
  return record_side_by_side(context, phases, std::span(&job, 1));
}

std::vector<std::uint32_t> bits_of_passes(std::uint32_t bits, std::uint32_t most) {
  auto const passes = (bits + most - 1) / most;
  std::vector<std::uint32_t> split;
  for (std::uint32_t pass = 0; pass < passes; ++pass) {
    auto const left = passes - pass;
    split.push_back((bits + left - 1) / left);
    bits -= split.back();
  }
  return split;
}

std::uint64_t radix_scratch_bytes(std::uint64_t rows, std::uint32_t bits, ComputeTuning const& tuning) noexcept {
  std::uint64_t bytes = 0;
  std::uint32_t used = 0;
  for (auto const pass_bits : bits_of_passes(bits, partition_bits(tuning))) {
    bytes += RadixPass::scratch_bytes(rows, 1U << used, pass_bits, false, tuning);
    used += pass_bits;
  }
  return bytes;
}

std::uint32_t MovedSide::payload_words(std::size_t column) const {
  if (!rows_.number_rows) return rows_.payload.at(column).words;
  return column == 0 ? 1 : rows_.payload.at(column - 1).words;
}

Result<void> MovedSide::take(ComputeContext& context, DeviceRows rows, std::span<RadixDigit const> digits,
                             bool segmented) {
  rows_ = std::move(rows);
  auto const payload = num_payload();
  std::uint32_t used = 0;
  for (auto const& digit : digits) {
    GARUDA_TRY_ASSIGN(auto pass,
                      RadixPass::create(context, rows_.rows, 1U << used, digit, static_cast<std::uint32_t>(payload)));
    passes_.push_back(std::move(pass));
    if (segmented) used += digit.bits;
  }
  for (std::size_t copy = 0; copy < std::min<std::size_t>(digits.size(), 2); ++copy) {
    auto& [keys, columns] = copies_[copy];
    GARUDA_TRY_ASSIGN(keys, context.device_buffer(rows_.rows * rows_.keys.words * 4, "moved keys"));
    for (std::size_t i = 0; i < payload; ++i) {
      GARUDA_TRY_ASSIGN(auto column, context.device_buffer(rows_.rows * payload_words(i) * 4, "moved column"));
      columns.push_back(std::move(column));
    }
  }
  last_ = (digits.size() - 1) % 2;
  return {};
}

void MovedSide::take_moved(DeviceRows rows, Copy moved) {
  rows_ = std::move(rows);
  copies_[0] = std::move(moved);
}

RadixRows MovedSide::moved_by(std::size_t pass) const {
  bool const first = pass == 0;
  auto const& source = copies_[(pass + 1) % 2];
  auto const& target = copies_[pass % 2];
  RadixRows moved;
  moved.rows = rows_.rows;
  moved.keys = {first ? rows_.keys.address : source.keys.address(), target.keys.address(), rows_.keys.words};
  moved.number_rows = first && rows_.number_rows;
  std::size_t const numbers = rows_.number_rows ? 1 : 0;
  for (std::size_t i = 0; i < target.payload.size(); ++i) {
    auto const original = i < numbers ? 0 : rows_.payload[i - numbers].address;
    moved.payload.push_back(
        {first ? original : source.payload[i].address(), target.payload[i].address(), payload_words(i)});
  }
  return moved;
}

PartitionedSide::PartitionedSide(ScatteredRows scattered)
    : most_rows_(scattered.rows), bits_(scattered.bits), scattered_starts_(std::move(scattered.starts)) {
  DeviceRows rows;
  rows.rows = scattered.rows;
  rows.keys = {scattered.keys.address(), scattered.key_words};
  rows.number_rows = true;
  Copy moved{std::move(scattered.keys), {}};
  moved.payload.push_back(std::move(scattered.numbers));
  take_moved(std::move(rows), std::move(moved));
}

Result<PartitionedSide> PartitionedSide::create(ComputeContext& context, DeviceRows rows, std::uint32_t bits) {
  GARUDA_EXPECTS(rows.rows > 0 && bits > 0 && bits <= 24);
  PartitionedSide side;
  side.most_rows_ = rows.rows;
  side.bits_ = bits;
  bool const wide =
      rows.keys.words > 1 || std::ranges::any_of(rows.payload, [](auto const& column) { return column.words > 1; });
  std::vector<RadixDigit> digits;
  auto shift = kHashBits;
  for (auto const pass_bits : bits_of_passes(bits, partition_bits(context.tuning()))) {
    shift -= pass_bits;
    digits.push_back({pass_bits, shift, true, false, wide});
  }
  GARUDA_TRY(side.take(context, std::move(rows), digits, true));
  return side;
}

Result<void> PartitionedSide::record(ComputeContext& context, DeviceRows rows) {
  GARUDA_EXPECTS(rows.rows > 0 && rows.rows <= most_rows_ && rows.keys.words == rows_.keys.words &&
                 rows.payload.size() == rows_.payload.size() && rows.number_rows == rows_.number_rows);
  rows_ = std::move(rows);
  return record(context);
}

Result<void> PartitionedSide::record(ComputeContext& context) {
  std::array<PartitionedSide*, 1> const sides{this};
  return record_side_by_side(context, sides);
}

RadixJob PartitionedSide::job_of(std::size_t pass) {
  Segments segments;
  if (pass > 0) segments = {&passes_[pass - 1].starts(), passes_[pass - 1].num_starts()};
  return {&passes_[pass], moved_by(pass), segments};
}

Result<void> PartitionedSide::record_side_by_side(ComputeContext& context, std::span<PartitionedSide* const> sides) {
  GARUDA_EXPECTS(!sides.empty());
  auto const passes = sides[0]->passes_.size();
  std::vector<std::vector<RadixJob>> jobs(passes);
  bool independent = false;
  for (auto* const side : sides) {
    GARUDA_EXPECTS(side->bits_ == sides[0]->bits_);
    for (std::size_t pass = 0; pass < passes; ++pass) {
      jobs[pass].push_back(side->job_of(pass));
      GARUDA_TRY(
          side->passes_[pass].record_clears(context, kPartitionPhases[0].count, jobs[pass].back().rows, independent));
      independent = true;
    }
  }
  for (std::size_t pass = 0; pass < passes; ++pass)
    GARUDA_TRY(RadixPass::record_side_by_side(context, kPartitionPhases.at(pass), jobs[pass]));
  return {};
}

Result<SortedSide> SortedSide::create(ComputeContext& context, DeviceRows rows, std::uint32_t bits) {
  GARUDA_EXPECTS(rows.rows > 0 && bits <= 32 * rows.keys.words);
  SortedSide side;
  std::vector<RadixDigit> digits;
  std::uint32_t shift = 0;
  for (auto const pass_bits : bits_of_passes(std::max(bits, 1U), kStableBits)) {
    // A digit lies within one word of the key or within the low word after a shift: see digit_of in radix.glsl.
    digits.push_back({pass_bits, shift, false, true});
    shift += pass_bits;
  }
  GARUDA_TRY(side.take(context, std::move(rows), digits, false));
  return side;
}

Result<void> SortedSide::record(ComputeContext& context) {
  for (std::size_t pass = 0; pass < passes_.size(); ++pass)
    GARUDA_TRY(passes_[pass].record(context, kSortPhases, moved_by(pass)));
  return {};
}

std::vector<vk::ComputePipelineSpec> radix_pipelines(ComputeTuning const& tuning) {
  std::vector<vk::ComputePipelineSpec> specs;
  for (bool const segmented : {false, true}) {
    for (std::uint32_t const key_words : {1U, 2U}) {
      for (bool const hashed : {false, true}) {
        for (bool const stable : {false, true}) {
          auto const bits = stable ? kStableBits : partition_bits(tuning);
          RadixKind kind{{bits, 0, hashed, stable, key_words > 1}, key_words, segmented, !segmented};
          specs.push_back(compute_pipeline(scatter_shape(tuning, kind), tuning));
          kind.narrow = true;
          specs.push_back(compute_pipeline(scatter_shape(tuning, kind), tuning));
          specs.push_back(compute_pipeline(count_shape(tuning, kind), tuning));
        }
      }
    }
    specs.push_back(compute_pipeline(starts_shape(segmented), tuning));
  }
  return specs;
}

}  // namespace garuda::compute
