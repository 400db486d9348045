#include "tests/graphics/graphics_problem.hpp"

#include <algorithm>
#include <bit>
#include <optional>
#include <unordered_map>

namespace garuda::testing {

using contract::JoinBackend;
using contract::JoinKernel;
using contract::JoinSlice;
using contract::KeySpan;
using contract::MarkBitmap;
using contract::RowPair;

namespace {

std::uint32_t shared_low_bits(KeySpan const& left, KeySpan const& right) {
  std::uint64_t differing = 0;
  std::optional<std::uint64_t> first;
  for (auto const* side : {&left, &right}) {
    std::visit(
        [&](auto words) {
          for (std::uint64_t const word : words) {
            if (!first) first = word;
            differing |= word ^ *first;
          }
        },
        side->words);
  }
  return differing == 0 ? 16 : std::min(static_cast<std::uint32_t>(std::countr_zero(differing)), 16U);
}

}  // namespace

std::vector<Way> all_ways() {
  std::vector<Way> ways(kWays.begin(), kWays.end());
  ways.insert(ways.end(), kComputedWays.begin(), kComputedWays.end());
  return ways;
}

SizedTuning tuning_of(Way const& way) {
  SizedTuning tuning;
  tuning.address = way.address;
  tuning.storage = way.storage;
  tuning.probe = way.probe;
  tuning.matching = way.matching;
  return tuning;
}

std::string describe(SizedTuning const& tuning) {
  return "hash=" + std::to_string(tuning.sizes.hash_extent) + " result=" + std::to_string(tuning.sizes.result_extent) +
         " layers=" + std::to_string(tuning.sizes.stack_layers) +
         " build=" + std::to_string(static_cast<int>(tuning.build)) + " blends=" + std::to_string(tuning.sizes.blends);
}

Problem::Problem(JoinCase const& join_case) : Problem(join_case.key_bits, make_keys(join_case)) {}

Problem::Problem(std::uint32_t key_bits, JoinKeys keys)
    : key_bits_(key_bits),
      keys_(std::move(keys)),
      left_(keys_.left, key_bits),
      right_(keys_.right, key_bits),
      expected_(reference::reference_join(keys_.left, keys_.right)) {}

JoinSlice Problem::slice() const {
  JoinSlice slice{left_.span(), right_.span(), 0};
  slice.shared_low_bits = shared_low_bits(slice.left, slice.right);
  return slice;
}

std::uint64_t Problem::multiplicity(Side side) const {
  std::unordered_map<std::uint64_t, std::uint64_t> rows;
  std::uint64_t most = 0;
  for (auto const word : (side == Side::left ? keys_.left : keys_.right).words) most = std::max(most, ++rows[word]);
  return most;
}

void Problem::expect_pairs(std::span<RowPair const> pairs) const {
  auto rows = table_rows(pairs, left_, right_);
  std::sort(rows.begin(), rows.end());
  ASSERT_TRUE(rows == expected_);
}

void Problem::expect_marks(MarkBitmap const& marks, Side side) const {
  bool const is_left = side == Side::left;
  auto const rows = (is_left ? keys_.left : keys_.right).words.size();
  ASSERT_EQ(table_marks(marks, is_left ? left_ : right_, rows),
            reference::reference_mark(keys_.left, keys_.right, side));
}

void Problem::expect_solved_by(JoinKernel& kernel, std::uint64_t piece) const {
  auto const counted = kernel.count();
  ASSERT_TRUE(counted) << counted.error().describe();
  ASSERT_EQ(*counted, count());
  std::vector<RowPair> pairs(*counted);
  for (std::uint64_t first = 0; first < *counted; first += piece) {
    auto const got = kernel.pairs(first, std::span(pairs).subspan(first, std::min(piece, *counted - first)));
    ASSERT_TRUE(got) << got.error().describe();
  }
  expect_pairs(pairs);
  for (auto const side : {Side::left, Side::right}) {
    auto const marks = kernel.mark(side);
    ASSERT_TRUE(marks) << marks.error().describe();
    expect_marks(*marks, side);
  }
}

void Sums::add_phase(std::string_view name, std::uint64_t, std::uint64_t bytes, std::uint64_t items) {
  std::lock_guard const lock(mutex_);
  bytes_[std::string(name)] += bytes;
  items_[std::string(name)] += items;
}

void Sums::add_counter(std::string_view name, std::uint64_t value) {
  std::lock_guard const lock(mutex_);
  counters_[std::string(name)] += value;
}

void Sums::max_counter(std::string_view name, std::uint64_t value) {
  std::lock_guard const lock(mutex_);
  auto& counter = counters_[std::string(name)];
  counter = std::max(counter, value);
}

void Sums::note(std::string text) {
  std::lock_guard const lock(mutex_);
  notes_.insert(std::move(text));
}

std::uint64_t Sums::counter(std::string const& name) const {
  std::lock_guard const lock(mutex_);
  auto const found = counters_.find(name);
  return found == counters_.end() ? 0 : found->second;
}

std::set<std::string> Sums::notes() const {
  std::lock_guard const lock(mutex_);
  return notes_;
}

std::map<std::string, std::uint64_t> Sums::phase_items() const {
  std::lock_guard const lock(mutex_);
  return items_;
}

std::map<std::string, std::uint64_t> Sums::phase_bytes() const {
  std::lock_guard const lock(mutex_);
  return bytes_;
}

void GraphicsKernelTest::TearDown() {
  RecordProperty("points", std::to_string(sums_.counter("points")));
  GraphicsDeviceTest::TearDown();
}

std::unique_ptr<JoinBackend> GraphicsKernelTest::open(SizedTuning const& tuning, std::uint32_t key_bits,
                                                      std::uint32_t lanes) {
  contract::BackendOptions options;
  options.tuning = tuning;
  options.key_bits = key_bits;
  options.lanes = lanes;
  options.stats = &sums_;
  auto backend = graphics::open_graphics_join(device(), store(), options, tuning.sizes);
  EXPECT_TRUE(backend) << backend.error().describe();
  return backend ? std::move(*backend) : nullptr;
}

void GraphicsKernelTest::expect_solved(Problem const& problem, SizedTuning const& tuning) {
  auto const backend = open(tuning, problem.key_bits());
  ASSERT_NE(backend, nullptr);
  auto kernel = backend->begin(problem.slice(), 0);
  ASSERT_TRUE(kernel) << kernel.error().describe();
  problem.expect_solved_by(**kernel, 100'003);
}

}  // namespace garuda::testing
