// The graphics path's choices, without a device.
#include "operators/graphics/join/graphics_choice.hpp"

#include <gtest/gtest.h>

namespace garuda::graphics {
namespace {

vk::DeviceTraits capable_device() {
  vk::DeviceTraits traits;
  traits.name = "test device";
  traits.limits.max_image_2d = 16'384;
  traits.limits.max_image_array_layers = 2'048;
  traits.limits.max_framebuffer_width = 16'384;
  traits.limits.max_framebuffer_height = 16'384;
  traits.limits.max_viewport = {16'384, 16'384};
  traits.limits.max_storage_buffer_range = std::uint64_t{128} << 20;
  traits.limits.max_memory_allocation_size = std::uint64_t{2} << 30;
  traits.limits.max_workgroup_invocations = 1'024;
  for (auto& format : traits.formats) format = {true, true, true, true};
  return traits;
}

GraphicsLimits limits_of(ImageSizes const& sizes = {}) { return graphics_limits(capable_device(), {}, sizes).value(); }

shaders::ClashStatistics clashes(std::uint32_t pixels, std::uint32_t rows_each) {
  shaders::ClashStatistics statistics{};
  std::uint32_t bucket = 0;
  while ((rows_each >> (bucket + 1)) != 0) ++bucket;
  statistics.max_clashes = rows_each;
  statistics.pixels[bucket] = pixels;
  statistics.rows[bucket] = pixels * rows_each;
  return statistics;
}

TEST(GraphicsLimits, FollowTheDeviceAndTheTuning) {
  auto const defaults = limits_of();
  EXPECT_EQ(defaults.hash_extent, 4'096U);
  EXPECT_EQ(defaults.result_extent, 2'048U);
  EXPECT_EQ(defaults.rows_extent, 16'384U);
  EXPECT_EQ(defaults.max_pixels, std::uint64_t{1} << 25);
  EXPECT_EQ(defaults.max_layers, 8U);
  EXPECT_TRUE(defaults.blend);
  ImageSizes sizes;
  sizes.hash_extent = 100'000;
  sizes.result_extent = 1;
  sizes.stack_layers = 100;
  auto const clamped = limits_of(sizes);
  EXPECT_EQ(clamped.hash_extent, 16'384U);
  EXPECT_EQ(clamped.result_extent, 1U);
  EXPECT_EQ(clamped.max_layers, shaders::kMaxLayers);
}

TEST(GraphicsLimits, CountByComputeWithoutBlending) {
  auto traits = capable_device();
  traits.formats[static_cast<std::size_t>(vk::PixelFormat::r32_sfloat)].blend = false;
  EXPECT_FALSE(graphics_limits(traits, {}).value().blend);
  ImageSizes sizes;
  sizes.blends = false;
  EXPECT_FALSE(limits_of(sizes).blend);
  JoinTuning computed;
  computed.matching = Matching::compute;
  EXPECT_FALSE(graphics_limits(capable_device(), computed).value().blend);
}

TEST(GraphicsLimits, RefuseWhatTheDeviceLacks) {
  auto traits = capable_device();
  traits.limits.max_workgroup_invocations = 128;
  auto const refused = graphics_limits(traits, {});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), ErrorCode::no_device);
  EXPECT_NE(refused.error().message().find("test device"), std::string::npos);
  JoinTuning tuning;
  tuning.storage = Storage::runs;
  tuning.probe = Probe::instanced;
  EXPECT_EQ(graphics_limits(capable_device(), tuning).error().code(), ErrorCode::usage);
}

TEST(ImageFor, HoldsTheTexelsWithinTheExtent) {
  for (std::uint32_t const extent : {1U, 8U, 64U, 1'000U, 4'096U}) {
    for (std::uint64_t const texels : {1ULL, 2ULL, 3ULL, 64ULL, 65ULL, 4'096ULL, 100'000ULL, 1ULL << 24}) {
      auto const image = vulkan::image_for(texels, extent);
      EXPECT_LE(image.width(), extent);
      EXPECT_LE(image.height, extent);
      EXPECT_GE(image.height, 1U);
      std::uint64_t widest = 1;
      while (widest * 2 <= extent) widest *= 2;
      if (texels <= widest * extent) {
        EXPECT_GE(image.pixels(), texels);
        EXPECT_LT(image.pixels() - texels, image.width());
      } else {
        EXPECT_EQ(image.pixels(), widest * extent);
      }
      EXPECT_LE(image.pixels(), vulkan::most_texels(extent));
    }
    EXPECT_EQ(vulkan::image_for(vulkan::most_texels(extent), extent).pixels(), vulkan::most_texels(extent));
  }
}

TEST(HashImage, IsFilledToTwoFifthsAtMost) {
  auto const limits = limits_of();
  for (std::uint64_t const rows : {1ULL, 2ULL, 7ULL, 256ULL, 257ULL, 65'537ULL, 1'000'000ULL, 6'000'000ULL}) {
    auto const image = hash_image(rows, limits);
    EXPECT_EQ(image.pixels() & (image.pixels() - 1), 0U);
    EXPECT_GE(static_cast<double>(image.pixels()), static_cast<double>(rows) / kHashFill);
    EXPECT_LE(static_cast<double>(image.pixels()), 2 * static_cast<double>(rows) / kHashFill + 4);
  }
  // The paper's setting: at most 4096 × 4096 pixels.
  EXPECT_EQ(hash_image(1 << 24, limits).pixels(), std::uint64_t{1} << 24);
  ImageSizes sizes;
  sizes.hash_extent = 1;
  EXPECT_EQ(hash_image(1'000, limits_of(sizes)).pixels(), 4U);
}

TEST(HashImage, OfAnExtentThatIsNoPowerOfTwo) {
  ImageSizes sizes;
  sizes.hash_extent = 5'000;
  EXPECT_EQ(most_hash_pixels(limits_of(sizes)), std::uint64_t{1} << 24);
  EXPECT_EQ(most_direct_pixels(limits_of(sizes)), 4'096U * 5'000U);
}

TEST(DirectPixels, CountTheRangeOfKeys) {
  EXPECT_EQ(direct_pixels(5, 5, 0), 1U);
  EXPECT_EQ(direct_pixels(5, 14, 0), 10U);
  EXPECT_EQ(direct_pixels(3, 3 + (9 << 10), 10), 10U);
  EXPECT_EQ(direct_pixels(0, ~0ULL, 16), std::uint64_t{1} << 48);
  EXPECT_EQ(direct_pixels(0, ~0ULL, 0), std::nullopt);
  EXPECT_EQ(direct_pixels(7, 7, 64), 1U);
}

TEST(ChooseAddress, TakesDirectAddressesWhereTheRangeIsDense) {
  auto const limits = limits_of();
  SideShape dense{100'000, 1'000, 1'000 + 400'000, 0};
  auto const direct = choose_address(dense, Address::automatic, limits);
  ASSERT_TRUE(direct);
  EXPECT_TRUE(direct->direct);
  EXPECT_EQ(direct->address.min_low, 1'000U);
  EXPECT_EQ(direct->address.num_pixels, 400'001U);
  EXPECT_GE(direct->image.pixels(), 400'001U);
  EXPECT_FALSE(choose_address(dense, Address::hash, limits)->direct);

  SideShape const sparse{100, 0, 1'000'000, 0};
  EXPECT_FALSE(choose_address(sparse, Address::automatic, limits)->direct);
  EXPECT_TRUE(choose_address(sparse, Address::direct, limits)->direct);
  SideShape const small{1, 0, 65'535, 0};
  EXPECT_TRUE(choose_address(small, Address::automatic, limits)->direct);
}

TEST(ChooseAddress, KeepsToTheImage) {
  auto const limits = limits_of();
  SideShape const largest{1 << 24, 0, (1 << 24) - 1, 0};
  EXPECT_TRUE(choose_address(largest, Address::direct, limits));
  SideShape const larger{1 << 24, 0, 1 << 24, 0};
  EXPECT_FALSE(choose_address(larger, Address::direct, limits));
  EXPECT_FALSE(choose_address(larger, Address::automatic, limits)->direct);
  SideShape const whole{10, 0, ~0ULL, 0};
  EXPECT_FALSE(choose_address(whole, Address::direct, limits));
  SideShape const strided{10, 1ULL << 40, (1ULL << 40) + (9ULL << 16), 16};
  auto const chosen = choose_address(strided, Address::direct, limits);
  ASSERT_TRUE(chosen);
  EXPECT_EQ(chosen->address.num_pixels, 10U);
  EXPECT_EQ(chosen->address.min_high, 256U);
  EXPECT_EQ(chosen->address.shift, 16U);
}

TEST(ChooseStorage, PrefersAStackOfOneImageAndRunsForMore) {
  auto const unique = clashes(1'000, 1);
  EXPECT_EQ(choose_storage(1'000, 9'000, unique, 4'096, {}).storage, Storage::stack);
  auto const doubled = clashes(500, 2);
  EXPECT_EQ(choose_storage(1'000, 9'000, doubled, 4'096, {}).storage, Storage::runs);
  JoinTuning tuning;
  tuning.probe = Probe::instanced;
  EXPECT_EQ(choose_storage(1'000, 9'000, doubled, 4'096, tuning).storage, Storage::stack);
  tuning = {};
  tuning.storage = Storage::runs;
  EXPECT_EQ(choose_storage(1'000, 9'000, unique, 4'096, tuning).storage, Storage::runs);
}

TEST(RunsCost, GrowsWithTheLengthOfRuns) {
  auto const cost = [](std::uint32_t length) {
    return runs_cost(16'384, 5'000, clashes(16'384 / length, length), 32'768);
  };
  EXPECT_GT(cost(16), cost(2));
  EXPECT_GT(cost(64), 2 * cost(16)) << "a block of the network for every run";
  EXPECT_GT(cost(2'048), cost(2)) << "blocks full of entries";
  EXPECT_GT(cost(16'384), cost(2'048)) << "more stages";
}

TEST(StackCost, GrowsWithItsLayers) {
  double last = 0;
  for (std::uint32_t layers = 1; layers <= 1'024; layers *= 2) {
    auto const cost = stack_cost(1'024, 5'000, clashes(1'024 / layers, layers), 4'096);
    EXPECT_GT(cost, last);
    last = cost;
  }
  EXPECT_DOUBLE_EQ(stack_cost(1'000, 5'000, clashes(1'000, 1), 4'096), least_cost(1'000, 5'000, 4'096));
}

TEST(ChooseProbe, WeighsOutputRowsAgainstClippedInstances) {
  auto const automatic = Probe::automatic;
  EXPECT_EQ(choose_probe(Storage::runs, 100, 1, 100, automatic), Probe::output);
  // Every probe row matches its only layer: nothing is clipped.
  EXPECT_EQ(choose_probe(Storage::stack, 1'000, 1, 1'000, automatic), Probe::instanced);
  EXPECT_EQ(choose_probe(Storage::stack, 1'000, 8, 1'000, automatic), Probe::output);
  EXPECT_EQ(choose_probe(Storage::stack, 1'000, 1, 10, automatic), Probe::output);
  EXPECT_EQ(choose_probe(Storage::stack, 1'000, 8, 10, Probe::instanced), Probe::instanced);
}

TEST(LayersPerSlice, FitsMemoryAndLimits) {
  auto const limits = limits_of();
  vulkan::ImageShape const image{10, 1'024};  // 8 MiB with 32-bit keys
  auto const mib = std::uint64_t{1} << 20;
  EXPECT_EQ(layers_per_slice(image, 32, 100, 1'000 * mib, limits), 8U);
  EXPECT_EQ(layers_per_slice(image, 32, 3, 1'000 * mib, limits), 3U);
  EXPECT_EQ(layers_per_slice(image, 32, 100, 40 * mib, limits), 5U);
  EXPECT_EQ(layers_per_slice(image, 64, 100, 40 * mib, limits), 2U);
  EXPECT_EQ(layers_per_slice(image, 64, 100, 0, limits), 1U);
}

TEST(SliceBytes, GrowWithRowsAndKeys) {
  auto const limits = limits_of();
  EXPECT_LT(slice_bytes(1'000, 1'000, 32, limits), slice_bytes(100'000, 1'000, 32, limits));
  EXPECT_LT(slice_bytes(100'000, 1'000, 32, limits), slice_bytes(100'000, 1'000, 64, limits));
}

TEST(RasterCosts, FollowTheRatesOfADevice) {
  rates::DeviceRates rates;
  rates.random_points_per_s = 1e9;
  rates.ordered_points_per_s = 2e9;
  rates.clipped_points_per_s = 4e9;
  rates.cleared_pixels_per_s = 10e9;
  rates.streamed_bytes_per_s = 80e9;
  rates.random_reads_per_s = 16e9;
  rates.atomics_per_s = 8e9;
  auto const costs = raster_costs(rates);
  EXPECT_DOUBLE_EQ(costs.clipped_point, 0.25);
  EXPECT_DOUBLE_EQ(costs.pixel, 0.2);
  EXPECT_DOUBLE_EQ(costs.output_point, 0.5 + kSearchReads / 16);
  EXPECT_DOUBLE_EQ(costs.run_row, 0.75);
  EXPECT_DOUBLE_EQ(costs.sort_step, 1.0 / 16);
  rates.small_random_reads_per_s = 32e9;
  EXPECT_DOUBLE_EQ(raster_costs(rates).sort_step, 1.0 / 32) << "in shared memory";
}

TEST(RasterCosts, DecideBetweenStackAndRuns) {
  shaders::ClashStatistics unique{};
  unique.max_clashes = 1;
  unique.pixels[0] = unique.rows[0] = 1000;
  RasterCosts costs;
  costs.run_row = 0.5;
  EXPECT_EQ(choose_storage(1000, 1000, unique, 2500, {}, costs).storage, Storage::runs);
  costs.run_row = 2;
  EXPECT_EQ(choose_storage(1000, 1000, unique, 2500, {}, costs).storage, Storage::stack);
}

}  // namespace
}  // namespace garuda::graphics
