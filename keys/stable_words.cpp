#include "keys/stable_words.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "core/dictionary.hpp"
#include "core/load.hpp"
#include "core/type_rows.hpp"
#include "core/variable_value.hpp"
#include "keys/codes/key_column.hpp"
#include "keys/codes/padded_bytes.hpp"
#include "keys/key_layout.hpp"
#include "keys/numbering/mix.hpp"

namespace garuda::keys {
namespace {

/// The word of a null key of a type of fewer than 64 bits: no code of such a type is this one.
constexpr std::uint64_t kNullWord = std::uint64_t{1} << 62;
/// Bits of a word that an index takes, of a dictionary of less than 2^31 values; 0 is its null.
constexpr std::uint32_t kHalf = 32;
/// Marks in the second word of bytes, above their length.
constexpr std::uint64_t kNullBytes = std::uint64_t{1} << 63;
constexpr std::uint64_t kLongBytes = std::uint64_t{1} << 62;
constexpr std::size_t kShortBytes = kInlineViewBytes;
/// Marks in the one word of a value, in place of the length of a short one, which is less.
constexpr std::uint64_t kNullInOneWord = std::uint64_t{0xFF} << 56;
constexpr std::uint64_t kLongInOneWord = std::uint64_t{0x80} << 56;

/// The bits of a view's words that its value has, by its length.
struct PresentBits {
  std::uint64_t low = 0;
  std::uint32_t high = 0;
};

constexpr auto kPresentBits = [] {
  std::array<PresentBits, kShortBytes + 1> bits{};
  for (std::size_t length = 0; length <= kShortBytes; ++length) {
    bits[length].low = length >= 8 ? ~std::uint64_t{0} : (std::uint64_t{1} << (8 * length)) - 1;
    bits[length].high = length <= 8    ? 0
                        : length == 12 ? ~std::uint32_t{0}
                                       : (std::uint32_t{1} << (8 * (length - 8))) - 1;
  }
  return bits;
}();

bool has_room_for_nulls(DataType const& type) noexcept {
  return has_bytes(type) || type_row(type.id).width < 8 || type.id == TypeId::boolean;
}

std::size_t words_of(DataType const& type) noexcept { return has_bytes(type) || type_row(type.id).width == 16 ? 2 : 1; }

}  // namespace

void GrowingDictionary::add(std::string_view value, std::uint64_t* word) {
  batch_.push(hash_bytes(value), value, word);
  if (batch_.is_full()) flush();
}

void GrowingDictionary::flush() {
  auto const keep = [this](std::uint64_t const*, std::string_view value) {
    auto* const copy = static_cast<char*>(bytes_->allocate(value.size(), 1));
    std::ranges::copy(value, copy);
    return std::string_view(copy, value.size());
  };
  batch_.add_to(table_, keep, [](std::uint64_t* word, std::uint32_t number) { *word += number; });
}

bool StableWords::can_write(DataType const& type, bool is_one_dictionary) noexcept {
  return is_one_dictionary || has_bytes(type) || has_codes(type);
}

StableWords::StableWords(std::span<DataType const> types, std::uint64_t one_word_columns) : long_values_(types.size()) {
  GARUDA_EXPECTS(types.size() <= kMostColumns);
  std::optional<std::size_t> half;  // a word whose upper half is free
  for (std::size_t k = 0; k < types.size(); ++k) {
    auto const& type = types[k];
    GARUDA_EXPECTS(can_write(type, type.id == TypeId::dictionary));
    if (type.id == TypeId::dictionary) {
      places_.push_back({half.value_or(num_words_), 1, half ? kHalf : 0});
      half = half ? std::nullopt : std::optional(num_words_++);
      continue;
    }
    bool const has_one_word = has_bytes(type) && ((one_word_columns >> k) & 1) != 0;
    places_.push_back({num_words_, has_one_word ? 1 : words_of(type)});
    num_words_ += places_.back().count;
    has_null_word_ = has_null_word_ || !has_room_for_nulls(type);
  }
  null_word_ = num_words_;
  if (has_null_word_) ++num_words_;
  words_.resize(num_words_);
  pointers_.resize(num_words_);
}

std::uint64_t StableWords::one_word_columns_of(TableView table, std::span<std::size_t const> columns) {
  // Numbering a value takes about so many times as long as writing a second word for each.
  constexpr std::int64_t kValuesForOne = 8;
  std::uint64_t one_word_columns = 0;
  for (std::size_t k = 0; k < columns.size(); ++k) {
    auto const& type = table.schema()[columns[k]].type;
    if (!has_bytes(type)) continue;
    std::int64_t numbered = 0;  // which two words would hold
    for (std::size_t b = 0; b < table.num_batches(); ++b) {
      auto const& array = table.batch(b).columns[columns[k]];
      for_each_bytes(array, type, 0, array.length, [&](std::int64_t, std::string_view value) {
        numbered += value.size() > kOneWordBytes && value.size() <= kShortBytes ? 1 : 0;
      });
    }
    if (numbered <= table.num_rows() / kValuesForOne) one_word_columns |= std::uint64_t{1} << k;
  }
  return one_word_columns;
}

Result<void> StableWords::write(TableView table, std::span<std::size_t const> columns) {
  auto const rows = static_cast<std::size_t>(table.num_rows());
  for (auto& column : words_) column.resize(rows);
  if (has_null_word_) std::fill_n(word(null_word_), rows, std::uint64_t{0});
  auto const blocks = cut_row_blocks(table);
  for (std::size_t k = 0; k < columns.size(); ++k) {
    auto const& type = table.schema()[columns[k]].type;
    GARUDA_TRY_ASSIGN(auto column, open_key_column(table, columns[k], type, {}));
    if (has_bytes(type) || type.id == TypeId::dictionary) {
      std::uint64_t first_row = 0;
      for (auto const& array : column.arrays) {
        if (type.id == TypeId::dictionary)
          write_indices(array, type, k, first_row);
        else if (places_[k].count == 1)
          write_one_word(array, type, k, first_row);
        else if (is_view(type))
          write_views(array, k, first_row);
        else
          write_bytes(array, type, k, first_row);
        first_row += static_cast<std::uint64_t>(array.length);
      }
      continue;
    }
    AttributeReader const reader(std::move(column), type);
    for (auto const& block : blocks) write_codes(block, reader, k);
  }
  std::vector<std::uint64_t*> written;
  for (std::size_t w = 0; w < num_words_; ++w) {
    written.push_back(word(w));
    pointers_[w] = word(w);
  }
  fold_words(written, rows);
  return {};
}

/// One word a value: its bytes, with their length in the highest one, or its number.
void StableWords::write_one_word(ArrayView const& array, DataType const& type, std::size_t column,
                                 std::uint64_t first_row) {
  auto* const words = word(places_[column].first) + first_row;
  auto& long_values = long_values_[column];
  if (is_view(type) && array.validity == nullptr) {
    auto const* const views = static_cast<std::byte const*>(array.values);
    for (std::int64_t i = 0; i < array.length; ++i) {
      auto const* const view = views + (array.offset + i) * static_cast<std::int64_t>(sizeof(ValueView));
      auto const length = load<std::uint32_t>(view, 0);
      if (length <= kOneWordBytes) {
        words[i] = (load<std::uint64_t>(view + 4, 0) & kPresentBits[length].low) | std::uint64_t{length} << 56;
      } else {
        words[i] = kLongInOneWord;
        long_values.add(variable_value<ValueLayout::views>(array, array.offset + i), &words[i]);
      }
    }
    long_values.flush();
    return;
  }
  std::fill_n(words, array.length, kNullInOneWord);
  for_each_bytes(array, type, 0, array.length, [&](std::int64_t i, std::string_view value) {
    bool const is_short = value.size() <= kOneWordBytes;
    words[i] = is_short ? leading_word(value) | std::uint64_t{value.size()} << 56 : kLongInOneWord;
    if (!is_short) long_values.add(value, &words[i]);
  });
  long_values.flush();
}

void StableWords::write_views(ArrayView const& array, std::size_t column, std::uint64_t first_row) {
  auto const& place = places_[column];
  auto* const low = word(place.first) + first_row;
  auto* const high = word(place.first + 1) + first_row;
  auto& long_values = long_values_[column];
  auto const* const views = static_cast<std::byte const*>(array.values);
  for (std::int64_t i = 0; i < array.length; ++i) {
    auto const* const view = views + (array.offset + i) * static_cast<std::int64_t>(sizeof(ValueView));
    auto const length = load<std::uint32_t>(view, 0);
    if (array.is_null(i)) [[unlikely]] {
      low[i] = 0;
      high[i] = kNullBytes;
    } else if (length <= kShortBytes) {
      auto const& present = kPresentBits[length];
      low[i] = load<std::uint64_t>(view + 4, 0) & present.low;
      high[i] = (load<std::uint32_t>(view + 12, 0) & present.high) | std::uint64_t{length} << 32;
    } else {
      low[i] = 0;
      high[i] = kLongBytes;
      long_values.add(variable_value<ValueLayout::views>(array, array.offset + i), &low[i]);
    }
  }
  long_values.flush();
}

void StableWords::write_bytes(ArrayView const& array, DataType const& type, std::size_t column,
                              std::uint64_t first_row) {
  auto const& place = places_[column];
  auto* const low = word(place.first) + first_row;
  auto* const high = word(place.first + 1) + first_row;
  auto& long_values = long_values_[column];
  std::fill_n(low, array.length, std::uint64_t{0});
  std::fill_n(high, array.length, kNullBytes);
  for_each_bytes(array, type, 0, array.length, [&](std::int64_t i, std::string_view value) {
    bool const is_short = value.size() <= kShortBytes;
    low[i] = is_short ? leading_word(value) : 0;
    high[i] = is_short ? word_of(value, 1) | std::uint64_t{value.size()} << 32 : kLongBytes;
    if (!is_short) long_values.add(value, &low[i]);
  });
  long_values.flush();
}

void StableWords::write_indices(ArrayView const& array, DataType const& type, std::size_t column,
                                std::uint64_t first_row) {
  auto const& place = places_[column];
  auto* const words = word(place.first) + first_row;
  auto const write = [&](auto const& half_at) {
    if (place.shift == 0)
      for (std::int64_t i = 0; i < array.length; ++i) words[i] = half_at(i);
    else
      for (std::int64_t i = 0; i < array.length; ++i) words[i] |= half_at(i) << kHalf;
  };
  visit_index_type(type.index, [&]<class Index>(Index*) {
    auto const half_at = [indices = static_cast<std::byte const*>(array.values),
                          offset = array.offset](std::int64_t i) {
      return static_cast<std::uint64_t>(load<Index>(indices, offset + i)) + 1;
    };
    if (array.validity == nullptr)
      write(half_at);
    else
      write([&](std::int64_t i) { return array.is_null(i) ? 0 : half_at(i); });
  });
}

void StableWords::write_codes(RowBlock const& block, AttributeReader const& reader, std::size_t column) {
  auto const& place = places_[column];
  reader.read(block, codes_);
  auto const rows = static_cast<std::size_t>(block.length);
  auto* const low = word(place.first) + block.first_row;
  std::copy_n(codes_.low.data(), rows, low);
  if (place.count == 2) std::copy_n(codes_.high.data(), rows, word(place.first + 1) + block.first_row);
  if (reader.num_nulls(block) == 0) return;
  bool const has_room = has_room_for_nulls(reader.field().type);
  auto* const nulls = has_room ? nullptr : word(null_word_) + block.first_row;
  for (std::size_t i = 0; i < rows; ++i) {
    if (codes_.valid[i] != 0) continue;
    if (has_room)
      low[i] = kNullWord;
    else
      nulls[i] |= std::uint64_t{1} << column;
  }
}

}  // namespace garuda::keys
