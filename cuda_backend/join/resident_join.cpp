#include "cuda_backend/join/resident_join.hpp"

#include <algorithm>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "cuda_backend/join/chunk_tasks.hpp"
#include "cuda_backend/join/matches.hpp"
#include "cuda_backend/join/resident_join_kernels.hpp"
#include "cuda_backend/partition.hpp"
#include "cuda_backend/primitives.hpp"
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

/// Columns of a result, with room for a number of rows.
class ResidentResult {
 public:
  ResidentResult(Lane& lane, GarudaCudaResidentTable const& left, GarudaCudaResidentTable const& right,
                 std::uint64_t expected_rows)
      : lane_(lane), left_table_(left), right_table_(right), expected_(std::max<std::uint64_t>(expected_rows, 1)) {}

  std::uint64_t expected_rows() const noexcept { return expected_; }
  std::uint64_t room() const noexcept { return room_; }
  /// Room for `rows`, and for as many as are expected; what is there already stays. Errors: limit_exceeded,
  /// out_of_memory.
  Result<void> take_room(std::uint64_t rows = 0);
  Buffer const& keys() const noexcept { return keys_; }
  std::span<Buffer const> left() const noexcept { return left_; }
  std::span<Buffer const> right() const noexcept { return right_; }
  GarudaCudaResidentRows rows(std::uint64_t count) const;

 private:
  Lane& lane_;
  GarudaCudaResidentTable left_table_;
  GarudaCudaResidentTable right_table_;
  std::uint64_t expected_;
  std::uint64_t room_ = 0;
  Buffer keys_;
  std::vector<Buffer> left_;
  std::vector<Buffer> right_;
};

Result<void> ResidentResult::take_room(std::uint64_t rows) {
  rows = std::max({rows, room_, expected_});
  if (room_ >= rows) return {};
  room_ = 0;
  keys_.reset();
  left_.clear();
  right_.clear();
  GARUDA_TRY_ASSIGN(keys_, lane_.allocate(rows * left_table_.key.bytes, "keys of the result"));
  auto const take = [&](GarudaCudaResidentTable const& table, std::vector<Buffer>& out) -> Result<void> {
    for (std::uint32_t c = 0; c < table.num_columns; ++c) {
      GARUDA_TRY_ASSIGN(auto column, lane_.allocate(rows * table.columns[c].bytes, "column of the result"));
      out.push_back(std::move(column));
    }
    return {};
  };
  GARUDA_TRY(take(left_table_, left_));
  GARUDA_TRY(take(right_table_, right_));
  room_ = rows;
  return {};
}

GarudaCudaResidentRows ResidentResult::rows(std::uint64_t count) const {
  GarudaCudaResidentRows found{};
  found.rows = count;
  found.key = {keys_.address(), left_table_.key.bytes};
  auto const copy = [](GarudaCudaResidentTable const& table, std::vector<Buffer> const& out,
                       GarudaCudaColumn* columns) {
    for (std::size_t c = 0; c < out.size(); ++c) columns[c] = {out[c].address(), table.columns[c].bytes};
  };
  copy(left_table_, left_, found.left);
  copy(right_table_, right_, found.right);
  return found;
}

/// The tables of a join, of which the smaller one is built on, and its result.
class TwoTables : public ResidentJoin {
 protected:
  TwoTables(Lane& lane, GarudaCudaResidentTable const& left, GarudaCudaResidentTable const& right,
            std::uint64_t expected_rows)
      : lane_(lane),
        result_(lane, left, right, expected_rows),
        build_is_left_(left.rows <= right.rows),
        build_table_(build_is_left_ ? left : right),
        probe_table_(build_is_left_ ? right : left) {}
  ~TwoTables() override { lane_.drain(); }

  static std::uint32_t rows_of(GarudaCudaResidentTable const& table) { return static_cast<std::uint32_t>(table.rows); }
  static std::span<GarudaCudaColumn const> columns_of(GarudaCudaResidentTable const& table) {
    return std::span(table.columns).first(table.num_columns);
  }
  std::span<Buffer const> build_out() const { return build_is_left_ ? result_.left() : result_.right(); }
  std::span<Buffer const> probe_out() const { return build_is_left_ ? result_.right() : result_.left(); }

  Lane& lane_;
  ResidentResult result_;
  bool build_is_left_;
  GarudaCudaResidentTable build_table_;
  GarudaCudaResidentTable probe_table_;
};

class PartitionedJoin final : public TwoTables {
 public:
  PartitionedJoin(Lane& lane, GarudaCudaResidentTable const& left, GarudaCudaResidentTable const& right,
                  std::uint64_t expected_rows, GarudaCudaResidentTuning const& tuning)
      : TwoTables(lane, left, right, expected_rows), tuning_(tuning) {
    choose_shape();
    choose_payload(build_);
    choose_payload(probe_);
  }

  Result<GarudaCudaResidentRows> run() override;

 private:
  struct JoinSide {
    GarudaCudaResidentTable const& table;
    PartitionedSide partitioned;
    bool gathers = false;  ///< row numbers are partitioned, payload is fetched by them
  };

  void choose_shape();
  void choose_payload(JoinSide& side) const;
  Result<void> partition_side(JoinSide& side);
  PayloadColumns payload_of(JoinSide const& side, std::span<Buffer const> out) const;
  Result<std::uint64_t> join(TaskList const& tasks);

  GarudaCudaResidentTuning tuning_;
  JoinSide build_{build_table_, {}};
  JoinSide probe_{probe_table_, {}};
  PartitionShape shape_;
  std::uint32_t build_chunk_ = 0;
  std::uint32_t log2_buckets_ = 0;
};

/// Partitions of about kPartitionRows build rows, larger ones where the bits do not make as many; chunks that hold
/// one with some to spare; a bucket a row, of large ones two rows.
void PartitionedJoin::choose_shape() {
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
void PartitionedJoin::choose_payload(JoinSide& side) const {
  if (side.table.num_columns == 0) return;
  if (tuning_.payload != GARUDA_CUDA_PAYLOAD_AUTOMATIC) {
    side.gathers = tuning_.payload == GARUDA_CUDA_PAYLOAD_GATHER;
    return;
  }
  std::uint64_t carried = 0;
  for (auto const& column : columns_of(side.table)) carried += 2 * side.table.rows * column.bytes;
  auto const fetched =
      2 * side.table.rows * kRowNumbers.bytes + result_.expected_rows() * side.table.num_columns * kFetchBytes;
  side.gathers = fetched < carried;
}

Result<void> PartitionedJoin::partition_side(JoinSide& side) {
  GARUDA_TRY(lane_.step("partition", 0, side.table.rows));
  side.partitioned = {};
  auto const columns = side.gathers ? std::span<GarudaCudaColumn const>(&kRowNumbers, 1) : columns_of(side.table);
  GARUDA_TRY_ASSIGN(side.partitioned, partition(lane_, side.table.key, rows_of(side.table), columns, shape_));
  return {};
}

PayloadColumns PartitionedJoin::payload_of(JoinSide const& side, std::span<Buffer const> out) const {
  PayloadColumns payload;
  payload.count = side.table.num_columns;
  auto const& partitioned = side.partitioned.columns;
  for (std::uint32_t c = 0; c < payload.count; ++c) {
    auto const& column = side.table.columns[c];
    auto& moved = payload.columns[c];
    moved.source = side.gathers ? reinterpret_cast<void const*>(column.address) : partitioned[c].as<void>();
    moved.rows = side.gathers ? partitioned[0].as<std::uint32_t>() : nullptr;
    moved.target = out[c].as<void>();
    moved.bytes = column.bytes;
  }
  return payload;
}

Result<std::uint64_t> PartitionedJoin::join(TaskList const& tasks) {
  GARUDA_TRY_ASSIGN(auto const cursor, lane_.allocate(8, "cursor"));
  GARUDA_CUDA_TRY(cudaMemsetAsync(cursor.as<void>(), 0, 8, lane_.stream()));
  ResidentJoinPass pass;
  pass.tasks = tasks.tasks.as<ChunkTask>();
  pass.num_tasks = tasks.count;
  pass.build_keys = build_.partitioned.keys.as<void>();
  pass.probe_keys = probe_.partitioned.keys.as<void>();
  pass.keys_out = result_.keys().as<void>();
  pass.build = payload_of(build_, build_out());
  pass.probe = payload_of(probe_, probe_out());
  pass.cursor = cursor.as<std::uint64_t>();
  pass.capacity = result_.room();
  pass.partition_bits = shape_.bits;
  pass.build_chunk = build_chunk_;
  pass.log2_buckets = log2_buckets_;
  pass.mixed = shape_.mixed;
  GARUDA_TRY(lane_.step("join", 0, build_.table.rows + probe_.table.rows));
  GARUDA_TRY(join_tasks(lane_, pass, build_.table.key.bytes));
  std::uint64_t rows = 0;
  GARUDA_TRY(lane_.download(std::as_writable_bytes(std::span(&rows, 1)), cursor.as<void>()));
  return rows;
}

Result<GarudaCudaResidentRows> PartitionedJoin::run() {
  GARUDA_TRY(result_.take_room());
  if (build_.table.rows == 0) return result_.rows(0);
  GARUDA_TRY(lane_.step("sample", 0, kSampledKeys));
  GARUDA_TRY_ASSIGN(shape_.mixed, needs_mixing(lane_, build_.table.key, rows_of(build_.table), shape_.bits));
  GARUDA_TRY(partition_side(build_));
  GARUDA_TRY(partition_side(probe_));
  TaskShape shape;
  shape.build_starts = build_.partitioned.starts.as<std::uint32_t>();
  shape.probe_starts = probe_.partitioned.starts.as<std::uint32_t>();
  shape.partitions = 1U << shape_.bits;
  shape.build_chunk = build_chunk_;
  shape.probe_chunk = static_cast<std::uint32_t>(std::max(kProbeShare * build_chunk_, kFewestProbeRows));
  GARUDA_TRY_ASSIGN(auto const tasks, list_chunk_tasks(lane_, shape));
  if (tasks.count == 0) {
    GARUDA_TRY(lane_.wait());
    return result_.rows(0);
  }
  GARUDA_TRY_ASSIGN(auto rows, join(tasks));
  if (rows > result_.room()) {
    GARUDA_TRY(result_.take_room(rows));
    GARUDA_TRY_ASSIGN(rows, join(tasks));
    GARUDA_EXPECTS(rows == result_.room());
  }
  return result_.rows(rows);
}

/// Pairs whose rows are written out at a time: so many that starting the kernels costs nothing beside them.
constexpr std::uint64_t kPiecePairs = std::uint64_t{1} << 26;

/// The join through a list of each probe row's matches: one table in device memory, or both sides sorted. Payload is
/// fetched by row number. At most 2^30 build rows.
class ListedJoin final : public TwoTables {
 public:
  ListedJoin(Lane& lane, GarudaCudaResidentTable const& left, GarudaCudaResidentTable const& right,
             std::uint64_t expected_rows, GarudaCudaJoinMethod method)
      : TwoTables(lane, left, right, expected_rows), method_(method) {}

  Result<GarudaCudaResidentRows> run() override;

 private:
  Result<void> write(Matches const& matches, std::uint64_t pairs);

  GarudaCudaJoinMethod method_;
};

Result<void> ListedJoin::write(Matches const& matches, std::uint64_t pairs) {
  GARUDA_TRY(lane_.step("gather", 0, pairs));
  auto const piece = std::min(pairs, kPiecePairs);
  GARUDA_TRY_ASSIGN(auto const build_rows, lane_.allocate(piece * 4, "build rows of pairs"));
  GARUDA_TRY_ASSIGN(auto const probe_rows, lane_.allocate(piece * 4, "probe rows of pairs"));
  PairRows const rows{build_rows.as<std::uint32_t>(), probe_rows.as<std::uint32_t>()};
  for (std::uint64_t first = 0; first < pairs; first += piece) {
    auto const count = std::min(piece, pairs - first);
    GARUDA_TRY(matches.write(first, count, rows));
    auto const fetch = [&](GarudaCudaColumn const& column, Buffer const& out, std::uint32_t const* row_ids) {
      return gather(lane_, column, row_ids, count, out.as<std::byte>() + first * column.bytes);
    };
    GARUDA_TRY(fetch(probe_table_.key, result_.keys(), rows.probe));
    for (std::uint32_t c = 0; c < build_table_.num_columns; ++c)
      GARUDA_TRY(fetch(build_table_.columns[c], build_out()[c], rows.build));
    for (std::uint32_t c = 0; c < probe_table_.num_columns; ++c)
      GARUDA_TRY(fetch(probe_table_.columns[c], probe_out()[c], rows.probe));
  }
  return lane_.wait();
}

Result<GarudaCudaResidentRows> ListedJoin::run() {
  GARUDA_TRY(result_.take_room());
  if (build_table_.rows == 0) return result_.rows(0);
  Matches matches(lane_, method_, build_table_.key.bytes, rows_of(build_table_), rows_of(probe_table_));
  GARUDA_TRY(matches.add_build(build_table_.key.address));
  GARUDA_TRY(matches.add_probe(probe_table_.key.address));
  GARUDA_TRY_ASSIGN(auto const pairs, matches.count());
  GARUDA_TRY(result_.take_room(pairs));
  if (pairs > 0) GARUDA_TRY(write(matches, pairs));
  return result_.rows(pairs);
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
                                                           std::uint64_t expected_rows,
                                                           GarudaCudaResidentTuning const& tuning) {
  GARUDA_TRY(check_table(left));
  GARUDA_TRY(check_table(right));
  if (left.key.bytes != right.key.bytes) return fail(ErrorCode::usage, "keys of resident tables differ in width");
  if (tuning.partition_by > static_cast<std::uint32_t>(PartitionBy::sort))
    return fail(ErrorCode::usage, "no such way to partition: " + std::to_string(tuning.partition_by));
  if (tuning.tile_items != 0 && tuning.tile_items != 8 && tuning.tile_items != 16)
    return fail(ErrorCode::usage, "tile_items must be 8 or 16: " + std::to_string(tuning.tile_items));
  if (tuning.method == GARUDA_CUDA_JOIN_TABLE || tuning.method == GARUDA_CUDA_JOIN_MERGE)
    return std::make_unique<ListedJoin>(lane, left, right, expected_rows,
                                        static_cast<GarudaCudaJoinMethod>(tuning.method));
  return std::make_unique<PartitionedJoin>(lane, left, right, expected_rows, tuning);
}

}  // namespace garuda::cuda_backend
