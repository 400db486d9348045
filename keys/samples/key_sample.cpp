#include "keys/samples/key_sample.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <mutex>
#include <optional>
#include <span>
#include <utility>

#include "core/buffer.hpp"
#include "core/parallel_blocks.hpp"
#include "keys/numbering/mix.hpp"
#include "keys/samples/key_counts.hpp"

namespace garuda::keys {
namespace {

/// Rows of a run: a few cache lines of every column.
constexpr std::int64_t kRunRows = 32;
/// Rows that a task hashes, about, and those for which a further task counts hashes.
constexpr std::uint64_t kTaskRows = std::uint64_t{1} << 13;
/// Most tasks that count hashes, each the hashes with some upper bits.
constexpr std::uint32_t kMostPartsLog2 = 4;
/// Most combinations of values that are counted by their place rather than by hash: counters that stay in a core's
/// caches.
constexpr std::uint64_t kFewKeys = std::uint64_t{1} << 14;
/// Hashes that are asked for ahead of the one that is counted.
constexpr std::size_t kHashesAhead = 16;

/// The bins that have been hit.
class Bins {
 public:
  Bins() : words_(kAttributeBins / 64) {}
  void hit(std::uint64_t hash) noexcept {
    auto const bin = hash >> kShift;
    words_[bin / 64] |= std::uint64_t{1} << (bin % 64);
  }
  void add(Bins const& other) noexcept {
    for (std::size_t w = 0; w < words_.size(); ++w) words_[w] |= other.words_[w];
  }
  std::uint32_t count() const noexcept {
    std::uint32_t bins = 0;
    for (auto const word : words_) bins += static_cast<std::uint32_t>(std::popcount(word));
    return bins;
  }

 private:
  static constexpr int kShift = 64 - std::countr_zero(kAttributeBins);
  std::vector<std::uint64_t> words_;
};

/// Groups in a table of `num_rows` rows of which `sampled` were hashed.
std::uint64_t estimate_groups(Frequencies const& found, std::uint64_t sampled, std::uint64_t num_rows) noexcept {
  if (sampled >= num_rows) return found.distinct;
  return static_cast<std::uint64_t>(std::min(static_cast<double>(num_rows), found.drawn_from()));
}

/// Counts how often each hash comes. Two are taken for one when their upper halves are equal and so are the bits that
/// place them: of as many as there are in a sample, hardly any.
Result<Frequencies> frequencies_of(std::span<std::uint64_t const> hashes) {
  struct Slot {
    std::uint32_t tag = 0;
    std::uint32_t count = 0;
  };
  auto const mask = std::bit_ceil(2 * std::max<std::size_t>(hashes.size(), 1)) - 1;
  GARUDA_TRY_ASSIGN(auto buffer, AlignedBuffer::allocate(static_cast<std::int64_t>((mask + 1) * sizeof(Slot))));
  std::span const slots(buffer.as<Slot>(), mask + 1);
  std::ranges::fill(slots, Slot{});
  for (std::size_t i = 0; i < hashes.size(); ++i) {
    if (i + kHashesAhead < hashes.size()) __builtin_prefetch(&slots[hashes[i + kHashesAhead] & mask], 1);
    auto const tag = static_cast<std::uint32_t>(hashes[i] >> 32);
    auto at = hashes[i] & mask;
    while (slots[at].count != 0 && slots[at].tag != tag) at = (at + 1) & mask;
    slots[at].tag = tag;
    ++slots[at].count;
  }
  Frequencies found;
  for (auto const& slot : slots) found.see(slot.count);
  return found;
}

/// The rows of `blocks`, or runs of them, in pieces of at most kTaskRows.
std::vector<RowBlock> sampled_blocks(std::vector<RowBlock> const& blocks, std::uint64_t num_rows) {
  auto const sampled = sampled_rows(num_rows);
  bool const is_whole = num_rows == sampled;
  auto const most = is_whole ? static_cast<std::int64_t>(kTaskRows) : kRunRows;
  auto const stride = is_whole ? kTaskRows : num_rows / (sampled / static_cast<std::uint64_t>(kRunRows));
  std::vector<RowBlock> runs;
  std::uint64_t next = 0;
  for (auto const& block : blocks) {
    auto const end = block.first_row + static_cast<std::uint64_t>(block.length);
    if (is_whole) next = block.first_row;
    for (; next < end; next += stride) {
      auto const skipped = static_cast<std::int64_t>(std::max(next, block.first_row) - block.first_row);
      runs.push_back({block.batch, block.begin + skipped, std::min(most, block.length - skipped),
                      block.first_row + static_cast<std::uint64_t>(skipped)});
    }
  }
  return runs;
}

/// How many combinations of values there can be; nullopt: more than `most`, at most kFewKeys.
std::optional<std::uint64_t> few_keys(std::vector<CodeRange> const& ranges, std::uint64_t most) {
  std::uint64_t keys = 1;
  for (auto const& range : ranges) {
    if (range.exceeds_64_bits() || range.cardinality() > most) return std::nullopt;
    keys *= static_cast<std::uint64_t>(range.cardinality());
    if (keys > most) return std::nullopt;
  }
  return keys;
}

/// Hashes the sampled rows, several tasks at once, then counts the hashes, several tasks at once. Where there can be
/// few keys only they are counted without hashes.
class Sampler {
 public:
  Sampler(std::vector<AttributeReader> const& readers, std::vector<RowBlock> runs, Control const& control)
      : readers_(readers), control_(control), runs_(std::move(runs)), bins_(readers.size()), ranges_(readers.size()) {
    for (std::size_t r = 0; r < runs_.size(); ++r) {
      if (tasks_.empty() || rows_ - tasks_.back().first_hash >= kTaskRows) tasks_.push_back({r, rows_});
      rows_ += static_cast<std::uint64_t>(runs_[r].length);
    }
  }

  Result<KeySample> run(std::uint64_t num_rows) {
    GARUDA_TRY_ASSIGN(auto const few, find_ranges());
    if (few) return count_few(*few, num_rows);
    GARUDA_TRY_ASSIGN(hashes_, AlignedBuffer::allocate(static_cast<std::int64_t>(rows_ * sizeof(std::uint64_t))));
    GARUDA_TRY(for_each_block(tasks_.size(), &control_, [&](std::size_t task) { hash(task); }));
    GARUDA_TRY_ASSIGN(auto const frequencies, count());
    KeySample sample;
    sample.rows = rows_;
    for (auto const& attribute : bins_) sample.nonempty_bins.push_back(attribute.count());
    sample.ranges = std::move(ranges_);
    sample.estimated_groups = estimate_groups(frequencies, rows_, num_rows);
    return sample;
  }

 private:
  struct Task {
    std::size_t first_run = 0;
    std::uint64_t first_hash = 0;
  };

  std::span<RowBlock const> runs_of(std::size_t task) const {
    auto const end = task + 1 < tasks_.size() ? tasks_[task + 1].first_run : runs_.size();
    return std::span(runs_).subspan(tasks_[task].first_run, end - tasks_[task].first_run);
  }

  /// Finds the ranges of the attributes, and how many keys there can be in them; nullopt, without ranges: more than
  /// are worth a counter each.
  Result<std::optional<std::uint64_t>> find_ranges() {
    auto const most = std::min(kFewKeys, rows_);
    std::atomic<bool> are_few{true};
    GARUDA_TRY(for_each_block(tasks_.size(), &control_, [&](std::size_t task) {
      std::vector<CodeRange> ranges(readers_.size());
      AttributeCodes codes;
      for (auto const& run : runs_of(task)) {
        for (std::size_t a = 0; a < readers_.size(); ++a) ranges[a].add(scan_range(readers_[a], run, codes));
        if (!are_few.load(std::memory_order_relaxed)) return;
        if (!few_keys(ranges, most)) are_few.store(false, std::memory_order_relaxed);
      }
      add_ranges(ranges);
    }));
    auto const few = are_few.load() ? few_keys(ranges_, most) : std::nullopt;
    if (!few) std::ranges::fill(ranges_, CodeRange{});
    return few;
  }

  void add_ranges(std::vector<CodeRange> const& ranges) {
    std::lock_guard const lock(mutex_);
    for (std::size_t a = 0; a < ranges.size(); ++a) ranges_[a].add(ranges[a]);
  }

  /// Counts the rows of each of `keys` combinations of values.
  Result<KeySample> count_few(std::uint64_t keys, std::uint64_t num_rows) {
    std::vector<std::uint32_t> counts(keys);
    GARUDA_TRY(for_each_block(tasks_.size(), &control_, [&](std::size_t task) {
      std::vector<std::uint32_t> found(keys);
      std::vector<std::uint32_t> words;
      AttributeCodes codes;
      for (auto const& run : runs_of(task)) {
        words.resize(static_cast<std::size_t>(run.length));
        for (std::size_t a = 0; a < readers_.size(); ++a)
          pack_attribute(readers_[a], ranges_[a], run, {}, a == 0, codes, words.data());
        for (auto const word : words) ++found[word];
      }
      std::lock_guard const lock(mutex_);
      for (std::size_t key = 0; key < keys; ++key) counts[key] += found[key];
    }));
    KeySample sample;
    sample.rows = rows_;
    sample.nonempty_bins = values_of(counts);
    sample.ranges = std::move(ranges_);
    Frequencies frequencies;
    for (auto const count : counts) frequencies.see(count);
    sample.estimated_groups = estimate_groups(frequencies, rows_, num_rows);
    return sample;
  }

  /// How many values of each attribute come in the keys that were counted.
  std::vector<std::uint32_t> values_of(std::vector<std::uint32_t> const& counts) const {
    std::vector<std::vector<bool>> seen;
    for (auto const& range : ranges_) seen.emplace_back(static_cast<std::size_t>(range.cardinality()));
    for (std::size_t key = 0; key < counts.size(); ++key) {
      if (counts[key] == 0) continue;
      auto rest = key;
      for (auto a = seen.size(); a-- > 0; rest /= seen[a].size()) seen[a][rest % seen[a].size()] = true;
    }
    std::vector<std::uint32_t> values;
    for (auto const& attribute : seen)
      values.push_back(static_cast<std::uint32_t>(std::ranges::count(attribute, true)));
    return values;
  }

  void hash(std::size_t task) {
    std::vector<Bins> bins(readers_.size());
    std::vector<CodeRange> ranges(readers_.size());
    AttributeCodes codes;
    auto* hashes = hashes_.as<std::uint64_t>() + tasks_[task].first_hash;
    for (auto const& run : runs_of(task)) {
      auto const rows = static_cast<std::size_t>(run.length);
      std::fill_n(hashes, rows, 0);
      for (std::size_t a = 0; a < readers_.size(); ++a) {
        readers_[a].read(run, codes);
        ranges[a].add(range_of_read(readers_[a], run, codes));
        for (std::size_t i = 0; i < rows; ++i) {
          auto const hash = codes.hash(i);
          bins[a].hit(hash);
          hashes[i] = mix(hashes[i] + hash);
        }
      }
      hashes += rows;
    }
    add_ranges(ranges);
    std::lock_guard const lock(mutex_);
    for (std::size_t a = 0; a < readers_.size(); ++a) bins_[a].add(bins[a]);
  }

  Result<Frequencies> count() {
    auto const threads = static_cast<std::uint64_t>(oneapi::tbb::this_task_arena::max_concurrency());
    auto const wanted = std::clamp<std::uint64_t>(std::min(threads, rows_ / kTaskRows), 1, 1U << kMostPartsLog2);
    auto const bits = static_cast<std::uint32_t>(std::bit_width(wanted) - 1);
    std::span const all(hashes_.as<std::uint64_t const>(), rows_);
    if (bits == 0) return frequencies_of(all);
    Frequencies total;
    Result<void> outcome;
    GARUDA_TRY(for_each_block(std::size_t{1} << bits, &control_, [&](std::size_t part) {
      auto const found = part_frequencies(all, part, bits);
      std::lock_guard const lock(mutex_);
      if (found) total.add(*found);
      if (!found) outcome = tl::unexpected<Error>(found.error());
    }));
    GARUDA_TRY(outcome);
    return total;
  }

  /// Frequencies of the hashes whose upper `bits` are `part`.
  static Result<Frequencies> part_frequencies(std::span<std::uint64_t const> all, std::size_t part,
                                              std::uint32_t bits) {
    GARUDA_TRY_ASSIGN(auto buffer, AlignedBuffer::allocate(static_cast<std::int64_t>(all.size_bytes())));
    auto* const kept = buffer.as<std::uint64_t>();
    std::size_t count = 0;
    for (auto const hash : all) {
      kept[count] = hash;
      count += hash >> (64 - bits) == part ? 1 : 0;
    }
    return frequencies_of({kept, count});
  }

  std::vector<AttributeReader> const& readers_;
  Control const& control_;
  std::vector<RowBlock> runs_;
  std::vector<Task> tasks_;
  std::uint64_t rows_ = 0;
  AlignedBuffer hashes_;
  std::mutex mutex_;
  std::vector<Bins> bins_;
  std::vector<CodeRange> ranges_;
};

/// The sample of dictionary-encoded columns with few groups at most, without a look at their rows.
std::optional<KeySample> sample_of_numbers(std::vector<AttributeReader> const& readers,
                                           std::vector<RowBlock> const& blocks) {
  KeySample sample;
  sample.estimated_groups = 1;
  for (auto const& reader : readers) {
    auto const* const numbers = reader.plain_numbers();
    if (numbers == nullptr || numbers->num_codes > kFewKeys) return std::nullopt;
    sample.estimated_groups *= numbers->num_codes;
    if (sample.estimated_groups > kFewKeys) return std::nullopt;
    sample.nonempty_bins.push_back(numbers->num_codes);
    sample.ranges.push_back(range_of_read(reader, blocks.front(), {}));
  }
  return sample;
}

}  // namespace

Result<KeySample> sample_keys(std::vector<AttributeReader> const& readers, std::vector<RowBlock> const& blocks,
                              std::uint64_t num_rows, Control const& control) {
  if (num_rows > sampled_rows(num_rows))
    if (auto sample = sample_of_numbers(readers, blocks)) return *std::move(sample);
  return Sampler(readers, sampled_blocks(blocks, num_rows), control).run(num_rows);
}

}  // namespace garuda::keys
