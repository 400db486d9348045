#include "operators/join/unmatched_rows.hpp"

#include <algorithm>
#include <bit>
#include <numeric>
#include <utility>

#include "core/parallel_blocks.hpp"

namespace garuda::join {
namespace {

constexpr std::uint64_t kBlockWords = kBlockRows / 64;

std::uint64_t num_blocks(std::uint64_t rows) { return (rows + kBlockRows - 1) / kBlockRows; }

/// Bits of the rows of word `word` that there are.
std::uint64_t bits_of_rows(std::uint64_t word, std::uint64_t rows) {
  auto const left = rows - word * 64;
  return left >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << left) - 1;
}

template <class Visit>
void visit_ones(std::uint64_t bits, Visit const& visit) {
  for (; bits != 0; bits &= bits - 1) visit(static_cast<std::uint64_t>(std::countr_zero(bits)));
}

/// The bits of a word's rows that `chosen` names, given those of the rows that match.
std::uint64_t chosen_bits(contract::SideRows chosen, contract::MarkBitmap const& matched, std::uint64_t word,
                          std::uint64_t rows) {
  return contract::num_side_rows(chosen, bits_of_rows(word, rows), matched[word]);
}

/// Rows that are counted together, in whole words of a bitmap; few enough pieces that their counters take less memory
/// than the rows' keys.
std::uint64_t rows_of_piece(std::uint64_t rows, std::uint64_t partitions) {
  constexpr std::uint64_t kMostPieces = 64;
  return (std::max(rows / kMostPieces, 8 * partitions) + 63) / 64 * 64;
}

template <class Word>
Result<contract::MarkBitmap> marks_in_order(contract::RowMarks const& marks, partition::PartitionedKeys const& keys,
                                            KeysInPlace const& source, Control const& control) {
  auto const* const words = static_cast<Word const*>(source.words);
  auto const rows = keys.num_rows();
  auto const partitions = std::uint64_t{keys.num_partitions()};
  auto const piece_rows = rows_of_piece(rows, partitions);
  auto const pieces = (rows + piece_rows - 1) / piece_rows;
  std::vector<std::uint64_t> next(pieces * partitions);  // position of a piece's next key of a partition
  auto const for_piece = [&](auto const& body) {
    return for_each_block(pieces, &control, [&](std::size_t piece) {
      auto* const of_piece = next.data() + piece * partitions;
      for (auto row = piece * piece_rows; row < std::min<std::uint64_t>((piece + 1) * piece_rows, rows); ++row)
        body(row, of_piece[partition::partition_of(words[row], source.digit)]++);
    });
  };
  GARUDA_TRY(for_piece([](std::uint64_t, std::uint64_t) {}));
  for (std::uint64_t p = 0; p < partitions; ++p) {
    auto position = keys.offsets[p];
    for (std::uint64_t piece = 0; piece < pieces; ++piece)
      position += std::exchange(next[piece * partitions + p], position);
  }
  contract::MarkBitmap by_row(contract::bitmap_words(rows));
  GARUDA_TRY(for_piece([&](std::uint64_t row, std::uint64_t position) {
    by_row[row / 64] |= (marks.words()[position / 64] >> position % 64 & 1) << row % 64;
  }));
  return by_row;
}

}  // namespace

KeysInPlace keys_in_place(keys::EncodedKeys const& keys, partition::RadixDigit digit) {
  bool const stay = keys.owned_words.size_bytes() == 0 && keys.num_rows == keys.table_rows;
  return stay && digit.bits > 0 ? KeysInPlace{keys.words, digit} : KeysInPlace{};
}

Result<contract::MarkBitmap> marks_by_row(contract::RowMarks marks, partition::PartitionedKeys const& keys,
                                          KeysInPlace const& source, std::uint64_t table_rows, Control const& control) {
  auto const positions = keys.num_rows();
  auto const marked = marks.count();
  bool const are_all_equal = positions == table_rows && (marked == 0 || marked == positions);
  if (are_all_equal || (keys.row_ids == nullptr && source.words == nullptr && positions == table_rows))
    return marks.take();
  if (source.words != nullptr && keys.row_ids == nullptr)
    return keys.key_bits == 32 ? marks_in_order<std::uint32_t>(marks, keys, source, control)
                               : marks_in_order<std::uint64_t>(marks, keys, source, control);
  // Where every row has a key, those are moved that are fewer: rows with a match, or those without.
  bool const moves_unmarked = positions == table_rows && marked > positions / 2;
  contract::RowMarks by_row(table_rows);
  GARUDA_TRY(for_each_block(num_blocks(positions), &control, [&](std::size_t block) {
    auto const end = std::min<std::uint64_t>((block + 1) * kBlockWords, marks.words().size());
    for (auto word = block * kBlockWords; word < end; ++word) {
      auto const bits = marks.words()[word];
      visit_ones(moves_unmarked ? bits_of_rows(word, positions) & ~bits : bits,
                 [&](std::uint64_t bit) { by_row.set(keys.row_id(word * 64 + bit)); });
    }
  }));
  auto words = by_row.take();
  if (moves_unmarked)
    for (std::uint64_t word = 0; word < words.size(); ++word)
      words[word] = bits_of_rows(word, table_rows) & ~words[word];
  return words;
}

UnmatchedRows::UnmatchedRows(contract::SideRows chosen, contract::MarkBitmap matched, std::uint64_t table_rows)
    : chosen_(chosen),
      matched_(std::make_shared<contract::MarkBitmap const>(std::move(matched))),
      table_rows_(table_rows),
      firsts_(num_blocks(table_rows) + 1) {
  for (std::uint64_t word = 0; word < matched_->size(); ++word)
    firsts_[word / kBlockWords + 1] +=
        static_cast<std::uint64_t>(std::popcount(chosen_bits(chosen_, *matched_, word, table_rows_)));
  std::partial_sum(firsts_.begin(), firsts_.end(), firsts_.begin());
}

Result<std::span<std::int64_t const>> UnmatchedRows::peek(std::uint64_t most, Control const& control) {
  auto const count = std::min(most, size() - position_);
  if (count == 0) return std::span<std::int64_t const>{};
  ids_.resize(count);
  auto const block_of = [&](std::uint64_t position) {
    return static_cast<std::uint64_t>(std::ranges::upper_bound(firsts_, position) - firsts_.begin() - 1);
  };
  auto const first = block_of(position_);
  GARUDA_TRY(for_each_block(block_of(position_ + count - 1) + 1 - first, &control,
                            [&](std::size_t b) { write_block(first + b, ids_); }));
  return std::span<std::int64_t const>(ids_);
}

/// Writes those of a block that belong to the positions from position_ on.
void UnmatchedRows::write_block(std::uint64_t block, std::span<std::int64_t> ids) const {
  auto const end = position_ + ids.size();
  auto position = firsts_[block];
  auto const first_row = block * kBlockRows;
  if (firsts_[block + 1] - position == std::min(kBlockRows, table_rows_ - first_row)) {  // all of its rows
    auto const begin = std::max(position, position_);
    auto const to = ids.subspan(begin - position_, std::min(firsts_[block + 1], end) - begin);
    std::iota(to.begin(), to.end(), static_cast<std::int64_t>(first_row + (begin - position)));
    return;
  }
  auto const last_word = std::min<std::uint64_t>((block + 1) * kBlockWords, matched_->size());
  for (auto word = block * kBlockWords; word < last_word && position < end; ++word)
    visit_ones(chosen_bits(chosen_, *matched_, word, table_rows_), [&](std::uint64_t bit) {
      if (position >= position_ && position < end)
        ids[position - position_] = static_cast<std::int64_t>(word * 64 + bit);
      ++position;
    });
}

}  // namespace garuda::join
