#include "spill/join_pairs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <utility>

#include "keys/codes/key_types.hpp"
#include "spill/row_partitioner.hpp"

namespace garuda::spill {
namespace {

/// Host memory that joining takes for each row of its inputs: encoded and partitioned keys, and tables.
constexpr std::uint64_t kJoinRowBytes = 32;

/// Bytes that a row takes where a condition is tested: words of the columns that it compares.
std::uint64_t condition_bytes(Condition const& where, Schema const& left, Schema const& right) {
  constexpr std::uint64_t kWordBytes = 8;
  std::uint64_t bytes = 0;
  for (auto const side : {Side::left, Side::right})
    for (auto const& name : columns_of(where, side)) {
      auto const& schema = side == Side::left ? left : right;
      auto const column = find_column(schema, name);
      if (column) bytes += kWordBytes + numbering_bytes(std::span(&schema[*column].type, 1));
    }
  return bytes;
}

int position_of(arrow::Schema const& schema, std::string const& name) { return schema.GetFieldIndex(name); }

}  // namespace

JoinPairs::JoinPairs(Engine& engine, FileJoin const& request, run::RunRecorder& recorder, TableInput left,
                     TableInput right)
    : engine_(engine),
      request_(request),
      parts_(contract::parts_of(request.spec.kind)),
      recorder_(recorder),
      folder_(request.temp_folder),
      // One file is read at a time.
      share_{request.options.memory_limit_bytes - std::max(left.ahead_bytes(), right.ahead_bytes()), kJoinRowBytes},
      left_(std::move(left)),
      right_(std::move(right)) {
  for (auto const& [left_key, right_key] : request.spec.on) {
    left_keys_.push_back(position_of(*left_.schema(), left_key));
    right_keys_.push_back(position_of(*right_.schema(), right_key));
  }
}

JoinPairs::~JoinPairs() = default;

Result<std::unique_ptr<JoinPairs>> JoinPairs::open(Engine& engine, FileJoin const& request,
                                                   run::RunRecorder& recorder) {
  GARUDA_EXPECTS(request.options.memory_limit_bytes > 0);
  auto const rows = batch_rows_for(request.options.memory_limit_bytes);
  auto const ahead = ahead_bytes_for(request.options.memory_limit_bytes);
  bool const is_ordered = request.spec.ordered && !request.count;
  GARUDA_TRY_ASSIGN(auto left, TableInput::open(request.left, rows, is_ordered ? "left row" : "", ahead));
  GARUDA_TRY_ASSIGN(auto right, TableInput::open(request.right, rows, is_ordered ? "right row" : "", ahead));
  return std::unique_ptr<JoinPairs>(new JoinPairs(engine, request, recorder, std::move(left), std::move(right)));
}

Result<void> JoinPairs::read() {
  GARUDA_TRY(find_key_types());
  {
    run::PhaseTimer const timer(recorder_, "read");
    GARUDA_TRY_ASSIGN(whole_, read_whole());
    if (!whole_) GARUDA_TRY(hold());
  }
  rows_left_ = left_.held().rows;
  rows_right_ = right_.held().rows;
  if (whole_) return {};
  return spill_inputs();
}

/// Reads as much of the files as fits, one after the other.
Result<void> JoinPairs::hold() {
  GARUDA_TRY(left_.hold(share_, share_.limit_bytes));
  left_.rest();
  auto const weight = std::min(share_.weight(left_.held()), share_.limit_bytes);
  // A file that is spilled in any case is read just far enough to tell its size.
  GARUDA_TRY(right_.hold(share_, left_.is_whole() ? share_.limit_bytes - weight : 0));
  right_.rest();
  whole_ =
      left_.is_whole() && right_.is_whole() && share_.fits(share_.weight(left_.held()) + share_.weight(right_.held()));
  return {};
}

/// Reads both files, if they fit together.
Result<bool> JoinPairs::read_whole() {
  auto const rows_left = left_.known_rows();
  auto const rows_right = right_.known_rows();
  if (!rows_left || !rows_right) return false;
  auto const least_right = share_.weight({*rows_right, 0});
  if (!share_.fits(share_.weight({*rows_left, 0}) + least_right)) return false;
  GARUDA_TRY_ASSIGN(bool const has_left, left_.read_whole(share_, share_.limit_bytes - least_right));
  if (!has_left) return false;
  GARUDA_TRY_ASSIGN(bool const has_right, right_.read_whole(share_, share_.limit_bytes - share_.weight(left_.held())));
  if (!has_right) left_.forget_whole();
  return has_right;
}

/// Finds the types in which equal keys of both files share a hash.
Result<void> JoinPairs::find_key_types() {
  GARUDA_TRY_ASSIGN(auto const left, left_.without_rows());
  GARUDA_TRY_ASSIGN(auto const right, right_.without_rows());
  for (std::size_t k = 0; k < left_keys_.size(); ++k) {
    auto const& left_field = left.schema()[static_cast<std::size_t>(left_keys_[k])];
    auto const& right_field = right.schema()[static_cast<std::size_t>(right_keys_[k])];
    GARUDA_TRY_ASSIGN(auto type, keys::common_key_type(left_field, right_field));
    key_types_.push_back(std::move(type.compared));
  }
  share_.row_bytes += numbering_bytes(key_types_);
  if (request_.spec.where) share_.row_bytes += condition_bytes(*request_.spec.where, left.schema(), right.schema());
  return {};
}

Result<void> JoinPairs::spill_inputs() {
  auto const left_volume = left_.estimated_volume();
  auto const right_volume = right_.estimated_volume();
  // Rows without keys cannot be told apart: every block of one file meets every block of the other.
  auto const bits =
      left_keys_.empty() ? 0 : share_.bits_for(share_.weight(left_volume) + share_.weight(right_volume), kMostBits);
  auto const split_input = [&](TableInput& input, Side side, RowVolume const& volume) {
    auto const& keys = side == Side::left ? left_keys_ : right_keys_;
    for (std::size_t k = 0; k < keys.size(); ++k) input.dictionaries().hash_values(keys[k], key_types_[k]);
    return split(
        side, [&input] { return input.hand_over(); }, 0, bits, volume);
  };
  GARUDA_TRY(left_.start_handing_over());
  GARUDA_TRY_ASSIGN(auto left, split_input(left_, Side::left, left_volume));
  GARUDA_TRY(right_.start_handing_over());
  GARUDA_TRY_ASSIGN(auto right, split_input(right_, Side::right, right_volume));
  rows_left_ = left_.rows_handed_over();
  rows_right_ = right_.rows_handed_over();
  GARUDA_TRY_ASSIGN(auto const left_dictionaries, left_.finish());
  GARUDA_TRY_ASSIGN(auto const right_dictionaries, right_.finish());
  auto const dictionaries = left_dictionaries + right_dictionaries;
  if (dictionaries > share_.limit_bytes / 2)
    return fail(
        ErrorCode::limit_exceeded,
        fmt::format("the dictionaries of both tables, which stay in memory, take {} bytes, over half the limit: {}",
                    dictionaries, share_.limit_bytes));
  share_.limit_bytes -= dictionaries;
  push(std::move(left), std::move(right), 0, 0);
  return {};
}

/// Writes the rows of one side into 2^bits files.
Result<std::vector<SpillFile>> JoinPairs::split(Side side, NextBatch const& next, std::uint32_t level,
                                                std::uint32_t bits, RowVolume const& sample) {
  PartitionRequest partition;
  partition.schema = input(side).spilled_schema();
  partition.keys = side == Side::left ? left_keys_ : right_keys_;
  partition.key_types = key_types_;
  for (auto const key : partition.keys) partition.dictionary_hashes.push_back(input(side).dictionaries().hashes(key));
  partition.drop_null_keys = !request_.spec.nulls_equal && !gives_unmatched(side);
  partition.bits = bits;
  partition.level = level;
  partition.window_bytes = share_.window_bytes(sample);
  partition.threads = request_.options.threads;
  return split_rows(next, partition, sample, folder_, request_.options.control, recorder_);
}

/// Whether rows without a match are in the result.
bool JoinPairs::gives_unmatched(Side side) const noexcept { return parts_.gives_unmatched(side); }

/// The partition that is to come first is pushed last.
void JoinPairs::push(std::vector<SpillFile> left, std::vector<SpillFile> right, std::uint32_t level,
                     std::uint64_t weight_above) {
  recorder_.add_counter("spilled_partitions", left.size());
  auto const has_rows = [](SpillFile const& file) { return file.volume().rows > 0; };
  for (auto p = left.size(); p > 0; --p)
    if ((has_rows(left[p - 1]) || (gives_unmatched(Side::right) && has_rows(right[p - 1]))) &&
        (has_rows(right[p - 1]) || (gives_unmatched(Side::left) && has_rows(left[p - 1]))))
      waiting_.push_back({std::move(left[p - 1]), std::move(right[p - 1]), level, weight_above});
}

std::uint64_t JoinPairs::weight(Partition const& partition, Side side) const noexcept {
  return share_.weight(partition.of(side).volume());
}

/// Splitting helps while it makes the lighter side lighter; rows of one key stay together.
bool JoinPairs::can_be_split(Partition const& partition) const noexcept {
  if (left_keys_.empty()) return false;
  auto const lighter = std::min(weight(partition, Side::left), weight(partition, Side::right));
  return partition.level + 1 < kMostLevels && (partition.level == 0 || lighter <= partition.weight_above / 4 * 3);
}

Result<void> JoinPairs::split_again(Partition partition) {
  auto const lighter = std::min(weight(partition, Side::left), weight(partition, Side::right));
  auto const bits = share_.bits_for(weight(partition, Side::left) + weight(partition, Side::right), kMostBits);
  std::vector<SpillFile> sides[2];
  for (auto const side : {Side::left, Side::right}) {
    auto const& file = partition.of(side);
    GARUDA_TRY_ASSIGN(auto const next, file.read());
    GARUDA_TRY_ASSIGN(sides[side == Side::left ? 0 : 1], split(side, next, partition.level + 1, bits, file.volume()));
  }
  push(std::move(sides[0]), std::move(sides[1]), partition.level + 1, lighter);
  return {};
}

Result<Table> JoinPairs::load_side(SpillFile const& file, Side side) const {
  GARUDA_TRY_ASSIGN(auto const next, file.read());
  io::ArrowBatches batches;
  while (true) {
    GARUDA_TRY_ASSIGN(auto batch, next());
    if (batch == nullptr) return input(side).to_table(std::move(batches));
    batches.push_back(std::move(batch));
  }
}

Result<TablePair> JoinPairs::load(Partition const& partition) {
  auto const bytes = partition.left.volume().bytes + partition.right.volume().bytes;
  run::PhaseTimer const timer(recorder_, "restore", bytes,
                              partition.left.volume().rows + partition.right.volume().rows);
  TablePair pair;
  pair.kind = request_.spec.kind;
  pair.data_bytes = bytes;
  GARUDA_TRY_ASSIGN(pair.left, load_side(partition.left, Side::left));
  GARUDA_TRY_ASSIGN(pair.right, load_side(partition.right, Side::right));
  return pair;
}

Result<std::optional<TablePair>> JoinPairs::next() {
  if (whole_) {
    if (std::exchange(whole_taken_, true)) return std::nullopt;
    TablePair pair;
    pair.kind = request_.spec.kind;
    pair.data_bytes = left_.held().bytes + right_.held().bytes;
    GARUDA_TRY_ASSIGN(pair.left, left_.whole_table());
    GARUDA_TRY_ASSIGN(pair.right, right_.whole_table());
    left_.release_held();
    right_.release_held();
    return pair;
  }
  while (true) {
    if (request_.options.control.is_cancelled()) return fail(ErrorCode::cancelled, "the join was cancelled");
    if (blocks_ != nullptr) {
      run::PhaseTimer const timer(recorder_, "restore");
      GARUDA_TRY_ASSIGN(auto pair, blocks_->next());
      if (pair) return pair;
      blocks_.reset();
    }
    if (waiting_.empty()) return std::nullopt;
    auto partition = std::move(waiting_.back());
    waiting_.pop_back();
    auto const left = weight(partition, Side::left);
    auto const right = weight(partition, Side::right);
    if (share_.fits(left + right)) return load(partition);
    if (std::min(left, right) > share_.limit_bytes / 2 && can_be_split(partition)) {
      GARUDA_TRY(split_again(std::move(partition)));
      continue;
    }
    recorder_.add_counter("block_partitions", 1);
    blocks_ = std::make_unique<JoinBlocks>(engine_, request_, share_, PartitionSide{std::move(partition.left), &left_},
                                           PartitionSide{std::move(partition.right), &right_});
  }
}

}  // namespace garuda::spill
