#include "keys/value_order.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstring>
#include <string_view>
#include <vector>

#include "core/parallel_blocks.hpp"

namespace garuda::keys {
namespace {

/// Bytes of a value that one key holds; the key's last byte says how many of them there are.
constexpr std::size_t kKeyBytes = 7;

struct Item {
  std::uint64_t key;
  std::uint32_t position;

  friend bool operator<(Item const& a, Item const& b) noexcept { return a.key < b.key; }
};

/// The bytes behind the first `depth`, zeros behind the last, then how many there are, at most one more than fit: keys
/// are ordered as what is left of the values, and equal only when that is equal or longer than a key.
std::uint64_t key_of(std::string_view bytes, std::size_t depth) noexcept {
  auto const rest = bytes.size() > depth ? bytes.size() - depth : 0;
  std::uint64_t word = 0;
  if (rest > 0) std::memcpy(&word, bytes.data() + depth, std::min(rest, kKeyBytes));
  static_assert(std::endian::native == std::endian::little);
  return __builtin_bswap64(word) | std::min(rest, kKeyBytes + 1);
}

bool goes_on(std::uint64_t key) noexcept { return (key & 0xFF) > kKeyBytes; }

/// Values that agree in their first `depth` bytes.
struct Run {
  std::size_t begin;
  std::size_t end;
  std::size_t depth;

  std::size_t size() const noexcept { return end - begin; }
  std::size_t num_blocks() const noexcept { return (size() + kBlockRows - 1) / kBlockRows; }
  std::size_t block_begin(std::size_t block) const noexcept { return begin + block * kBlockRows; }
  std::size_t block_end(std::size_t block) const noexcept { return std::min(end, begin + (block + 1) * kBlockRows); }
};

/// How many of the first `count` items of two sorted sequences, merged, come from the first one.
std::size_t taken_from_first(std::span<Item const> first, std::span<Item const> second, std::size_t count) {
  auto low = count > second.size() ? count - second.size() : 0;
  auto high = std::min(count, first.size());
  while (low < high) {
    auto const middle = low + (high - low) / 2;
    if (second[count - middle - 1] < first[middle])
      high = middle;
    else
      low = middle + 1;
  }
  return low;
}

class ValueSorter {
 public:
  ValueSorter(ValueBytes const& values, std::span<std::uint64_t const> chosen, Control const& control)
      : values_(values), chosen_(chosen), control_(control) {}

  Result<AlignedBuffer> run() {
    Run const all{0, chosen_.size(), 0};
    auto const bytes = static_cast<std::int64_t>(all.size() * sizeof(Item));
    GARUDA_TRY_ASSIGN(auto items, AlignedBuffer::allocate(bytes));
    GARUDA_TRY_ASSIGN(auto merged, AlignedBuffer::allocate(bytes));
    items_ = items.as<Item>();
    merged_ = merged.as<Item>();
    GARUDA_TRY(for_each_block(all.num_blocks(), &control_, [&](std::size_t block) {
      for (auto i = all.block_begin(block); i < all.block_end(block); ++i)
        items_[i].position = static_cast<std::uint32_t>(i);
    }));
    std::vector<Run> large;
    if (all.size() > 1) large.push_back(all);
    while (!large.empty()) {
      auto const run = large.back();
      large.pop_back();
      GARUDA_TRY(sort_large(run, large));
    }
    GARUDA_TRY_ASSIGN(auto order, AlignedBuffer::allocate(static_cast<std::int64_t>(all.size() * 4)));
    GARUDA_TRY(for_each_block(all.num_blocks(), &control_, [&](std::size_t block) {
      for (auto i = all.block_begin(block); i < all.block_end(block); ++i)
        order.as<std::uint32_t>()[i] = items_[i].position;
    }));
    return order;
  }

 private:
  std::string_view bytes(std::size_t item) const { return values_[chosen_[items_[item].position]]; }

  /// Bytes behind the first `depth` in which the items [begin, end) agree with the item `with`, at most `most`.
  std::size_t common_bytes(std::size_t with, std::size_t begin, std::size_t end, std::size_t depth,
                           std::size_t most) const {
    auto const first = bytes(with).substr(depth);
    most = std::min(most, first.size());
    for (auto i = begin; i < end && most > 0; ++i) {
      auto const other = bytes(i).substr(depth);
      most = std::min(most, other.size());
      if (std::memcmp(first.data(), other.data(), most) == 0) continue;
      most = static_cast<std::size_t>(
          std::mismatch(first.begin(), first.begin() + static_cast<std::ptrdiff_t>(most), other.begin()).first -
          first.begin());
    }
    return most;
  }

  void set_keys(std::size_t begin, std::size_t end, std::size_t depth) {
    for (auto i = begin; i < end; ++i) items_[i].key = key_of(bytes(i), depth);
  }

  /// Appends the runs of sorted items whose keys are equal and do not say everything.
  void add_runs(Run const& sorted, std::vector<Run>& runs) const {
    for (auto begin = sorted.begin; begin < sorted.end;) {
      auto end = begin + 1;
      while (end < sorted.end && items_[end].key == items_[begin].key) ++end;
      if (end - begin > 1 && goes_on(items_[begin].key)) runs.push_back({begin, end, sorted.depth + kKeyBytes});
      begin = end;
    }
  }

  /// Sorts the items of one run, and by one thread each, those of the runs of a block or less that it leaves; appends
  /// the longer ones to `large`.
  Result<void> sort_large(Run run, std::vector<Run>& large) {
    std::atomic<std::size_t> common{bytes(run.begin).size() - run.depth};
    GARUDA_TRY(for_each_block(run.num_blocks(), &control_, [&](std::size_t block) {
      auto const of_block =
          common_bytes(run.begin, run.block_begin(block), run.block_end(block), run.depth, common.load());
      auto least = common.load();
      while (of_block < least && !common.compare_exchange_weak(least, of_block)) {
      }
    }));
    run.depth += common;
    GARUDA_TRY(for_each_block(run.num_blocks(), &control_, [&](std::size_t block) {
      set_keys(run.block_begin(block), run.block_end(block), run.depth);
      std::sort(items_ + run.block_begin(block), items_ + run.block_end(block));
    }));
    GARUDA_TRY(merge_blocks(run));
    GARUDA_TRY_ASSIGN(auto const left, runs_of(run));
    std::vector<Run> small;
    for (auto const& next : left) (next.size() > kBlockRows ? large : small).push_back(next);
    return for_each_block(small.size(), &control_, [&](std::size_t i) { sort_small(small[i]); });
  }

  /// Merges the sorted blocks of a run, two sequences at a time, each block of a merged one by itself.
  Result<void> merge_blocks(Run const& run) {
    for (auto width = std::size_t{kBlockRows}; width < run.size(); width *= 2) {
      GARUDA_TRY(for_each_block(run.num_blocks(), &control_, [&](std::size_t block) {
        auto const out = run.block_begin(block);
        auto const begin = run.begin + (out - run.begin) / (2 * width) * (2 * width);
        auto const middle = std::min(begin + width, run.end);
        std::span<Item const> const items(items_, run.end);
        auto const first = items.subspan(begin, middle - begin);
        auto const second = items.subspan(middle, std::min(middle + width, run.end) - middle);
        auto const from = taken_from_first(first, second, out - begin);
        auto const to = taken_from_first(first, second, run.block_end(block) - begin);
        std::merge(first.begin() + static_cast<std::ptrdiff_t>(from), first.begin() + static_cast<std::ptrdiff_t>(to),
                   second.begin() + static_cast<std::ptrdiff_t>(out - begin - from),
                   second.begin() + static_cast<std::ptrdiff_t>(run.block_end(block) - begin - to), merged_ + out);
      }));
      GARUDA_TRY(for_each_block(run.num_blocks(), &control_, [&](std::size_t block) {
        std::copy(merged_ + run.block_begin(block), merged_ + run.block_end(block), items_ + run.block_begin(block));
      }));
    }
    return {};
  }

  /// The runs that sorted items leave to be sorted, in order.
  Result<std::vector<Run>> runs_of(Run const& run) const {
    std::vector<Run> runs;
    for (std::size_t block = 0; block < run.num_blocks(); ++block) {
      GARUDA_TRY(check_cancelled(&control_));
      // A run that began in a block before belongs to that block.
      auto begin = run.block_begin(block);
      while (begin > run.begin && begin < run.block_end(block) && items_[begin].key == items_[begin - 1].key) ++begin;
      auto end = run.block_end(block);
      while (begin < end && end < run.end && items_[end].key == items_[end - 1].key) ++end;
      add_runs({begin, end, run.depth}, runs);
    }
    return runs;
  }

  /// Without recursion: values may agree in very many bytes.
  void sort_small(Run const& whole) {
    std::vector<Run> runs{whole};
    while (!runs.empty() && !is_cancelled(&control_)) {
      auto run = runs.back();
      runs.pop_back();
      run.depth += common_bytes(run.begin, run.begin + 1, run.end, run.depth, bytes(run.begin).size() - run.depth);
      set_keys(run.begin, run.end, run.depth);
      std::sort(items_ + run.begin, items_ + run.end);
      add_runs(run, runs);
    }
  }

  ValueBytes const& values_;
  std::span<std::uint64_t const> chosen_;
  Control const& control_;
  Item* items_ = nullptr;
  Item* merged_ = nullptr;
};

}  // namespace

Result<AlignedBuffer> sort_values(ValueBytes const& values, std::span<std::uint64_t const> chosen,
                                  Control const& control) {
  return ValueSorter(values, chosen, control).run();
}

}  // namespace garuda::keys
