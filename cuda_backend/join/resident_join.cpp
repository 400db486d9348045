#include "cuda_backend/join/resident_join.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "cuda_backend/status.hpp"

namespace garuda::cuda_backend {
namespace {

/// Build rows that a partition should have: a table of them leaves room for three blocks on a multiprocessor. On an
/// H200, 2026-11-21, 2^27 rows a side with two columns each: 8.04 ms by 4096 rows, 8.30 by 2048; with one column the
/// same.
constexpr std::uint64_t kPartitionRows = 4096;
/// Most build rows of a chunk: rows have 16 bits, one of which values is no row.
constexpr std::uint64_t kLargestChunk = 0xfe00;
constexpr std::uint64_t kSmallestJoinChunk = 256;
constexpr std::uint64_t kFewestProbeRows = 8192;  // of a chunk, and so many times the build rows
constexpr std::uint64_t kProbeShare = 4;
constexpr std::uint64_t kJoinSharedReserve = 2048;  // what a block takes beside the table
/// Bytes that fetching a value from a random place costs.
constexpr std::uint64_t kFetchBytes = 32;

std::uint32_t num_rows(GarudaCudaResidentTable const& table) { return static_cast<std::uint32_t>(table.rows); }

std::span<GarudaCudaColumn const> columns_of(GarudaCudaResidentTable const& table) {
  return std::span(table.columns).first(table.num_columns);
}

bool numbers_rows(GarudaCudaColumn const& column) { return column.address == kRowNumbers.address; }

bool builds_left(GarudaCudaResidentTable const& left, GarudaCudaResidentTable const& right, std::uint32_t asked) {
  return asked == GARUDA_CUDA_BUILD_AUTOMATIC ? left.rows <= right.rows : asked == GARUDA_CUDA_BUILD_LEFT;
}

bool is_width(std::uint32_t bytes) { return bytes == 4 || bytes == 8; }

Result<void> check_table(GarudaCudaResidentTable const& table) {
  constexpr std::uint64_t kMostRows = (std::uint64_t{1} << 31) - 1;
  if (table.rows > kMostRows)
    return fail(ErrorCode::limit_exceeded, "resident tables have at most 2^31 - 1 rows: " + std::to_string(table.rows));
  auto const columns = std::span(table.columns).first(std::min(table.num_columns, GARUDA_CUDA_MAX_COLUMNS));
  bool const is_right = table.num_columns <= GARUDA_CUDA_MAX_COLUMNS && is_width(table.key.bytes) &&
                        std::ranges::all_of(columns, is_width, &GarudaCudaColumn::bytes);
  if (!is_right)
    return fail(ErrorCode::usage, "resident tables have at most 16 payload columns, values of 4 or 8 bytes");
  return {};
}

}  // namespace

Result<std::unique_ptr<ResidentJoin>> ResidentJoin::create(Lane& lane, GarudaCudaResidentTable const& left,
                                                           GarudaCudaResidentTable const& right,
                                                           GarudaCudaJoinParts parts, std::uint64_t expected_rows,
                                                           GarudaCudaResidentTuning const& tuning) {
  GARUDA_TRY(check_table(left));
  GARUDA_TRY(check_table(right));
  if (left.key.bytes != right.key.bytes) return fail(ErrorCode::usage, "keys of resident tables differ in width");
  if (tuning.partition_by > static_cast<std::uint32_t>(PartitionBy::sort))
    return fail(ErrorCode::usage, "no such way to partition: " + std::to_string(tuning.partition_by));
  if (tuning.tile_items != 0 && tuning.tile_items != 8 && tuning.tile_items != 16)
    return fail(ErrorCode::usage, "tile_items must be 8 or 16: " + std::to_string(tuning.tile_items));
  return std::unique_ptr<ResidentJoin>(new ResidentJoin(lane, left, right, parts, expected_rows, tuning));
}

ResidentJoin::ResidentJoin(Lane& lane, GarudaCudaResidentTable const& left, GarudaCudaResidentTable const& right,
                           GarudaCudaJoinParts parts, std::uint64_t expected_rows,
                           GarudaCudaResidentTuning const& tuning)
    : lane_(lane),
      parts_(parts),
      tuning_(tuning),
      expected_rows_(std::max<std::uint64_t>(expected_rows, 1)),
      build_is_left_(builds_left(left, right, tuning.build)),
      build_{build_is_left_ ? left : right},
      probe_{build_is_left_ ? right : left} {
  choose_shape();
  choose_payload(build_);
  choose_payload(probe_);
}

/// Partitions of about kPartitionRows build rows, larger ones where the bits do not make as many; chunks that hold
/// one with some to spare; a bucket a row, of large ones two rows.
void ResidentJoin::choose_shape() {
  auto const shared = lane_.device().traits().shared_bytes;
  auto const rows = std::max<std::uint64_t>(build_.table.rows, 1);
  auto const wanted = tuning_.partition_rows == 0 ? kPartitionRows : tuning_.partition_rows;
  auto const parts = (rows + wanted - 1) / wanted;
  shape_.bits = std::clamp(log2_at_least(parts), kFewestJoinBits, kMostPartitionBits);
  shape_.tile_items = tuning_.tile_items;
  shape_.by = static_cast<PartitionBy>(tuning_.partition_by);
  auto const average = std::max<std::uint64_t>(rows >> shape_.bits, 1);
  auto chunk = std::min(average + average / 32 + kSmallestJoinChunk, kLargestChunk);
  auto const bits_of_chunk = [&] {
    auto const buckets = average > 2 * kPartitionRows ? chunk / 2 : chunk;
    return std::max(log2_at_least(buckets), kSplitBits - shape_.bits);
  };
  while (chunk > kSmallestJoinChunk &&
         join_tasks_bytes(static_cast<std::uint32_t>(chunk), bits_of_chunk(), build_.table.key.bytes) +
                 kJoinSharedReserve >
             shared)
    chunk = chunk * 3 / 4;
  build_chunk_ = static_cast<std::uint32_t>(chunk);
  log2_buckets_ = bits_of_chunk();
}

/// Carried payload is read and written once for every row, fetched payload read for every row of the result, with the
/// row numbers carried instead.
void ResidentJoin::choose_payload(JoinSide& side) const {
  auto const columns = columns_of(side.table);
  if (columns.empty() || std::ranges::any_of(columns, numbers_rows)) return;
  if (tuning_.payload != GARUDA_CUDA_PAYLOAD_AUTOMATIC) {
    side.gathers = tuning_.payload == GARUDA_CUDA_PAYLOAD_GATHER;
    return;
  }
  std::uint64_t carried = 0;
  for (auto const& column : columns) carried += 2 * side.table.rows * column.bytes;
  auto const fetched = 2 * side.table.rows * kRowNumbers.bytes + expected_rows_ * columns.size() * kFetchBytes;
  side.gathers = fetched < carried;
}

/// Room for `rows`, and for as many as are expected; what is there already stays.
Result<void> ResidentJoin::take_room(std::uint64_t rows) {
  rows = std::max(rows, expected_rows_);
  if (parts_ == GARUDA_CUDA_JOIN_NOTHING || room_ >= rows) return {};
  room_ = 0;
  keys_.reset();
  build_.columns.clear();
  probe_.columns.clear();
  if (parts_ == GARUDA_CUDA_JOIN_ROWS) {
    GARUDA_TRY_ASSIGN(keys_, lane_.allocate(rows * build_.table.key.bytes, "keys of the result"));
  }
  for (auto* const side : {&build_, &probe_})
    for (auto const& column : columns_of(side->table)) {
      GARUDA_TRY_ASSIGN(auto memory, lane_.allocate(rows * column.bytes, "column of the result"));
      side->columns.push_back(std::move(memory));
    }
  room_ = rows;
  return {};
}

GarudaCudaResidentRows ResidentJoin::rows_of_result(std::uint64_t count) const {
  GarudaCudaResidentRows rows{};
  rows.rows = count;
  rows.key = {keys_.address(), build_.table.key.bytes};
  auto const& left = build_is_left_ ? build_ : probe_;
  auto const& right = build_is_left_ ? probe_ : build_;
  for (std::size_t c = 0; c < left.columns.size(); ++c)
    rows.left[c] = {left.columns[c].address(), left.table.columns[c].bytes};
  for (std::size_t c = 0; c < right.columns.size(); ++c)
    rows.right[c] = {right.columns[c].address(), right.table.columns[c].bytes};
  return rows;
}

Result<void> ResidentJoin::partition_side(JoinSide& side) {
  GARUDA_TRY(lane_.step("partition", 0, side.table.rows));
  side.partitioned = {};
  auto const columns = side.gathers ? std::span<GarudaCudaColumn const>(&kRowNumbers, 1) : columns_of(side.table);
  GARUDA_TRY_ASSIGN(side.partitioned, partition(lane_, side.table.key, num_rows(side.table), columns, shape_));
  return {};
}

PayloadColumns ResidentJoin::payload_of(JoinSide const& side) const {
  PayloadColumns payload;
  if (parts_ == GARUDA_CUDA_JOIN_NOTHING) return payload;
  payload.count = side.table.num_columns;
  auto const& partitioned = side.partitioned.columns;
  for (std::uint32_t c = 0; c < payload.count; ++c) {
    auto const& column = side.table.columns[c];
    auto& moved = payload.columns[c];
    moved.source = side.gathers ? reinterpret_cast<void const*>(column.address) : partitioned[c].as<void>();
    moved.rows = side.gathers ? partitioned[0].as<std::uint32_t>() : nullptr;
    moved.target = side.columns[c].as<void>();
    moved.bytes = column.bytes;
  }
  return payload;
}

Result<TaskList> ResidentJoin::list_tasks(JoinSide const& build, JoinSide const& probe) {
  TaskShape shape;
  shape.build_starts = build.partitioned.starts.as<std::uint32_t>();
  shape.probe_starts = probe.partitioned.starts.as<std::uint32_t>();
  shape.partitions = 1U << shape_.bits;
  shape.build_chunk = build_chunk_;
  shape.probe_chunk = static_cast<std::uint32_t>(std::max(kProbeShare * build_chunk_, kFewestProbeRows));
  return list_chunk_tasks(lane_, shape);
}

ResidentJoinPass ResidentJoin::pass_of(TaskList const& tasks, JoinSide const& build, JoinSide const& probe) const {
  ResidentJoinPass pass;
  pass.tasks = tasks.tasks.as<ChunkTask>();
  pass.num_tasks = tasks.count;
  pass.build_keys = build.partitioned.keys.as<void>();
  pass.probe_keys = probe.partitioned.keys.as<void>();
  pass.partition_bits = shape_.bits;
  pass.build_chunk = build_chunk_;
  pass.log2_buckets = log2_buckets_;
  pass.mixed = shape_.mixed;
  return pass;
}

Result<std::uint64_t> ResidentJoin::join(TaskList const& tasks) {
  GARUDA_TRY_ASSIGN(auto const cursor, lane_.allocate(8, "cursor"));
  GARUDA_CUDA_TRY(cudaMemsetAsync(cursor.as<void>(), 0, 8, lane_.stream()));
  auto pass = pass_of(tasks, build_, probe_);
  pass.keys_out = keys_.as<void>();
  pass.build = payload_of(build_);
  pass.probe = payload_of(probe_);
  pass.cursor = cursor.as<std::uint64_t>();
  pass.capacity = room_;
  GARUDA_TRY(lane_.step("join", 0, build_.table.rows + probe_.table.rows));
  GARUDA_TRY(join_tasks(lane_, pass, build_.table.key.bytes));
  std::uint64_t rows = 0;
  GARUDA_TRY(lane_.download(std::as_writable_bytes(std::span(&rows, 1)), cursor.as<void>()));
  return rows;
}

Result<GarudaCudaResidentRows> ResidentJoin::run() {
  GARUDA_TRY(take_room(0));
  if (build_.table.rows == 0 || probe_.table.rows == 0) return rows_of_result(0);
  GARUDA_TRY(lane_.step("sample", 0, kSampledKeys));
  GARUDA_TRY_ASSIGN(shape_.mixed, needs_mixing(lane_, build_.table.key, num_rows(build_.table), shape_.bits));
  GARUDA_TRY(partition_side(build_));
  GARUDA_TRY(partition_side(probe_));
  GARUDA_TRY_ASSIGN(auto const tasks, list_tasks(build_, probe_));
  if (tasks.count == 0) {
    GARUDA_TRY(lane_.wait());
    return rows_of_result(0);
  }
  GARUDA_TRY_ASSIGN(auto rows, join(tasks));
  if (rows > room_ && parts_ != GARUDA_CUDA_JOIN_NOTHING) {
    GARUDA_TRY(take_room(rows));
    GARUDA_TRY_ASSIGN(rows, join(tasks));
    GARUDA_EXPECTS(rows == room_);
  }
  return rows_of_result(rows);
}

/// Rows of the marked side are looked for in tables of the other one, whichever the join was built on: the first match
/// is enough.
Result<void> ResidentJoin::mark(bool is_left, std::span<std::uint64_t> words) {
  auto const& marked = is_left == build_is_left_ ? build_ : probe_;
  auto const& other = is_left == build_is_left_ ? probe_ : build_;
  auto const& numbers = marked.partitioned.columns;
  if (numbers.size() != 1 || !numbers_rows(marked.table.columns[0]))
    return fail(ErrorCode::usage, "rows are marked of joined tables whose one column is the row numbers");
  GARUDA_TRY_ASSIGN(auto const bits, lane_.allocate(words.size_bytes(), "marks"));
  GARUDA_CUDA_TRY(cudaMemsetAsync(bits.as<void>(), 0, words.size_bytes(), lane_.stream()));
  GARUDA_TRY_ASSIGN(auto const tasks, list_tasks(other, marked));
  GARUDA_TRY(lane_.step("mark", 0, build_.table.rows + probe_.table.rows));
  auto pass = pass_of(tasks, other, marked);
  pass.probe_rows = numbers[0].as<std::uint32_t>();
  pass.marks = bits.as<std::uint32_t>();
  if (tasks.count > 0) GARUDA_TRY(mark_tasks(lane_, pass, build_.table.key.bytes));
  return lane_.download(std::as_writable_bytes(words), bits.as<void>());
}

}  // namespace garuda::cuda_backend
