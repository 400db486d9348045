// The device's prefix sum on synthetic counts, past 2^32.
#include "operators/graphics/join/kernel_context.hpp"

#include <gtest/gtest.h>

#include <array>
#include <numeric>
#include <random>

#include "tests/graphics/graphics_problem.hpp"

namespace garuda::graphics {
namespace {

class PrefixSumTest : public testing::GraphicsKernelTest {
 protected:
  /// Bases and offsets of `counts` as the device finds them, against sums of the host.
  static void expect_sums(std::vector<std::uint32_t> const& counts) {
    auto lane = vk::Lane::create(device(), {});
    ASSERT_TRUE(lane) << lane.error().describe();
    vulkan::Submissions submissions(**lane, nullptr, nullptr);
    auto const limits = graphics_limits(device().traits(), {}).value();
    KernelContext context(**lane, store(), 1, submissions, limits, std::uint64_t{1} << 30);
    auto const size = static_cast<std::uint32_t>(counts.size());

    auto const bytes = std::as_bytes(std::span(counts));
    auto input = context.buffer(bytes.size(), "counts").value();
    auto const uploaded = (*lane)->transfer().upload(input, 0, bytes);
    ASSERT_TRUE(uploaded) << uploaded.error().describe();
    submissions.start_after(*uploaded);
    auto sum = PrefixSum::create(context, size, "sums").value();
    std::array const resources{vk::BoundResource::of(shaders::kBindCounts, input)};
    auto const scan = context.scan_pipelines(JoinPass::scan_clash_counts).value();
    auto const recorded = sum.record(context, vulkan::phase::kPrefix, scan, resources, 0);
    ASSERT_TRUE(recorded) << recorded.error().describe();

    std::vector<std::uint64_t> prefix(counts.size() + 1);
    std::inclusive_scan(counts.begin(), counts.end(), prefix.begin() + 1, std::plus<>(), std::uint64_t{0});
    ASSERT_EQ(sum.total(context, vulkan::phase::kPrefix).value(), prefix.back());
    auto const bases = sum.bases(context).value();
    ASSERT_EQ(bases.size(), std::size_t{sum.num_tiles()} + 1);
    std::vector<std::uint32_t> offsets(counts.size());
    ASSERT_TRUE(context.download(sum.offsets(), std::as_writable_bytes(std::span(offsets))));
    for (std::size_t i = 0; i < counts.size(); ++i) {
      ASSERT_EQ(bases[i / shaders::kTileRows] + offsets[i], prefix[i]) << "element " << i << " of " << counts.size();
    }
    ASSERT_EQ(bases.back(), prefix.back());
  }
};

constexpr std::uint32_t kMostCount = std::uint32_t{1} << 24;

TEST_F(PrefixSumTest, CarriesPast32Bits) {
  // A full tile of the greatest counts is exactly 2^32, 65 537 of them are 2^40 and more.
  for (std::size_t const size : {1U, 255U, 256U, 257U, 512U, 65'535U, 65'537U}) {
    expect_sums(std::vector<std::uint32_t>(size, kMostCount));
    if (HasFatalFailure()) return;
  }
}

TEST_F(PrefixSumTest, AddsRandomCounts) {
  std::uint64_t const seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  for (std::size_t const size : {7U, 300U, 66'000U, 200'003U}) {
    std::vector<std::uint32_t> counts(size);
    // Mostly 0, some small, some as large as counts get: tiles wrap at different elements.
    for (auto& count : counts) {
      auto const kind = random() % 4;
      count = kind < 2 ? 0 : static_cast<std::uint32_t>(kind == 2 ? random() % 5 : random() % (kMostCount + 1));
    }
    expect_sums(counts);
    if (HasFatalFailure()) return;
  }
}

}  // namespace
}  // namespace garuda::graphics
