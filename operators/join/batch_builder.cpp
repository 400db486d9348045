#include "operators/join/batch_builder.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <utility>

#include "operators/materialize/plain_column.hpp"

namespace garuda::join {
namespace {

bool is_wide(PartitionedTable const& side) {
  return static_cast<std::uint64_t>(side.table.num_rows()) > (std::uint64_t{1} << 32);
}

/// Position i of the partitioned keys is row i of the table.
bool is_in_table_order(PartitionedTable const& side) {
  return side.keys->row_ids == nullptr && side.keys->num_rows() == static_cast<std::uint64_t>(side.table.num_rows());
}

bool is_one_part(PartitionedTable const& side) {
  std::size_t parts = 0;
  for (std::size_t b = 0; b < side.table.num_batches(); ++b) parts += side.table.batch(b).num_rows > 0 ? 1 : 0;
  return parts <= 1;
}

bool is_carried(PartitionedTable const& side, std::size_t column) {
  return std::ranges::find(side.carried, column) != side.carried.end();
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

/// The same of elements far apart. Requires: `at` goes on for kAhead indices, of whatever value, behind `count`.
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

/// Keeps what the views of one batch refer to.
struct BatchMemory {
  std::shared_ptr<std::vector<AlignedBuffer> const> values;
  Batch left;
  Batch right;
};

}  // namespace

bool needs_row_ids(PartitionedTable const& side, resolve::ResolvedJoin const& columns, Side which) {
  return std::ranges::any_of(columns.output, [&](resolve::OutputColumn const& output) {
    return output.side == which && output.column != side.key_column && !is_carried(side, output.column);
  });
}

Result<std::unique_ptr<BatchSources>> BatchSources::create(PartitionedTable left, PartitionedTable right,
                                                           resolve::ResolvedJoin const& columns) {
  std::unique_ptr<BatchSources> sources(new BatchSources);
  sources->columns_.resize(columns.output.size());
  GARUDA_TRY(sources->add_side(std::move(left), columns, Side::left));
  GARUDA_TRY(sources->add_side(std::move(right), columns, Side::right));
  return sources;
}

Result<void> BatchSources::add_side(PartitionedTable side, resolve::ResolvedJoin const& columns, Side which) {
  auto& source = which == Side::left ? left_ : right_;
  source.side = std::move(side);
  auto const& table = source.side.table;
  for (std::size_t i = 0; i < columns.output.size(); ++i)
    if (auto const& output = columns.output[i]; output.side == which) {
      columns_[i] = column_of(source, which, output.column);
      if (auto const key = columns.shared_key(output); key && columns_[i].kind == Kind::key)
        columns_[i].width = static_cast<std::uint32_t>(byte_width(columns.keys[*key].type));
    }
  if (source.gathered_columns.empty()) return {};
  GARUDA_TRY_ASSIGN(source.gatherer, Gatherer::create(table, source.gathered_columns, columns.strings));
  return {};
}

BatchSources::Column BatchSources::column_of(Source& source, Side which, std::size_t column) {
  auto const& side = source.side;
  Column result;
  result.side = which;
  if (column == side.key_column) {
    result.kind = Kind::key;
    result.width = static_cast<std::uint32_t>(byte_width(side.table.schema()[column].type));
    return result;
  }
  if (auto const carried = std::ranges::find(side.carried, column); carried != side.carried.end()) {
    result.width = static_cast<std::uint32_t>(byte_width(side.table.schema()[column].type));
    result.values = side.keys->payload[static_cast<std::size_t>(carried - side.carried.begin())].data();
    return result;
  }
  bool const one_part = is_one_part(side);
  if (!one_part || !materialize::is_plain(side.table, column)) {
    result.kind = Kind::gathered;
    result.gathered = source.gathered_columns.size();
    source.gathered_columns.push_back(column);
    source.wants_rows = true;
    return result;
  }
  auto const payload = materialize::payload_column(side.table, column);
  result.width = payload.width;
  if (payload.parts.empty()) return result;  // a table without rows
  result.values = payload.parts.front().values;
  if (is_in_table_order(side)) return result;
  result.kind = Kind::by_row;
  source.wants_rows = true;
  return result;
}

BatchBuilder::BatchBuilder(BatchSources const& sources) : sources_(sources), values_(sources.columns_.size()) {}

Result<void> BatchBuilder::start(std::uint64_t rows) {
  for (std::size_t c = 0; c < values_.size(); ++c) {
    auto const& column = sources_.columns_[c];
    if (column.kind == BatchSources::Kind::gathered) continue;
    GARUDA_TRY_ASSIGN(values_[c], AlignedBuffer::allocate(static_cast<std::int64_t>(rows * column.width)));
  }
  for (auto const side : {Side::left, Side::right}) {
    rows_of(side).batch_narrow.clear();
    rows_of(side).batch_wide.clear();
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
  append_positions(pairs.size(), bases, probe);
}

void BatchBuilder::append_sole(std::span<std::uint32_t const> build_rows, std::uint64_t first_probe,
                               PositionBases bases, Side probe) {
  GARUDA_EXPECTS(build_rows.size() <= kAppendedPairs && build_rows.size() <= room());
  for (auto* rows : {&left_, &right_}) rows->positions.resize(kAppendedPairs);
  auto& probed = rows_of(probe);
  auto& built = probe == Side::left ? right_ : left_;
  probed.first = first_probe;
  built.first.reset();
  for (std::size_t i = 0; i < build_rows.size(); ++i) built.positions[i] = build_rows[i] - 1;
  if (sources_.of(probe).wants_rows)
    std::iota(probed.positions.begin(), probed.positions.end(), static_cast<std::uint32_t>(first_probe));
  append_positions(build_rows.size(), bases, probe);
}

void BatchBuilder::append_positions(std::size_t count, PositionBases bases, Side probe) {
  for (auto const side : {Side::left, Side::right}) resolve(side, count, bases.of(side));
  for (std::size_t c = 0; c < values_.size(); ++c) {
    auto const& column = sources_.columns_[c];
    if (column.kind == BatchSources::Kind::key)
      append_keys(c, count, bases.of(probe), probe);
    else if (column.kind != BatchSources::Kind::gathered)
      append_column(c, count, bases.of(column.side));
  }
  size_ += count;
}

/// Finds the row ids of a side's positions when some column is found by them.
void BatchBuilder::resolve(Side side, std::size_t count, std::uint64_t base) {
  auto const& source = sources_.of(side);
  if (!source.wants_rows) return;
  auto& rows = rows_of(side);
  auto const& keys = *source.side.keys;
  bool const keep = source.gatherer.has_value();
  if (!is_wide(source.side)) {
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
  for (std::size_t i = 0; i < count; ++i) rows.wide[i] = keys.row_id(base + rows.positions[i]);
  if (keep)
    rows.batch_wide.insert(rows.batch_wide.end(), rows.wide.begin(),
                           rows.wide.begin() + static_cast<std::ptrdiff_t>(count));
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
  auto const& source = sources_.of(column.side);
  auto const& rows = rows_of(column.side);
  auto* const out = values_[c].data() + size_ * column.width;
  if (column.kind == BatchSources::Kind::in_order && rows.first) {
    std::memcpy(out, column.values + (base + *rows.first) * column.width, count * column.width);
    return;
  }
  if (column.kind == BatchSources::Kind::in_order)
    return copy_elements(column.values + base * column.width, column.width, rows.positions.data(), count, out);
  return is_wide(source.side) ? fetch_elements(column.values, column.width, rows.wide.data(), count, out)
                              : fetch_elements(column.values, column.width, rows.narrow.data(), count, out);
}

Result<GatherResult> BatchBuilder::gather(Side side, std::uint64_t first, std::uint64_t rows) const {
  auto const& source = sources_.of(side);
  if (!source.gatherer) return GatherResult{Batch{}, static_cast<std::int64_t>(rows)};
  auto const& ids = rows_of(side);
  if (is_wide(source.side)) return source.gatherer->gather(std::span(ids.batch_wide).subspan(first, rows));
  return source.gatherer->gather(std::span(ids.batch_narrow).subspan(first, rows));
}

Result<std::vector<Batch>> BatchBuilder::finish() {
  std::vector<Batch> batches;
  for (auto& values : values_) {
    auto const& column = sources_.columns_[static_cast<std::size_t>(&values - values_.data())];
    if (values.size_bytes() > 0) values.truncate(static_cast<std::int64_t>(size_ * column.width));
  }
  auto const owned = std::make_shared<std::vector<AlignedBuffer>>(std::exchange(values_, {}));
  values_.resize(sources_.columns_.size());
  for (std::uint64_t first = 0; first < size_;) {
    auto memory = std::make_shared<BatchMemory>();
    GARUDA_TRY_ASSIGN(auto left, gather(Side::left, first, size_ - first));
    GARUDA_TRY_ASSIGN(auto right, gather(Side::right, first, static_cast<std::uint64_t>(left.rows_taken)));
    memory->values = owned;
    memory->left = std::move(left.batch);
    memory->right = std::move(right.batch);
    Batch batch;
    batch.num_rows = std::min(left.rows_taken, right.rows_taken);
    for (std::size_t c = 0; c < sources_.columns_.size(); ++c) {
      auto const& column = sources_.columns_[c];
      if (column.kind == BatchSources::Kind::gathered) {
        auto const& gathered = column.side == Side::left ? memory->left : memory->right;
        batch.columns.push_back(slice(gathered.columns[column.gathered], 0, batch.num_rows));
        continue;
      }
      ArrayView view;
      view.length = batch.num_rows;
      view.offset = static_cast<std::int64_t>(first);
      view.null_count = 0;
      view.values = (*owned)[c].data();
      batch.columns.push_back(view);
    }
    batch.owner = std::move(memory);
    first += static_cast<std::uint64_t>(batch.num_rows);
    batches.push_back(std::move(batch));
  }
  size_ = 0;
  capacity_ = 0;
  return batches;
}

}  // namespace garuda::join
