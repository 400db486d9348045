#include "partition/group_keys.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <limits>
#include <mutex>
#include <new>
#include <utility>

#include "core/wide_integer.hpp"
#include "partition/attribute_reader.hpp"
#include "partition/code_range.hpp"
#include "partition/key_sample.hpp"
#include "partition/parallel_blocks.hpp"

namespace garuda::partition {
namespace {

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
  /// Three reductions over plain loads, so that compilers vectorise them.
  template <class Word>
  void add(Word const* words, std::size_t count) noexcept {
    if (count == 0) return;
    auto least = words[0];
    auto largest = words[0];
    Word differing = 0;
    for (std::size_t i = 0; i < count; ++i) {
      least = std::min(least, words[i]);
      largest = std::max(largest, words[i]);
      differing |= words[i] ^ words[0];
    }
    add(PackedRange{least, largest, words[0], differing, true});
  }
  void add(PackedRange const& other) noexcept {
    if (!other.has_words) return;
    add(other.min);
    add(other.max);
    varying |= other.varying | (other.sample ^ sample);
  }
};

bool is_packed_in(KeyForm form, std::uint32_t packed_bits) {
  return packed_bits <= 64 && form != KeyForm::words && form != KeyForm::rowid;
}

/// Words of 32 bits that the codes of a range take, relative to the smallest one.
std::uint32_t num_words_of(CodeRange const& range) {
  auto const last = range.max - range.min;
  return last >> 32 == 0 ? 1 : last >> 64 == 0 ? 2 : 4;
}

/// Words of 32 bits that hold a bit for each attribute with nulls.
std::uint32_t null_words_of(std::vector<CodeRange> const& ranges) {
  auto const nullable = std::ranges::count_if(ranges, &CodeRange::has_nulls);
  return static_cast<std::uint32_t>((nullable + 31) / 32);
}

/// Lowest bits that no two words differ in; `varying`: the bits that some do.
std::uint32_t low_bits_of(std::uint64_t varying, std::uint32_t key_bits) {
  return varying == 0 ? key_bits : static_cast<std::uint32_t>(std::countr_zero(varying));
}

class GroupKeyEncoder {
 public:
  GroupKeyEncoder(SampledGroupKeys keys, Control const& control)
      : table_(keys.table),
        columns_(std::move(keys.columns)),
        control_(control),
        blocks_(std::move(keys.blocks)),
        readers_(std::move(keys.readers)),
        sample_(std::move(keys.sample)) {}

  Result<EncodedGroupKeys> run(KeyForm form) {
    GARUDA_TRY(scan_ranges());
    describe(sample_);
    auto const fits = keys_.packed_bits <= 64;
    if (form == KeyForm::packed && !fits)
      return fail(ErrorCode::usage,
                  fmt::format("keys=packed needs keys of at most 64 bits together: {}", keys_.packed_bits));
    keys_.is_packed = is_packed_in(form, keys_.packed_bits);
    if (keys_.is_packed) {
      GARUDA_TRY(write_packed());
    } else {
      GARUDA_TRY(write_words());
    }
    return std::move(keys_);
  }

 private:
  Result<void> scan_ranges() {
    ranges_.resize(readers_.size());
    std::mutex mutex;
    return for_each_block(blocks_.size(), &control_, [&](std::size_t b) {
      AttributeCodes scratch;
      std::vector<CodeRange> ranges;
      for (auto const& reader : readers_) ranges.push_back(scan_range(reader, blocks_[b], scratch));
      std::lock_guard const lock(mutex);
      for (std::size_t a = 0; a < ranges.size(); ++a) ranges_[a].add(ranges[a]);
    });
  }

  void describe(KeySample const& sample) {
    keys_.num_rows = static_cast<std::uint64_t>(table_.num_rows());
    keys_.packed_bits = packed_bits(ranges_);
    keys_.sampled_rows = sample.rows;
    keys_.estimated_groups = sample.estimated_groups;
    for (std::size_t a = 0; a < readers_.size(); ++a) {
      auto const& range = ranges_[a];
      GroupAttribute attribute;
      attribute.has_nulls = range.has_nulls;
      attribute.is_dictionary = readers_[a].is_dictionary();
      attribute.range = range.exceeds_64_bits() ? 0 : static_cast<std::uint64_t>(range.span());
      attribute.smallest = range.exceeds_64_bits() ? 0 : static_cast<std::uint64_t>(range.min);
      attribute.cardinality = range.exceeds_64_bits() ? 0 : range.cardinality();
      attribute.inverse = readers_[a].inverse();
      attribute.nonempty_bins = sample.nonempty_bins[a];
      if (attribute.nonempty_bins > sample.nonempty_bins[keys_.hash_attribute]) keys_.hash_attribute = a;
      keys_.attributes.push_back(attribute);
    }
  }

  /// The array that holds the only attribute as words of `word_bytes` bytes, without nulls or negative values.
  void const* words_in_place(std::uint32_t word_bytes) const {
    if (readers_.size() != 1 || keys_.num_rows == 0 || ranges_[0].has_nulls) return nullptr;
    auto const zero = readers_[0].zero_in_place();
    if (!zero || ranges_[0].min < *zero) return nullptr;
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
      auto const& range = ranges_[0];
      auto const zero = *readers_[0].zero_in_place();
      keys_.attributes[0].smallest = zero;
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
    packed.common_low_bits = low_bits_of(range.varying, packed.key_bits);
    if (!range.has_words) return;
    packed.min = range.min;
    packed.max = range.max;
  }

  PackedRange pack_block(RowBlock const& block) {
    return keys_.packed.key_bits == 32 ? pack_block(block, keys_.packed.owned_words.as<std::uint32_t>())
                                       : pack_block(block, keys_.packed.owned_words.as<std::uint64_t>());
  }

  template <class Word>
  PackedRange pack_block(RowBlock const& block, Word* all_words) {
    auto* const words = all_words + block.first_row;
    AttributeCodes scratch;
    for (std::size_t a = 0; a < readers_.size(); ++a)
      pack_attribute(readers_[a], ranges_[a], block, a == 0, scratch, words);
    PackedRange packed;
    packed.add(words, static_cast<std::size_t>(block.length));
    return packed;
  }

  Result<void> write_words() {
    std::uint32_t next = 0;
    for (std::size_t a = 0; a < readers_.size(); ++a) {
      auto& attribute = keys_.attributes[a];
      attribute.first_word = next;
      attribute.num_words = num_words_of(ranges_[a]);
      next += attribute.num_words;
    }
    for (std::uint32_t w = 0; w < next + null_words_of(ranges_); ++w) {
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
      auto const& range = ranges_[a];
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
  KeySample sample_;
  std::vector<CodeRange> ranges_;
  EncodedGroupKeys keys_;
};

}  // namespace

std::uint64_t EncodedGroupKeys::bytes() const noexcept {
  auto bytes = static_cast<std::uint64_t>(packed.owned_words.size_bytes());
  for (auto const& buffer : words) bytes += static_cast<std::uint64_t>(buffer.size_bytes());
  return bytes;
}

GroupKeyOutline outline_of(EncodedGroupKeys const& keys) {
  GroupKeyOutline outline;
  outline.is_packed = keys.is_packed;
  outline.key_bits = keys.packed.key_bits;
  outline.min = keys.packed.min;
  outline.max = keys.packed.max;
  outline.common_low_bits = keys.packed.common_low_bits;
  outline.num_words = static_cast<std::uint32_t>(keys.words.size());
  outline.estimated_groups = keys.estimated_groups;
  outline.bytes = keys.bytes();
  return outline;
}

GroupKeyOutline SampledGroupKeys::outline(KeyForm form) const {
  GroupKeyOutline outline;
  auto const bits = packed_bits(sample.ranges);
  outline.is_packed = is_packed_in(form, bits);
  outline.estimated_groups = sample.estimated_groups;
  if (!outline.is_packed) {
    outline.num_words = null_words_of(sample.ranges);
    for (auto const& range : sample.ranges) outline.num_words += num_words_of(range);
    return outline;
  }
  outline.key_bits = bits <= 32 ? 32 : 64;
  // Words are below the product of all cardinalities, which fits as many bits.
  UInt128 product = 1;
  for (auto const& range : sample.ranges) product *= range.cardinality();
  outline.max = static_cast<std::uint64_t>(product - 1);
  if (sample.ranges.size() == 1 && !sample.ranges[0].has_nulls)
    outline.common_low_bits = low_bits_of(sample.ranges[0].varying, outline.key_bits);
  return outline;
}

Result<SampledGroupKeys> sample_group_keys(TableView table, std::span<std::size_t const> columns,
                                           Control const& control) {
  GARUDA_EXPECTS(!columns.empty());
  try {
    SampledGroupKeys keys{table, {columns.begin(), columns.end()}, {}, cut_row_blocks(table), {}};
    for (auto const column : columns) {
      GARUDA_TRY_ASSIGN(auto reader, AttributeReader::create(table, column, control));
      keys.readers.push_back(std::move(reader));
    }
    GARUDA_TRY_ASSIGN(keys.sample,
                      sample_keys(keys.readers, keys.blocks, static_cast<std::uint64_t>(table.num_rows()), control));
    return keys;
  } catch (std::bad_alloc const&) {
    return fail(ErrorCode::out_of_memory, "no memory for a sample of the key columns");
  }
}

Result<EncodedGroupKeys> encode_group_keys(SampledGroupKeys keys, KeyForm form, Control const& control) {
  try {
    return GroupKeyEncoder(std::move(keys), control).run(form);
  } catch (std::bad_alloc const&) {
    return fail(ErrorCode::out_of_memory, "no memory for the blocks of the key columns");
  }
}

Result<EncodedGroupKeys> encode_group_keys(TableView table, std::span<std::size_t const> columns, KeyForm form,
                                           Control const& control) {
  GARUDA_TRY_ASSIGN(auto keys, sample_group_keys(table, columns, control));
  return encode_group_keys(std::move(keys), form, control);
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
