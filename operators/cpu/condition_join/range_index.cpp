#include "operators/cpu/condition_join/range_index.hpp"

#include <oneapi/tbb/parallel_sort.h>

#include <algorithm>
#include <bit>
#include <numeric>
#include <type_traits>
#include <utility>

#include "core/parallel_blocks.hpp"
#include "partition/radix_partition.hpp"

namespace garuda::cpu {
namespace {

/// Rows of a partition, about: few enough that sorting one stays in a first-level cache.
constexpr std::uint64_t kPartitionRows = 256;
/// Rows of a partition that several threads sort.
constexpr std::size_t kSharedSortRows = std::size_t{1} << 17;
/// Words of one value of the leading bits, about: what is searched for a bound lies in a cache line or two.
constexpr std::uint32_t kWordsOfBucket = 8;
constexpr std::uint32_t kMostBucketBits = 20;

template <class Word>
struct WordOfRow {
  Word word;
  std::uint32_t row;

  friend auto operator<=>(WordOfRow const&, WordOfRow const&) = default;
};

/// A word with its row as one number, where both fit 64 bits.
template <class Word>
using SortedItem = std::conditional_t<sizeof(Word) == 4, std::uint64_t, WordOfRow<Word>>;

template <class Word>
SortedItem<Word> item_of(Word word, std::uint32_t row) {
  if constexpr (sizeof(Word) == 4)
    return std::uint64_t{word} << 32 | row;
  else
    return {word, row};
}
std::uint32_t word_of(std::uint64_t item) { return static_cast<std::uint32_t>(item >> 32); }
std::uint32_t row_of(std::uint64_t item) { return static_cast<std::uint32_t>(item); }
std::uint64_t word_of(WordOfRow<std::uint64_t> const& item) { return item.word; }
std::uint32_t row_of(WordOfRow<std::uint64_t> const& item) { return item.row; }

/// Sorts words with their rows, in place.
template <class Word>
void sort_partition(Word* words, std::uint32_t* rows, std::size_t count) {
  if (count < 2) return;
  std::vector<SortedItem<Word>> items(count);
  for (std::size_t i = 0; i < count; ++i) items[i] = item_of(words[i], rows[i]);
  if (count >= kSharedSortRows)
    oneapi::tbb::parallel_sort(items.begin(), items.end());
  else
    std::sort(items.begin(), items.end());
  for (std::size_t i = 0; i < count; ++i) {
    words[i] = word_of(items[i]);
    rows[i] = row_of(items[i]);
  }
}

}  // namespace

Result<RangeIndex> RangeIndex::create(expr::ColumnWords const& column, std::uint64_t rows,
                                      std::optional<std::vector<std::uint32_t>> chosen, Control const& control) {
  RangeIndex index;
  index.is_wide_ = column.is_wide();
  index.size_ = static_cast<std::uint32_t>(chosen ? chosen->size() : rows);
  index.order_.resize(index.size_);
  if (index.size_ == 0) {
    index.buckets_ = {0, 0};
    return index;
  }
  auto const* const listed = chosen ? &*chosen : nullptr;
  auto sorted =
      column.is_wide() ? index.sort(column.words64(), listed, control) : index.sort(column.words32(), listed, control);
  if (!sorted) return propagate(std::move(sorted));
  return index;
}

template <class Word>
Result<void> RangeIndex::sort(Word const* words, std::vector<std::uint32_t> const* chosen, Control const& control) {
  AlignedBuffer taken;
  if (chosen != nullptr) {
    GARUDA_TRY_ASSIGN(taken, AlignedBuffer::allocate(static_cast<std::int64_t>(size_ * sizeof(Word))));
    for (std::uint32_t i = 0; i < size_; ++i) taken.as<Word>()[i] = words[(*chosen)[i]];
    words = taken.as<Word>();
  }
  auto const [least, most] = std::minmax_element(words, words + size_);
  min_ = *least;
  max_ = *most;
  // The bits that differ at most: those above are the same in all words.
  auto const differing = static_cast<std::uint32_t>(std::bit_width(min_ ^ max_));
  auto const wanted = static_cast<std::uint32_t>(std::bit_width(size_ / kPartitionRows));
  auto const bits = std::min({wanted, differing, partition::kOnePassBits});
  auto const shift = bits == 0 ? 0 : differing - bits;
  keys::EncodedKeys keys;
  keys.key_bits = 8 * sizeof(Word);
  keys.num_rows = keys.table_rows = size_;
  keys.words = words;
  keys.min = min_;
  keys.max = max_;
  GARUDA_TRY_ASSIGN(auto parts, partition::radix_partition(std::move(keys), {bits, shift, false}, control));
  auto const& begins = parts.offsets;
  if (parts.owned_keys.size_bytes() == 0) {  // one partition: nothing was moved
    GARUDA_TRY_ASSIGN(words_, AlignedBuffer::allocate(static_cast<std::int64_t>(size_ * sizeof(Word))));
    std::copy_n(words, size_, words_.as<Word>());
    std::iota(order_.begin(), order_.end(), 0U);
  } else {
    words_ = std::move(parts.owned_keys);
    std::copy_n(static_cast<std::uint32_t const*>(parts.row_ids), size_, order_.begin());
  }
  GARUDA_TRY(for_each_block(begins.size() - 1, &control, [&](std::size_t p) {
    sort_partition(words_.as<Word>() + begins[p], order_.data() + begins[p], begins[p + 1] - begins[p]);
  }));
  if (chosen != nullptr)
    for (auto& row : order_) row = (*chosen)[row];
  fill_buckets<Word>(differing);
  return {};
}

/// Where the words of each value of the leading bits begin, fewer of them than partitions have.
template <class Word>
void RangeIndex::fill_buckets(std::uint32_t differing) {
  auto const wanted = static_cast<std::uint32_t>(std::bit_width(size_ / kWordsOfBucket));
  auto const bits = std::min({wanted, differing, kMostBucketBits});
  shift_ = bits == 0 ? 0 : differing - bits;
  mask_ = (std::uint64_t{1} << bits) - 1;
  buckets_.resize(mask_ + 2);
  auto const* const words = words_.as<Word>();
  std::uint64_t next = 0;
  for (std::uint32_t position = 0; position < size_; ++position)
    for (auto const bucket = words[position] >> shift_ & mask_; next <= bucket; ++next) buckets_[next] = position;
  for (; next < buckets_.size(); ++next) buckets_[next] = size_;
}

/// Searches without a branch on what is compared: whether a word is below a bound cannot be foretold.
template <class Word>
std::uint32_t RangeIndex::search(std::uint64_t word) const noexcept {
  auto const* const words = words_.as<Word>();
  auto const bucket = word >> shift_ & mask_;
  auto begin = buckets_[bucket];
  auto left = buckets_[bucket + 1] - begin;
  while (left > 1) {
    auto const half = left / 2;
    begin += words[begin + half - 1] < word ? half : 0;
    left -= half;
  }
  return begin + (left > 0 && words[begin] < word ? 1 : 0);
}

std::uint32_t RangeIndex::lower_bound(std::uint64_t word) const noexcept {
  if (word <= min_) return 0;
  if (word > max_) return size_;
  return is_wide_ ? search<std::uint64_t>(word) : search<std::uint32_t>(word);
}

}  // namespace garuda::cpu
