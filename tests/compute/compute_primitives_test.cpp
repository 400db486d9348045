// The compute primitives against plain loops: sizes around tiles and subgroups, every way to run them.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <string>

#include "operators/compute/primitives/device_primitives.hpp"
#include "operators/compute/primitives/radix_side.hpp"
#include "shaders/shared/hash.h"
#include "tests/compute/compute_device.hpp"
#include "tests/workloads/workloads.hpp"

namespace garuda::compute {
namespace {

using testing::ComputeLane;
using testing::succeed;
using testing::value_of;

constexpr char const* kPhase = "test";

std::vector<std::uint32_t> random_words(std::size_t count, std::uint64_t seed, std::uint32_t below = 0) {
  std::mt19937_64 random(seed);
  std::vector<std::uint32_t> words(count);
  for (auto& word : words) word = static_cast<std::uint32_t>(below == 0 ? random() : random() % below);
  return words;
}

std::vector<ComputeTuning> scan_tunings(std::vector<std::uint32_t> const& subgroups, vk::DeviceTraits const& traits) {
  std::vector<ComputeTuning> tunings;
  for (auto const subgroup : subgroups) {
    auto tuning = value_of(compute_tuning(traits, subgroup));
    tunings.push_back(tuning);
    // Small tiles: many predecessors, more tiles than a subgroup looks back at once.
    tuning.group_size = std::max(64U, subgroup);
    tunings.push_back(tuning);
    // Every missing state is summed again at once.
    tuning.scan_spins = 0;
    tunings.push_back(tuning);
  }
  return tunings;
}

class ComputeScan : public testing::ComputeDeviceTest {
 protected:
  static void expect_sums(ComputeTuning const& tuning, std::vector<std::uint32_t> const& values) {
    SCOPED_TRACE(std::to_string(values.size()) + " elements, subgroup " + std::to_string(tuning.subgroup_size));
    ComputeLane lane(device(), store(), tuning);
    auto const source = lane.upload(values);
    auto const target = lane.buffer(values.size() * 4);
    auto scan = value_of(DeviceScan::create(lane.context(), values.size()));
    auto const copy = lane.buffer((values.size() + 1) * 4);
    succeed(scan.record(lane.context(), kPhase, {source.address(), target.address(), values.size(), copy.address()}));
    std::vector<std::uint64_t> expected(values.size());
    std::exclusive_scan(values.begin(), values.end(), expected.begin(), std::uint64_t{0});
    EXPECT_EQ(value_of(scan.read_total(lane.context(), kPhase)), expected.back() + values.back());
    auto const sums = lane.download<std::uint32_t>(target, values.size());
    for (std::size_t i = 0; i < sums.size(); ++i) {
      ASSERT_EQ(sums[i], static_cast<std::uint32_t>(expected[i])) << "element " << i;
    }
    auto copied = sums;
    copied.push_back(static_cast<std::uint32_t>(expected.back() + values.back()));
    EXPECT_EQ(lane.download<std::uint32_t>(copy, values.size() + 1), copied);
  }
};

TEST_F(ComputeScan, EverySizeAndMethod) {
  for (auto const& tuning : scan_tunings(subgroup_sizes(), device().traits())) {
    auto const tile = tuning.group_size * kScanItems;
    for (std::size_t const size : {1U, 3U, 4U, 5U, 255U, 257U, tile - 1, tile, tile + 1, 9 * tile + 3, 300 * 256U}) {
      expect_sums(tuning, random_words(size, size));
      if (HasFailure()) return;
    }
  }
}

TEST_F(ComputeScan, LargestValuesCarry) {
  for (auto const& tuning : scan_tunings(subgroup_sizes(), device().traits())) {
    expect_sums(tuning, std::vector<std::uint32_t>(70'001, ~std::uint32_t{0}));
    expect_sums(tuning, std::vector<std::uint32_t>(20'000, 0));
    if (HasFailure()) return;
  }
}

struct RadixCase {
  std::size_t rows;
  RadixDigit digit;
  std::uint32_t key_words;
  std::uint32_t segments;
  std::uint32_t distinct;  // 0: random keys
};

class ComputeRadix : public testing::ComputeDeviceTest {
 protected:
  struct Expected {
    std::vector<std::uint32_t> order;
    std::vector<std::uint32_t> starts;
  };

  static std::uint32_t digit_of(RadixCase const& radix, std::uint64_t key) {
    auto const mask = (std::uint32_t{1} << radix.digit.bits) - 1;
    auto const low = static_cast<std::uint32_t>(key);
    auto const high = static_cast<std::uint32_t>(key >> 32);
    if (!radix.digit.hashed) return static_cast<std::uint32_t>(key >> radix.digit.shift) & mask;
    auto const hash = radix.key_words == 1 ? shaders::hash_key32(low) : shaders::hash_key64(low, high);
    return hash >> radix.digit.shift & mask;
  }

  /// Rows in stable order, and where bins start.
  static Expected expected(RadixCase const& radix, std::vector<std::uint64_t> const& keys,
                           std::vector<std::uint32_t> const& segments) {
    Expected result;
    result.order.resize(keys.size());
    std::iota(result.order.begin(), result.order.end(), 0U);
    auto const bins = std::uint32_t{1} << radix.digit.bits;
    for (std::size_t s = 0; s + 1 < segments.size(); ++s) {
      auto const first = result.order.begin() + segments[s];
      auto const last = result.order.begin() + segments[s + 1];
      std::stable_sort(first, last,
                       [&](auto a, auto b) { return digit_of(radix, keys[a]) < digit_of(radix, keys[b]); });
      auto position = first;
      for (std::uint32_t bin = 0; bin < bins; ++bin) {
        position = std::find_if(position, last, [&](auto row) { return digit_of(radix, keys[row]) >= bin; });
        result.starts.push_back(static_cast<std::uint32_t>(position - result.order.begin()));
      }
    }
    result.starts.push_back(static_cast<std::uint32_t>(keys.size()));
    return result;
  }

  static std::vector<std::uint32_t> cut(RadixCase const& radix, std::uint64_t seed) {
    auto cuts = random_words(radix.segments - 1, seed, static_cast<std::uint32_t>(radix.rows + 1));
    cuts.push_back(0);
    cuts.push_back(static_cast<std::uint32_t>(radix.rows));
    std::ranges::sort(cuts);
    return cuts;
  }

  static void expect_partition(ComputeTuning const& tuning, RadixCase const& radix) {
    SCOPED_TRACE(::testing::Message() << radix.rows << " rows, " << radix.digit.bits << " bits from "
                                      << radix.digit.shift << ", words " << radix.key_words << ", segments "
                                      << radix.segments << ", distinct " << radix.distinct << ", subgroup "
                                      << tuning.subgroup_size << (radix.digit.hashed ? ", hashed" : "")
                                      << (radix.digit.stable ? ", stable" : ""));
    auto const low = random_words(radix.rows, 1 + radix.rows, radix.distinct);
    auto const high = random_words(radix.rows, 2 + radix.rows, radix.distinct);
    std::vector<std::uint64_t> keys(radix.rows);
    std::vector<std::uint32_t> words;
    for (std::size_t i = 0; i < radix.rows; ++i) {
      keys[i] = low[i] | (radix.key_words == 2 ? std::uint64_t{high[i]} << 32 : 0);
      words.push_back(low[i]);
      if (radix.key_words == 2) words.push_back(high[i]);
    }
    auto const wide = random_words(2 * radix.rows, 7);
    auto const segments = cut(radix, 3);

    ComputeLane lane(device(), store(), tuning);
    auto const keys_in = lane.upload(words);
    auto const wide_in = lane.upload(wide);
    auto const starts_in = lane.upload(segments);
    auto const keys_out = lane.buffer(words.size() * 4);
    auto const rows_out = lane.buffer(radix.rows * 4);
    auto const wide_out = lane.buffer(wide.size() * 4);
    auto pass = value_of(RadixPass::create(lane.context(), radix.rows, radix.segments, radix.digit, 2));
    RadixRows const rows{radix.rows,
                         {keys_in.address(), keys_out.address(), radix.key_words},
                         {{0, rows_out.address(), 1}, {wide_in.address(), wide_out.address(), 2}},
                         true};
    Segments const all;
    succeed(pass.record(lane.context(), {}, rows, radix.segments > 1 ? Segments{&starts_in, radix.segments} : all));

    auto const expected_rows = expected(radix, keys, segments);
    EXPECT_EQ(lane.download<std::uint32_t>(pass.starts(), pass.num_starts() + 1), expected_rows.starts);
    auto const order = lane.download<std::uint32_t>(rows_out, radix.rows);
    auto const moved_keys = lane.download<std::uint32_t>(keys_out, words.size());
    auto const moved_wide = lane.download<std::uint32_t>(wide_out, wide.size());
    if (radix.digit.stable) {
      EXPECT_EQ(order, expected_rows.order);
    } else {
      // Each bin has its rows, in any order.
      auto sorted = order;
      auto expected_sorted = expected_rows.order;
      for (std::size_t bin = 0; bin + 1 < expected_rows.starts.size(); ++bin) {
        auto const first = expected_rows.starts[bin];
        auto const last = expected_rows.starts[bin + 1];
        std::sort(sorted.begin() + first, sorted.begin() + last);
        std::sort(expected_sorted.begin() + first, expected_sorted.begin() + last);
      }
      ASSERT_EQ(sorted, expected_sorted);
    }
    if (HasFailure()) return;
    for (std::size_t i = 0; i < radix.rows; ++i) {
      for (std::size_t word = 0; word < radix.key_words; ++word) {
        ASSERT_EQ(moved_keys[radix.key_words * i + word], words[radix.key_words * order[i] + word]) << "row " << i;
      }
      ASSERT_EQ(moved_wide[2 * i], wide[2 * order[i]]) << "row " << i;
      ASSERT_EQ(moved_wide[2 * i + 1], wide[2 * order[i] + 1]) << "row " << i;
    }
  }
};

TEST_F(ComputeRadix, EveryDigitSizeAndKind) {
  std::uint32_t turn = 0;
  for (auto const subgroup : subgroup_sizes()) {
    auto tuning = value_of(compute_tuning(device().traits(), subgroup));
    auto const shape = scatter_tile(tuning, kStableBits, true);
    auto const tile = shape.group_size * shape.items;
    for (std::size_t const rows : {std::size_t{1}, std::size_t{7}, std::size_t{257}, std::size_t{tile - 1},
                                   std::size_t{tile + 1}, std::size_t{5 * tile + 9}}) {
      for (std::uint32_t const bits : {3U, 8U}) {
        ++turn;
        if (!testing::takes_large_case() && turn % 3 != 0) continue;  // each compiles passes of its own
        RadixDigit const digit{bits, turn % 5 * 6, turn % 4 == 3, turn % 2 == 0};
        RadixCase const radix{rows, digit, 1 + turn / 2 % 2, turn % 3 == 0 ? 1U : 1U + turn % 40,
                              turn % 7 == 0 ? 3U : 0U};
        expect_partition(tuning, radix);
        // The other kind of order on the same case.
        auto other = radix;
        other.digit.stable = !digit.stable;
        other.digit.hashed = !digit.hashed;
        if (!other.digit.hashed && other.key_words == 2) other.digit.shift = 30;
        expect_partition(tuning, other);
        if (HasFailure()) return;
      }
    }
  }
}

TEST_F(ComputeRadix, EveryWayToRankAndPlace) {
  for (std::uint32_t way = 0; way < 16; ++way) {
    auto tuning = ComputeRadix::tuning();
    auto& tile = tuning.tile.emplace(scatter_tile(tuning, 6, way % 5 != 0));
    tile.items = 4 + way % 2;  // an odd number leaves half a word over
    tile.packed = way % 2 == 0 || way % 4 == 3;
    tile.full_apart = way / 2 % 2 == 0;
    tile.mask_bits = tuning.subgroup_size <= 32 && way / 8 == 1 ? 1 + way % 8 : 0;
    tile.rounds = 1 + way % 3;
    SCOPED_TRACE(way);
    expect_partition(tuning, {9'001, {6, 3, way % 2 == 0, way % 5 != 0}, 1 + way % 2, way % 3 == 0 ? 20U : 1U, 0});
    if (HasFailure()) return;
  }
}

TEST_F(ComputeRadix, EqualKeysAndManyTilesAChunk) {
  auto tuning = ComputeRadix::tuning();
  for (bool const stable : {false, true}) {
    tuning.tile = scatter_tile(ComputeRadix::tuning(), 8, stable);
    tuning.tile->items = 4;
    expect_partition(tuning, {50'000, {8, 0, false, stable}, 1, 1, 1});
    expect_partition(tuning, {50'000, {8, 24, true, stable}, 2, 256, 1});
    expect_partition(tuning, {60'001, {8, 24, true, stable}, 1, 256, 0});
  }
}

class ComputePrimitives : public testing::ComputeDeviceTest {};

TEST_F(ComputePrimitives, Reduce) {
  for (auto const subgroup : subgroup_sizes()) {
    ComputeLane lane(device(), store(), value_of(compute_tuning(device().traits(), subgroup)));
    for (std::size_t const size : {1U, 255U, 257U, 70'000U}) {
      SCOPED_TRACE(size);
      auto const words = random_words(2 * size, size);
      std::vector<std::uint64_t> values(size);
      for (std::size_t i = 0; i < size; ++i) values[i] = words[2 * i] | std::uint64_t{words[2 * i + 1] % 5} << 32;
      auto const narrow = lane.upload(words);
      auto const wide = lane.upload(values);
      auto const result = lane.buffer(8);
      auto const reduce = [&](Reduction reduction, vk::Buffer const& source, std::size_t elements,
                              std::uint32_t count) {
        succeed(record_reduce(lane.context(), kPhase, reduction, source.address(), elements, count, result));
        return lane.download<std::uint64_t>(result, 1)[0];
      };
      EXPECT_EQ(reduce(Reduction::add, narrow, words.size(), 1),
                std::accumulate(words.begin(), words.end(), std::uint64_t{0}));
      EXPECT_EQ(reduce(Reduction::min, narrow, words.size(), 1), std::ranges::min(words));
      EXPECT_EQ(reduce(Reduction::max, narrow, words.size(), 1), std::ranges::max(words));
      EXPECT_EQ(reduce(Reduction::min, wide, size, 2), std::ranges::min(values));
      EXPECT_EQ(reduce(Reduction::max, wide, size, 2), std::ranges::max(values));
    }
  }
}

TEST_F(ComputePrimitives, SegmentSums) {
  for (auto const subgroup : subgroup_sizes()) {
    ComputeLane lane(device(), store(), value_of(compute_tuning(device().traits(), subgroup)));
    for (std::uint32_t const segments : {1U, 3U, 1'000U, 20'000U}) {
      SCOPED_TRACE(segments);
      std::uint32_t const size = 30'000;
      auto const values = random_words(size, segments);
      auto starts = random_words(segments - 1, 5, segments == 3 ? 40 : size + 1);
      starts.push_back(0);
      starts.push_back(size);
      std::ranges::sort(starts);
      std::vector<std::uint64_t> expected(segments);
      for (std::uint32_t s = 0; s < segments; ++s) {
        expected[s] = std::accumulate(values.begin() + starts[s], values.begin() + starts[s + 1], std::uint64_t{0});
      }
      auto const source = lane.upload(values);
      auto const bounds = lane.upload(starts);
      auto const results = lane.buffer(std::uint64_t{segments} * 8);
      succeed(record_segment_sums(lane.context(), kPhase, source.address(), bounds.address(), size, segments, results));
      EXPECT_EQ(lane.download<std::uint64_t>(results, segments), expected);
    }
  }
}

TEST_F(ComputePrimitives, GatherCompactAndCopy) {
  ComputeLane lane(device(), store(), tuning());
  for (std::uint32_t const size : {1U, 2'047U, 2'049U, 40'000U}) {
    SCOPED_TRACE(size);
    auto const source = random_words(2 * size, 1);
    auto const rows = random_words(size, 2, size);
    auto const flags = random_words(size, 3, 2);
    auto const source_in = lane.upload(source);
    auto const rows_in = lane.upload(rows);
    auto const flags_in = lane.upload(flags);
    auto const target = lane.buffer(std::uint64_t{size} * 8);
    std::vector<std::uint32_t> expected;
    for (auto const row : rows) expected.push_back(source[row]);
    succeed(record_gather(lane.context(), kPhase, source_in.address(), rows_in.address(), target.address(), size, 1));
    EXPECT_EQ(lane.download<std::uint32_t>(target, size), expected);
    expected.clear();
    for (auto const row : rows) expected.insert(expected.end(), {source[2 * row], source[2 * row + 1]});
    succeed(record_gather(lane.context(), kPhase, source_in.address(), rows_in.address(), target.address(), size, 2));
    EXPECT_EQ(lane.download<std::uint32_t>(target, 2 * size), expected);

    auto scan = value_of(DeviceScan::create(lane.context(), size));
    succeed(record_compact(lane.context(), kPhase, scan, flags_in.address(), target.address(), size));
    expected.clear();
    for (std::uint32_t i = 0; i < size; ++i) {
      if (flags[i] != 0) expected.push_back(i);
    }
    ASSERT_EQ(value_of(scan.read_total(lane.context(), kPhase)), expected.size());
    EXPECT_EQ(lane.download<std::uint32_t>(target, expected.size()), expected);

    auto const bytes = std::uint64_t{size} * 8 / 16 * 16;
    if (bytes == 0) continue;
    succeed(record_copy(lane.context(), kPhase, source_in.address(), target.address(), bytes));
    auto const copied = lane.download<std::uint32_t>(target, bytes / 4);
    EXPECT_TRUE(std::equal(copied.begin(), copied.end(), source.begin()));
  }
}

}  // namespace
}  // namespace garuda::compute
