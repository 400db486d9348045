#include "partition/key_sample.hpp"

#include <algorithm>
#include <bit>

#include "partition/mix.hpp"
#include "partition/parallel_blocks.hpp"

namespace garuda::partition {
namespace {

/// Rows of a run: a few cache lines of every column.
constexpr std::int64_t kRunRows = 32;
/// Hash of a null attribute; the choice is free, a clash with a value only blurs the histograms.
constexpr std::uint64_t kNullHash = 0x6A09'E667'F3BC'C908;

/// Which bins have been hit.
class Bins {
 public:
  Bins() : hit_(kAttributeBins) {}
  void hit(std::uint64_t hash) { hit_[hash >> kShift] = true; }
  std::uint32_t count() const { return static_cast<std::uint32_t>(std::count(hit_.begin(), hit_.end(), true)); }

 private:
  static constexpr int kShift = 64 - std::countr_zero(kAttributeBins);
  std::vector<bool> hit_;
};

/// Counts how often each hash came: once, twice, more often.
class HashCounts {
 public:
  explicit HashCounts(std::uint64_t most) : slots_(std::bit_ceil(2 * most + 1)) {}

  void add(std::uint64_t hash) {
    auto const mask = slots_.size() - 1;
    auto at = hash & mask;
    while (slots_[at].count != 0 && slots_[at].hash != hash) at = (at + 1) & mask;
    slots_[at].hash = hash;
    ++slots_[at].count;
  }

  /// Groups in a table of `num_rows` rows of which `sampled` were added.
  std::uint64_t estimate(std::uint64_t sampled, std::uint64_t num_rows) const {
    std::uint64_t distinct = 0;
    std::uint64_t once = 0;
    std::uint64_t twice = 0;
    for (auto const& slot : slots_) {
      distinct += slot.count > 0 ? 1 : 0;
      once += slot.count == 1 ? 1 : 0;
      twice += slot.count == 2 ? 1 : 0;
    }
    if (sampled >= num_rows || once == 0) return distinct;
    return std::min(num_rows, distinct + once * (once - 1) / (2 * (twice + 1)));
  }

 private:
  struct Slot {
    std::uint64_t hash = 0;
    std::uint32_t count = 0;
  };
  std::vector<Slot> slots_;
};

/// The blocks themselves, or runs of their rows.
std::vector<RowBlock> sampled_blocks(std::vector<RowBlock> const& blocks, std::uint64_t num_rows) {
  if (num_rows <= kSampledRows) return blocks;
  std::vector<RowBlock> runs;
  auto const stride = num_rows / (kSampledRows / static_cast<std::uint64_t>(kRunRows));
  std::uint64_t next = 0;
  for (auto const& block : blocks) {
    auto const end = block.first_row + static_cast<std::uint64_t>(block.length);
    for (; next < end; next += stride) {
      auto const skipped = static_cast<std::int64_t>(std::max(next, block.first_row) - block.first_row);
      runs.push_back({block.batch, block.begin + skipped, std::min(kRunRows, block.length - skipped),
                      block.first_row + static_cast<std::uint64_t>(skipped)});
    }
  }
  return runs;
}

}  // namespace

Result<KeySample> sample_keys(std::vector<AttributeReader> const& readers, std::vector<RowBlock> const& blocks,
                              std::uint64_t num_rows, Control const& control) {
  std::vector<Bins> bins(readers.size());
  HashCounts keys(std::min(num_rows, kSampledRows));
  KeySample sample;
  sample.ranges.resize(readers.size());
  AttributeCodes codes;
  std::vector<std::uint64_t> hashes;
  for (auto const& block : sampled_blocks(blocks, num_rows)) {
    GARUDA_TRY(check_cancelled(&control));
    hashes.assign(static_cast<std::size_t>(block.length), 0);
    for (std::size_t a = 0; a < readers.size(); ++a) {
      sample.ranges[a].add(scan_range(readers[a], block, codes));
      readers[a].read(block, codes);
      for (std::size_t i = 0; i < hashes.size(); ++i) {
        auto hash = codes.valid[i] == 0 ? kNullHash : mix(codes.low[i]);
        if (readers[a].is_wide()) hash = mix(hash ^ codes.high[i]);
        bins[a].hit(hash);
        hashes[i] = mix(hashes[i] + hash);
      }
    }
    for (auto const hash : hashes) keys.add(hash);
    sample.rows += hashes.size();
  }
  for (auto const& attribute : bins) sample.nonempty_bins.push_back(attribute.count());
  sample.estimated_groups = keys.estimate(sample.rows, num_rows);
  return sample;
}

}  // namespace garuda::partition
