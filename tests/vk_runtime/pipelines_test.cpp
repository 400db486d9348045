#include "vk_runtime/pipelines.hpp"

#include <fstream>
#include <thread>

#include "tests/vk_runtime/device_fixture.hpp"
#include "tests/vk_runtime/scratch_folder.hpp"
#include "vk_runtime/spirv.hpp"
#include "vk_runtime_test_shaders.hpp"

namespace garuda::vk {
namespace {

ComputePipelineSpec ids_spec(std::uint32_t offset) {
  return {.compute = test_shaders::get("group_ids.comp"),
          .constants = {{3, offset}},
          .bindings = {{0, BindingKind::storage_buffer}},
          .push_bytes = 4};
}

GraphicsPipelineSpec draw_spec(Blend blend) {
  return {.vertex = test_shaders::get("points.vert"),
          .fragment = test_shaders::get("value_float.frag"),
          .push_bytes = 8,
          .targets = {{VK_FORMAT_R32_SFLOAT, blend}}};
}

class PipelinesTest : public DeviceTest {
 protected:
  ScratchFolder folder_;
};

TEST_F(PipelinesTest, OneDescriptionIsCompiledOnce) {
  auto store = value_of(PipelineStore::create(*device_, std::nullopt));
  Pipeline const* const first = value_of(store->compile(ids_spec(1)));
  EXPECT_EQ(value_of(store->compile(ids_spec(1))), first);
  EXPECT_NE(value_of(store->compile(ids_spec(2))), first);
  Pipeline const* const drawn = value_of(store->compile(draw_spec(Blend::none)));
  EXPECT_NE(value_of(store->compile(draw_spec(Blend::add))), drawn);
  EXPECT_NE(value_of(store->compile(draw_spec(Blend::max))), drawn);
  EXPECT_EQ(store->size(), 5U);
  EXPECT_EQ(drawn->name(), "points.vert+value_float.frag");
  EXPECT_EQ(store->cache_file(), std::nullopt);
  EXPECT_FALSE(store->save());
}

TEST_F(PipelinesTest, ShadersThatStrideOverTheirWorkgroupsAreKnown) {
  for (auto const* const shader : {"strides.comp", "strides.comp:ALONG_X"})
    EXPECT_TRUE(strides_over_groups(test_shaders::get(shader))) << shader;
  for (auto const* const shader : {"group_ids.comp", "group_ids.comp:DOUBLED", "fetch.comp", "points.vert"})
    EXPECT_FALSE(strides_over_groups(test_shaders::get(shader))) << shader;
  auto store = value_of(PipelineStore::create(*device_, std::nullopt));
  auto spec = ids_spec(1);
  EXPECT_FALSE(value_of(store->compile(spec))->strides());
  spec.compute = test_shaders::get("strides.comp");
  spec.constants.clear();
  EXPECT_TRUE(value_of(store->compile(spec))->strides());
}

/// Instructions of these kinds in a module.
std::ptrdiff_t count_of(spirv::Words module, std::initializer_list<std::uint32_t> ops) {
  std::ptrdiff_t found = 0;
  spirv::for_instructions(module, [&](std::uint32_t op, spirv::Words operands) {
    found += std::ranges::count(ops, op);
    found += op == spirv::op_decorate && operands[1] == spirv::kDecorationSpecId;
    found += op == spirv::op_loop_merge && operands[2] == spirv::kLoopControlUnroll;
    return true;
  });
  return found;
}

TEST(SpecializedCode, HasNoSpecializationConstants) {
  auto const of_specialization = {std::uint32_t{spirv::op_spec_constant_true},
                                  std::uint32_t{spirv::op_spec_constant_false}, std::uint32_t{spirv::op_spec_constant},
                                  std::uint32_t{spirv::op_spec_constant_composite},
                                  std::uint32_t{spirv::op_spec_constant_op}};
  auto const code = test_shaders::get("constants.comp");
  EXPECT_GT(count_of(code.words, of_specialization), 20);
  EXPECT_EQ(count_of(specialized_code(code, {}), of_specialization), 0);
  // What cannot be computed is left to the driver.
  std::vector<SpecConstant> const by_zero{{1, 0}};
  EXPECT_EQ(count_of(specialized_code(code, by_zero), of_specialization), 2);
}

TEST(SpecializedCode, KeepsWhatItCannotRead) {
  auto const code = test_shaders::get("constants.comp");
  for (std::size_t words = 0; words < code.words.size(); ++words) {  // cut within instructions, too
    auto const read = code.words.first(words);
    auto const made = specialized_code({code.name, read}, {});
    auto const rest = read.subspan(spirv::for_instructions(read, [](auto...) { return true; }));
    ASSERT_GE(made.size(), rest.size());
    EXPECT_TRUE(std::ranges::equal(std::span(made).last(rest.size()), rest));
  }
  auto const without = test_shaders::get("strides.comp");
  EXPECT_TRUE(std::ranges::equal(specialized_code(without, {}), without.words));
}

TEST_F(PipelinesTest, ThreadsShareAStore) {
  auto store = value_of(PipelineStore::create(*device_, std::nullopt));
  std::array<std::array<Pipeline const*, 4>, 3> found{};
  {
    std::vector<std::jthread> threads;
    for (auto& row : found) {
      threads.emplace_back([&] {
        for (std::uint32_t i = 0; i < row.size(); ++i) row[i] = value_of(store->compile(ids_spec(i)));
      });
    }
  }
  EXPECT_EQ(found[0], found[1]);
  EXPECT_EQ(found[0], found[2]);
  EXPECT_EQ(store->size(), 4U);
}

TEST_F(PipelinesTest, CacheSurvivesTheStore) {
  std::filesystem::path file;
  {
    auto store = value_of(PipelineStore::create(*device_, folder_.path()));
    EXPECT_EQ(store->loaded_bytes(), 0U);
    value_of(store->compile(ids_spec(1)));
    file = *store->cache_file();
  }
  ASSERT_TRUE(std::filesystem::exists(file));
  auto const store = value_of(PipelineStore::create(*device_, folder_.path()));
  EXPECT_GT(store->loaded_bytes(), 0U);
  value_of(store->compile(ids_spec(1)));
}

TEST_F(PipelinesTest, DamagedCacheIsIgnoredAndReplaced) {
  std::filesystem::path file;
  {
    auto store = value_of(PipelineStore::create(*device_, folder_.path()));
    value_of(store->compile(ids_spec(1)));
    file = *store->cache_file();
  }
  auto const size = static_cast<std::streamoff>(std::filesystem::file_size(file));
  std::fstream damage(file, std::ios::in | std::ios::out | std::ios::binary);
  damage.seekp(size - 1);
  damage.put(static_cast<char>(~damage.peek()));
  damage.close();
  {
    auto store = value_of(PipelineStore::create(*device_, folder_.path()));
    EXPECT_EQ(store->loaded_bytes(), 0U);
    value_of(store->compile(ids_spec(1)));
  }
  EXPECT_GT(value_of(PipelineStore::create(*device_, folder_.path()))->loaded_bytes(), 0U);
}

TEST_F(PipelinesTest, UnwritableCacheIsNoError) {
  std::ofstream(folder_.path() / "file") << "not a folder";
  auto store = value_of(PipelineStore::create(*device_, folder_.path() / "file"));
  value_of(store->compile(ids_spec(1)));
  EXPECT_FALSE(store->save());
}

TEST_F(PipelinesTest, WhatTheDeviceCannotHoldIsAnError) {
  auto store = value_of(PipelineStore::create(*device_, std::nullopt));
  ComputePipelineSpec compute = ids_spec(0);
  compute.push_bytes = device_->traits().limits.max_push_constants_bytes + 4;
  auto const pushed = store->compile(compute);
  ASSERT_FALSE(pushed);
  EXPECT_EQ(pushed.error().code(), ErrorCode::limit_exceeded);
  GraphicsPipelineSpec graphics = draw_spec(Blend::none);
  graphics.targets.resize(device_->traits().limits.max_color_attachments + 1, graphics.targets[0]);
  auto const attached = store->compile(graphics);
  ASSERT_FALSE(attached);
  EXPECT_EQ(attached.error().code(), ErrorCode::limit_exceeded);
}

TEST_F(PipelinesTest, SubgroupSizeIsRequiredWhereThatIsPossible) {
  Subgroup const& subgroup = device_->traits().subgroup;
  if (!device_->traits().features.subgroup_size_control) GTEST_SKIP() << "no subgroupSizeControl";
  auto store = value_of(PipelineStore::create(*device_, std::nullopt));
  ComputePipelineSpec spec = ids_spec(0);
  spec.required_subgroup_size = subgroup.max_size;
  EXPECT_TRUE(store->compile(spec));
  spec.required_subgroup_size = 2 * subgroup.max_size;
  EXPECT_THROW(static_cast<void>(store->compile(spec)), LogicError);
}

}  // namespace
}  // namespace garuda::vk
