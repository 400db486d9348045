#include <algorithm>
#include <array>
#include <bit>
#include <span>
#include <string>
#include <utility>

#include "cuda_backend/radix_sort.hpp"
#include "cuda_backend/resident.hpp"

namespace garuda::cuda {
namespace {

/// Build rows a partition: a table of them leaves room for three blocks on a multiprocessor.
constexpr std::uint64_t kPartitionRows = 2048;
constexpr std::uint32_t kMostBits = 16;
constexpr std::uint32_t kLargestChunk = 8192;
constexpr std::uint32_t kSmallestChunk = 256;
constexpr std::uint32_t kProbeChunk = 8192;
constexpr std::uint64_t kMostTasks = std::uint64_t{1} << 28;
constexpr std::uint64_t kSharedReserve = 4096;  // what the block's scan takes beside the table

template <class Key>
class TypedResidentJoin final : public ResidentJoin {
 public:
  TypedResidentJoin(Lane& lane, GarudaCudaResidentTable const& left, GarudaCudaResidentTable const& right,
                    std::uint64_t expected_rows)
      : lane_(lane),
        launch_{lane.stream(), lane.device().traits().multiprocessors},
        build_is_left_(left.rows <= right.rows),
        build_{build_is_left_ ? left : right, {}, {}, {}, {}},
        probe_{build_is_left_ ? right : left, {}, {}, {}, {}},
        capacity_(std::max<std::uint64_t>(expected_rows, 1)) {
    choose_shape();
  }
  ~TypedResidentJoin() override { lane_.drain(); }

  Result<GarudaCudaResidentRows> run() override;

 private:
  struct JoinSide {
    GarudaCudaResidentTable table;
    Buffer sorted_keys;
    std::vector<Buffer> sorted;  ///< columns
    Buffer starts;
    std::vector<Buffer> out;  ///< columns of the result

    std::uint32_t rows() const { return static_cast<std::uint32_t>(table.rows); }
    Key const* source_keys() const { return reinterpret_cast<Key const*>(table.key.address); }
    Key const* keys() const { return sorted_keys ? sorted_keys.as<Key>() : source_keys(); }
    void const* column(std::uint32_t c) const {
      return sorted.empty() ? reinterpret_cast<void const*>(table.columns[c].address) : sorted[c].as<void>();
    }
  };

  void choose_shape();
  Result<void> sort(JoinSide& side);
  template <class Value>
  Result<void> sort_values(JoinSide const& side, Key const* keys, Key* sorted_keys, std::uint64_t address,
                           Buffer& sorted);
  Result<void> find(JoinSide& side);
  Result<std::uint32_t> list(Buffer& tasks);
  Result<void> take_columns();
  PayloadColumns payload_of(JoinSide const& side) const;
  Result<std::uint64_t> join(Buffer const& tasks, std::uint32_t num_tasks);
  GarudaCudaResidentRows result(std::uint64_t rows) const;

  Lane& lane_;
  Launch launch_;
  bool build_is_left_;
  JoinSide build_;
  JoinSide probe_;
  std::uint32_t bits_ = 0;
  std::uint32_t build_chunk_ = kLargestChunk;
  std::uint32_t log2_heads_ = 0;
  bool mixed_ = false;
  std::uint64_t capacity_;
  std::uint64_t room_ = 0;  // rows that the columns of the result have
  Buffer keys_out_;
  Buffer cursor_;
};

/// Partitions of about kPartitionRows build rows, chunks that hold one with some to spare, a bucket a row.
template <class Key>
void TypedResidentJoin<Key>::choose_shape() {
  auto const rows = build_.table.rows;
  auto const parts = std::max<std::uint64_t>((rows + kPartitionRows - 1) / kPartitionRows, 1);
  bits_ = std::min(static_cast<std::uint32_t>(std::bit_width(parts - 1)), kMostBits);
  auto const average = std::max<std::uint64_t>(rows >> bits_, 1);
  auto const wanted = (average + average / 4 + kSmallestChunk + 255) / 256 * 256;
  build_chunk_ = static_cast<std::uint32_t>(std::min<std::uint64_t>(wanted, kLargestChunk));
  auto const shared = lane_.device().traits().shared_bytes;
  do {
    log2_heads_ = static_cast<std::uint32_t>(std::bit_width(build_chunk_ - 1U));
    if (join_tasks_bytes(build_chunk_, log2_heads_, sizeof(Key)) + kSharedReserve <= shared) break;
    build_chunk_ /= 2;
  } while (build_chunk_ > kSmallestChunk);
}

template <class Key>
template <class Value>
Result<void> TypedResidentJoin<Key>::sort_values(JoinSide const& side, Key const* keys, Key* sorted_keys,
                                                 std::uint64_t address, Buffer& sorted) {
  GARUDA_TRY_ASSIGN(sorted, lane_.allocate(std::uint64_t{side.rows()} * sizeof(Value), "partitioned column"));
  return sort_column(lane_, keys, sorted_keys, reinterpret_cast<Value const*>(address), sorted.as<Value>(), side.rows(),
                     bits_);
}

/// Each column is sorted with the keys, so all come in the same order.
template <class Key>
Result<void> TypedResidentJoin<Key>::sort(JoinSide& side) {
  side.sorted.clear();
  side.sorted_keys.reset();
  if (bits_ == 0) return {};
  auto const bytes = std::uint64_t{side.rows()} * sizeof(Key);
  auto const* keys = side.source_keys();
  Buffer mixed;
  if (mixed_) {
    GARUDA_TRY_ASSIGN(mixed, lane_.allocate(bytes, "mixed keys"));
    GARUDA_CUDA_TRY(mix_keys(launch_, keys, side.rows(), mixed.as<Key>(), nullptr));
    keys = mixed.as<Key>();
  }
  GARUDA_TRY_ASSIGN(side.sorted_keys, lane_.allocate(bytes, "partitioned keys"));
  auto* const sorted_keys = side.sorted_keys.template as<Key>();
  if (side.table.num_columns == 0) {
    Buffer ignored;
    return sort_values<Key>(side, keys, sorted_keys, reinterpret_cast<std::uint64_t>(keys), ignored);
  }
  for (std::uint32_t c = 0; c < side.table.num_columns; ++c) {
    auto const& column = side.table.columns[c];
    Buffer sorted;
    GARUDA_TRY(column.bytes == 4 ? sort_values<std::uint32_t>(side, keys, sorted_keys, column.address, sorted)
                                 : sort_values<std::uint64_t>(side, keys, sorted_keys, column.address, sorted));
    side.sorted.push_back(std::move(sorted));
  }
  return {};
}

template <class Key>
Result<void> TypedResidentJoin<Key>::find(JoinSide& side) {
  GARUDA_TRY_ASSIGN(side.starts, lane_.allocate(((std::uint64_t{1} << bits_) + 1) * 4, "partitions"));
  GARUDA_CUDA_TRY(find_partitions(launch_, side.keys(), side.rows(), bits_, side.starts.template as<std::uint32_t>()));
  return {};
}

template <class Key>
Result<std::uint32_t> TypedResidentJoin<Key>::list(Buffer& tasks) {
  TaskShape shape;
  shape.build_starts = build_.starts.template as<std::uint32_t>();
  shape.probe_starts = probe_.starts.template as<std::uint32_t>();
  shape.partitions = 1U << bits_;
  shape.build_chunk = build_chunk_;
  shape.probe_chunk = kProbeChunk;
  auto const entries = shape.partitions + 1;
  GARUDA_TRY_ASSIGN(auto const counts, lane_.allocate(entries * 4ULL, "tasks of partitions"));
  GARUDA_TRY_ASSIGN(auto const offsets, lane_.allocate(entries * 8ULL, "first tasks of partitions"));
  auto const* const count_words = counts.template as<std::uint32_t>();
  auto* const offset_words = offsets.template as<std::uint64_t>();
  GARUDA_CUDA_TRY(count_tasks(launch_, shape, counts.template as<std::uint32_t>()));
  std::size_t temp_bytes = 0;
  GARUDA_CUDA_TRY(scan_to_u64(nullptr, temp_bytes, count_words, offset_words, entries, lane_.stream()));
  GARUDA_TRY_ASSIGN(auto const temp, lane_.allocate(temp_bytes, "prefix sums"));
  GARUDA_CUDA_TRY(
      scan_to_u64(temp.template as<void>(), temp_bytes, count_words, offset_words, entries, lane_.stream()));
  std::uint64_t total = 0;
  GARUDA_TRY(lane_.download(std::as_writable_bytes(std::span(&total, 1)), offset_words + shape.partitions));
  if (total > kMostTasks)
    return fail(ErrorCode::limit_exceeded, "the tables fall into too many pairs of chunks: " + std::to_string(total));
  GARUDA_TRY_ASSIGN(tasks, lane_.allocate(total * sizeof(JoinTask), "tasks"));
  GARUDA_TRY(lane_.step("tasks", total * sizeof(JoinTask), total));
  if (total > 0) GARUDA_CUDA_TRY(list_tasks(launch_, shape, offset_words, tasks.as<JoinTask>()));
  return static_cast<std::uint32_t>(total);
}

template <class Key>
Result<void> TypedResidentJoin<Key>::take_columns() {
  if (room_ == capacity_) return {};
  room_ = 0;
  GARUDA_TRY_ASSIGN(keys_out_, lane_.allocate(capacity_ * sizeof(Key), "keys of the result"));
  for (auto* side : {&build_, &probe_}) {
    side->out.clear();
    for (std::uint32_t c = 0; c < side->table.num_columns; ++c) {
      GARUDA_TRY_ASSIGN(auto out, lane_.allocate(capacity_ * side->table.columns[c].bytes, "column of the result"));
      side->out.push_back(std::move(out));
    }
  }
  room_ = capacity_;
  return {};
}

template <class Key>
PayloadColumns TypedResidentJoin<Key>::payload_of(JoinSide const& side) const {
  PayloadColumns payload;
  payload.count = side.table.num_columns;
  for (std::uint32_t c = 0; c < payload.count; ++c)
    payload.columns[c] = {side.column(c), side.out[c].template as<void>(), side.table.columns[c].bytes};
  return payload;
}

template <class Key>
Result<std::uint64_t> TypedResidentJoin<Key>::join(Buffer const& tasks, std::uint32_t num_tasks) {
  GARUDA_TRY_ASSIGN(cursor_, lane_.allocate(8, "cursor"));
  GARUDA_CUDA_TRY(cudaMemsetAsync(cursor_.as<void>(), 0, 8, lane_.stream()));
  ResidentJoinPass pass;
  pass.tasks = tasks.as<JoinTask>();
  pass.num_tasks = num_tasks;
  pass.build_keys = build_.keys();
  pass.probe_keys = probe_.keys();
  pass.keys_out = keys_out_.as<void>();
  pass.build = payload_of(build_);
  pass.probe = payload_of(probe_);
  pass.cursor = cursor_.as<std::uint64_t>();
  pass.capacity = room_;
  pass.partition_bits = bits_;
  pass.build_chunk = build_chunk_;
  pass.log2_heads = log2_heads_;
  pass.mixed = mixed_;
  GARUDA_TRY(lane_.step("join", 0, build_.table.rows + probe_.table.rows));
  GARUDA_CUDA_TRY(join_tasks<Key>(launch_, pass));
  std::uint64_t rows = 0;
  GARUDA_TRY(lane_.download(std::as_writable_bytes(std::span(&rows, 1)), cursor_.as<void>()));
  return rows;
}

template <class Key>
GarudaCudaResidentRows TypedResidentJoin<Key>::result(std::uint64_t rows) const {
  GarudaCudaResidentRows found{};
  found.rows = rows;
  found.key = {reinterpret_cast<std::uint64_t>(keys_out_.as<void>()), sizeof(Key)};
  auto const copy = [](JoinSide const& side, GarudaCudaColumn* columns) {
    for (std::uint32_t c = 0; c < side.table.num_columns; ++c)
      columns[c] = {reinterpret_cast<std::uint64_t>(side.out[c].template as<void>()), side.table.columns[c].bytes};
  };
  copy(build_is_left_ ? build_ : probe_, found.left);
  copy(build_is_left_ ? probe_ : build_, found.right);
  return found;
}

template <class Key>
Result<GarudaCudaResidentRows> TypedResidentJoin<Key>::run() {
  GARUDA_TRY(take_columns());
  if (build_.table.rows == 0) return result(0);
  mixed_ = false;
  if (bits_ > 0) {
    GARUDA_TRY(lane_.step("sample", 0, kSampledKeys));
    GARUDA_TRY_ASSIGN(mixed_, needs_mixing(lane_, launch_, build_.source_keys(), build_.rows(), bits_));
  }
  for (auto* side : {&build_, &probe_}) {
    GARUDA_TRY(lane_.step("partition", 0, side->table.rows));
    GARUDA_TRY(sort(*side));
    GARUDA_TRY(find(*side));
  }
  GARUDA_TRY(lane_.step("tasks", 0, std::uint64_t{1} << bits_));
  Buffer tasks;
  GARUDA_TRY_ASSIGN(auto const num_tasks, list(tasks));
  if (num_tasks == 0) {
    GARUDA_TRY(lane_.wait());
    return result(0);
  }
  GARUDA_TRY_ASSIGN(auto rows, join(tasks, num_tasks));
  if (rows > room_) {
    capacity_ = rows;
    GARUDA_TRY(take_columns());
    GARUDA_TRY_ASSIGN(rows, join(tasks, num_tasks));
    GARUDA_EXPECTS(rows == room_);
  }
  return result(rows);
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
                                                           std::uint64_t expected_rows) {
  GARUDA_TRY(check_table(left));
  GARUDA_TRY(check_table(right));
  if (left.key.bytes != right.key.bytes) return fail(ErrorCode::usage, "keys of resident tables differ in width");
  if (left.key.bytes == 4) return std::make_unique<TypedResidentJoin<std::uint32_t>>(lane, left, right, expected_rows);
  return std::make_unique<TypedResidentJoin<std::uint64_t>>(lane, left, right, expected_rows);
}

}  // namespace garuda::cuda
