#include "operators/cpu/condition_join/condition_kernel.hpp"

#include <oneapi/tbb/parallel_sort.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <numeric>
#include <string_view>
#include <type_traits>
#include <utility>

#include "core/parallel_blocks.hpp"
#include "core/shortage.hpp"
#include "expr/sides.hpp"
#include "partition/radix_partition.hpp"

namespace garuda::cpu {
namespace {

/// Positions of a tile: one or two columns of them stay in a first-level cache while rows are compared with them.
constexpr std::uint32_t kTilePositions = 4'096;
static_assert(kTilePositions % expr::kVectorRows == 0);
/// Probe rows of a tile: what looking for a pair costs again at most, and how many are tested between two looks at
/// whether the caller has cancelled. Slices of many tiles have larger ones.
constexpr std::uint32_t kTileRows = 64;
constexpr std::uint64_t kMostTiles = std::uint64_t{1} << 20;
/// Probe rows whose ranges are found by one task.
constexpr std::uint32_t kRangeRows = 4'096;

constexpr std::string_view kSlice = "a slice of a join without keys";

/// Calls body(first, count) for blocks of at most expr::kVectorRows positions until it returns false.
template <class Body>
void for_blocks(RangeIndex::Positions positions, Body const& body) {
  for (auto first = positions.begin; first < positions.end;) {
    auto const count = std::min<std::uint32_t>(expr::kVectorRows, positions.end - first);
    if (!body(first, count)) return;
    first += count;
  }
}

/// Calls visit(i) for every i below `count` with mask[i] = 1, until it returns false.
template <class Visit>
void for_ones(std::uint8_t const* mask, std::size_t count, Visit const& visit) {
  std::size_t i = 0;
  for (; i + 8 <= count; i += 8) {
    std::uint64_t eight;
    std::memcpy(&eight, mask + i, sizeof(eight));
    if (eight == 0) continue;
    for (std::size_t j = i; j < i + 8; ++j)
      if (mask[j] != 0 && !visit(j)) return;
  }
  for (; i < count; ++i)
    if (mask[i] != 0 && !visit(i)) return;
}

std::uint32_t tiles_of(std::uint64_t rows, std::uint64_t tile_rows) {
  return static_cast<std::uint32_t>((rows + tile_rows - 1) / tile_rows);
}

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

ConditionKernel::ConditionKernel(ConditionJoin const& join, Side build_side, contract::RowSpan probe,
                                 std::shared_ptr<BuildSlice const> build)
    : join_(join),
      build_side_(build_side),
      probe_(expr::columns_of(*join.condition, other_side(build_side), probe.first)),
      build_(std::move(build)),
      probe_span_rows_(probe.rows),
      chosen_(
          expr::rows_that_may_match(*join.condition, *join.parts, other_side(build_side), probe.first, probe.rows)) {
  probe_rows_ = static_cast<std::uint32_t>(chosen_ ? chosen_->size() : probe.rows);
  if (join.parts->is_never || build_->rows.size() == 0) probe_rows_ = 0;
  if (!build_->index) position_tiles_ = std::max(tiles_of(build_->rows.size(), kTilePositions), 1U);
  std::uint64_t tile_rows = kTileRows;
  while (tiles_of(probe_rows_, tile_rows) * std::uint64_t{position_tiles_} > kMostTiles) tile_rows *= 2;
  tile_rows_ = static_cast<std::uint32_t>(tile_rows);
  row_tiles_ = tiles_of(probe_rows_, tile_rows);
}

ConditionKernel::Tile ConditionKernel::tile(std::size_t index) const noexcept {
  auto const row = static_cast<std::uint32_t>(index / position_tiles_) * tile_rows_;
  Tile tile{row, std::min(row + tile_rows_, probe_rows_), {}};
  if (build_->index) return tile;
  auto const first = static_cast<std::uint32_t>(index % position_tiles_) * kTilePositions;
  tile.positions = {first, static_cast<std::uint32_t>(
                               std::min<std::uint64_t>(std::uint64_t{first} + kTilePositions, build_->rows.size()))};
  return tile;
}

contract::RowPair ConditionKernel::pair_of(std::uint32_t row, std::uint32_t position) const noexcept {
  auto const build = build_->rows.row(position);
  return build_side_ == Side::left ? contract::RowPair{build, probe_row(row)}
                                   : contract::RowPair{probe_row(row), build};
}

/// Finds the range of the index for each probe row.
Result<void> ConditionKernel::find_ranges() {
  if (!build_->index || !ranges_.empty() || probe_rows_ == 0) return {};
  std::vector<Positions> ranges(probe_rows_);
  GARUDA_TRY(for_each_block(tiles_of(probe_rows_, kRangeRows), join_.control, [&](std::size_t task) {
    auto const begin = static_cast<std::uint32_t>(task) * kRangeRows;
    for (auto row = begin; row < std::min(begin + kRangeRows, probe_rows_); ++row)
      ranges[row] = build_->index->find(join_.sorted_by->range_of(probe_, probe_row(row)));
  }));
  ranges_ = std::move(ranges);
  return {};
}

Result<void> ConditionKernel::count_tiles() {
  if (!offsets_.empty()) return {};
  contract::PhaseTimer const phase(join_.stats, "count", 0, probe_rows_);
  GARUDA_TRY(find_ranges());
  std::vector<std::uint64_t> offsets(num_tiles() + 1);
  GARUDA_TRY(for_each_block(row_tiles_, join_.control, [&](std::size_t rows) {
    for (auto t = rows * position_tiles_; t < (rows + 1) * position_tiles_ && !is_cancelled(join_.control); ++t)
      offsets[t + 1] = count_tile(tile(t));
  }));
  std::partial_sum(offsets.begin(), offsets.end(), offsets.begin());
  offsets_ = std::move(offsets);
  return {};
}

std::uint64_t ConditionKernel::count_tile(Tile const& tile) const {
  std::uint64_t found = 0;
  if (!join_.tests->any() && !build_->index)
    return std::uint64_t{tile.end_row - tile.begin_row} * tile.positions.size();
  if (!join_.tests->any()) {
    for (auto row = tile.begin_row; row < tile.end_row; ++row) found += positions_of(tile, row).size();
    return found;
  }
  RowTests tests(*join_.tests, probe_, build_->rows);
  for (auto row = tile.begin_row; row < tile.end_row; ++row) {
    auto const positions = positions_of(tile, row);
    if (positions.size() == 0 || !tests.begin(probe_row(row))) continue;
    for_blocks(positions, [&](std::uint32_t first, std::uint32_t count) {
      found += tests.count(first, count);
      return true;
    });
  }
  return found;
}

Result<std::uint64_t> ConditionKernel::count() {
  GARUDA_TRY(or_out_of_memory(kSlice, [&] { return count_tiles(); }));
  return offsets_.back();
}

Result<void> ConditionKernel::pairs(std::uint64_t first, std::span<contract::RowPair> out) {
  return or_out_of_memory(kSlice, [&]() -> Result<void> {
    GARUDA_TRY(count_tiles());
    GARUDA_EXPECTS(first <= offsets_.back() && out.size() <= offsets_.back() - first);
    contract::PhaseTimer const phase(join_.stats, "probe", out.size_bytes(), out.size());
    while (!out.empty()) {
      GARUDA_TRY(check_cancelled(join_.control));
      auto const t =
          static_cast<std::size_t>(std::upper_bound(offsets_.begin(), offsets_.end(), first) - offsets_.begin() - 1);
      auto const wanted = tile(t);
      if (cursor_.tile != t || cursor_.pair > first || cursor_.pair < offsets_[t] || cursor_.row < wanted.begin_row)
        cursor_ = {offsets_[t], t, wanted.begin_row, positions_of(wanted, wanted.begin_row).begin};
      auto const left = write_tile(wanted, cursor_, first, out);
      first += out.size() - left.size();
      out = left;
    }
    return {};
  });
}

/// Writes the pairs of a tile from number `first` on, `at` being before them; returns what of `out` it does not fill,
/// and in `at` where the block begins in which it stopped.
std::span<contract::RowPair> ConditionKernel::write_tile(Tile const& tile, Cursor& at, std::uint64_t first,
                                                         std::span<contract::RowPair> out) const {
  RowTests tests(*join_.tests, probe_, build_->rows);
  bool const are_tested = join_.tests->any();
  std::uint8_t mask[expr::kVectorRows];
  for (; at.row < tile.end_row && !out.empty();) {
    auto positions = positions_of(tile, at.row);
    positions.begin = at.position;
    if (!are_tested) {
      auto const skipped = static_cast<std::uint32_t>(std::min<std::uint64_t>(first - at.pair, positions.size()));
      auto const taken = static_cast<std::uint32_t>(std::min<std::uint64_t>(out.size(), positions.size() - skipped));
      for (std::uint32_t i = 0; i < taken; ++i) out[i] = pair_of(at.row, positions.begin + skipped + i);
      out = out.subspan(taken);
      first += taken;
      at.pair += skipped + taken;
      at.position += skipped + taken;
    } else if (positions.size() > 0 && tests.begin(probe_row(at.row))) {
      for_blocks(positions, [&](std::uint32_t begin, std::uint32_t count) {
        auto const found = tests.mask(begin, count, mask);
        auto skipped = first - at.pair;
        if (found > skipped) {
          std::size_t taken = 0;
          for_ones(mask, count, [&](std::size_t i) {
            if (skipped > 0) {
              --skipped;
              return true;
            }
            out[taken++] = pair_of(at.row, begin + static_cast<std::uint32_t>(i));
            return taken < out.size();
          });
          out = out.subspan(taken);
          first += taken;
        }
        if (first < at.pair + found) return false;  // full within the block
        at.pair += found;
        at.position = begin + count;
        return !out.empty();
      });
    } else {
      at.position = positions.end;
    }
    if (at.position < positions.end) break;
    ++at.row;
    if (at.row < tile.end_row) at.position = positions_of(tile, at.row).begin;
  }
  return out;
}

Result<contract::MarkBitmap> ConditionKernel::mark(Side side) {
  contract::RowMarks marks(side == build_side_ ? build_->span.rows : probe_span_rows_);
  GARUDA_TRY(add_marks(side, marks, 0));
  return marks.take();
}

Result<void> ConditionKernel::add_marks(Side side, contract::RowMarks& marks, std::uint64_t first) {
  return or_out_of_memory(kSlice, [&]() -> Result<void> {
    contract::PhaseTimer const phase(join_.stats, "mark", 0, probe_rows_);
    if (probe_rows_ == 0) return {};
    GARUDA_TRY(find_ranges());
    if (side != build_side_) return mark_probe(marks, first);
    if (!build_->index) return mark_positions(marks, first);
    return join_.tests->any() ? mark_tested(marks, first) : mark_ranges(marks, first);
  });
}

bool ConditionKernel::matches_any(RowTests& tests, Positions positions) const {
  bool found = false;
  for_blocks(positions, [&](std::uint32_t first, std::uint32_t count) {
    found = tests.count(first, count) > 0;
    return !found;
  });
  return found;
}

/// A row that has a match is tested no further, nor is one that was marked before.
Result<void> ConditionKernel::mark_probe(contract::RowMarks& marks, std::uint64_t first) const {
  return for_each_block(row_tiles_, join_.control, [&](std::size_t rows) {
    RowTests tests(*join_.tests, probe_, build_->rows);
    for (auto t = rows * position_tiles_; t < (rows + 1) * position_tiles_ && !is_cancelled(join_.control); ++t) {
      auto const part = tile(t);
      for (auto row = part.begin_row; row < part.end_row; ++row) {
        auto const positions = positions_of(part, row);
        auto const number = probe_row(row);
        if (positions.size() == 0 || marks.is_set(first + number)) continue;
        if (!join_.tests->any() || (tests.begin(number) && matches_any(tests, positions))) marks.set(first + number);
      }
    }
  });
}

/// Marks all positions that some range has. Ranges are put together first, so that none is gone through twice.
Result<void> ConditionKernel::mark_ranges(contract::RowMarks& marks, std::uint64_t first) const {
  auto sorted = ranges_;
  std::ranges::sort(sorted, {}, &Positions::begin);
  std::uint32_t done = 0;
  for (auto const& range : sorted) {
    GARUDA_TRY(check_cancelled(join_.control));
    for (auto position = std::max(range.begin, done); position < range.end; ++position)
      if (auto const row = first + build_->rows.row(position); !marks.is_set(row)) marks.set(row);
    done = std::max(done, range.end);
  }
  return {};
}

Result<void> ConditionKernel::mark_tested(contract::RowMarks& marks, std::uint64_t first) const {
  return for_each_block(row_tiles_, join_.control, [&](std::size_t t) {
    RowTests tests(*join_.tests, probe_, build_->rows);
    std::uint8_t mask[expr::kVectorRows];
    auto const part = tile(t);
    for (auto row = part.begin_row; row < part.end_row && !is_cancelled(join_.control); ++row) {
      if (ranges_[row].size() == 0 || !tests.begin(probe_row(row))) continue;
      for_blocks(ranges_[row], [&](std::uint32_t begin, std::uint32_t count) {
        if (tests.mask(begin, count, mask) == 0) return true;
        for_ones(mask, count, [&](std::size_t i) {
          auto const number = first + build_->rows.row(begin + i);
          if (!marks.is_set(number)) marks.set(number);
          return true;
        });
        return true;
      });
    }
  });
}

/// A block of positions at a time, until all of them have a match.
Result<void> ConditionKernel::mark_positions(contract::RowMarks& marks, std::uint64_t first) const {
  auto const blocks = tiles_of(build_->rows.size(), expr::kVectorRows);
  return for_each_block(blocks, join_.control, [&](std::size_t block) {
    RowTests tests(*join_.tests, probe_, build_->rows);
    auto const& kernels = expr::mask_kernels();
    auto const begin = block * expr::kVectorRows;
    auto const count = std::min<std::size_t>(expr::kVectorRows, build_->rows.size() - begin);
    std::uint8_t mask[expr::kVectorRows];
    std::uint8_t matched[expr::kVectorRows] = {};
    for (std::uint32_t row = 0; row < probe_rows_; ++row) {
      if (row % kTileRows == 0 && (is_cancelled(join_.control) || kernels.count_mask(matched, count) == count)) break;
      if (tests.begin(probe_row(row)) && tests.mask(begin, count, mask) > 0) kernels.or_masks(mask, count, matched);
    }
    for_ones(matched, count, [&](std::size_t i) {
      marks.set(first + build_->rows.row(begin + i));
      return true;
    });
  });
}

}  // namespace garuda::cpu
