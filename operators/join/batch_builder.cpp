#include "operators/join/batch_builder.hpp"

#include <algorithm>
#include <cstring>
#include <new>
#include <numeric>
#include <utility>

namespace garuda::join {
namespace {

bool is_wide(PartitionedTable const& side) {
  return static_cast<std::uint64_t>(side.table.num_rows()) > (std::uint64_t{1} << 32);
}

template <class Visitor>
void visit_width(std::uint32_t width, Visitor const& visit) {
  switch (width) {
    case 1:
      return visit(std::integral_constant<std::size_t, 1>{});
    case 2:
      return visit(std::integral_constant<std::size_t, 2>{});
    case 4:
      return visit(std::integral_constant<std::size_t, 4>{});
    case 8:
      return visit(std::integral_constant<std::size_t, 8>{});
    default:
      return visit(std::integral_constant<std::size_t, 16>{});
  }
}

/// out[i] = from[at[i]].
template <class Index>
void copy_elements(std::byte const* from, std::uint32_t width, Index const* at, std::size_t count, std::byte* out) {
  visit_width(width, [&](auto bytes) {
    for (std::size_t i = 0; i < count; ++i) std::memcpy(out + i * bytes, from + at[i] * bytes, bytes);
  });
}

/// Elements that are asked for ahead of those scattered over memory: more than a core looks ahead by itself.
constexpr std::size_t kAhead = 32;

/// Copies elements far apart. Requires: `at` goes on for kAhead indices, of whatever value, behind `count`.
template <class Index>
void fetch_elements(std::byte const* from, std::uint32_t width, Index const* at, std::size_t count, std::byte* out) {
  visit_width(width, [&](auto bytes) {
    for (std::size_t i = 0; i < count; ++i) {
      __builtin_prefetch(from + at[i + kAhead] * bytes);
      std::memcpy(out + i * bytes, from + at[i] * bytes, bytes);
    }
  });
}

/// Consecutive positions from 0 on.
struct InOrder {
  std::size_t operator[](std::size_t i) const noexcept { return i; }
  std::size_t operator()(std::size_t i) const noexcept { return i; }
};

/// Keys as their column holds them: the lowest bytes of word + base, the sign above 64 bits.
template <class Word, class Positions>
void copy_keys(Word const* words, std::uint64_t base, std::uint32_t width, Positions at, std::size_t count,
               std::byte* out) {
  visit_width(width, [&](auto bytes) {
    for (std::size_t i = 0; i < count; ++i) {
      std::uint64_t const key = words[at[i]] + base;
      std::memcpy(out + i * bytes, &key, std::min<std::size_t>(bytes, 8));
      if constexpr (bytes == 16) {
        auto const sign = static_cast<std::int64_t>(key) >> 63;
        std::memcpy(out + i * bytes + 8, &sign, 8);
      }
    }
  });
}

/// Flags, a byte a row, as a bitmap.
Result<AlignedBuffer> packed(std::vector<std::uint8_t>& flags) {
  flags.resize(64 * contract::bitmap_words(flags.size()));
  GARUDA_TRY_ASSIGN(auto bits, AlignedBuffer::allocate(static_cast<std::int64_t>(flags.size() / 8)));
  contract::pack_flags(flags, bits.as<std::uint64_t>());
  return bits;
}

/// Room in expected bytes: more than expected, so that a column seldom has to grow.
constexpr double kSlack = 1.02;

}  // namespace

Result<void> CellStrings::start(std::uint64_t rows, double mean_bytes, bool large_offsets) {
  is_large_ = large_offsets;
  rows_ = 0;
  used_ = 0;
  auto const offset_bytes = large_offsets ? sizeof(std::int64_t) : sizeof(std::int32_t);
  GARUDA_TRY_ASSIGN(offsets_, AlignedBuffer::allocate(static_cast<std::int64_t>((rows + 1) * offset_bytes)));
  std::memset(offsets_.data(), 0, offset_bytes);
  auto const expected = static_cast<std::int64_t>(kSlack * mean_bytes * static_cast<double>(rows));
  GARUDA_TRY_ASSIGN(bytes_, AlignedBuffer::allocate(expected + materialize::kLargestCellBytes));
  return {};
}

/// Room for `rows` more values, and for a whole cell written at the last one's place.
void CellStrings::reserve_bytes(std::size_t rows) {
  auto const needed = used_ + static_cast<std::int64_t>((rows + 1) * materialize::kLargestCellBytes);
  if (needed <= bytes_.size_bytes()) return;
  auto larger = AlignedBuffer::allocate(std::max(needed, bytes_.size_bytes() + bytes_.size_bytes() / 8));
  if (!larger) throw std::bad_alloc();
  std::memcpy(larger->data(), bytes_.data(), static_cast<std::size_t>(used_));
  bytes_ = std::move(*larger);
}

void CellStrings::finish() noexcept {
  if (offsets_.size_bytes() == 0) return;
  bytes_.truncate(used_);
  offsets_.truncate(static_cast<std::int64_t>((rows_ + 1) * (is_large_ ? sizeof(std::int64_t) : sizeof(std::int32_t))));
}

ArrayView CellStrings::view(std::uint64_t first, std::int64_t rows) const noexcept {
  ArrayView view;
  view.length = rows;
  view.offset = static_cast<std::int64_t>(first);
  view.null_count = 0;
  view.offsets = offsets_.data();
  view.values = bytes_.data();
  return view;
}

/// Columns of a batch beside gathered ones; several views refer to them where the batch is cut.
struct BatchBuilder::Values {
  std::vector<AlignedBuffer> columns;
  std::vector<CellStrings> strings;
  AlignedBuffer left_validity;
  AlignedBuffer right_validity;
  std::shared_ptr<void const> shared;  ///< the owner of the table's columns that it refers to
};

/// Keeps what the views of one batch refer to.
struct BatchBuilder::BatchMemory {
  std::shared_ptr<Values const> values;
  Batch left;
  Batch right;
};

BatchBuilder::BatchBuilder(BatchSources const& sources)
    : sources_(sources), values_(sources.columns_.size()), strings_(sources.columns_.size()) {}

Result<void> BatchBuilder::start_sharing(std::uint64_t rows, Side side, std::uint64_t first) {
  auto const& firsts = sources_.of(side).first_rows;
  if (firsts.empty()) return start(rows, std::nullopt);
  auto const next = std::ranges::upper_bound(firsts, first);
  auto const batch = static_cast<std::size_t>(next - firsts.begin()) - 1;
  return start(std::min(rows, *next - first), Shared{side, batch, first - firsts[batch], first});
}

std::optional<std::uint64_t> BatchBuilder::next_shared() const noexcept {
  return shared_ ? std::optional(shared_->table_first + size_) : std::nullopt;
}

Result<void> BatchBuilder::start(std::uint64_t rows, std::optional<Shared> shared) {
  shared_ = shared;
  if (sources_.has_cells_) rows = std::min(rows, CellStrings::kMostRows);
  for (std::size_t c = 0; c < values_.size(); ++c) {
    auto const& column = sources_.columns_[c];
    if (column.kind == BatchSources::Kind::gathered || is_shared(column.side)) continue;
    if (column.kind == BatchSources::Kind::cells) {
      GARUDA_TRY(strings_[c].start(rows, column.mean_bytes, column.has_large_offsets));
      continue;
    }
    GARUDA_TRY_ASSIGN(values_[c], AlignedBuffer::allocate(static_cast<std::int64_t>(rows * column.width)));
  }
  for (auto const side : {Side::left, Side::right}) {
    rows_of(side).batch_narrow.clear();
    rows_of(side).batch_wide.clear();
    rows_of(side).present.clear();
    rows_of(side).has_nulls = false;
  }
  size_ = 0;
  capacity_ = rows;
  return {};
}

void BatchBuilder::append(std::span<contract::RowPair const> pairs, PositionBases bases, Side probe) {
  GARUDA_EXPECTS(pairs.size() <= kAppendedPairs && pairs.size() <= room());
  for (auto* rows : {&left_, &right_}) {
    rows->positions.resize(kAppendedPairs);
    rows->first.reset();
  }
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    left_.positions[i] = pairs[i].left;
    right_.positions[i] = pairs[i].right;
  }
  expect_present(pairs.size());
  append_positions(pairs.size(), bases, probe);
}

void BatchBuilder::append_unique(std::span<std::uint32_t const> build_rows, std::uint64_t first_probe,
                                 PositionBases bases, Side probe) {
  GARUDA_EXPECTS(build_rows.size() <= kAppendedPairs && build_rows.size() <= room());
  for (auto* rows : {&left_, &right_}) rows->positions.resize(kAppendedPairs);
  auto& probed = rows_of(probe);
  auto& built = probe == Side::left ? right_ : left_;
  probed.first = first_probe;
  built.first.reset();
  expect_present(build_rows.size());
  if (sources_.places_unmatched(probe))
    place_unmatched(build_rows, built);
  else
    for (std::size_t i = 0; i < build_rows.size(); ++i) built.positions[i] = build_rows[i] - 1;
  if (sources_.of(probe).wants_rows && !is_shared(probe))
    std::iota(probed.positions.begin(), probed.positions.end(), static_cast<std::uint32_t>(first_probe));
  append_positions(build_rows.size(), bases, probe);
}

/// Marks rows that are to be appended as rows of both sides, until it is said otherwise.
void BatchBuilder::expect_present(std::size_t count) {
  for (auto const side : {Side::left, Side::right})
    if (sources_.of(side).may_be_null) rows_of(side).present.resize(size_ + count, 1);
}

/// Positions of build rows, + 1, some of which are not there: those have the values of any row, which are null.
void BatchBuilder::place_unmatched(std::span<std::uint32_t const> build_rows, SideRows& built) const {
  auto* const present = built.present.data() + size_;
  bool all = true;
  for (std::size_t i = 0; i < build_rows.size(); ++i) {
    bool const is_there = build_rows[i] != 0;
    present[i] = is_there ? 1 : 0;
    built.positions[i] = build_rows[i] - present[i];
    all &= is_there;
  }
  built.has_nulls = built.has_nulls || !all;
}

void BatchBuilder::append_positions(std::size_t count, PositionBases bases, Side probe) {
  for (auto const side : {Side::left, Side::right}) resolve(side, count, bases.of(side));
  for (std::size_t c = 0; c < values_.size(); ++c) {
    auto const& column = sources_.columns_[c];
    if (is_shared(column.side)) continue;
    if (column.kind == BatchSources::Kind::key)
      append_keys(c, count, bases.of(probe), probe);
    else if (column.kind == BatchSources::Kind::cells)
      append_cells(c, count, bases.of(column.side));
    else if (column.kind != BatchSources::Kind::gathered)
      append_column(c, count, bases.of(column.side));
  }
  size_ += count;
}

/// Rows of nulls have an id that narrow ones lack.
bool BatchBuilder::has_wide_ids(Side side) const {
  auto const& source = sources_.of(side);
  return source.may_be_null || is_wide(source.side);
}

/// Finds the row ids of a side's positions when some column is found by them.
void BatchBuilder::resolve(Side side, std::size_t count, std::uint64_t base) {
  auto const& source = sources_.of(side);
  if (!source.wants_rows || is_shared(side)) return;
  auto& rows = rows_of(side);
  auto const& keys = *source.side.keys;
  bool const keep = source.gatherer.has_value();
  if (!has_wide_ids(side)) {
    rows.narrow.resize(kAppendedPairs + kAhead);
    auto const* const ids = static_cast<std::uint32_t const*>(keys.row_ids);
    for (std::size_t i = 0; i < count; ++i)
      rows.narrow[i] =
          ids == nullptr ? static_cast<std::uint32_t>(base + rows.positions[i]) : ids[base + rows.positions[i]];
    if (keep)
      rows.batch_narrow.insert(rows.batch_narrow.end(), rows.narrow.begin(),
                               rows.narrow.begin() + static_cast<std::ptrdiff_t>(count));
    return;
  }
  rows.wide.resize(kAppendedPairs + kAhead);
  if (keys.row_ids == nullptr)
    for (std::size_t i = 0; i < count; ++i) rows.wide[i] = base + rows.positions[i];
  else
    for (std::size_t i = 0; i < count; ++i) rows.wide[i] = keys.row_id(base + rows.positions[i]);
  if (!keep) return;
  rows.batch_wide.insert(rows.batch_wide.end(), rows.wide.begin(),
                         rows.wide.begin() + static_cast<std::ptrdiff_t>(count));
  if (!rows.has_nulls) return;
  // A row of nulls has id -1.
  auto* const ids = rows.batch_wide.data() + size_;
  auto const* const present = rows.present.data() + size_;
  for (std::size_t i = 0; i < count; ++i) ids[i] |= std::int64_t{present[i]} - 1;
}

void BatchBuilder::append_keys(std::size_t c, std::size_t count, std::uint64_t base, Side probe) {
  auto const& column = sources_.columns_[c];
  auto const& side = sources_.of(probe).side;
  auto const& keys = *side.keys;
  auto const& rows = rows_of(probe);
  auto* const out = values_[c].data() + size_ * column.width;
  auto const copy = [&](auto const* words) {
    if (rows.first) return copy_keys(words + base + *rows.first, side.key_base, column.width, InOrder{}, count, out);
    return copy_keys(words + base, side.key_base, column.width, rows.positions.data(), count, out);
  };
  if (keys.key_bits == 32)
    copy(static_cast<std::uint32_t const*>(keys.keys));
  else
    copy(static_cast<std::uint64_t const*>(keys.keys));
}

void BatchBuilder::append_column(std::size_t c, std::size_t count, std::uint64_t base) {
  auto const& column = sources_.columns_[c];
  auto const& rows = rows_of(column.side);
  auto* const out = values_[c].data() + size_ * column.width;
  if (column.kind == BatchSources::Kind::in_order && rows.first) {
    std::memcpy(out, column.values + (base + *rows.first) * column.width, count * column.width);
    return;
  }
  if (column.kind == BatchSources::Kind::in_order)
    return copy_elements(column.values + base * column.width, column.width, rows.positions.data(), count, out);
  return has_wide_ids(column.side) ? fetch_elements(column.values, column.width, rows.wide.data(), count, out)
                                   : fetch_elements(column.values, column.width, rows.narrow.data(), count, out);
}

void BatchBuilder::append_cells(std::size_t c, std::size_t count, std::uint64_t base) {
  auto const& column = sources_.columns_[c];
  auto const& rows = rows_of(column.side);
  auto const* const present = rows.has_nulls && !column.has_both_keys ? rows.present.data() + size_ : nullptr;
  if (rows.first)
    return strings_[c].append(column.values + (base + *rows.first) * column.width, column.width, InOrder{}, count,
                              present);
  strings_[c].append(
      column.values + base * column.width, column.width,
      [at = rows.positions.data()](std::size_t i) { return std::size_t{at[i]}; }, count, present);
}

Result<GatherResult> BatchBuilder::gather(Side side, std::uint64_t first, std::uint64_t rows) const {
  auto const& source = sources_.of(side);
  if (!source.gatherer || is_shared(side)) return GatherResult{Batch{}, static_cast<std::int64_t>(rows)};
  auto const& ids = rows_of(side);
  if (has_wide_ids(side)) return source.gatherer->gather(std::span(ids.batch_wide).subspan(first, rows));
  return source.gatherer->gather(std::span(ids.batch_narrow).subspan(first, rows));
}

/// The columns made so far, and what they refer to.
Result<std::shared_ptr<BatchBuilder::Values const>> BatchBuilder::take_values() {
  auto values = std::make_shared<Values>();
  values->columns = std::exchange(values_, std::vector<AlignedBuffer>(sources_.columns_.size()));
  for (std::size_t c = 0; c < values->columns.size(); ++c)
    if (auto& column = values->columns[c]; column.size_bytes() > 0)
      column.truncate(static_cast<std::int64_t>(size_ * sources_.columns_[c].width));
  values->strings = std::exchange(strings_, std::vector<CellStrings>(sources_.columns_.size()));
  for (auto& column : values->strings) column.finish();
  if (left_.has_nulls) {
    GARUDA_TRY_ASSIGN(values->left_validity, packed(left_.present));
  }
  if (right_.has_nulls) {
    GARUDA_TRY_ASSIGN(values->right_validity, packed(right_.present));
  }
  if (shared_) values->shared = sources_.of(shared_->side).side.table.batch(shared_->batch).owner;
  return values;
}

/// Rows from `first` on of a column that is not gathered.
ArrayView BatchBuilder::view_of(std::size_t c, std::uint64_t first, std::int64_t rows, Values const& values) const {
  auto const& column = sources_.columns_[c];
  if (is_shared(column.side))
    return slice(sources_.of(column.side).side.table.batch(shared_->batch).columns[column.column],
                 static_cast<std::int64_t>(shared_->first + first), rows);
  ArrayView view;
  if (column.kind == BatchSources::Kind::cells) {
    view = values.strings[c].view(first, rows);
  } else {
    view.length = rows;
    view.offset = static_cast<std::int64_t>(first);
    view.null_count = 0;
    view.values = values.columns[c].data();
  }
  auto const& validity = column.side == Side::left ? values.left_validity : values.right_validity;
  if (validity.size_bytes() > 0 && !column.has_both_keys) {
    view.null_count = -1;
    view.validity = validity.as<std::uint8_t>();
  }
  return view;
}

Result<std::vector<Batch>> BatchBuilder::finish() {
  std::vector<Batch> batches;
  if (size_ == 0) return batches;
  GARUDA_TRY_ASSIGN(auto const values, take_values());
  for (std::uint64_t first = 0; first < size_;) {
    auto memory = std::make_shared<BatchMemory>();
    GARUDA_TRY_ASSIGN(auto left, gather(Side::left, first, size_ - first));
    GARUDA_TRY_ASSIGN(auto right, gather(Side::right, first, static_cast<std::uint64_t>(left.rows_taken)));
    memory->values = values;
    memory->left = std::move(left.batch);
    memory->right = std::move(right.batch);
    Batch batch;
    batch.num_rows = std::min(left.rows_taken, right.rows_taken);
    for (std::size_t c = 0; c < sources_.columns_.size(); ++c) {
      auto const& column = sources_.columns_[c];
      if (column.kind != BatchSources::Kind::gathered || is_shared(column.side)) {
        batch.columns.push_back(view_of(c, first, batch.num_rows, *values));
        continue;
      }
      auto const& gathered = column.side == Side::left ? memory->left : memory->right;
      batch.columns.push_back(slice(gathered.columns[column.gathered], 0, batch.num_rows));
    }
    batch.owner = std::move(memory);
    first += static_cast<std::uint64_t>(batch.num_rows);
    batches.push_back(std::move(batch));
  }
  size_ = 0;
  capacity_ = 0;
  shared_.reset();
  return batches;
}

}  // namespace garuda::join
