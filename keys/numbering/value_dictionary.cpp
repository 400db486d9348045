#include "keys/numbering/value_dictionary.hpp"

#include <fmt/format.h>
#include <oneapi/tbb/parallel_sort.h>
#include <oneapi/tbb/task_arena.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstring>
#include <new>
#include <numeric>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "core/dictionary.hpp"
#include "core/numbers/ordered_value.hpp"
#include "core/parallel_blocks.hpp"
#include "core/type_rows.hpp"
#include "core/variable_value.hpp"
#include "keys/numbering/mix.hpp"

namespace garuda::keys {
namespace {

/// Most distinct values in a thread's table: it then lies in a core's second-level cache.
constexpr std::uint64_t kMostLocalValues = std::uint64_t{1} << 16;
/// Most values of all threads' tables, which one thread brings together.
constexpr std::uint64_t kMostMergedValues = std::uint64_t{1} << 17;
/// Values a section: its table then lies in a core's cache.
constexpr std::uint64_t kSectionValues = std::uint64_t{1} << 15;
constexpr std::uint32_t kMaxSectionBits = 10;
constexpr std::uint64_t kNoValue = ~std::uint64_t{0};
std::uint64_t num_blocks(ValueBytes const& values) { return (values.size() + kBlockRows - 1) / kBlockRows; }

std::uint64_t block_end(ValueBytes const& values, std::uint64_t block) {
  return std::min(values.size(), (block + 1) * kBlockRows);
}

/// The hash of a value, or what is kept of it.
class ValueHash {
 public:
  explicit ValueHash(std::uint32_t bits) : mask_(bits >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << bits) - 1) {}
  std::uint64_t operator()(std::string_view bytes) const noexcept { return hash_bytes(bytes) & mask_; }

 private:
  std::uint64_t mask_;
};

/// A table a thread over the values in their order, then one over the tables' values.
class LocalNumbering {
 public:
  LocalNumbering(ValueBytes const& values, ValueHash hash)
      : values_(values), hash_(hash), owners_(num_blocks(values)) {}

  /// nullopt: there are too many distinct values.
  Result<std::optional<ValueCodes>> run(Control const& control) {
    GARUDA_TRY_ASSIGN(buffer_, AlignedBuffer::allocate(static_cast<std::int64_t>(values_.size() * 4)));
    auto const threads = static_cast<std::size_t>(oneapi::tbb::this_task_arena::max_concurrency());
    tables_.resize(std::min<std::size_t>(threads, std::max<std::size_t>(owners_.size(), 1)));
    GARUDA_TRY(for_each_block(tables_.size(), &control, [&](std::size_t t) { fill(t, control); }));
    if (too_many_) return std::nullopt;
    auto const codes_of = merge();
    auto* const codes = buffer_.as<std::uint32_t>();
    GARUDA_TRY(for_each_block(owners_.size(), &control, [&](std::size_t block) {
      auto const& map = codes_of[owners_[block]];
      for (auto i = block * kBlockRows; i < block_end(values_, block); ++i)
        if (codes[i] != kNullCode) codes[i] = map[codes[i]];
    }));
    return ValueCodes{std::move(buffer_), num_codes_};
  }

 private:
  /// A thread's table.
  struct Local {
    ValueTable table;
    std::vector<std::uint64_t> firsts;  ///< of each code, the value that came first
  };

  void fill(std::size_t t, Control const& control) {
    auto* const codes = buffer_.as<std::uint32_t>();
    auto& [table, firsts] = tables_[t];
    ValueBatch<std::uint64_t> batch;
    auto const keep = [&firsts = firsts](std::uint64_t i, std::string_view bytes) {
      firsts.push_back(i);
      return bytes;
    };
    auto const flush = [&, &table = table] {
      batch.add_to(table, keep, [&](std::uint64_t i, std::uint32_t code) { codes[i] = code; });
    };
    for (auto block = next_++; block < owners_.size(); block = next_++) {
      if (too_many_ || is_cancelled(&control)) return;
      owners_[block] = t;
      auto const before = table.values().size();
      values_.for_each(block * kBlockRows, block_end(values_, block),
                       [&](std::uint64_t i, std::optional<std::string_view> bytes) {
                         if (!bytes) {
                           codes[i] = kNullCode;
                           return;
                         }
                         batch.push(hash_(*bytes), *bytes, i);
                         if (batch.is_full()) flush();
                       });
      flush();
      auto const merged = num_values_ += table.values().size() - before;
      if (table.values().size() > kMostLocalValues || merged > kMostMergedValues) too_many_ = true;
    }
  }

  /// Numbers all values by their first occurrences; returns the codes of each table's codes.
  std::vector<std::vector<std::uint32_t>> merge() {
    ValueTable all;
    std::vector<std::pair<std::uint64_t, std::uint32_t>> order;  // the first value of each code, and the code
    std::vector<std::vector<std::uint32_t>> codes_of(tables_.size());
    for (std::size_t t = 0; t < tables_.size(); ++t) {
      auto const& [table, firsts] = tables_[t];
      auto& codes = codes_of[t];
      codes.resize(table.values().size());
      all.add(table.values(), codes.data(), [&, &values = table.values()](std::size_t i) { return values[i].bytes; });
      for (std::uint32_t code = static_cast<std::uint32_t>(order.size()); code < all.values().size(); ++code)
        order.emplace_back(kNoValue, code);
      for (std::size_t i = 0; i < codes.size(); ++i) order[codes[i]].first = std::min(order[codes[i]].first, firsts[i]);
    }
    std::sort(order.begin(), order.end());
    std::vector<std::uint32_t> rank(order.size());
    for (std::uint32_t r = 0; r < rank.size(); ++r) rank[order[r].second] = r;
    num_codes_ = rank.size();
    for (auto& codes : codes_of)
      for (auto& code : codes) code = rank[code];
    return codes_of;
  }

  ValueBytes const& values_;
  ValueHash hash_;
  AlignedBuffer buffer_;
  std::vector<std::size_t> owners_;  ///< of each block: the table that its codes are of
  std::vector<Local> tables_;
  std::uint64_t num_codes_ = 0;
  std::atomic<std::size_t> next_{0};
  std::atomic<std::uint64_t> num_values_{0};  ///< of all tables
  std::atomic<bool> too_many_{false};
};

/// A value with its hash.
struct HashedValue {
  std::uint64_t hash;
  std::uint64_t value;
};

/// Values with their hashes, those of each section together: the values whose hashes share their leading bits.
struct Sections {
  AlignedBuffer values;                ///< HashedValue each, ascending in a section
  std::vector<std::uint64_t> offsets;  ///< of each section, then the number of values

  std::size_t size() const noexcept { return offsets.size() - 1; }
  std::span<HashedValue const> operator[](std::size_t s) const noexcept {
    return {values.as<HashedValue>() + offsets[s], offsets[s + 1] - offsets[s]};
  }
};

/// Hashes every value once, then moves hashes and positions into 2^bits sections, in parallel by blocks of values.
/// Not partition/'s radix_partition, which stands above the keys that it takes.
Result<Sections> cut_sections(ValueBytes const& values, ValueHash hash, std::uint32_t bits, Control const& control) {
  auto const sections = std::size_t{1} << bits;
  auto const blocks = num_blocks(values);
  GARUDA_TRY_ASSIGN(auto hash_buffer, AlignedBuffer::allocate(static_cast<std::int64_t>(values.size() * 8)));
  auto* const hashes = hash_buffer.as<std::uint64_t>();
  std::vector<std::uint64_t> next(blocks * sections);  // first counts, then places
  GARUDA_TRY(for_each_block(blocks, &control, [&](std::size_t block) {
    auto* const counts = next.data() + block * sections;
    values.for_each(block * kBlockRows, block_end(values, block),
                    [&](std::uint64_t i, std::optional<std::string_view> bytes) {
                      hashes[i] = bytes ? hash(*bytes) : 0;
                      ++counts[hash_digit(hashes[i], bits)];
                    });
  }));
  Sections result;
  std::uint64_t first = 0;
  for (std::size_t s = 0; s < sections; ++s) {
    result.offsets.push_back(first);
    for (std::size_t block = 0; block < blocks; ++block) first += std::exchange(next[block * sections + s], first);
  }
  result.offsets.push_back(first);
  GARUDA_TRY_ASSIGN(result.values,
                    AlignedBuffer::allocate(static_cast<std::int64_t>(values.size() * sizeof(HashedValue))));
  auto* const to = result.values.as<HashedValue>();
  GARUDA_TRY(for_each_block(blocks, &control, [&](std::size_t block) {
    auto* const places = next.data() + block * sections;
    for (auto i = block * kBlockRows; i < block_end(values, block); ++i)
      to[places[hash_digit(hashes[i], bits)]++] = {hashes[i], i};
  }));
  return result;
}

/// Numbers the values of every section from 0, then moves each section's codes behind those of the sections before it.
Result<ValueCodes> number_sections(ValueBytes const& values, Sections const& sections, Control const& control) {
  ValueCodes list;
  GARUDA_TRY_ASSIGN(list.codes, AlignedBuffer::allocate(static_cast<std::int64_t>(values.size() * 4)));
  auto* const codes = list.codes.as<std::uint32_t>();
  std::vector<std::uint64_t> first(sections.size());  // of each section: its codes, then those before it
  GARUDA_TRY(for_each_block(first.size(), &control, [&](std::size_t s) {
    ValueTable table;
    ValueBatch<std::uint64_t> batch;
    auto const flush = [&] {
      batch.add_to(
          table, [](std::uint64_t, std::string_view bytes) { return bytes; },
          [&](std::uint64_t value, std::uint32_t code) { codes[value] = code; });
    };
    auto const section = sections[s];
    for (std::size_t i = 0; i < section.size(); ++i) {
      // Equal values share a section: one may be as long as the column.
      if (i % kBlockRows == 0 && is_cancelled(&control)) return;
      auto const& [hash, value] = section[i];
      codes[value] = kNullCode;
      if (values.is_null(value)) continue;
      // A section's values lie anywhere in their column.
      auto const bytes = values[value];
      __builtin_prefetch(bytes.data());
      batch.push(hash, bytes, value);
      if (batch.is_full()) flush();
    }
    flush();
    first[s] = table.values().size();
  }));
  for (auto& codes_of_section : first)
    codes_of_section = std::exchange(list.num_codes, list.num_codes + codes_of_section);
  if (list.num_codes >= kNullCode) return list;  // refused by the caller
  GARUDA_TRY(for_each_block(first.size(), &control, [&](std::size_t s) {
    std::uint64_t seen = 0;
    for (auto const& [hash, value] : sections[s]) {
      if (first[s] == 0 || (seen++ % kBlockRows == 0 && is_cancelled(&control))) return;
      if (codes[value] != kNullCode) codes[value] += static_cast<std::uint32_t>(first[s]);
    }
  }));
  return list;
}

struct OrderedValue {
  std::uint64_t prefix = 0;
  std::uint64_t value = 0;  ///< one that has the code
  std::uint32_t code = 0;
};

/// Row codes of a dictionary column from the codes of its dictionaries' values, of which `first_value` are the first.
Result<AlignedBuffer> look_up(KeyColumn const& column, std::span<std::uint64_t const> first_value,
                              std::uint32_t const* codes_of_values, Control const& control) {
  std::int64_t rows = 0;
  for (auto const& array : column.arrays) rows += array.length;
  GARUDA_TRY_ASSIGN(auto buffer, AlignedBuffer::allocate(rows * 4));
  GARUDA_TRY(for_array_rows(
      column.arrays, control, [&](std::size_t b, std::int64_t begin, std::int64_t end, std::uint64_t first_row) {
        auto const& array = column.arrays[b];
        auto const* const of_dictionary = codes_of_values + first_value[b];
        auto* const codes = buffer.as<std::uint32_t>() + first_row;
        visit_index_type(column.type.index, [&]<class Index>(Index*) {
          for (auto i = begin; i < end; ++i)
            codes[i - begin] = array.is_null(i) ? kNullCode : of_dictionary[array.data<Index>()[i]];
        });
      }));
  return buffer;
}

bool has_nulls(KeyColumn const& column) {
  return std::ranges::any_of(column.arrays, [](ArrayView const& array) {
    return count_nulls(array) > 0 || (array.dictionary != nullptr && count_nulls(*array.dictionary) > 0);
  });
}

/// The indices of a dictionary column without nulls, where they tell its values apart as codes of 32 bits do: one
/// array, whose dictionary has as many values as differ. nullptr: they do not.
std::uint32_t const* indices_as_codes(KeyColumn const& column, std::uint64_t num_values) {
  if (column.arrays.size() != 1 || type_row(column.type.index).width != 4) return nullptr;
  auto const& array = column.arrays.front();
  auto const* const indices = array.data<std::uint32_t>();
  bool const is_aligned = reinterpret_cast<std::uintptr_t>(indices) % alignof(std::uint32_t) == 0;
  bool const is_injective = static_cast<std::uint64_t>(array.dictionary->length) == num_values;
  return array.length > 0 && is_aligned && is_injective ? indices : nullptr;
}

/// Numbers the distinct values anew, from 0 in the order of their bytes. `codes`: of these values, by number_values,
/// fewer than kNullCode. Throws std::bad_alloc. Errors: cancelled.
Result<void> order_codes(ValueBytes const& values, ValueCodes& codes, Control const& control) {
  auto* const of_values = codes.codes.as<std::uint32_t>();
  GARUDA_TRY_ASSIGN(auto const heads, heads_of({of_values, values.size()}, codes.num_codes, control));
  std::vector<OrderedValue> entries(codes.num_codes);
  GARUDA_TRY(for_each_range(entries.size(), &control, [&](std::uint64_t begin, std::uint64_t end) {
    for (auto code = begin; code < end; ++code)
      entries[code] = {ordered_prefix(values[heads[code]]), heads[code], static_cast<std::uint32_t>(code)};
  }));
  oneapi::tbb::this_task_arena::isolate([&] {
    oneapi::tbb::parallel_sort(entries.begin(), entries.end(), [&](OrderedValue const& a, OrderedValue const& b) {
      return a.prefix != b.prefix ? a.prefix < b.prefix : values[a.value] < values[b.value];
    });
  });
  std::vector<std::uint32_t> ranks(entries.size());
  for (std::uint32_t rank = 0; rank < ranks.size(); ++rank) ranks[entries[rank].code] = rank;
  return for_each_range(values.size(), &control, [&](std::uint64_t begin, std::uint64_t end) {
    for (auto i = begin; i < end; ++i)
      if (of_values[i] != kNullCode) of_values[i] = ranks[of_values[i]];
  });
}

/// The values of one column or several, numbered through.
struct ListedValues {
  ValueBytes values;
  std::vector<std::uint64_t> first;                         ///< of each column: its own first value
  std::vector<std::vector<std::uint64_t>> of_dictionaries;  ///< of each column, as add_values gives them
};

Result<ListedValues> list_values(std::span<KeyColumn const> columns, CodeOrder order) {
  ListedValues list;
  for (auto const& column : columns) {
    list.first.push_back(list.values.size());
    GARUDA_TRY_ASSIGN(auto of_batches, add_values(column, list.values, order == CodeOrder::ascending));
    list.of_dictionaries.push_back(std::move(of_batches));
  }
  return list;
}

/// Numbers the values of `columns`. Errors: limit_exceeded, those of number_values.
Result<ValueCodes> number_list(std::span<KeyColumn const> columns, ListedValues const& list, Control const& control,
                               std::uint32_t hash_bits, std::uint32_t most_codes) {
  GARUDA_TRY_ASSIGN(auto codes, number_values(list.values, control, hash_bits));
  if (codes.num_codes < most_codes) return codes;
  return fail(ErrorCode::limit_exceeded,
              fmt::format("column '{}' has too many distinct values: {}", columns.front().field.name, codes.num_codes));
}

/// The codes of the rows of column `c` of a list, whose values have the codes `of_values`.
Result<ColumnCodes> codes_of_rows(KeyColumn const& column, ListedValues const& list, std::size_t c,
                                  std::shared_ptr<AlignedBuffer const> of_values, std::uint64_t num_codes,
                                  Control const& control) {
  ColumnCodes codes;
  codes.num_codes = static_cast<std::uint32_t>(num_codes);
  codes.has_nulls = has_nulls(column);
  codes.memory = std::move(of_values);
  if (column.type.id == TypeId::dictionary) {
    GARUDA_TRY_ASSIGN(auto of_rows,
                      look_up(column, list.of_dictionaries[c], codes.memory->as<std::uint32_t>(), control));
    codes.memory = std::make_shared<AlignedBuffer const>(std::move(of_rows));
    codes.codes = codes.memory->as<std::uint32_t>();
  } else {
    codes.codes = codes.memory->as<std::uint32_t>() + list.first[c];
  }
  return codes;
}

/// The indices of a column, all of one dictionary whose values differ, as codes. Errors: out_of_memory, cancelled.
Result<ColumnCodes> indices_of(KeyColumn const& column, ArrayView const& dictionary, Control const& control) {
  ColumnCodes codes;
  codes.num_codes = static_cast<std::uint32_t>(dictionary.length);
  codes.has_nulls = has_nulls(column);
  codes.codes = codes.has_nulls ? nullptr : indices_as_codes(column, codes.num_codes);
  if (codes.codes != nullptr) return codes;
  std::vector<std::uint32_t> same(codes.num_codes);
  std::iota(same.begin(), same.end(), 0U);
  std::vector<std::uint64_t> const first_value(column.arrays.size());
  GARUDA_TRY_ASSIGN(auto of_rows, look_up(column, first_value, same.data(), control));
  codes.memory = std::make_shared<AlignedBuffer const>(std::move(of_rows));
  codes.codes = codes.memory->as<std::uint32_t>();
  return codes;
}

Result<std::vector<ColumnCodes>> encode(std::span<KeyColumn const> columns, Control const& control,
                                        std::uint32_t hash_bits, CodeOrder order) {
  bool const is_dictionary = columns.size() == 1 && columns.front().type.id == TypeId::dictionary;
  if (auto const* const dictionary = is_dictionary ? one_ascending_dictionary(columns.front().arrays) : nullptr) {
    GARUDA_TRY_ASSIGN(auto codes, indices_of(columns.front(), *dictionary, control));
    return std::vector{std::move(codes)};
  }
  GARUDA_TRY_ASSIGN(auto const list, list_values(columns, order));
  GARUDA_TRY_ASSIGN(auto of_list, number_list(columns, list, control, hash_bits, kNullCode));
  if (order == CodeOrder::ascending) GARUDA_TRY(order_codes(list.values, of_list, control));
  auto const shared = std::make_shared<AlignedBuffer const>(std::move(of_list.codes));
  std::vector<ColumnCodes> codes;
  for (std::size_t c = 0; c < columns.size(); ++c) {
    bool const may_be_indices = columns.size() == 1 && order == CodeOrder::any &&
                                columns[c].type.id == TypeId::dictionary && !has_nulls(columns[c]);
    if (auto const* const indices = may_be_indices ? indices_as_codes(columns[c], of_list.num_codes) : nullptr) {
      codes.push_back({nullptr, indices, static_cast<std::uint32_t>(of_list.num_codes), false});
      continue;
    }
    GARUDA_TRY_ASSIGN(auto of_column, codes_of_rows(columns[c], list, c, shared, of_list.num_codes, control));
    codes.push_back(std::move(of_column));
  }
  return codes;
}

/// Says that a slot is free: no code is as large.
constexpr std::uint64_t kFreeSlot = ~std::uint64_t{0};
constexpr std::uint64_t kHashHalf = ~std::uint64_t{0} << 32;

}  // namespace

Result<ValueCodes> number_values(ValueBytes const& values, Control const& control, std::uint32_t hash_bits) {
  ValueHash const hash(hash_bits);
  GARUDA_TRY_ASSIGN(auto few, LocalNumbering(values, hash).run(control));
  if (few) return std::move(*few);
  std::uint32_t bits = 0;
  while (bits < kMaxSectionBits && (values.size() >> bits) > kSectionValues) ++bits;
  // The leading bits: a section's table takes the lowest ones.
  GARUDA_TRY_ASSIGN(auto const sections, cut_sections(values, hash, bits, control));
  return number_sections(values, sections, control);
}

Result<std::vector<std::uint64_t>> heads_of(std::span<std::uint32_t const> codes, std::uint64_t num_codes,
                                            Control const& control) {
  std::vector<std::uint64_t> heads(num_codes);
  GARUDA_TRY(for_each_range(codes.size(), &control, [&](std::uint64_t begin, std::uint64_t end) {
    for (auto i = begin; i < end; ++i)
      if (codes[i] != kNullCode) std::atomic_ref(heads[codes[i]]).store(i, std::memory_order_relaxed);
  }));
  return heads;
}

Result<ValueNumbers> ValueNumbers::create(ValueBytes values, ValueCodes const& codes, Control const& control) {
  ValueNumbers numbers;
  GARUDA_TRY_ASSIGN(numbers.heads_,
                    heads_of({codes.codes.as<std::uint32_t>(), values.size()}, codes.num_codes, control));
  numbers.values_ = std::move(values);
  numbers.slots_.assign(std::bit_ceil(2 * numbers.heads_.size() + 2), kFreeSlot);
  auto const mask = numbers.slots_.size() - 1;
  GARUDA_TRY(for_each_range(numbers.heads_.size(), &control, [&](std::uint64_t begin, std::uint64_t end) {
    for (auto code = begin; code < end; ++code) {
      auto const hash = hash_bytes(numbers.values_[numbers.heads_[code]]);
      auto const take = [&](std::uint64_t at) {
        auto free = kFreeSlot;
        return std::atomic_ref(numbers.slots_[at]).compare_exchange_strong(free, (hash & kHashHalf) | code);
      };
      auto at = hash & mask;
      while (!take(at)) at = (at + 1) & mask;
    }
  }));
  return numbers;
}

std::uint32_t ValueNumbers::find(std::string_view bytes) const noexcept {
  auto const hash = hash_bytes(bytes);
  auto const mask = slots_.size() - 1;
  for (auto at = hash & mask; slots_[at] != kFreeSlot; at = (at + 1) & mask) {
    auto const code = static_cast<std::uint32_t>(slots_[at]);
    if ((slots_[at] & kHashHalf) == (hash & kHashHalf) && values_[heads_[code]] == bytes) return code;
  }
  return other();
}

Result<AlignedBuffer> ValueNumbers::look_up(ValueBytes const& values, Control const& control) const {
  GARUDA_TRY_ASSIGN(auto buffer, AlignedBuffer::allocate(static_cast<std::int64_t>(values.size() * 4)));
  auto* const codes = buffer.as<std::uint32_t>();
  GARUDA_TRY(for_each_range(values.size(), &control, [&](std::uint64_t begin, std::uint64_t end) {
    values.for_each(begin, end, [&](std::uint64_t i, std::optional<std::string_view> bytes) {
      codes[i] = bytes ? find(*bytes) : kNullCode;
    });
  }));
  return buffer;
}

Result<NumberedColumn> number_column(KeyColumn const& column, Control const& control) {
  std::span const columns(&column, 1);
  GARUDA_TRY_ASSIGN(auto list, list_values(columns, CodeOrder::any));
  // One code is left for values that are not among them.
  GARUDA_TRY_ASSIGN(auto of_list, number_list(columns, list, control, 64, kNullCode - 1));
  GARUDA_TRY_ASSIGN(auto numbers, ValueNumbers::create(std::move(list.values), of_list, control));
  NumberedColumn numbered;
  numbered.numbers = std::make_shared<ValueNumbers const>(std::move(numbers));
  GARUDA_TRY_ASSIGN(numbered.codes,
                    codes_of_rows(column, list, 0, std::make_shared<AlignedBuffer const>(std::move(of_list.codes)),
                                  of_list.num_codes, control));
  return numbered;
}

Result<ColumnCodes> look_up_values(KeyColumn const& column, ValueNumbers const& numbers, Control const& control) {
  GARUDA_TRY_ASSIGN(auto const list, list_values({&column, 1}, CodeOrder::any));
  GARUDA_TRY_ASSIGN(auto of_values, numbers.look_up(list.values, control));
  return codes_of_rows(column, list, 0, std::make_shared<AlignedBuffer const>(std::move(of_values)),
                       std::uint64_t{numbers.other()} + 1, control);
}

Result<std::vector<ColumnCodes>> encode_values(std::span<KeyColumn const> columns, Control const& control,
                                               std::uint32_t hash_bits, CodeOrder order) {
  try {
    return encode(columns, control, hash_bits, order);
  } catch (std::bad_alloc const&) {
    return fail(ErrorCode::out_of_memory, "no memory for the dictionary of a column");
  }
}

}  // namespace garuda::keys
