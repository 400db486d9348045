#include "keys/order/order_words.hpp"

#include <oneapi/tbb/parallel_sort.h>

#include <algorithm>
#include <limits>
#include <mutex>
#include <new>
#include <optional>
#include <string_view>
#include <utility>

#include "core/parallel_blocks.hpp"
#include "keys/codes/attribute_reader.hpp"
#include "keys/codes/key_column.hpp"
#include "keys/key_layout.hpp"
#include "keys/numbering/value_dictionary.hpp"

namespace garuda::keys {
namespace {

constexpr std::uint64_t kMostWord32 = std::numeric_limits<std::uint32_t>::max();

std::uint64_t num_rows(ColumnOfTable const& column) { return static_cast<std::uint64_t>(column.table.num_rows()); }

UInt128 code_of(AttributeReader const& reader, AttributeCodes const& codes, std::size_t row) {
  return reader.is_wide() ? codes.wide(row) : UInt128{codes.low[row]};
}

/// The order of columns whose values have codes: their type's, or those of `bytes`.
class CodedOrder {
 public:
  CodedOrder(OrderRequest const& request, std::shared_ptr<ByteCoding const> const& bytes, Control const& control)
      : request_(request), control_(control) {
    if (bytes != nullptr) given_ = ByteCodes{bytes};
  }

  Result<OrderedWords> run(std::vector<KeyColumn> columns, std::vector<KeyColumn> constants) {
    for (auto& column : columns) readers_.emplace_back(std::move(column), request_.as, given_);
    GARUDA_TRY(scan());
    if (!range_.exceeds_64_bits()) choose_base();
    OrderedWords words;
    words.columns.resize(readers_.size());
    if (range_.exceeds_64_bits()) GARUDA_TRY(collect_values());
    for (std::size_t c = 0; c < readers_.size(); ++c) GARUDA_TRY(write_column(c, words.columns[c]));
    for (std::size_t c = 0; c < constants.size(); ++c) {
      AttributeReader const reader(std::move(constants[c]), request_.as, given_);
      AttributeCodes codes;
      reader.read(cut_row_blocks(request_.constants[c].table).front(), codes);
      words.constants.push_back(place_of(code_of(reader, codes, 0)));
    }
    return words;
  }

 private:
  Result<void> scan() {
    for (std::size_t c = 0; c < readers_.size(); ++c) {
      blocks_.push_back(cut_row_blocks(request_.columns[c].table));
      std::mutex mutex;
      GARUDA_TRY(for_each_block(blocks_[c].size(), &control_, [&](std::size_t b) {
        AttributeCodes scratch;
        auto const of_block = scan_range(readers_[c], blocks_[c][b], scratch);
        std::lock_guard const lock(mutex);
        range_.add(of_block);
      }));
    }
    range_.has_nulls = false;
    return {};
  }

  /// Chooses the code of word 0: the least code, or the code of 0 where that makes words of some column in place.
  void choose_base() {
    is_narrow_ = !range_.has_values || range_.max - range_.min <= kMostWord32;
    for (std::size_t c = 0; c < readers_.size(); ++c) {
      auto const zero = readers_[c].zero_in_place();
      if (!zero || !range_.has_values || range_.min < *zero || words_in_place(c) == nullptr) continue;
      if (is_narrow_ && range_.max - *zero > kMostWord32) continue;
      range_.min = *zero;
      is_in_place_ = true;
      return;
    }
  }

  /// The array that holds all rows as words of the chosen width, if their base is that of its type.
  void const* words_in_place(std::size_t c) const {
    auto const& [table, column] = request_.columns[c];
    auto const parts = words_of_table(readers_[c], table, column, is_narrow_ ? 4 : 8);
    return parts.size() == 1 ? parts.front().words : nullptr;
  }

  /// Codes that no 64 bits hold the range of become their ranks.
  Result<void> collect_values() {
    for (std::size_t c = 0; c < readers_.size(); ++c) {
      auto const first = values_.size();
      values_.resize(first + num_rows(request_.columns[c]));
      GARUDA_TRY(for_each_block(blocks_[c].size(), &control_, [&](std::size_t b) {
        AttributeCodes codes;
        readers_[c].read(blocks_[c][b], codes);
        for (std::size_t i = 0; i < codes.valid.size(); ++i)
          values_[first + blocks_[c][b].first_row + i] =
              codes.valid[i] != 0 ? code_of(readers_[c], codes, i) : range_.min;
      }));
    }
    oneapi::tbb::this_task_arena::isolate([&] { oneapi::tbb::parallel_sort(values_.begin(), values_.end()); });
    values_.erase(std::unique(values_.begin(), values_.end()), values_.end());
    is_narrow_ = values_.size() <= kMostWord32;
    return check_cancelled(&control_);
  }

  std::uint64_t rank_of(UInt128 code) const {
    return static_cast<std::uint64_t>(std::ranges::lower_bound(values_, code) - values_.begin());
  }

  Result<void> write_column(std::size_t c, OrderedColumn& out) const {
    return is_narrow_ ? write_words<std::uint32_t>(c, out) : write_words<std::uint64_t>(c, out);
  }

  template <class Word>
  Result<void> write_words(std::size_t c, OrderedColumn& out) const {
    auto const rows = num_rows(request_.columns[c]);
    if (auto const* const words = is_in_place_ ? words_in_place(c) : nullptr) {
      out.words = std::span(static_cast<Word const*>(words), rows);
      return {};
    }
    GARUDA_TRY_ASSIGN(out.owned_words, AlignedBuffer::allocate(static_cast<std::int64_t>(rows * sizeof(Word))));
    auto* const words = out.owned_words.as<Word>();
    out.words = std::span<Word const>(words, rows);
    return for_each_block(blocks_[c].size(), &control_, [&](std::size_t b) {
      auto const& block = blocks_[c][b];
      AttributeCodes codes;
      if (values_.empty())
        return pack_attribute(readers_[c], range_, block, std::nullopt, true, codes, words + block.first_row);
      readers_[c].read(block, codes);
      for (std::size_t i = 0; i < codes.valid.size(); ++i)
        words[block.first_row + i] =
            static_cast<Word>(codes.valid[i] != 0 ? rank_of(code_of(readers_[c], codes, i)) : 0);
    });
  }

  ConstantWord place_of(UInt128 code) const {
    if (!values_.empty()) {
      auto const rank = rank_of(code);
      if (rank < values_.size() && values_[rank] == code) return {Place::at, rank};
      return rank == 0 ? ConstantWord{Place::below, 0} : ConstantWord{Place::above, rank - 1};
    }
    if (!range_.has_values || code < range_.min) return {Place::below, 0};
    if (code > range_.max) return {Place::above, static_cast<std::uint64_t>(range_.max - range_.min)};
    return {Place::at, static_cast<std::uint64_t>(code - range_.min)};
  }

  OrderRequest const& request_;
  Control const& control_;
  GivenCodes given_;
  std::vector<AttributeReader> readers_;
  std::vector<std::vector<RowBlock>> blocks_;  // of each column
  CodeRange range_;                            // over all columns; min: what word 0 stands for
  bool is_narrow_ = true;
  bool is_in_place_ = false;
  std::vector<UInt128> values_;  // distinct codes, sorted, where ranks are the words
};

/// Row by row whether a column has a value; empty when each has.
Result<AlignedBuffer> valid_rows(std::vector<ArrayView> const& arrays, Control const& control) {
  if (std::ranges::all_of(arrays, [](ArrayView const& array) { return count_nulls(array) == 0; }))
    return AlignedBuffer{};
  std::int64_t rows = 0;
  for (auto const& array : arrays) rows += array.length;
  GARUDA_TRY_ASSIGN(auto buffer, AlignedBuffer::allocate((rows + 63) / 64 * 8));
  auto* const bits = buffer.as<std::uint64_t>();
  GARUDA_TRY(
      for_array_rows(arrays, control, [&](std::size_t a, std::int64_t begin, std::int64_t end, std::uint64_t row) {
        // Blocks are whole words, so that no two threads share one; the first piece of each clears them.
        if (row % kBlockRows == 0)
          std::fill_n(bits + row / 64, (std::min(kBlockRows, static_cast<std::uint64_t>(rows) - row) + 63) / 64, 0);
        for (auto i = begin; i < end; ++i, ++row) bits[row / 64] |= std::uint64_t{!arrays[a].is_null(i)} << row % 64;
      }));
  return buffer;
}

Result<std::vector<KeyColumn>> open_columns(std::span<ColumnOfTable const> columns, DataType const& as,
                                            Control const& control) {
  std::vector<KeyColumn> open;
  for (auto const& [table, column] : columns) {
    GARUDA_TRY_ASSIGN(auto one, open_key_column(table, column, as, control));
    open.push_back(std::move(one));
  }
  return open;
}

/// A coding of all values that are compared; nullptr: there is none.
Result<std::shared_ptr<ByteCoding const>> code_bytes(std::vector<KeyColumn> const& columns,
                                                     std::vector<KeyColumn> const& constants, Control const& control) {
  std::vector<KeyColumn> all;
  for (auto const* of : {&columns, &constants})
    for (auto const& column : *of) {
      if (!has_bytes(column.type)) return nullptr;
      all.push_back({column.field, column.type, column.arrays, {}});
    }
  return find_byte_coding(all, control);
}

/// Ranks of values among constants: twice the number of lesser ones, and 1 more at one of them.
class RanksAmongConstants {
 public:
  /// Borrows the constants.
  explicit RanksAmongConstants(ValueBytes const& constants) {
    for (std::uint64_t i = 0; i < constants.size(); ++i) {
      auto const at = std::ranges::lower_bound(sorted_, constants[i]);
      if (at == sorted_.end() || *at != constants[i]) sorted_.insert(at, constants[i]);
    }
  }

  std::uint32_t operator()(std::string_view value) const {
    auto const at = std::ranges::lower_bound(sorted_, value);
    auto const lesser = static_cast<std::uint32_t>(at - sorted_.begin());
    return 2 * lesser + (at != sorted_.end() && *at == value ? 1 : 0);
  }

 private:
  std::vector<std::string_view> sorted_;  ///< the different ones
};

Result<ValueBytes> values_of(std::vector<KeyColumn> const& columns) {
  ValueBytes values;
  for (auto const& column : columns)
    if (auto added = add_values(column, values, true); !added) return propagate(std::move(added));
  return values;
}

Result<OrderedWords> rank_among_constants(std::vector<KeyColumn> const& column, std::vector<KeyColumn> const& constants,
                                          Control const& control) {
  GARUDA_TRY_ASSIGN(auto const values, values_of(column));
  GARUDA_TRY_ASSIGN(auto const bounds, values_of(constants));
  RanksAmongConstants const rank(bounds);
  OrderedWords words;
  auto& out = words.columns.emplace_back();
  GARUDA_TRY_ASSIGN(out.owned_words, AlignedBuffer::allocate(static_cast<std::int64_t>(values.size() * 4)));
  auto* const of_rows = out.owned_words.as<std::uint32_t>();
  out.words = std::span<std::uint32_t const>(of_rows, values.size());
  GARUDA_TRY(for_each_range(values.size(), &control, [&](std::uint64_t begin, std::uint64_t end) {
    values.for_each(begin, end, [&](std::uint64_t row, std::optional<std::string_view> value) {
      of_rows[row] = value ? rank(*value) : 0;
    });
  }));
  for (std::uint64_t i = 0; i < bounds.size(); ++i) words.constants.push_back({Place::at, rank(bounds[i])});
  return words;
}

/// Words of 32 bits of the order of `columns` and `constants`, which are of a type without codes, opened to be compared
/// as request.as; without `valid`. Throws std::bad_alloc. Errors: those of encode_values.
Result<OrderedWords> rank_values(std::vector<KeyColumn> const& columns, std::vector<KeyColumn> const& constants,
                                 OrderRequest const& request, Control const& control) {
  // The values of a dictionary are fewer than its rows: they are numbered.
  if (columns.size() == 1 && !request.compares_columns && columns.front().type.id != TypeId::dictionary)
    return rank_among_constants(columns, constants, control);
  std::vector<KeyColumn> borrowed;
  for (auto const* of : {&columns, &constants})
    for (auto const& column : *of) borrowed.push_back({column.field, column.type, column.arrays, {}});
  GARUDA_TRY_ASSIGN(
      auto codes, encode_values(borrowed, control, 64, request.compares_order ? CodeOrder::ascending : CodeOrder::any));
  OrderedWords words;
  for (std::size_t c = 0; c < borrowed.size(); ++c) {
    if (c >= columns.size()) {
      words.constants.push_back({Place::at, codes[c].codes[0]});
      continue;
    }
    std::uint64_t rows = 0;
    for (auto const& array : borrowed[c].arrays) rows += static_cast<std::uint64_t>(array.length);
    words.columns.push_back({std::span(codes[c].codes, rows), {}, {}});
    words.memory.push_back(std::move(codes[c].memory));
  }
  return words;
}

Result<OrderedWords> encode(OrderRequest const& request, Control const& control) {
  GARUDA_TRY_ASSIGN(auto columns, open_columns(request.columns, request.as, control));
  GARUDA_TRY_ASSIGN(auto constants, open_columns(request.constants, request.as, control));
  std::vector<AlignedBuffer> valid;
  for (auto const& column : columns) {
    GARUDA_TRY_ASSIGN(auto of_column, valid_rows(column.arrays, control));
    valid.push_back(std::move(of_column));
  }
  GARUDA_TRY_ASSIGN(auto const bytes, code_bytes(columns, constants, control));
  auto words = has_codes(request.as) || bytes != nullptr
                   ? CodedOrder(request, bytes, control).run(std::move(columns), std::move(constants))
                   : rank_values(columns, constants, request, control);
  if (!words) return words;
  for (std::size_t c = 0; c < valid.size(); ++c) words->columns[c].valid = std::move(valid[c]);
  return words;
}

}  // namespace

Result<OrderedWords> encode_order(OrderRequest const& request, Control const& control) {
  GARUDA_EXPECTS(!request.columns.empty());
  try {
    return encode(request, control);
  } catch (std::bad_alloc const&) {
    return fail(ErrorCode::out_of_memory, "no memory for the order of a column's values");
  }
}

}  // namespace garuda::keys
