#include "partition/radix_partition.hpp"

#include <oneapi/tbb/task_arena.h>

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <new>
#include <utility>

#include "partition/mix.hpp"
#include "partition/parallel_blocks.hpp"

namespace garuda::partition {
namespace {

/// Most counters that the chunks of one pass have together, 24 bytes each at most.
constexpr std::uint64_t kMaxCounters = std::uint64_t{1} << 22;

struct RawDigit {
  std::uint32_t shift;
  std::uint32_t mask;
  template <class Word>
  std::uint32_t operator()(Word key) const noexcept {
    return static_cast<std::uint32_t>(key >> shift) & mask;
  }
};

struct MixedDigit {
  std::uint32_t bits;
  std::uint32_t skipped;
  template <class Word>
  std::uint32_t operator()(Word key) const noexcept {
    return static_cast<std::uint32_t>(hash_digit(mix(key), bits, skipped));
  }
};

template <class Visitor>
auto visit_digit(RadixDigit digit, Visitor const& visit) {
  if (digit.mixed) return visit(MixedDigit{digit.bits, digit.shift});
  return visit(RawDigit{digit.shift, (std::uint32_t{1} << digit.bits) - 1});
}

template <class Visitor>
auto visit_words(EncodedKeys const& keys, Visitor const& visit) {
  return keys.key_bits == 32 ? visit(keys.words32()) : visit(keys.words64());
}

/// Cuts rows into one consecutive chunk a thread: fewer when there are few rows or many partitions, so that counters
/// neither outnumber the rows by much nor grow beyond kMaxCounters.
struct Chunks {
  std::uint64_t rows = 0;
  std::uint64_t count = 1;

  Chunks(std::uint64_t num_rows, std::uint64_t partitions) : rows(num_rows) {
    auto const threads = static_cast<std::uint64_t>(oneapi::tbb::this_task_arena::max_concurrency());
    auto const fewest_rows = std::max<std::uint64_t>(partitions, 1U << 14);
    count = std::clamp<std::uint64_t>(num_rows / fewest_rows, 1, std::min(threads, kMaxCounters / partitions));
  }
  std::uint64_t begin(std::uint64_t chunk) const {
    // rows / count × chunk in an order that cannot overflow.
    return rows / count * chunk + std::min(chunk, rows % count);
  }
};

/// Calls body(first, last) for consecutive blocks of rows [begin, end) until `control` is cancelled.
template <class Body>
void for_rows(std::uint64_t begin, std::uint64_t end, Control const& control, Body const& body) {
  for (auto first = begin; first < end && !control.is_cancelled(); first += kBlockRows)
    body(first, std::min(first + kBlockRows, end));
}

/// Zeroed counters, `chunks` × `partitions`.
template <class Counter>
Result<AlignedBuffer> allocate_counters(Chunks const& chunks, std::uint64_t partitions) {
  return AlignedBuffer::allocate(static_cast<std::int64_t>(chunks.count * partitions * sizeof(Counter)));
}

/// The rows of each partition.
Result<std::vector<std::uint64_t>> histogram(EncodedKeys const& keys, RadixDigit digit, Control const& control) {
  auto const partitions = std::uint64_t{1} << digit.bits;
  Chunks const chunks(keys.num_rows, partitions);
  GARUDA_TRY_ASSIGN(auto buffer, allocate_counters<std::uint64_t>(chunks, partitions));
  auto* const counts = buffer.as<std::uint64_t>();
  GARUDA_TRY(for_each_block(chunks.count, &control, [&](std::size_t chunk) {
    auto* const mine = counts + chunk * partitions;
    std::fill_n(mine, partitions, 0);
    visit_digit(digit, [&](auto digit_of) {
      visit_words(keys, [&](auto words) {
        for_rows(chunks.begin(chunk), chunks.begin(chunk + 1), control, [&](std::uint64_t first, std::uint64_t last) {
          for (auto i = first; i < last; ++i) ++mine[digit_of(words[i])];
        });
      });
    });
  }));
  std::vector<std::uint64_t> totals(partitions);
  for (std::uint64_t i = 0; i < chunks.count * partitions; ++i) totals[i & (partitions - 1)] += counts[i];
  return totals;
}

/// Rows above what a partition of balanced keys would hold, over all partitions.
std::uint64_t surplus_rows(std::vector<std::uint64_t> const& totals, std::uint64_t num_rows) {
  auto const limit = kRawBalance * (num_rows / totals.size()) + kBalanceSlackRows;
  std::uint64_t surplus = 0;
  for (auto rows : totals)
    if (rows > limit) surplus += rows - limit;
  return surplus;
}

/// Number of lowest bits that all keys of both sides have in common.
std::uint32_t common_low_bits(EncodedKeys const& left, EncodedKeys const& right) {
  auto common = std::min(left.common_low_bits, right.common_low_bits);
  if (left.num_rows > 0 && right.num_rows > 0 && left.min != right.min)
    common = std::min(common, static_cast<std::uint32_t>(std::countr_zero(left.min ^ right.min)));
  return common;
}

Result<RadixDigit> decide(EncodedKeys const& left, EncodedKeys const& right, std::uint32_t bits,
                          Control const& control) {
  auto const key_bits = left.key_bits;
  // One bit less than the key has, so that a shift by shared_low_bits stays defined.
  RadixDigit const raw{bits, std::min(common_low_bits(left, right), key_bits - 1 - bits), false};
  RadixDigit const mixed{bits, 0, true};
  if (bits == 0) return raw;
  std::array<EncodedKeys const*, 2> const sides{&left, &right};
  std::array<std::uint64_t, 2> surplus{};
  for (std::size_t s = 0; s < 2; ++s) {
    GARUDA_TRY_ASSIGN(auto const totals, histogram(*sides[s], raw, control));
    surplus[s] = surplus_rows(totals, sides[s]->num_rows);
  }
  for (std::size_t s = 0; s < 2; ++s) {
    auto const gain = sides[s]->num_rows / kMixedGain;
    if (surplus[s] <= gain) continue;
    GARUDA_TRY_ASSIGN(auto const totals, histogram(*sides[s], mixed, control));
    if (surplus_rows(totals, sides[s]->num_rows) + gain < surplus[s]) return mixed;
  }
  return raw;
}

/// Of one partition in one chunk: first its rows, then the position of the next one, and the range of its keys.
template <class Word>
struct Cursor {
  std::uint64_t position;
  Word min;
  Word max;
};

/// Turns the counts of all chunks into write positions: partition by partition, in a partition chunk by chunk, which
/// keeps rows in order. Returns partitions + 1 offsets.
template <class Word>
std::vector<std::uint64_t> prefix_sum(Cursor<Word>* cursors, std::uint64_t chunks, std::uint64_t partitions) {
  std::vector<std::uint64_t> offsets(partitions + 1);
  for (std::uint64_t c = 0; c < chunks; ++c)
    for (std::uint64_t p = 0; p < partitions; ++p) offsets[p + 1] += cursors[c * partitions + p].position;
  for (std::uint64_t p = 0; p < partitions; ++p) offsets[p + 1] += offsets[p];
  auto next = offsets;
  for (std::uint64_t c = 0; c < chunks; ++c) {
    for (std::uint64_t p = 0; p < partitions; ++p) {
      auto& cursor = cursors[c * partitions + p];
      next[p] += std::exchange(cursor.position, next[p]);
    }
  }
  return offsets;
}

/// What one partitioning reads and writes.
template <class Word, class Row>
struct Scatter {
  std::span<Word const> words;
  Row const* rows = nullptr;  ///< nullptr: word i is row i
  Word* words_out = nullptr;
  Row* rows_out = nullptr;
  Chunks chunks;
  std::uint64_t partitions = 1;
  Cursor<Word>* cursors = nullptr;
  Control const* control = nullptr;

  template <class Digit>
  Result<void> count(Digit digit_of) const {
    return for_each_block(chunks.count, control, [&](std::size_t chunk) {
      auto* const mine = cursors + chunk * partitions;
      std::fill_n(mine, partitions, Cursor<Word>{0, std::numeric_limits<Word>::max(), 0});
      for_rows(chunks.begin(chunk), chunks.begin(chunk + 1), *control, [&](std::uint64_t first, std::uint64_t last) {
        for (auto i = first; i < last; ++i) ++mine[digit_of(words[i])].position;
      });
    });
  }

  template <class Digit>
  Result<void> move(Digit digit_of) const {
    return for_each_block(chunks.count, control, [&](std::size_t chunk) {
      auto* const mine = cursors + chunk * partitions;
      for_rows(chunks.begin(chunk), chunks.begin(chunk + 1), *control, [&](std::uint64_t first, std::uint64_t last) {
        for (auto i = first; i < last; ++i) {
          auto const word = words[i];
          auto& cursor = mine[digit_of(word)];
          cursor.min = std::min(cursor.min, word);
          cursor.max = std::max(cursor.max, word);
          words_out[cursor.position] = word;
          rows_out[cursor.position] = rows == nullptr ? static_cast<Row>(i) : rows[i];
          ++cursor.position;
        }
      });
    });
  }

  std::vector<PartitionedKeys::Range> ranges() const {
    std::vector<PartitionedKeys::Range> merged(partitions, {std::numeric_limits<std::uint64_t>::max(), 0});
    for (std::uint64_t i = 0; i < chunks.count * partitions; ++i) {
      auto& range = merged[i & (partitions - 1)];
      range.min = std::min<std::uint64_t>(range.min, cursors[i].min);
      range.max = std::max<std::uint64_t>(range.max, cursors[i].max);
    }
    return merged;
  }
};

template <class Word, class Row>
Result<PartitionedKeys> scatter(std::span<Word const> words, EncodedKeys const& keys, RadixDigit digit,
                                Control const& control) {
  PartitionedKeys out;
  out.key_bits = keys.key_bits;
  out.wide_row_ids = sizeof(Row) == 8;
  auto const partitions = std::uint64_t{1} << digit.bits;
  Chunks const chunks(words.size(), partitions);
  GARUDA_TRY_ASSIGN(AlignedBuffer cursors, allocate_counters<Cursor<Word>>(chunks, partitions));
  GARUDA_TRY_ASSIGN(out.owned_keys, AlignedBuffer::allocate(static_cast<std::int64_t>(words.size_bytes())));
  GARUDA_TRY_ASSIGN(out.owned_row_ids, AlignedBuffer::allocate(static_cast<std::int64_t>(words.size() * sizeof(Row))));
  out.keys = out.owned_keys.data();
  out.row_ids = out.owned_row_ids.data();
  Scatter<Word, Row> const pass{words,
                                keys.row_ids.as<Row>(),
                                out.owned_keys.as<Word>(),
                                out.owned_row_ids.as<Row>(),
                                chunks,
                                partitions,
                                cursors.as<Cursor<Word>>(),
                                &control};
  GARUDA_TRY(visit_digit(digit, [&](auto digit_of) { return pass.count(digit_of); }));
  out.offsets = prefix_sum(pass.cursors, chunks.count, partitions);
  GARUDA_TRY(visit_digit(digit, [&](auto digit_of) { return pass.move(digit_of); }));
  out.ranges = pass.ranges();
  return out;
}

/// All rows in one partition: the buffers change hands.
PartitionedKeys single_partition(EncodedKeys keys) {
  PartitionedKeys out;
  out.key_bits = keys.key_bits;
  out.keys = keys.words;
  out.owned_keys = std::move(keys.owned_words);
  out.owned_row_ids = std::move(keys.row_ids);
  out.row_ids = out.owned_row_ids.data();
  out.wide_row_ids = out.row_ids != nullptr && keys.table_rows > (std::uint64_t{1} << 32);
  out.offsets = {0, keys.num_rows};
  out.ranges = {{keys.min, keys.max}};
  return out;
}

}  // namespace

std::uint32_t partition_of(std::uint64_t key, RadixDigit digit) noexcept {
  return visit_digit(digit, [key](auto digit_of) { return digit_of(key); });
}

std::uint32_t shared_low_bits(RadixDigit digit) noexcept { return digit.mixed ? 0 : digit.shift + digit.bits; }

Result<RadixDigit> choose_digit(EncodedKeys const& left, EncodedKeys const& right, std::uint32_t bits,
                                Control const& control) {
  GARUDA_EXPECTS(bits <= kMaxRadixBits);
  GARUDA_EXPECTS(left.key_bits == right.key_bits);
  GARUDA_EXPECTS(left.key_bits == 32 || left.key_bits == 64);
  try {
    return decide(left, right, bits, control);
  } catch (std::bad_alloc const&) {
    return fail(ErrorCode::out_of_memory, "no memory for the histograms of the keys");
  }
}

Result<PartitionedKeys> radix_partition(EncodedKeys keys, RadixDigit digit, Control const& control) {
  GARUDA_EXPECTS(keys.key_bits == 32 || keys.key_bits == 64);
  GARUDA_EXPECTS(digit.bits <= kMaxRadixBits);
  GARUDA_EXPECTS(digit.shift < 64 && digit.shift + digit.bits <= (digit.mixed ? 64 : keys.key_bits));
  try {
    if (digit.bits == 0) return single_partition(std::move(keys));
    bool const wide = keys.table_rows > (std::uint64_t{1} << 32);
    return visit_words(keys, [&](auto words) {
      using Word = typename decltype(words)::value_type;
      return wide ? scatter<Word, std::uint64_t>(words, keys, digit, control)
                  : scatter<Word, std::uint32_t>(words, keys, digit, control);
    });
  } catch (std::bad_alloc const&) {
    return fail(ErrorCode::out_of_memory, "no memory for the offsets of the partitions");
  }
}

}  // namespace garuda::partition
