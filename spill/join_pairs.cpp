#include "spill/join_pairs.hpp"

#include <algorithm>
#include <span>
#include <utility>

#include "expr/sides.hpp"
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

/// An outer block stands beside its rows with a match, its rest and an inner block, each at most such a part of the
/// limit; blocks may be parts of batches of at most a quarter each. A quarter is left to a join.
constexpr std::uint64_t kKeptBlocks = 8;

}  // namespace

JoinBlocks::JoinBlocks(Engine& engine, FileJoin const& request, MemoryShare const& share, PartitionSide left,
                       PartitionSide right)
    : engine_(engine),
      request_(request),
      parts_(contract::parts_of(request.spec.kind)),
      share_(share),
      left_(std::move(left)),
      right_(std::move(right)) {
  for (auto const side : {Side::right, Side::left})
    if (parts_.rows(side) != contract::SideRows::none) passes_.push_back(side);
  // An inner join reads the lighter side once, the other one as often as the lighter one has blocks.
  if (is_inner())
    passes_.push_back(share_.weight(left_.rows.volume()) <= share_.weight(right_.rows.volume()) ? Side::left
                                                                                                : Side::right);
}

bool JoinBlocks::is_inner() const noexcept {
  return parts_.left == contract::SideRows::none && parts_.right == contract::SideRows::none;
}

/// The kind of join of a pass, with unmatched rows of its side: each pass of a full join is that of one
/// side.
JoinKind JoinBlocks::pair_kind() const noexcept {
  if (!parts_.pairs || is_inner()) return request_.spec.kind;
  return outer_side_ == Side::left ? JoinKind::left : JoinKind::right;
}

Result<bool> JoinBlocks::next_outer_block() {
  while (true) {
    if (!outer_) {
      if (passes_.empty()) return false;
      outer_side_ = passes_.back();
      passes_.pop_back();
      outer_.emplace();
      GARUDA_TRY_ASSIGN(outer_->next, of(outer_side_).rows.read());
    }
    GARUDA_TRY_ASSIGN(outer_block_, next_block(*outer_));
    if (!outer_block_.empty()) break;
    outer_.reset();
    gives_pairs_ = false;
  }
  inner_ = {};
  GARUDA_TRY_ASSIGN(inner_.next, of(other_side(outer_side_)).rows.read());
  GARUDA_TRY_ASSIGN(auto const volume, volume_of_all(outer_block_));
  outer_bytes_ = volume.bytes;
  if (is_inner()) return true;
  GARUDA_TRY_ASSIGN(rest_, of(outer_side_).input->to_table(outer_block_));
  return true;
}

Result<std::optional<TablePair>> JoinBlocks::next() {
  while (true) {
    if (outer_block_.empty()) {
      GARUDA_TRY_ASSIGN(auto const any, next_outer_block());
      if (!any) return std::nullopt;
    }
    GARUDA_TRY_ASSIGN(auto inner_block, next_block(inner_));
    if (!inner_block.empty()) {
      GARUDA_TRY_ASSIGN(auto pair, match(std::move(inner_block)));
      if (pair) return pair;
      continue;
    }
    outer_block_.clear();
    if (is_inner() || rest_->num_rows() == 0 || parts_.rows(outer_side_) == contract::SideRows::matched) continue;
    GARUDA_TRY_ASSIGN(auto nothing, of(other_side(outer_side_)).input->to_table({}));
    return pair_of(*std::exchange(rest_, std::nullopt), std::move(nothing), kept_bytes());
  }
}

/// Batches that together weigh a part of the limit at most; one at least, unless there is none.
Result<io::ArrowBatches> JoinBlocks::next_block(Reader& reader) const {
  auto const most = share_.limit_bytes / (is_inner() ? 2 : kKeptBlocks);
  io::ArrowBatches block;
  RowVolume volume;
  while (true) {
    if (reader.ahead == nullptr) {
      GARUDA_TRY_ASSIGN(reader.ahead, reader.next());
    }
    if (reader.ahead == nullptr) return block;
    GARUDA_TRY_ASSIGN(auto const of_batch, volume_of(*reader.ahead));
    volume += of_batch;
    if (!block.empty() && share_.weight(volume) > most) return block;
    auto const rows = reader.ahead->num_rows();
    auto const fitting = static_cast<std::int64_t>(of_batch.rows * most / std::max(share_.weight(of_batch), most));
    auto const taken = is_inner() ? rows : std::clamp<std::int64_t>(fitting, 1, rows);
    block.push_back(reader.ahead->Slice(0, taken));
    reader.ahead = taken == rows ? nullptr : reader.ahead->Slice(taken);
    if (reader.ahead != nullptr) return block;
  }
}

/// The join of the outer block and an inner one; nullopt: nothing.
Result<std::optional<TablePair>> JoinBlocks::match(io::ArrowBatches inner_block) {
  GARUDA_TRY_ASSIGN(auto const inner_volume, volume_of_all(inner_block));
  GARUDA_TRY_ASSIGN(auto inner, of(other_side(outer_side_)).input->to_table(std::move(inner_block)));
  GARUDA_TRY_ASSIGN(auto outer, of(outer_side_).input->to_table(outer_block_));
  if (is_inner()) return pair_of(std::move(outer), std::move(inner), outer_bytes_ + inner_volume.bytes);
  bool const gives_pairs = gives_pairs_ && (parts_.pairs || parts_.rows(outer_side_) != contract::SideRows::unmatched);
  std::optional<Table> matched;
  if (gives_pairs) {
    // In pairs a row comes as often as it has matches, else once.
    GARUDA_TRY_ASSIGN(matched, rows_of(JoinKind::semi, parts_.pairs ? outer : *rest_, inner));
  }
  GARUDA_TRY_ASSIGN(rest_, rows_of(JoinKind::anti, *rest_, inner));
  if (!matched || matched->num_rows() == 0) return std::nullopt;
  return pair_of(*std::move(matched), std::move(inner), kept_bytes());
}

/// The rows of the outer table with a match in the inner one (semi), or without (anti).
Result<Table> JoinBlocks::rows_of(JoinKind kind, Table const& outer, Table const& inner) const {
  JoinSpec spec;
  spec.kind = kind;
  spec.nulls_equal = request_.spec.nulls_equal;
  spec.allow_cross = request_.spec.allow_cross;
  for (auto const& [left, right] : request_.spec.on)
    spec.on.emplace_back(outer_side_ == Side::left ? std::pair(left, right) : std::pair(right, left));
  if (request_.spec.where)
    spec.where = outer_side_ == Side::left ? *request_.spec.where : with_sides_swapped(*request_.spec.where);
  auto options = request_.options;
  options.control.on_progress = nullptr;
  options.memory_limit_bytes = share_.limit_bytes - kept_bytes();
  GARUDA_TRY_ASSIGN(auto const result, engine_.join(outer.view(), inner.view(), spec, options));
  return collect(*result);
}

TablePair JoinBlocks::pair_of(Table outer, Table inner, std::uint64_t data_bytes) const {
  TablePair pair;
  pair.kind = pair_kind();
  pair.data_bytes = data_bytes;
  pair.left = outer_side_ == Side::left ? std::move(outer) : std::move(inner);
  pair.right = outer_side_ == Side::left ? std::move(inner) : std::move(outer);
  return pair;
}

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
    left_keys_.push_back(left_.schema()->GetFieldIndex(left_key));
    right_keys_.push_back(right_.schema()->GetFieldIndex(right_key));
  }
}

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
  GARUDA_TRY(share_.keep_dictionaries("both tables", left_dictionaries + right_dictionaries));
  push(std::move(left), std::move(right), 0, 0);
  return {};
}

/// Writes the rows of one side into 2^bits files.
Result<std::vector<SpillFile>> JoinPairs::split(Side side, NextBatch const& next, std::uint32_t level,
                                                std::uint32_t bits, RowVolume const& sample) {
  bool const drops_null_keys = !request_.spec.nulls_equal && !parts_.gives_unmatched(side);
  auto const& keys = side == Side::left ? left_keys_ : right_keys_;
  return RowSplitter{share_, folder_, request_.options, recorder_}.split(
      next, {input(side).dictionaries(), keys, key_types_, drops_null_keys, bits, level}, sample);
}

/// The partition that is to come first is pushed last.
void JoinPairs::push(std::vector<SpillFile> left, std::vector<SpillFile> right, std::uint32_t level,
                     std::uint64_t weight_above) {
  recorder_.add_counter("spilled_partitions", left.size());
  auto const has_rows = [](SpillFile const& file) { return file.volume().rows > 0; };
  for (auto p = left.size(); p > 0; --p)
    if ((has_rows(left[p - 1]) || (parts_.gives_unmatched(Side::right) && has_rows(right[p - 1]))) &&
        (has_rows(right[p - 1]) || (parts_.gives_unmatched(Side::left) && has_rows(left[p - 1]))))
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
  GARUDA_TRY_ASSIGN(auto batches, file.read_all());
  return input(side).to_table(std::move(batches));
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
    if (blocks_) {
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
    blocks_.emplace(engine_, request_, share_, PartitionSide{std::move(partition.left), &left_},
                    PartitionSide{std::move(partition.right), &right_});
  }
}

}  // namespace garuda::spill
