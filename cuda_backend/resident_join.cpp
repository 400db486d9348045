#include "cuda_backend/resident_join.hpp"

#include <algorithm>
#include <bit>
#include <span>
#include <string>
#include <utility>

#include "cuda_backend/chunk_tasks.hpp"
#include "cuda_backend/partitioned_side.hpp"
#include "cuda_backend/resident_join_kernels.hpp"
#include "cuda_backend/status.hpp"

namespace garuda::cuda_backend {
namespace {

/// Build rows that a partition should have: a table of them leaves room for three blocks on a multiprocessor. On an
/// H200, 2026-11-21, 2^27 rows a side with two columns each: 8.04 ms by 4096 rows, 8.30 by 2048; with one column the
/// same.
constexpr std::uint64_t kPartitionRows = 4096;
/// Most build rows of a chunk: rows have 16 bits, one of which values is no row.
constexpr std::uint64_t kLargestChunk = 0xfe00;
constexpr std::uint64_t kSmallestChunk = 256;
constexpr std::uint64_t kFewestProbeRows = 8192;  // of a chunk, and so many times the build rows
constexpr std::uint64_t kProbeShare = 4;
constexpr std::uint64_t kSharedReserve = 2048;  // what a block takes beside the table
/// Bytes that fetching a value from a random place costs.
constexpr std::uint64_t kFetchBytes = 32;

std::uint32_t bits_of(std::uint64_t below) { return static_cast<std::uint32_t>(std::bit_width(below - 1)); }

template <class Key>
class PartitionedJoin final : public ResidentJoin {
 public:
  PartitionedJoin(Lane& lane, GarudaCudaResidentTable const& left, GarudaCudaResidentTable const& right,
                  std::uint64_t expected_rows, GarudaCudaResidentTuning const& tuning)
      : lane_(lane),
        launch_{lane.stream(), lane.device().traits().multiprocessors},
        tuning_(tuning),
        result_(lane, left, right, expected_rows),
        build_is_left_(left.rows <= right.rows),
        build_{build_is_left_ ? left : right, {}, false},
        probe_{build_is_left_ ? right : left, {}, false} {
    choose_shape();
    choose_payload(build_);
    choose_payload(probe_);
  }
  ~PartitionedJoin() override { lane_.drain(); }

  Result<GarudaCudaResidentRows> run() override;

 private:
  struct JoinSide {
    GarudaCudaResidentTable table;
    PartitionedSide partitioned;
    bool gathers;  ///< row numbers are partitioned, payload is fetched by them

    std::uint32_t rows() const { return static_cast<std::uint32_t>(table.rows); }
    Key const* keys() const { return reinterpret_cast<Key const*>(table.key.address); }
    std::span<GarudaCudaColumn const> columns() const { return std::span(table.columns).first(table.num_columns); }
  };

  void choose_shape();
  void choose_payload(JoinSide& side) const;
  Result<void> partition_side(JoinSide& side);
  PayloadColumns payload_of(JoinSide const& side, std::span<Buffer const> out) const;
  Result<std::uint64_t> join(TaskList const& tasks);

  Lane& lane_;
  Launch launch_;
  GarudaCudaResidentTuning tuning_;
  ResidentResult result_;
  bool build_is_left_;
  JoinSide build_;
  JoinSide probe_;
  PartitionShape shape_;
  std::uint32_t build_chunk_ = 0;
  std::uint32_t log2_buckets_ = 0;
};

/// Partitions of about kPartitionRows build rows, larger ones where the bits do not make as many; chunks that hold
/// one with some to spare; a bucket a row, of large ones two rows.
template <class Key>
void PartitionedJoin<Key>::choose_shape() {
  auto const shared = lane_.device().traits().shared_bytes;
  auto const rows = std::max<std::uint64_t>(build_.table.rows, 1);
  auto const wanted = tuning_.partition_rows == 0 ? kPartitionRows : tuning_.partition_rows;
  auto const parts = std::max<std::uint64_t>((rows + wanted - 1) / wanted, 2);
  shape_.bits = std::clamp(bits_of(parts), kFewestJoinBits, kMostPartitionBits);
  shape_.tile_threads = tuning_.tile_threads;
  shape_.tile_items = tuning_.tile_items == 0 ? 8 : tuning_.tile_items;
  shape_.by = static_cast<PartitionBy>(tuning_.partition_by);
  auto const average = std::max<std::uint64_t>(rows >> shape_.bits, 1);
  auto chunk = std::min(average + average / 32 + kSmallestChunk, kLargestChunk);
  auto const bits_of_chunk = [&] {
    auto const buckets = average > 2 * kPartitionRows ? chunk / 2 : chunk;
    return std::max(bits_of(buckets), kSplitBits - shape_.bits);
  };
  while (chunk > kSmallestChunk &&
         join_tasks_bytes(static_cast<std::uint32_t>(chunk), bits_of_chunk(), sizeof(Key)) + kSharedReserve > shared)
    chunk = chunk * 3 / 4;
  build_chunk_ = static_cast<std::uint32_t>(chunk);
  log2_buckets_ = bits_of_chunk();
}

/// Carried payload is read and written once for every row, fetched payload read for every row of the result, with the
/// row numbers carried instead.
template <class Key>
void PartitionedJoin<Key>::choose_payload(JoinSide& side) const {
  if (side.table.num_columns == 0) return;
  if (tuning_.payload != GARUDA_CUDA_PAYLOAD_AUTOMATIC) {
    side.gathers = tuning_.payload == GARUDA_CUDA_PAYLOAD_GATHER;
    return;
  }
  std::uint64_t carried = 0;
  for (auto const& column : side.columns()) carried += 2 * side.table.rows * column.bytes;
  auto const fetched =
      2 * side.table.rows * kRowNumbers.bytes + result_.expected_rows() * side.table.num_columns * kFetchBytes;
  side.gathers = fetched < carried;
}

template <class Key>
Result<void> PartitionedJoin<Key>::partition_side(JoinSide& side) {
  GARUDA_TRY(lane_.step("partition", 0, side.table.rows));
  side.partitioned = {};
  auto const columns = side.gathers ? std::span<GarudaCudaColumn const>(&kRowNumbers, 1) : side.columns();
  GARUDA_TRY_ASSIGN(side.partitioned, partition(lane_, launch_, side.keys(), side.rows(), columns, shape_));
  return {};
}

template <class Key>
PayloadColumns PartitionedJoin<Key>::payload_of(JoinSide const& side, std::span<Buffer const> out) const {
  PayloadColumns payload;
  payload.count = side.table.num_columns;
  auto const& partitioned = side.partitioned.columns;
  for (std::uint32_t c = 0; c < payload.count; ++c) {
    auto const& column = side.table.columns[c];
    auto& moved = payload.columns[c];
    moved.source = side.gathers ? reinterpret_cast<void const*>(column.address) : partitioned[c].template as<void>();
    moved.rows = side.gathers ? partitioned[0].template as<std::uint32_t>() : nullptr;
    moved.target = out[c].template as<void>();
    moved.bytes = column.bytes;
  }
  return payload;
}

template <class Key>
Result<std::uint64_t> PartitionedJoin<Key>::join(TaskList const& tasks) {
  GARUDA_TRY_ASSIGN(auto const cursor, lane_.allocate(8, "cursor"));
  GARUDA_CUDA_TRY(cudaMemsetAsync(cursor.template as<void>(), 0, 8, lane_.stream()));
  ResidentJoinPass pass;
  pass.tasks = tasks.tasks.template as<ChunkTask>();
  pass.num_tasks = tasks.count;
  pass.build_keys = build_.partitioned.keys.template as<void>();
  pass.probe_keys = probe_.partitioned.keys.template as<void>();
  pass.keys_out = result_.keys().template as<void>();
  pass.build = payload_of(build_, build_is_left_ ? result_.left() : result_.right());
  pass.probe = payload_of(probe_, build_is_left_ ? result_.right() : result_.left());
  pass.cursor = cursor.template as<std::uint64_t>();
  pass.capacity = result_.room();
  pass.partition_bits = shape_.bits;
  pass.build_chunk = build_chunk_;
  pass.log2_buckets = log2_buckets_;
  pass.mixed = shape_.mixed;
  GARUDA_TRY(lane_.step("join", 0, build_.table.rows + probe_.table.rows));
  GARUDA_CUDA_TRY(join_tasks<Key>(launch_, pass));
  std::uint64_t rows = 0;
  GARUDA_TRY(lane_.download(std::as_writable_bytes(std::span(&rows, 1)), cursor.template as<void>()));
  return rows;
}

template <class Key>
Result<GarudaCudaResidentRows> PartitionedJoin<Key>::run() {
  GARUDA_TRY(result_.take_room());
  if (build_.table.rows == 0) return result_.rows(0);
  GARUDA_TRY(lane_.step("sample", 0, kSampledKeys));
  GARUDA_TRY_ASSIGN(shape_.mixed, needs_mixing(lane_, launch_, build_.keys(), build_.rows(), shape_.bits));
  GARUDA_TRY(partition_side(build_));
  GARUDA_TRY(partition_side(probe_));
  TaskShape shape;
  shape.build_starts = build_.partitioned.starts.template as<std::uint32_t>();
  shape.probe_starts = probe_.partitioned.starts.template as<std::uint32_t>();
  shape.partitions = 1U << shape_.bits;
  shape.build_chunk = build_chunk_;
  shape.probe_chunk = static_cast<std::uint32_t>(std::max(kProbeShare * build_chunk_, kFewestProbeRows));
  GARUDA_TRY_ASSIGN(auto const tasks, list_chunk_tasks(lane_, launch_, shape));
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

template <class Key>
std::unique_ptr<ResidentJoin> make_join(Lane& lane, GarudaCudaResidentTable const& left,
                                        GarudaCudaResidentTable const& right, std::uint64_t expected_rows,
                                        GarudaCudaResidentTuning const& tuning) {
  if (tuning.method == GARUDA_CUDA_JOIN_TABLE || tuning.method == GARUDA_CUDA_JOIN_MERGE)
    return make_listed_join<Key>(lane, left, right, expected_rows, static_cast<GarudaCudaJoinMethod>(tuning.method));
  return std::make_unique<PartitionedJoin<Key>>(lane, left, right, expected_rows, tuning);
}

}  // namespace

ResidentResult::ResidentResult(Lane& lane, GarudaCudaResidentTable const& left, GarudaCudaResidentTable const& right,
                               std::uint64_t expected_rows)
    : lane_(lane), left_table_(left), right_table_(right), expected_(std::max<std::uint64_t>(expected_rows, 1)) {}

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
  found.key = {reinterpret_cast<std::uint64_t>(keys_.as<void>()), left_table_.key.bytes};
  auto const copy = [](GarudaCudaResidentTable const& table, std::vector<Buffer> const& out,
                       GarudaCudaColumn* columns) {
    for (std::size_t c = 0; c < out.size(); ++c)
      columns[c] = {reinterpret_cast<std::uint64_t>(out[c].as<void>()), table.columns[c].bytes};
  };
  copy(left_table_, left_, found.left);
  copy(right_table_, right_, found.right);
  return found;
}

Result<std::unique_ptr<ResidentJoin>> ResidentJoin::create(Lane& lane, GarudaCudaResidentTable const& left,
                                                           GarudaCudaResidentTable const& right,
                                                           std::uint64_t expected_rows,
                                                           GarudaCudaResidentTuning const& tuning) {
  GARUDA_TRY(check_table(left));
  GARUDA_TRY(check_table(right));
  if (left.key.bytes != right.key.bytes) return fail(ErrorCode::usage, "keys of resident tables differ in width");
  if (tuning.partition_by > static_cast<std::uint32_t>(PartitionBy::sort))
    return fail(ErrorCode::usage, "no such way to partition: " + std::to_string(tuning.partition_by));
  if (tuning.tile_threads != 0 && tuning.tile_threads != 512 && tuning.tile_threads != 1024)
    return fail(ErrorCode::usage, "tile_threads must be 512 or 1024: " + std::to_string(tuning.tile_threads));
  if (tuning.tile_items != 0 && tuning.tile_items != 8 && tuning.tile_items != 16)
    return fail(ErrorCode::usage, "tile_items must be 8 or 16: " + std::to_string(tuning.tile_items));
  if (left.key.bytes == 4) return make_join<std::uint32_t>(lane, left, right, expected_rows, tuning);
  return make_join<std::uint64_t>(lane, left, right, expected_rows, tuning);
}

}  // namespace garuda::cuda_backend
