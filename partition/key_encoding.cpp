#include "partition/key_encoding.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <concepts>
#include <limits>
#include <new>
#include <optional>
#include <type_traits>
#include <vector>

#include "core/bitmap.hpp"
#include "core/load.hpp"
#include "partition/parallel_blocks.hpp"

namespace garuda::partition {
namespace {

static_assert(std::endian::native == std::endian::little, "Arrow columns are read in place, as little-endian values");

constexpr std::uint64_t kSignBit = std::uint64_t{1} << 63;
constexpr std::uint64_t kNoRow = std::numeric_limits<std::uint64_t>::max();

/// A decimal of 16 bytes as it lies in memory.
struct Decimal128 {
  std::int64_t low;
  std::int64_t high;
};

/// A key as 64 bits, sign-extended.
template <class T>
std::uint64_t widen(T key) {
  if constexpr (std::is_same_v<T, Decimal128>)
    return static_cast<std::uint64_t>(key.low);
  else
    return static_cast<std::uint64_t>(key);
}

bool fits_64_bits(Decimal128 key) { return key.high == (key.low >> 63); }

/// Calls `visit` with a null pointer to the C++ type that holds a value of `type` in memory.
template <class Visitor>
auto visit_key_type(DataType const& type, Visitor const& visit) {
  switch (type.id) {
    case TypeId::int8:
      return visit(static_cast<std::int8_t*>(nullptr));
    case TypeId::int16:
      return visit(static_cast<std::int16_t*>(nullptr));
    case TypeId::int32:
    case TypeId::date32:
    case TypeId::decimal32:
      return visit(static_cast<std::int32_t*>(nullptr));
    case TypeId::int64:
    case TypeId::date64:
    case TypeId::timestamp:
    case TypeId::decimal64:
      return visit(static_cast<std::int64_t*>(nullptr));
    case TypeId::uint8:
      return visit(static_cast<std::uint8_t*>(nullptr));
    case TypeId::uint16:
      return visit(static_cast<std::uint16_t*>(nullptr));
    case TypeId::uint32:
      return visit(static_cast<std::uint32_t*>(nullptr));
    case TypeId::uint64:
      return visit(static_cast<std::uint64_t*>(nullptr));
    case TypeId::decimal128:
      return visit(static_cast<Decimal128*>(nullptr));
    default:
      break;
  }
  throw LogicError("not a key type: " + to_string(type));
}

/// Consecutive rows of one batch, at most kBlockRows, and what a first look at their keys gives.
struct Block {
  ArrayView const* array = nullptr;
  std::int64_t begin = 0;  ///< counted from the array's offset
  std::int64_t length = 0;
  std::uint64_t first_row = 0;  ///< row of the table

  std::uint64_t num_keys = 0;      ///< rows that are not null
  std::uint64_t first_key = 0;     ///< position of the first of them among the table's keys
  std::uint64_t min = 0;           ///< ordered: see KeyOrder
  std::uint64_t max = 0;           ///<
  std::uint64_t sample = 0;        ///< any key
  std::uint64_t varying = 0;       ///< the bits in which keys differ from `sample`
  std::uint64_t bad_row = kNoRow;  ///< first row with a decimal beyond 64 bits
};

/// Maps 64-bit keys to u64 of the same order: the sign bit is flipped when the common type is signed.
struct KeyOrder {
  std::uint64_t flip = 0;
  std::uint64_t ordered(std::uint64_t key) const { return key ^ flip; }
  std::uint64_t key(std::uint64_t ordered) const { return ordered ^ flip; }
};

/// One key column and its blocks.
struct Side {
  Field const* field = nullptr;
  std::vector<Block> blocks;
  std::uint64_t num_keys = 0;
  std::uint64_t num_rows = 0;
  std::uint64_t min = 0;  ///< ordered, as all below
  std::uint64_t max = 0;
  std::uint64_t sample = 0;
  std::uint64_t varying = 0;
};

Result<Side> cut_blocks(TableView table, std::size_t column) {
  GARUDA_EXPECTS(column < table.num_columns());
  Side side;
  side.field = &table.schema()[column];
  for (std::size_t b = 0; b < table.num_batches(); ++b) {
    auto const& array = table.batch(b).columns[column];
    if (array.location.kind == Location::Kind::device)
      return fail(ErrorCode::invalid_input,
                  fmt::format("key column is in device memory, not in the host's: '{}'", side.field->name));
    auto constexpr step = static_cast<std::int64_t>(kBlockRows);
    for (std::int64_t begin = 0; begin < array.length; begin += step) {
      Block block;
      block.array = &array;
      block.begin = begin;
      block.length = std::min(step, array.length - begin);
      block.first_row = side.num_rows + static_cast<std::uint64_t>(begin);
      side.blocks.push_back(block);
    }
    side.num_rows += static_cast<std::uint64_t>(array.length);
  }
  return side;
}

template <class T>
std::byte const* values_of(Block const& block) {
  return static_cast<std::byte const*>(block.array->values) +
         (block.array->offset + block.begin) * static_cast<std::int64_t>(sizeof(T));
}

bool has_nulls(Block const& block) { return block.num_keys != static_cast<std::uint64_t>(block.length); }

bool is_valid(Block const& block, std::int64_t i) {
  return block.array->validity == nullptr || get_bit(block.array->validity, block.array->offset + block.begin + i);
}

void count_keys(Block& block) {
  block.num_keys = static_cast<std::uint64_t>(block.length);
  if (block.array->validity != nullptr)
    block.num_keys =
        static_cast<std::uint64_t>(count_ones(block.array->validity, block.array->offset + block.begin, block.length));
}

/// Minimum, maximum and varying bits of a block without nulls, in the type's own width so that it vectorises.
template <std::integral T>
void scan_dense(Block& block, KeyOrder order) {
  auto const* values = values_of<T>(block);
  T const sample = load<T>(values, 0);
  T min = sample;
  T max = sample;
  T varying = 0;
  for (std::int64_t i = 0; i < block.length; ++i) {
    T const key = load<T>(values, i);
    min = std::min(min, key);
    max = std::max(max, key);
    varying = static_cast<T>(varying | (key ^ sample));
  }
  block.min = order.ordered(widen(min));
  block.max = order.ordered(widen(max));
  block.sample = order.ordered(widen(sample));
  block.varying = widen(varying);
}

/// The same for any block; null slots are not looked at.
template <class T>
void scan_sparse(Block& block, KeyOrder order) {
  auto const* values = values_of<T>(block);
  block.min = std::numeric_limits<std::uint64_t>::max();
  block.max = 0;
  bool first = true;
  for (std::int64_t i = 0; i < block.length; ++i) {
    if (!is_valid(block, i)) continue;
    auto const value = load<T>(values, i);
    if constexpr (std::is_same_v<T, Decimal128>) {
      if (!fits_64_bits(value)) {
        block.bad_row = block.first_row + static_cast<std::uint64_t>(i);
        return;
      }
    }
    auto const key = order.ordered(widen(value));
    if (first) block.sample = key;
    first = false;
    block.min = std::min(block.min, key);
    block.max = std::max(block.max, key);
    block.varying |= key ^ block.sample;
  }
}

void scan_block(Block& block, DataType const& type, KeyOrder order) {
  count_keys(block);
  if (block.num_keys == 0) return;
  visit_key_type(type, [&]<class T>(T*) {
    if constexpr (std::integral<T>) {
      if (!has_nulls(block)) return scan_dense<T>(block, order);
    }
    scan_sparse<T>(block, order);
  });
}

Result<void> scan(Side& side, KeyOrder order, Control const& control) {
  GARUDA_TRY(for_each_block(side.blocks.size(), &control,
                            [&](std::size_t i) { scan_block(side.blocks[i], side.field->type, order); }));
  for (auto& block : side.blocks) {
    if (block.bad_row != kNoRow) return key_beyond_64_bits(*side.field, block.bad_row);
    block.first_key = side.num_keys;
    if (block.num_keys == 0) continue;
    bool const first = side.num_keys == 0;
    side.min = first ? block.min : std::min(side.min, block.min);
    side.max = first ? block.max : std::max(side.max, block.max);
    if (first) side.sample = block.sample;
    side.varying |= block.varying | (block.sample ^ side.sample);
    side.num_keys += block.num_keys;
  }
  return {};
}

/// The array that holds all rows of `side`, without nulls, as words of `word_bytes` bytes; nullptr when there is none.
void const* words_in_place(Side const& side, std::uint32_t word_bytes) {
  if (side.num_keys == 0 || side.num_keys != side.num_rows) return nullptr;
  if (static_cast<std::uint32_t>(byte_width(side.field->type)) != word_bytes) return nullptr;
  auto const* array = side.blocks.front().array;
  if (array != side.blocks.back().array) return nullptr;
  auto const* values = static_cast<std::byte const*>(array->values) + array->offset * word_bytes;
  return reinterpret_cast<std::uintptr_t>(values) % word_bytes == 0 ? values : nullptr;
}

struct WordLayout {
  std::uint32_t key_bits = 32;
  std::uint64_t base = 0;  ///< subtracted from every key
};

WordLayout choose_layout(Side const& left, Side const& right, KeyOrder order) {
  if (left.num_keys == 0 && right.num_keys == 0) return {};
  auto min = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t max = 0;
  for (auto const* side : {&left, &right}) {
    if (side->num_keys == 0) continue;
    min = std::min(min, side->min);
    max = std::max(max, side->max);
  }
  constexpr std::uint64_t kMaxWord32 = std::numeric_limits<std::uint32_t>::max();
  WordLayout layout;
  layout.key_bits = max - min <= kMaxWord32 ? 32 : 64;
  layout.base = order.key(min);
  auto const zero = order.ordered(0);
  // Words of 64 bits hold every key as it is; those of 32 only keys that have no more.
  bool const base_can_be_zero = layout.key_bits == 64 || (min >= zero && max - zero <= kMaxWord32);
  auto const word_bytes = layout.key_bits / 8;
  if (base_can_be_zero && (words_in_place(left, word_bytes) != nullptr || words_in_place(right, word_bytes) != nullptr))
    layout.base = 0;
  return layout;
}

/// Writes the words of a block behind those of the blocks before it, and their rows when `rows` is not null.
template <class T, class Word, class Row>
void write_block(Block const& block, std::uint64_t base, Word* words, Row* rows) {
  auto const* values = values_of<T>(block);
  words += block.first_key;
  if (!has_nulls(block)) {
    for (std::int64_t i = 0; i < block.length; ++i) words[i] = static_cast<Word>(widen(load<T>(values, i)) - base);
  } else {
    auto* word = words;
    for (std::int64_t i = 0; i < block.length; ++i)
      if (is_valid(block, i)) *word++ = static_cast<Word>(widen(load<T>(values, i)) - base);
  }
  if (rows == nullptr) return;
  auto* row = rows + block.first_key;
  for (std::int64_t i = 0; i < block.length; ++i)
    if (is_valid(block, i)) *row++ = static_cast<Row>(block.first_row + static_cast<std::uint64_t>(i));
}

template <class Word, class Row>
Result<void> write_words(Side const& side, EncodedKeys& keys, std::uint64_t base, Control const& control) {
  auto* words = keys.owned_words.as<Word>();
  auto* rows = keys.row_ids.as<Row>();
  return for_each_block(side.blocks.size(), &control, [&](std::size_t i) {
    visit_key_type(side.field->type,
                   [&]<class T>(T*) { write_block<T, Word, Row>(side.blocks[i], base, words, rows); });
  });
}

Result<EncodedKeys> encode_side(Side const& side, WordLayout layout, KeyOrder order, Control const& control) {
  EncodedKeys keys;
  keys.key_bits = layout.key_bits;
  keys.num_rows = side.num_keys;
  keys.table_rows = side.num_rows;
  keys.common_low_bits = keys.key_bits;
  if (side.num_keys == 0) return keys;
  keys.min = order.key(side.min) - layout.base;
  keys.max = order.key(side.max) - layout.base;
  // Without a base, negative keys are the largest words.
  if (keys.min > keys.max) {
    keys.min = 0;
    keys.max = std::numeric_limits<std::uint64_t>::max();
  }
  // Subtracting the base keeps the lowest differing bit where it is.
  if (side.varying != 0) keys.common_low_bits = static_cast<std::uint32_t>(std::countr_zero(side.varying));
  auto const word_bytes = layout.key_bits / 8;
  if (layout.base == 0) keys.words = words_in_place(side, word_bytes);
  if (keys.words != nullptr) return keys;

  GARUDA_TRY_ASSIGN(keys.owned_words, AlignedBuffer::allocate(static_cast<std::int64_t>(side.num_keys * word_bytes)));
  keys.words = keys.owned_words.data();
  bool const wide_rows = side.num_rows > (std::uint64_t{1} << 32);
  if (side.num_keys != side.num_rows) {
    GARUDA_TRY_ASSIGN(keys.row_ids,
                      AlignedBuffer::allocate(static_cast<std::int64_t>(side.num_keys * (wide_rows ? 8 : 4))));
  }
  auto const write =
      layout.key_bits == 32
          ? (wide_rows ? write_words<std::uint32_t, std::uint64_t> : write_words<std::uint32_t, std::uint32_t>)
          : (wide_rows ? write_words<std::uint64_t, std::uint64_t> : write_words<std::uint64_t, std::uint32_t>);
  GARUDA_TRY(write(side, keys, layout.base, control));
  return keys;
}

bool is_unsigned(TypeId id) { return id >= TypeId::uint8 && id <= TypeId::uint64; }

Result<EncodedJoinKeys> encode(TableView left_table, std::size_t left_column, TableView right_table,
                               std::size_t right_column, Control const& control) {
  GARUDA_TRY_ASSIGN(auto left, cut_blocks(left_table, left_column));
  GARUDA_TRY_ASSIGN(auto right, cut_blocks(right_table, right_column));
  GARUDA_TRY_ASSIGN(auto const common, common_key_type(*left.field, *right.field));
  KeyOrder const order{is_unsigned(common.id) ? 0 : kSignBit};
  GARUDA_TRY(scan(left, order, control));
  GARUDA_TRY(scan(right, order, control));
  auto const layout = choose_layout(left, right, order);
  EncodedJoinKeys keys;
  keys.base = layout.base;
  GARUDA_TRY_ASSIGN(keys.left, encode_side(left, layout, order, control));
  GARUDA_TRY_ASSIGN(keys.right, encode_side(right, layout, order, control));
  return keys;
}

}  // namespace

Result<EncodedJoinKeys> encode_join_keys(TableView left, std::size_t left_column, TableView right,
                                         std::size_t right_column, Control const& control) {
  try {
    return encode(left, left_column, right, right_column, control);
  } catch (std::bad_alloc const&) {
    return fail(ErrorCode::out_of_memory, "no memory for the blocks of the key columns");
  }
}

}  // namespace garuda::partition
