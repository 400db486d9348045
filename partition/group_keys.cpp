#include "partition/group_keys.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <limits>
#include <memory>
#include <mutex>
#include <new>
#include <utility>

#include "core/wide_integer.hpp"
#include "partition/attribute_reader.hpp"
#include "partition/mix.hpp"
#include "partition/parallel_blocks.hpp"

namespace garuda::partition {
namespace {

/// Hash of a null attribute; the choice is free, a clash with a value only blurs the histograms.
constexpr std::uint64_t kNullHash = 0x6A09'E667'F3BC'C908;

/// Which of `2^bits` bins have been hit. Thread-safe.
class Bins {
 public:
  explicit Bins(std::uint32_t bins)
      : shift_(64 - static_cast<std::uint32_t>(std::countr_zero(bins))), words_(bins / 64) {}

  void hit(std::uint64_t hash) noexcept {
    auto const bin = hash >> shift_;
    auto const bit = std::uint64_t{1} << (bin % 64);
    auto& word = words_[bin / 64];
    if ((word.load(std::memory_order_relaxed) & bit) == 0) word.fetch_or(bit, std::memory_order_relaxed);
  }

  std::uint32_t count() const noexcept {
    std::uint32_t total = 0;
    for (auto const& word : words_) total += static_cast<std::uint32_t>(std::popcount(word.load()));
    return total;
  }

 private:
  std::uint32_t shift_;
  std::vector<std::atomic<std::uint64_t>> words_;
};

/// Range of the codes of one attribute.
struct CodeRange {
  bool has_values = false;
  bool has_nulls = false;
  UInt128 min = 0;
  UInt128 max = 0;
  std::uint64_t sample = 0;   ///< low word of any code
  std::uint64_t varying = 0;  ///< bits in which low words differ from `sample`

  void add(UInt128 code) noexcept {
    if (!has_values) sample = static_cast<std::uint64_t>(code);
    min = has_values ? std::min(min, code) : code;
    max = has_values ? std::max(max, code) : code;
    varying |= static_cast<std::uint64_t>(code) ^ sample;
    has_values = true;
  }

  void add(CodeRange const& other) noexcept {
    has_nulls = has_nulls || other.has_nulls;
    if (!other.has_values) return;
    add(other.min);
    add(other.max);
    varying |= other.varying | (other.sample ^ sample);
  }

  /// Values that the attribute can take, null among them; at least 1.
  UInt128 span() const noexcept { return has_values ? max - min + 1 : 0; }  // 0 also when it is 2^128
  bool exceeds_64_bits() const noexcept { return has_values && max - min > std::numeric_limits<std::uint64_t>::max(); }
  UInt128 cardinality() const noexcept { return std::max<UInt128>(span() + (has_nulls ? 1 : 0), 1); }
};

void scan_codes(AttributeCodes const& codes, bool wide, CodeRange& range) {
  auto min = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t max = 0;
  for (std::size_t i = 0; i < codes.low.size(); ++i) {
    if (codes.valid[i] == 0) {
      range.has_nulls = true;
      continue;
    }
    if (wide) {
      range.add(codes.wide(i));
      continue;
    }
    if (!range.has_values) range.sample = codes.low[i];
    range.has_values = true;
    min = std::min(min, codes.low[i]);
    max = std::max(max, codes.low[i]);
    range.varying |= codes.low[i] ^ range.sample;
  }
  if (wide || !range.has_values) return;
  range.min = min;
  range.max = max;
}

/// A first pass over all keys: the range and the diversity of every attribute, and of whole keys.
struct KeyScan {
  std::vector<CodeRange> ranges;
  std::vector<std::uint32_t> nonempty_bins;  ///< an attribute
  std::uint32_t nonempty_key_bins = 0;
};

class KeyScanner {
 public:
  KeyScanner(std::vector<AttributeReader> const& readers, std::vector<RowBlock> const& blocks)
      : readers_(readers), blocks_(blocks), ranges_(readers.size()), key_bins_(kKeyBins) {
    for (std::size_t a = 0; a < readers.size(); ++a) bins_.push_back(std::make_unique<Bins>(kAttributeBins));
  }

  Result<KeyScan> run(Control const& control) {
    GARUDA_TRY(for_each_block(blocks_.size(), &control, [&](std::size_t b) { scan_block(blocks_[b]); }));
    KeyScan scan;
    scan.ranges = std::move(ranges_);
    for (auto const& bins : bins_) scan.nonempty_bins.push_back(bins->count());
    scan.nonempty_key_bins = key_bins_.count();
    return scan;
  }

 private:
  void scan_block(RowBlock const& block) {
    AttributeCodes codes;
    std::vector<std::uint64_t> hashes(static_cast<std::size_t>(block.length));
    std::vector<CodeRange> ranges(readers_.size());
    for (std::size_t a = 0; a < readers_.size(); ++a) {
      readers_[a].read(block, codes);
      scan_codes(codes, readers_[a].is_wide(), ranges[a]);
      for (std::size_t i = 0; i < hashes.size(); ++i) {
        auto hash = codes.valid[i] == 0 ? kNullHash : mix(codes.low[i]);
        if (readers_[a].is_wide()) hash = mix(hash ^ codes.high[i]);
        bins_[a]->hit(hash);
        hashes[i] = mix(hashes[i] + hash);
      }
    }
    for (auto const hash : hashes) key_bins_.hit(hash);
    std::lock_guard const lock(mutex_);
    for (std::size_t a = 0; a < ranges.size(); ++a) ranges_[a].add(ranges[a]);
  }

  std::vector<AttributeReader> const& readers_;
  std::vector<RowBlock> const& blocks_;
  std::mutex mutex_;
  std::vector<CodeRange> ranges_;
  std::vector<std::unique_ptr<Bins>> bins_;
  Bins key_bins_;
};

/// Number of distinct keys that leave `nonempty` of kKeyBins bins non-empty (linear counting: Whang et al. 1990).
std::uint64_t estimate_groups(std::uint32_t nonempty, std::uint64_t num_rows) {
  if (nonempty == kKeyBins) return num_rows;
  auto const empty_share = 1.0 - static_cast<double>(nonempty) / kKeyBins;
  auto const estimate = std::llround(-static_cast<double>(kKeyBins) * std::log(empty_share));
  return std::min(num_rows, std::max<std::uint64_t>(static_cast<std::uint64_t>(estimate), nonempty));
}

/// Bits of the product of all attributes' cardinalities less one; when it exceeds 64 bits, what single attributes take.
std::uint32_t packed_bits(std::vector<CodeRange> const& ranges) {
  UInt128 product = 1;
  std::uint32_t sum = 0;
  bool fits = true;
  auto const bits_of = [](UInt128 cardinality) {
    auto const last = cardinality - 1;
    auto const high = static_cast<std::uint64_t>(last >> 64);
    return static_cast<std::uint32_t>(high != 0 ? 64 + std::bit_width(high)
                                                : std::bit_width(static_cast<std::uint64_t>(last)));
  };
  for (auto const& range : ranges) {
    auto const wide = range.exceeds_64_bits();
    sum += wide ? 128 : bits_of(range.cardinality());
    // Neither factor passes 2^64 + 1, so that the product of two does not wrap.
    fits = fits && !wide;
    if (!fits) continue;
    auto const cardinality = range.cardinality();
    if (cardinality > (UInt128{1} << 64)) fits = false;
    if (fits && product > (UInt128{1} << 64) / cardinality) fits = false;
    if (fits) product *= cardinality;
  }
  return fits ? bits_of(product) : std::max<std::uint32_t>(sum, 65);
}

/// What a second pass writes and finds out about packed words.
struct PackedRange {
  std::uint64_t min = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t max = 0;
  std::uint64_t sample = 0;
  std::uint64_t varying = 0;
  bool has_words = false;

  void add(std::uint64_t word) noexcept {
    if (!has_words) sample = word;
    has_words = true;
    min = std::min(min, word);
    max = std::max(max, word);
    varying |= word ^ sample;
  }
  void add(PackedRange const& other) noexcept {
    if (!other.has_words) return;
    add(other.min);
    add(other.max);
    varying |= other.varying | (other.sample ^ sample);
  }
};

class GroupKeyEncoder {
 public:
  GroupKeyEncoder(TableView table, std::vector<std::size_t> columns, Control const& control)
      : table_(table), columns_(std::move(columns)), control_(control), blocks_(cut_row_blocks(table)) {}

  Result<EncodedGroupKeys> run(KeyForm form) {
    for (auto const column : columns_) {
      GARUDA_TRY_ASSIGN(auto reader, AttributeReader::create(table_, column, control_));
      readers_.push_back(std::move(reader));
    }
    KeyScanner scanner(readers_, blocks_);
    GARUDA_TRY_ASSIGN(scan_, scanner.run(control_));
    describe();
    auto const fits = keys_.packed_bits <= 64;
    if (form == KeyForm::packed && !fits)
      return fail(ErrorCode::usage,
                  fmt::format("keys=packed needs keys of at most 64 bits together: {}", keys_.packed_bits));
    keys_.is_packed = fits && form != KeyForm::words && form != KeyForm::rowid;
    if (keys_.is_packed) {
      GARUDA_TRY(write_packed());
    } else {
      GARUDA_TRY(write_words());
    }
    return std::move(keys_);
  }

 private:
  void describe() {
    keys_.num_rows = static_cast<std::uint64_t>(table_.num_rows());
    keys_.packed_bits = packed_bits(scan_.ranges);
    keys_.estimated_groups = estimate_groups(scan_.nonempty_key_bins, keys_.num_rows);
    for (std::size_t a = 0; a < readers_.size(); ++a) {
      auto const& range = scan_.ranges[a];
      GroupAttribute attribute;
      attribute.has_nulls = range.has_nulls;
      attribute.is_dictionary = readers_[a].is_dictionary();
      attribute.range = range.exceeds_64_bits() ? 0 : static_cast<std::uint64_t>(range.span());
      attribute.nonempty_bins = scan_.nonempty_bins[a];
      if (attribute.nonempty_bins > scan_.nonempty_bins[keys_.hash_attribute]) keys_.hash_attribute = a;
      keys_.attributes.push_back(attribute);
    }
  }

  /// The array that holds the only attribute as words of `word_bytes` bytes, without nulls or negative values.
  void const* words_in_place(std::uint32_t word_bytes) const {
    if (readers_.size() != 1 || keys_.num_rows == 0 || scan_.ranges[0].has_nulls) return nullptr;
    auto const zero = readers_[0].zero_in_place();
    if (!zero || scan_.ranges[0].min < *zero) return nullptr;
    if (static_cast<std::uint32_t>(byte_width(readers_[0].field().type)) != word_bytes) return nullptr;
    if (blocks_.front().batch != blocks_.back().batch) return nullptr;
    auto const& array = table_.batch(blocks_.front().batch).columns[columns_[0]];
    auto const* const values = static_cast<std::byte const*>(array.values) + array.offset * word_bytes;
    return reinterpret_cast<std::uintptr_t>(values) % word_bytes == 0 ? values : nullptr;
  }

  Result<void> write_packed() {
    auto& packed = keys_.packed;
    packed.key_bits = keys_.packed_bits <= 32 ? 32 : 64;
    packed.num_rows = keys_.num_rows;
    packed.table_rows = keys_.num_rows;
    packed.words = words_in_place(packed.key_bits / 8);
    if (packed.words != nullptr) {
      auto const& range = scan_.ranges[0];
      auto const zero = *readers_[0].zero_in_place();
      set_range({static_cast<std::uint64_t>(range.min) - zero, static_cast<std::uint64_t>(range.max) - zero, 0,
                 range.varying, true});
      return {};
    }
    GARUDA_TRY_ASSIGN(packed.owned_words,
                      AlignedBuffer::allocate(static_cast<std::int64_t>(keys_.num_rows * (packed.key_bits / 8))));
    packed.words = packed.owned_words.data();
    PackedRange total;
    std::mutex mutex;
    GARUDA_TRY(for_each_block(blocks_.size(), &control_, [&](std::size_t b) {
      auto const range = pack_block(blocks_[b]);
      std::lock_guard const lock(mutex);
      total.add(range);
    }));
    set_range(total);
    return {};
  }

  void set_range(PackedRange const& range) {
    auto& packed = keys_.packed;
    packed.common_low_bits = packed.key_bits;
    if (!range.has_words) return;
    packed.min = range.min;
    packed.max = range.max;
    if (range.varying != 0) packed.common_low_bits = static_cast<std::uint32_t>(std::countr_zero(range.varying));
  }

  PackedRange pack_block(RowBlock const& block) {
    AttributeCodes codes;
    std::vector<std::uint64_t> words(static_cast<std::size_t>(block.length));
    for (std::size_t a = 0; a < readers_.size(); ++a) {
      auto const& range = scan_.ranges[a];
      readers_[a].read(block, codes);
      // Modulo 2^64: a cardinality of 2^64 has only factors of 1 beside it.
      auto const cardinality = static_cast<std::uint64_t>(range.cardinality());
      for (std::size_t i = 0; i < words.size(); ++i) words[i] = words[i] * cardinality + code_of(codes, range, i);
    }
    PackedRange packed;
    for (auto const word : words) packed.add(word);
    if (keys_.packed.key_bits == 32)
      std::copy(words.begin(), words.end(), keys_.packed.owned_words.as<std::uint32_t>() + block.first_row);
    else
      std::copy(words.begin(), words.end(), keys_.packed.owned_words.as<std::uint64_t>() + block.first_row);
    return packed;
  }

  /// Position of a code of at most 64 bits in its attribute's range, null first.
  static std::uint64_t code_of(AttributeCodes const& codes, CodeRange const& range, std::size_t i) {
    if (codes.valid[i] == 0) return 0;
    auto const offset = codes.low[i] - static_cast<std::uint64_t>(range.min);
    return offset + (range.has_nulls ? 1 : 0);
  }

  Result<void> write_words() {
    std::uint32_t nullable = 0;
    std::uint32_t next = 0;
    for (std::size_t a = 0; a < readers_.size(); ++a) {
      auto const& range = scan_.ranges[a];
      auto const last = range.max - range.min;
      auto& attribute = keys_.attributes[a];
      attribute.first_word = next;
      attribute.num_words = last >> 32 == 0 ? 1 : last >> 64 == 0 ? 2 : 4;
      next += attribute.num_words;
      if (range.has_nulls) ++nullable;
    }
    auto const null_words = (nullable + 31) / 32;
    for (std::uint32_t w = 0; w < next + null_words; ++w) {
      GARUDA_TRY_ASSIGN(auto buffer, AlignedBuffer::allocate(static_cast<std::int64_t>(keys_.num_rows * 4)));
      keys_.words.push_back(std::move(buffer));
    }
    return for_each_block(blocks_.size(), &control_, [&](std::size_t b) { split_block(blocks_[b], next); });
  }

  std::uint32_t* word(std::size_t w, RowBlock const& block) {
    return keys_.words[w].as<std::uint32_t>() + block.first_row;
  }

  void split_block(RowBlock const& block, std::uint32_t first_null_word) {
    auto const rows = static_cast<std::size_t>(block.length);
    AttributeCodes codes;
    for (std::size_t w = first_null_word; w < keys_.words.size(); ++w) std::fill_n(word(w, block), rows, 0U);
    std::uint32_t nullable = 0;
    for (std::size_t a = 0; a < readers_.size(); ++a) {
      auto const& range = scan_.ranges[a];
      auto const& attribute = keys_.attributes[a];
      readers_[a].read(block, codes);
      for (std::size_t i = 0; i < rows; ++i) {
        auto const code = readers_[a].is_wide() ? codes.wide(i) : UInt128{codes.low[i]};
        auto offset = codes.valid[i] == 0 ? UInt128{0} : code - range.min;
        for (std::uint32_t w = 0; w < attribute.num_words; ++w, offset >>= 32)
          word(attribute.first_word + w, block)[i] = static_cast<std::uint32_t>(offset);
      }
      if (!range.has_nulls) continue;
      auto* const null_word = word(first_null_word + nullable / 32, block);
      auto const bit = std::uint32_t{1} << (nullable % 32);
      for (std::size_t i = 0; i < rows; ++i)
        if (codes.valid[i] == 0) null_word[i] |= bit;
      ++nullable;
    }
  }

  TableView table_;
  std::vector<std::size_t> columns_;
  Control const& control_;
  std::vector<RowBlock> blocks_;
  std::vector<AttributeReader> readers_;
  KeyScan scan_;
  EncodedGroupKeys keys_;
};

}  // namespace

std::uint64_t EncodedGroupKeys::bytes() const noexcept {
  auto bytes = static_cast<std::uint64_t>(packed.owned_words.size_bytes());
  for (auto const& buffer : words) bytes += static_cast<std::uint64_t>(buffer.size_bytes());
  return bytes;
}

Result<EncodedGroupKeys> encode_group_keys(TableView table, std::span<std::size_t const> columns, KeyForm form,
                                           Control const& control) {
  GARUDA_EXPECTS(!columns.empty());
  try {
    return GroupKeyEncoder(table, {columns.begin(), columns.end()}, control).run(form);
  } catch (std::bad_alloc const&) {
    return fail(ErrorCode::out_of_memory, "no memory for the blocks of the key columns");
  }
}

Result<EncodedKeys> partition_words(EncodedGroupKeys const& keys, Control const& control) {
  EncodedKeys words;
  words.num_rows = keys.num_rows;
  words.table_rows = keys.num_rows;
  if (keys.is_packed) {
    words.key_bits = keys.packed.key_bits;
    words.words = keys.packed.words;
    words.min = keys.packed.min;
    words.max = keys.packed.max;
    words.common_low_bits = keys.packed.common_low_bits;
    return words;
  }
  auto const& attribute = keys.attributes[keys.hash_attribute];
  auto const low = keys.word(attribute.first_word);
  words.max = std::numeric_limits<std::uint32_t>::max();
  words.words = low.data();
  if (attribute.num_words == 1) return words;
  auto const high = keys.word(attribute.first_word + 1);
  words.key_bits = 64;
  words.max = std::numeric_limits<std::uint64_t>::max();
  GARUDA_TRY_ASSIGN(words.owned_words, AlignedBuffer::allocate(static_cast<std::int64_t>(keys.num_rows * 8)));
  auto* const out = words.owned_words.as<std::uint64_t>();
  GARUDA_TRY(for_each_block((keys.num_rows + kBlockRows - 1) / kBlockRows, &control, [&](std::size_t block) {
    auto const end = std::min(keys.num_rows, (block + 1) * kBlockRows);
    for (auto i = block * kBlockRows; i < end; ++i) out[i] = (std::uint64_t{high[i]} << 32) | low[i];
  }));
  words.words = out;
  return words;
}

}  // namespace garuda::partition
