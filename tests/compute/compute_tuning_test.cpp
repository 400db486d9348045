// How compute passes are cut to devices, from their traits alone.
#include "operators/compute/primitives/compute_context.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string_view>
#include <vector>

#include "operators/compute/join/rows_join.hpp"
#include "operators/compute/primitives/radix_side.hpp"
#include "shaders/embedded.hpp"
#include "vk_runtime/shader_code.hpp"
#include "vk_runtime/spirv.hpp"

namespace garuda::compute {
namespace {

vk::DeviceTraits traits_with(std::uint32_t subgroup, std::uint32_t shared_bytes, std::uint32_t invocations) {
  vk::DeviceTraits traits;
  traits.name = "a device";
  traits.type = vk::DeviceType::discrete;
  traits.subgroup.size = subgroup;
  traits.subgroup.min_size = subgroup;
  traits.subgroup.max_size = subgroup;
  traits.subgroup.stages.compute = true;
  traits.subgroup.basic = traits.subgroup.vote = traits.subgroup.arithmetic = traits.subgroup.ballot = true;
  traits.features.buffer_device_address = true;
  traits.limits.max_compute_shared_memory_bytes = shared_bytes;
  traits.limits.max_workgroup_invocations = invocations;
  return traits;
}

TEST(ComputeTuning, OnlyPassesThatAreDispatchedIndirectlyStrideOverWorkgroups) {
  std::vector<std::string_view> strided;
  for (auto const& shader : shaders::all())
    if (vk::strides_over_groups(shader)) strided.push_back(shader.name);
  EXPECT_THAT(strided, ::testing::UnorderedElementsAre("compute/join/join_rows.comp", "compute/join/join_lists.comp"));
}

TEST(ComputeTuning, NothingThatConstantsGiveIsLeftToDrivers) {
  for (auto const& shader : shaders::all())
    vk::spirv::for_instructions(vk::specialized_code(shader, {}), [&](std::uint32_t op, vk::spirv::Words) {
      EXPECT_NE(op, vk::spirv::op_spec_constant_op) << shader.name;
      return true;
    });
}

TEST(ComputeTuning, FitsEveryDeviceThatMustWork) {
  for (std::uint32_t subgroup = 4; subgroup <= 128; subgroup *= 2) {
    for (std::uint32_t const shared : {16'384U, 32'768U, 49'152U, 65'536U}) {
      for (std::uint32_t const invocations : {128U, 256U, 1'024U}) {
        SCOPED_TRACE(::testing::Message()
                     << "subgroup " << subgroup << ", shared " << shared << ", invocations " << invocations);
        auto const tuning = compute_tuning(traits_with(subgroup, shared, invocations));
        ASSERT_TRUE(tuning) << tuning.error().describe();
        auto const bits = partition_bits(*tuning);
        for (auto const group :
             {tuning->group_size, table_group_size(*tuning), scatter_tile(*tuning, bits, false).group_size,
              scatter_tile(*tuning, bits, false, true).group_size, scatter_tile(*tuning, kStableBits, true).group_size,
              tuning->join.group_size}) {
          EXPECT_EQ(group % subgroup, 0U);
          EXPECT_LE(group, invocations);
        }
        EXPECT_LE(scatter_shared_bytes(*tuning, kStableBits, true), shared);
        EXPECT_LE(scatter_shared_bytes(*tuning, bits, false), shared);
        EXPECT_LE(scatter_shared_bytes(*tuning, bits, false, true), shared);
        for (bool const listed : {false, true}) EXPECT_LE(join_rows_shared_bytes(*tuning, 2, {}, listed), shared);
        EXPECT_LT(join_chunk_rows(*tuning), 1U << tuning->join.log2_slots);
      }
    }
  }
}

TEST(ComputeTuning, RefusesWhatItCannotRunOn) {
  auto const traits = traits_with(32, 49'152, 1'024);
  auto without_addresses = traits;
  without_addresses.features.buffer_device_address = false;
  EXPECT_EQ(compute_tuning(without_addresses).error().code(), ErrorCode::no_device);
  auto without_ballots = traits;
  without_ballots.subgroup.ballot = false;
  EXPECT_EQ(compute_tuning(without_ballots).error().code(), ErrorCode::no_device);
  EXPECT_EQ(compute_tuning(traits, 64).error().code(), ErrorCode::no_device);
  auto selectable = traits;
  selectable.subgroup.max_size = 64;
  selectable.features.subgroup_size_control = true;
  EXPECT_EQ(compute_tuning(selectable, 64).error().code(), ErrorCode::no_device);
  selectable.subgroup.selectable_in_compute = true;
  auto const forced = compute_tuning(selectable, 64);
  ASSERT_TRUE(forced);
  EXPECT_EQ(forced->subgroup_size, 64U);
  EXPECT_TRUE(forced->require_subgroup_size);
}

TEST(ComputeTuning, SoftwareTakesSmallTilesAndUnrollsNothing) {
  auto traits = traits_with(8, 49'152, 1'024);
  traits.type = vk::DeviceType::cpu;
  auto const tuning = compute_tuning(traits).value();
  EXPECT_TRUE(tuning.is_software);
  EXPECT_EQ(tuning.join.tasks, 1U);
  for (bool const stable : {false, true}) {
    auto const tile = scatter_tile(tuning, 8, stable);
    EXPECT_EQ(tile.rounds, 1U);
    EXPECT_FALSE(tile.full_apart);
    EXPECT_LE(tile.group_size, 512U);
  }
}

TEST(ComputeTuning, TilesFollowBitsAndElements) {
  auto const tuning = compute_tuning(traits_with(32, 49'152, 1'024)).value();
  EXPECT_EQ(partition_bits(tuning), 10U);
  EXPECT_EQ(scatter_tile(tuning, 10, false), (ScatterTile{1024, 12, 2, 0, true, true}));
  EXPECT_EQ(scatter_tile(tuning, 10, false, true), (ScatterTile{512, 8, 1, 0, false, true}));
  EXPECT_EQ(scatter_tile(tuning, 6, true), (ScatterTile{1024, 12, 2, 5, true, true}));
  EXPECT_LT(scatter_tile(tuning, kStableBits, true).group_size, 1'024U) << "counters of many bins";
  EXPECT_EQ(partition_bits(compute_tuning(traits_with(32, 32'768, 1'024)).value()), kStableBits);
}

TEST(ComputeTuning, SplitsBitsEvenly) {
  EXPECT_EQ(bits_of_passes(1, 8), (std::vector<std::uint32_t>{1}));
  EXPECT_EQ(bits_of_passes(8, 8), (std::vector<std::uint32_t>{8}));
  EXPECT_EQ(bits_of_passes(9, 8), (std::vector<std::uint32_t>{5, 4}));
  EXPECT_EQ(bits_of_passes(16, 8), (std::vector<std::uint32_t>{8, 8}));
  EXPECT_EQ(bits_of_passes(17, 8), (std::vector<std::uint32_t>{6, 6, 5}));
}

TEST(ComputeTuning, PartitionsFillChunksWithRoomToSpare) {
  auto const tuning = compute_tuning(traits_with(32, 49'152, 1'024)).value();
  EXPECT_EQ(join_chunk_rows(tuning), 1152U);
  EXPECT_EQ(join_radix_bits(1, tuning), 1U);
  EXPECT_EQ(join_radix_bits(std::uint64_t{1} << 24, tuning), 14U);
  EXPECT_EQ(join_radix_bits(std::uint64_t{1} << 27, tuning), 17U);
  EXPECT_EQ(join_radix_bits(std::uint64_t{1} << 28, tuning), 18U);
}

}  // namespace
}  // namespace garuda::compute
