#include "operators/query/limited/hash_partitions.hpp"

#include <algorithm>
#include <utility>

#include "core/buffer.hpp"
#include "core/parallel_blocks.hpp"
#include "core/positions.hpp"
#include "core/type_rows.hpp"
#include "keys/codes/attribute_reader.hpp"
#include "keys/numbering/mix.hpp"
#include "operators/materialize/gather.hpp"
#include "operators/pipeline/rows.hpp"

namespace garuda::query {
namespace {

using pipeline::RowNumbers;

/// One hash a row of its keys.
Result<UnsetVector<std::uint64_t>> hash_rows(TableView table, std::span<HashedKey const> keys) {
  UnsetVector<std::uint64_t> hashes(static_cast<std::size_t>(table.num_rows()), 0);
  UnsetVector<std::uint64_t> of_column(hashes.size());
  for (auto const& key : keys) {
    GARUDA_TRY(keys::hash_key_column(table, key.column, key.as, of_column));
    for (std::size_t i = 0; i < hashes.size(); ++i) hashes[i] = keys::add_key_hash(hashes[i], of_column[i]);
  }
  return hashes;
}

/// The partition of each row of a block of the table.
Result<void> split_block(TableView block, std::span<HashedKey const> keys, std::uint32_t level, std::uint32_t bits,
                         std::span<std::uint8_t> to) {
  static_assert(kMostSplitBits <= 8);
  GARUDA_TRY_ASSIGN(auto const hashes, hash_rows(block, keys));
  for (std::size_t i = 0; i < hashes.size(); ++i)
    to[i] = static_cast<std::uint8_t>(keys::spill_partition(hashes[i], level, bits));
  return {};
}

}  // namespace

std::int64_t RowParts::num_rows(std::size_t part) const noexcept {
  return std::accumulate(pieces_[part].begin(), pieces_[part].end(), std::int64_t{0},
                         [](std::int64_t rows, Piece const& piece) { return rows + piece.rows; });
}

Table RowParts::table(std::size_t part) const {
  std::vector<Batch> batches;
  for (auto const& [batch, begin, rows] : pieces_[part]) {
    auto& made = batches.emplace_back(Batch{rows, {}, batches_[batch].owner});
    for (auto const& column : batches_[batch].columns) made.columns.push_back(slice(column, begin, rows));
  }
  return {schema_, std::move(batches)};
}

Result<void> RowParts::add(Gatherer const& rows, std::span<RowNumbers const> lists, QueryLimit& limit,
                           Control const& control) {
  RowNumbers all;
  for (auto const& list : lists) all.insert(all.end(), list.begin(), list.end());
  std::size_t part = 0;
  std::size_t in_part = 0;  // rows of its list that are there
  for (std::size_t begin = 0; begin < all.size();) {
    GARUDA_TRY(check_cancelled(&control));
    GARUDA_TRY_ASSIGN(auto gathered, rows.gather(std::span<std::int64_t const>(all).subspan(begin)));
    GARUDA_TRY_ASSIGN(auto kept, limit.rows.keep(schema_, std::move(gathered.batch)));
    for (std::int64_t at = 0; at < gathered.rows_taken;) {
      for (; in_part == lists[part].size(); ++part) in_part = 0;
      auto const count = std::min(static_cast<std::int64_t>(lists[part].size() - in_part), gathered.rows_taken - at);
      pieces_[part].push_back({batches_.size(), at, count});
      in_part += static_cast<std::size_t>(count);
      at += count;
    }
    batches_.push_back(std::move(kept));
    begin += static_cast<std::size_t>(gathered.rows_taken);
  }
  return {};
}

HashedKey hashed_key(TableView table, std::size_t column) { return {column, value_type(table.schema()[column].type)}; }

std::uint32_t split_bits(std::uint64_t needed_bytes, QueryLimit const& limit) noexcept {
  std::uint32_t bits = 1;
  while (bits < kMostSplitBits && (needed_bytes >> bits) > limit.operator_bytes / 2) ++bits;
  return bits;
}

Result<RowParts> hash_partitions(TableView table, std::span<HashedKey const> keys, std::uint32_t level,
                                 std::uint32_t bits, StringForm strings, QueryLimit& limit, Control const& control) {
  auto const rows = static_cast<std::uint64_t>(table.num_rows());
  auto const row_bytes = materialize::bytes_of_rows(table) / std::max<std::uint64_t>(rows, 1);
  // A row has two hashes, its digit, its number in lists that grow, and once more in one of them all, and its copy.
  constexpr std::uint64_t kRowBytes = 64;
  auto const window_rows = std::max<std::uint64_t>(limit.operator_bytes / 2 / (row_bytes + kRowBytes), 1024);
  GARUDA_TRY_ASSIGN(auto const gatherer, Gatherer::create(table, first_positions(table.num_columns()), strings));
  auto const num_parts = std::size_t{1} << bits;
  RowParts parts(gatherer.schema(), num_parts);
  for (std::uint64_t begin = 0; begin < rows; begin += window_rows) {
    auto const window = pipeline::slice_rows(table, begin, window_rows);
    UnsetVector<std::uint8_t> digits(static_cast<std::size_t>(window.num_rows()));
    FirstError errors;
    GARUDA_TRY(for_each_range(digits.size(), &control, [&](std::uint64_t from, std::uint64_t to) {
      auto const block = pipeline::slice_rows(window.view(), from, to - from);
      errors.keep(split_block(block.view(), keys, level, bits, std::span(digits).subspan(from, to - from)));
    }));
    GARUDA_TRY(errors.result());  // digits of a block that failed are not there
    std::vector<RowNumbers> numbers(num_parts);
    for (std::size_t i = 0; i < digits.size(); ++i) numbers[digits[i]].push_back(static_cast<std::int64_t>(begin + i));
    GARUDA_TRY(parts.add(gatherer, numbers, limit, control));
  }
  return parts;
}

}  // namespace garuda::query
