#include "spill/join_blocks.hpp"
#include "expr/sides.hpp"

#include <algorithm>
#include <utility>

namespace garuda::spill {
namespace {

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

}  // namespace garuda::spill
