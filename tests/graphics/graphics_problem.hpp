// Shared by the tests of the graphics kernel: problems with their answers, strategies, and the checks.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "operators/contract/join_kernel.hpp"
#include "operators/graphics/join/graphics_join.hpp"
#include "tests/graphics/graphics_device.hpp"
#include "tests/reference/reference_join.hpp"
#include "tests/workloads/workloads.hpp"

namespace garuda::testing {

/// Address × storage × probe × what finds matches.
struct Way {
  std::string_view name;
  Address address;
  Storage storage;
  Probe probe;
  Matching matching = Matching::automatic;
};

inline constexpr std::array<Way, 6> kWays{{
    {"HashStackInstanced", Address::hash, Storage::stack, Probe::instanced},
    {"HashStackOutput", Address::hash, Storage::stack, Probe::output},
    {"HashRunsOutput", Address::hash, Storage::runs, Probe::output},
    {"DirectStackInstanced", Address::direct, Storage::stack, Probe::instanced},
    {"DirectStackOutput", Address::direct, Storage::stack, Probe::output},
    {"DirectRunsOutput", Address::direct, Storage::runs, Probe::output},
}};

/// Images are drawn, matches are found by compute passes.
inline constexpr std::array<Way, 6> kComputedWays{{
    {"HashStackInstancedComputed", Address::hash, Storage::stack, Probe::instanced, Matching::compute},
    {"HashStackOutputComputed", Address::hash, Storage::stack, Probe::output, Matching::compute},
    {"HashRunsOutputComputed", Address::hash, Storage::runs, Probe::output, Matching::compute},
    {"DirectStackInstancedComputed", Address::direct, Storage::stack, Probe::instanced, Matching::compute},
    {"DirectStackOutputComputed", Address::direct, Storage::stack, Probe::output, Matching::compute},
    {"DirectRunsOutputComputed", Address::direct, Storage::runs, Probe::output, Matching::compute},
}};

/// kWays and kComputedWays.
std::vector<Way> all_ways();

/// A tuning, and sizes of images for it.
struct SizedTuning : JoinTuning {
  graphics::ImageSizes sizes;

  friend bool operator==(SizedTuning const&, SizedTuning const&) = default;
};

/// A tuning that forces a way and nothing else.
SizedTuning tuning_of(Way const& way);

/// The knobs that vary between runs of one strategy, for messages.
std::string describe(SizedTuning const& tuning);

/// The keys of a case, and what the oracle says of them.
class Problem {
 public:
  explicit Problem(JoinCase const& join_case);
  Problem(std::uint32_t key_bits, JoinKeys keys);

  /// Spans into this object. As many low bits are declared shared as a raw digit of a partition could have (16).
  contract::JoinSlice slice() const;
  std::uint64_t count() const { return expected_.size(); }
  std::uint32_t key_bits() const { return key_bits_; }
  /// Most rows of a side that have the same key.
  std::uint64_t multiplicity(Side side) const;

  void expect_pairs(std::span<contract::RowPair const> pairs) const;
  void expect_marks(contract::MarkBitmap const& marks, Side side) const;
  /// Count, all pairs read `piece` at a time, and the marks of both sides.
  void expect_solved_by(contract::JoinKernel& kernel, std::uint64_t piece) const;

 private:
  std::uint32_t key_bits_;
  JoinKeys keys_;
  SliceSide left_;
  SliceSide right_;
  std::vector<reference::RowPair64> expected_;
};

/// Adds up what kernels report. Thread-safe.
class Sums final : public contract::StatsSink {
 public:
  void add_phase(std::string_view name, std::uint64_t ns, std::uint64_t bytes, std::uint64_t items) override;
  void add_counter(std::string_view name, std::uint64_t value) override;
  void max_counter(std::string_view name, std::uint64_t value) override;
  void note(std::string text) override;

  std::uint64_t counter(std::string const& name) const;
  std::set<std::string> notes() const;
  std::map<std::string, std::uint64_t> phase_items() const;
  std::map<std::string, std::uint64_t> phase_bytes() const;

 private:
  mutable std::mutex mutex_;
  std::map<std::string, std::uint64_t> items_;
  std::map<std::string, std::uint64_t> bytes_;
  std::map<std::string, std::uint64_t> counters_;
  std::set<std::string> notes_;
};

/// Opens kernels on the device; the points a test drew go into its properties.
class GraphicsKernelTest : public GraphicsDeviceTest {
 protected:
  void TearDown() override;

  Sums const& sums() const { return sums_; }

  std::unique_ptr<contract::JoinBackend> open(SizedTuning const& tuning, std::uint32_t key_bits,
                                              std::uint32_t lanes = 1);
  /// Opens, begins, and expects the right answer.
  void expect_solved(Problem const& problem, SizedTuning const& tuning);

 private:
  Sums sums_;
};

}  // namespace garuda::testing
