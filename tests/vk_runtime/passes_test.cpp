// Draws and dispatches, texel by texel.
#include <bit>
#include <numeric>

#include "tests/vk_runtime/device_fixture.hpp"
#include "vk_runtime/pipelines.hpp"
#include "vk_runtime_test_shaders.hpp"

namespace garuda::vk {
namespace {

struct Size {
  std::uint32_t width;
  std::uint32_t height;
};

GraphicsPipelineSpec points_spec(VkFormat format, Blend blend, std::vector<SpecConstant> constants = {}) {
  bool const integer = format == VK_FORMAT_R32G32_UINT || format == VK_FORMAT_R32_UINT;
  return {.vertex = test_shaders::get("points.vert"),
          .fragment = test_shaders::get(integer ? "value_uint.frag" : "value_float.frag"),
          .constants = std::move(constants),
          .push_bytes = sizeof(Size),
          .targets = {{format, blend}}};
}

class PassesTest : public DeviceTest {
 protected:
  void SetUp() override {
    DeviceTest::SetUp();
    if (!IsSkipped()) store_ = value_of(PipelineStore::create(*device_, std::nullopt));
  }
  void TearDown() override {
    store_.reset();
    DeviceTest::TearDown();
  }
  Image image(VkFormat format, Size size, std::uint32_t layers = 1, VkImageUsageFlags extra = 0) {
    return value_of(
        lane_->arena().image({.format = format,
                              .width = size.width,
                              .height = size.height,
                              .layers = layers,
                              .usage = VK_IMAGE_USAGE_COLOR_ATTACHMENT_BIT | VK_IMAGE_USAGE_SAMPLED_BIT | extra}));
  }
  /// The words of a buffer last written by a compute or vertex stage.
  std::vector<std::uint32_t> words(Buffer const& buffer, Ticket after = {}) {
    std::vector<std::uint32_t> values(buffer.bytes() / 4);
    succeed(lane_->transfer().download(buffer, 0, std::as_writable_bytes(std::span(values)), after));
    return values;
  }
  std::unique_ptr<PipelineStore> store_;
};

class PointsTest : public PassesTest, public ::testing::WithParamInterface<Size> {};

TEST_P(PointsTest, HitEveryPixelExactlyOnce) {
  Size const size = GetParam();
  std::uint32_t const pixels = size.width * size.height;
  Pipeline const& overwrite = *value_of(store_->compile(points_spec(VK_FORMAT_R32G32_UINT, Blend::none)));
  // Blended, each hit adds one, so a pixel that was missed or hit twice shows.
  Pipeline const& add = *value_of(store_->compile(points_spec(VK_FORMAT_R32_SFLOAT, Blend::add, {{0, 0}})));
  Image const ids = image(VK_FORMAT_R32G32_UINT, size);
  Image const hits = image(VK_FORMAT_R32_SFLOAT, size);

  CommandRecorder recorder = value_of(lane_->begin());
  recorder.barrier(ids, use::kUndefined, use::kColorAttachment);
  recorder.barrier(hits, use::kUndefined, use::kColorAttachment);
  recorder.begin_phase("overwrite");
  recorder.begin_rendering(ids.extent(), {{{.view = ids.layer_view(), .clear = true, .clear_value = clear_uint(~0U)}}});
  succeed(recorder.bind(overwrite, {}, size));
  recorder.draw(pixels);
  recorder.end_rendering();
  recorder.end_phase();
  recorder.begin_phase("add");
  recorder.begin_rendering(hits.extent(), {{{.view = hits.layer_view(), .clear = true}}});
  succeed(recorder.bind(add, {}, size));
  recorder.draw(pixels, 1, 0, 1);  // instance 1: the value of every vertex is 1
  recorder.end_rendering();
  recorder.end_phase();
  succeed(lane_->submit_and_wait(std::move(recorder)));

  auto const id_texels = texels<std::uint32_t>(ids, use::kColorAttachment);
  auto const hit_texels = texels<float>(hits, use::kColorAttachment);
  for (std::uint32_t i = 0; i < pixels; ++i) {
    ASSERT_EQ(id_texels[2 * i], i);
    ASSERT_EQ(id_texels[2 * i + 1], ~i);
    ASSERT_EQ(hit_texels[i], 1.0F) << i;
  }
}

INSTANTIATE_TEST_SUITE_P(, PointsTest,
                         ::testing::Values(Size{1, 1}, Size{7, 3}, Size{63, 65}, Size{257, 255}, Size{1, 4'096},
                                           Size{4'096, 1}, Size{1'023, 33}),
                         [](auto const& parameter) {
                           return std::to_string(parameter.param.width) + "x" + std::to_string(parameter.param.height);
                         });

TEST_F(PassesTest, AdditiveBlendingIsExact) {
  Size const size{33, 17};
  Pipeline const& add = *value_of(store_->compile(points_spec(VK_FORMAT_R32_SFLOAT, Blend::add, {{0, 3}})));
  Image const sums = image(VK_FORMAT_R32_SFLOAT, size);
  constexpr std::uint32_t kInstances = 100;
  CommandRecorder recorder = value_of(lane_->begin());
  recorder.barrier(sums, use::kUndefined, use::kColorAttachment);
  recorder.begin_rendering(sums.extent(),
                           {{{.view = sums.layer_view(), .clear = true, .clear_value = clear_float(5)}}});
  succeed(recorder.bind(add, {}, size));
  recorder.draw(size.width * size.height, kInstances);
  recorder.end_rendering();
  succeed(lane_->submit_and_wait(std::move(recorder)));
  auto const values = texels<float>(sums, use::kColorAttachment);
  for (std::uint32_t i = 0; i < values.size(); ++i) {
    EXPECT_EQ(values[i], static_cast<float>(5 + kInstances * 3 * i + kInstances * (kInstances - 1) / 2));
  }
}

TEST_F(PassesTest, MaxBlendingKeepsTheLargest) {
  Size const size{9, 5};
  Pipeline const& max = *value_of(store_->compile(points_spec(VK_FORMAT_R32_SFLOAT, Blend::max)));
  Image const largest = image(VK_FORMAT_R32_SFLOAT, size);
  CommandRecorder recorder = value_of(lane_->begin());
  recorder.barrier(largest, use::kUndefined, use::kColorAttachment);
  recorder.begin_rendering(largest.extent(),
                           {{{.view = largest.layer_view(), .clear = true, .clear_value = clear_float(20)}}});
  succeed(recorder.bind(max, {}, size));
  recorder.draw(size.width * size.height, 3);
  recorder.end_rendering();
  succeed(lane_->submit_and_wait(std::move(recorder)));
  auto const values = texels<float>(largest, use::kColorAttachment);
  for (std::uint32_t i = 0; i < values.size(); ++i) EXPECT_EQ(values[i], std::max(20.0F, static_cast<float>(i + 2)));
}

TEST_F(PassesTest, LaterPrimitivesOverwriteEarlierOnes) {
  Size const size{5, 5};
  GraphicsPipelineSpec spec = points_spec(VK_FORMAT_R32G32_UINT, Blend::none);
  spec.vertex = test_shaders::get("one_pixel.vert");
  Pipeline const& pipeline = *value_of(store_->compile(spec));
  Image const winner = image(VK_FORMAT_R32G32_UINT, size);
  CommandRecorder recorder = value_of(lane_->begin());
  recorder.barrier(winner, use::kUndefined, use::kColorAttachment);
  recorder.begin_rendering(winner.extent(), {{{.view = winner.layer_view(), .clear = true}}});
  succeed(recorder.bind(pipeline, {}, size));
  recorder.draw(10'000);
  recorder.end_rendering();
  succeed(lane_->submit_and_wait(std::move(recorder)));
  auto const values = texels<std::uint32_t>(winner, use::kColorAttachment);
  EXPECT_EQ(values[0], 9'999U);
  EXPECT_EQ(values[2], 0U);
}

TEST_F(PassesTest, ARectangleIsDrawnAndTheRestIsKept) {
  Size const size{40, 30};
  Size const part{11, 7};
  VkRect2D const area{{13, 5}, {part.width, part.height}};
  Pipeline const& pipeline = *value_of(store_->compile(points_spec(VK_FORMAT_R32G32_UINT, Blend::none)));
  Image const target = image(VK_FORMAT_R32G32_UINT, size);
  CommandRecorder recorder = value_of(lane_->begin());
  recorder.barrier(target, use::kUndefined, use::kTransferWrite);
  recorder.clear(target, clear_uint(77, 78));
  recorder.barrier(target, use::kTransferWrite, use::kColorAttachment);
  recorder.begin_rendering(area, {{{.view = target.layer_view()}}});
  succeed(recorder.bind(pipeline, {}, part));
  recorder.draw(part.width * part.height);
  recorder.end_rendering();
  succeed(lane_->submit_and_wait(std::move(recorder)));
  auto const values = texels<std::uint32_t>(target, use::kColorAttachment);
  for (std::uint32_t y = 0; y < size.height; ++y) {
    for (std::uint32_t x = 0; x < size.width; ++x) {
      bool const inside = x >= 13 && x < 24 && y >= 5 && y < 12;
      std::uint32_t const expected = inside ? (y - 5) * part.width + (x - 13) : 77;
      EXPECT_EQ(values[2 * (y * size.width + x)], expected) << x << "," << y;
    }
  }
}

TEST_F(PassesTest, StorageBuffersFeedDraws) {
  Size const size{31, 9};
  std::uint32_t const pixels = size.width * size.height;
  GraphicsPipelineSpec spec = points_spec(VK_FORMAT_R32G32_UINT, Blend::none);
  spec.vertex = test_shaders::get("buffer_points.vert");
  spec.bindings = {{0, BindingKind::storage_buffer}};
  Pipeline const& pipeline = *value_of(store_->compile(spec));
  std::vector<std::uint32_t> values(pixels);
  std::iota(values.begin(), values.end(), 1'000U);
  Buffer const storage = value_of(lane_->arena().buffer({.bytes = 4 * pixels}));
  std::array const tickets{value_of(lane_->transfer().upload(storage, 0, std::as_bytes(std::span(values))))};
  Image const target = image(VK_FORMAT_R32G32_UINT, size);
  CommandRecorder recorder = value_of(lane_->begin());
  recorder.barrier(target, use::kUndefined, use::kColorAttachment);
  recorder.begin_rendering(target.extent(), {{{.view = target.layer_view(), .clear = true}}});
  succeed(recorder.bind(pipeline, {{BoundResource::of(0, storage)}}, size));
  recorder.draw(pixels);
  recorder.end_rendering();
  succeed(lane_->submit_and_wait(std::move(recorder), tickets));
  auto const drawn = texels<std::uint32_t>(target, use::kColorAttachment);
  for (std::uint32_t i = 0; i < pixels; ++i) EXPECT_EQ(drawn[2 * i], 1'000 + i);
}

TEST_F(PassesTest, DispatchesMoreGroupsThanAnAxisHolds) {
  ComputePipelineSpec spec{.compute = test_shaders::get("group_ids.comp"),
                           .constants = {{3, 5}},
                           .bindings = {{0, BindingKind::storage_buffer}},
                           .push_bytes = 4};
  for (auto const& [groups, parts] : {std::pair{1U, 1U},
                                      {65'535U, 1U},
                                      {65'536U, 1U},
                                      {70'001U, 1U},
                                      {1U, 3U},
                                      {1'000U, 3U},
                                      {65'535U, 7U},
                                      {65'536U, 2U},
                                      {200'001U, 3U},
                                      {70'001U, 9U}}) {
    Pipeline const& pipeline = *value_of(store_->compile(spec));
    Buffer const ids = value_of(lane_->arena().buffer({.bytes = 4 * (groups + 1)}));
    CommandRecorder recorder = value_of(lane_->begin());
    recorder.fill(ids.view(), 0xffff'ffff);
    recorder.barrier(ids, use::kTransferWrite, use::kComputeWrite);
    recorder.begin_phase("ids");
    succeed(recorder.bind(pipeline, {{BoundResource::of(0, ids)}}, groups));
    for (std::uint32_t part = 0; part < parts; ++part) recorder.dispatch_part(groups, part, parts);
    recorder.dispatch(0);
    recorder.end_phase();
    auto const values = words(ids, value_of(lane_->submit(std::move(recorder))));
    for (std::uint32_t i = 0; i < groups; ++i) ASSERT_EQ(values[i], i + 5) << groups;
    EXPECT_EQ(values[groups], 0xffff'ffff);
  }
  // Another variant of the same shader, and its dispatch by a command in a buffer.
  spec.compute = test_shaders::get("group_ids.comp:DOUBLED");
  Pipeline const& doubled = *value_of(store_->compile(spec));
  Buffer const ids = value_of(lane_->arena().buffer({.bytes = 400}));
  Buffer const indirect = value_of(lane_->arena().buffer(
      {.bytes = 12, .use = MemoryUse::upload, .extra_usage = VK_BUFFER_USAGE_INDIRECT_BUFFER_BIT}));
  std::ranges::copy(std::array{50U, 2U, 1U}, indirect.mapped_as<std::uint32_t>().begin());
  succeed(indirect.flush(0, 12));
  CommandRecorder recorder = value_of(lane_->begin());
  succeed(recorder.bind(doubled, {{BoundResource::of(0, ids)}}, 100U));
  recorder.dispatch_indirect(indirect, 0);
  auto const values = words(ids, value_of(lane_->submit(std::move(recorder))));
  for (std::uint32_t i = 0; i < 100; ++i) EXPECT_EQ(values[i], 2 * i + 5);
}

/// The words that constants.comp writes for kA, kB, kFlag, kReal, kOther and a workgroup of so many.
std::vector<std::uint32_t> given_by_constants(std::uint32_t a, std::uint32_t b, bool flag, float real, bool other,
                                              std::uint32_t group) {
  std::uint32_t squares = 0;
  for (std::uint32_t i = 0; i < a + b; ++i) squares += i * i;
  bool const either = flag && other;
  return {a + b,
          a - b,
          a * b,
          a / b,
          a % b,
          a << b,
          a >> b,
          (a & b) << 16U | (a ^ b) << 8U | (a | b),
          ~a,
          a == b,
          a != b,
          (a < b ? 1U : 0U) | (a <= b ? 2U : 0U) | (a > b ? 4U : 0U) | (a >= b ? 8U : 0U),
          either || !flag,
          flag != other ? a : b,
          static_cast<std::uint32_t>(real * 4),
          group,
          squares};
}

/// Plain words in place of specialization constants, made for drivers that need them, give the same on all.
TEST_F(PassesTest, SpecializedCodeGivesTheSame) {
  auto const code = test_shaders::get("constants.comp");
  auto const real = std::bit_cast<std::uint32_t>(2.25F);
  struct Case {
    std::vector<SpecConstant> constants;
    std::vector<std::uint32_t> expected;
  };
  Case const cases[] = {{{{5, 1}}, given_by_constants(7, 3, false, 1.5F, true, 1)},
                        {{{5, 4}, {0, 2}, {1, 9}, {2, 1}, {3, real}}, given_by_constants(2, 9, true, 2.25F, true, 4)},
                        {{{5, 2}, {0, 6}, {1, 6}, {4, 0}, {99, 1}}, given_by_constants(6, 6, false, 1.5F, false, 2)}};
  for (auto const& [constants, expected] : cases) {
    auto const plain = specialized_code(code, constants);
    for (auto const& module : {code, ShaderCode{"plain", plain}}) {
      Pipeline const& pipeline = *value_of(store_->compile(ComputePipelineSpec{
          .compute = module, .constants = constants, .bindings = {{0, BindingKind::storage_buffer}}}));
      Buffer const buffer = value_of(lane_->arena().buffer({.bytes = 4 * expected.size()}));
      CommandRecorder recorder = value_of(lane_->begin());
      succeed(recorder.bind(pipeline, {{BoundResource::of(0, buffer)}}));
      recorder.dispatch(1);
      EXPECT_EQ(words(buffer, value_of(lane_->submit(std::move(recorder)))), expected) << module.name;
    }
  }
}

TEST_F(PassesTest, LayersAreDrawnFetchedAndStored) {
  Size const size{21, 13};
  std::uint32_t const pixels = size.width * size.height;
  Pipeline const& draw = *value_of(store_->compile(points_spec(VK_FORMAT_R32G32_UINT, Blend::none)));
  Pipeline const& fetch = *value_of(store_->compile(ComputePipelineSpec{
      .compute = test_shaders::get("fetch.comp"),
      .bindings = {{0, BindingKind::storage_buffer}, {1, BindingKind::sampled_image}, {2, BindingKind::storage_image}},
      .push_bytes = 12}));
  Image const layers = image(VK_FORMAT_R32G32_UINT, size, 3);
  Image const stored = image(VK_FORMAT_R32_UINT, size, 1, VK_IMAGE_USAGE_STORAGE_BIT);
  Buffer const fetched = value_of(lane_->arena().buffer({.bytes = 4 * pixels}));
  struct Push {
    Size size;
    std::uint32_t layer;
  };
  for (std::uint32_t layer = 0; layer < 3; ++layer) {
    CommandRecorder recorder = value_of(lane_->begin());
    recorder.barrier(layers, layer, 1, use::kUndefined, use::kColorAttachment);
    recorder.begin_rendering(layers.extent(), {{{.view = layers.layer_view(layer)}}});
    succeed(recorder.bind(draw, {}, size));
    recorder.draw(pixels, 1, 0, 100 * layer);
    recorder.end_rendering();
    recorder.barrier(layers, layer, 1, use::kColorAttachment, use::kComputeSampled);
    if (layer < 2) {
      succeed(lane_->submit_and_wait(std::move(recorder)));
      continue;
    }
    recorder.barrier(stored, use::kUndefined, use::kComputeWrite);
    succeed(recorder.bind(fetch,
                          {{BoundResource::of(2, stored.layer_view()), BoundResource::of(0, fetched),
                            BoundResource::of(1, layers.array_view())}},
                          Push{size, 1}));
    recorder.dispatch(pixels);
    auto const values = words(fetched, value_of(lane_->submit(std::move(recorder))));
    auto const complements = texels<std::uint32_t>(stored, use::kComputeWrite);
    for (std::uint32_t i = 0; i < pixels; ++i) {
      EXPECT_EQ(values[i], i + 100);
      EXPECT_EQ(complements[i], ~(i + 100));
    }
  }
}

TEST_F(PassesTest, TexelsAreUploaded) {
  Image const target = image(VK_FORMAT_R32G32_UINT, {5, 3});
  Buffer const source = value_of(lane_->arena().buffer({.bytes = 4 * 8, .use = MemoryUse::upload}));
  auto const words = source.mapped_as<std::uint32_t>();
  std::iota(words.begin(), words.end(), 1U);
  succeed(source.flush(0, 32));
  CommandRecorder recorder = value_of(lane_->begin());
  recorder.barrier(target, use::kUndefined, use::kTransferWrite);
  recorder.clear(target, clear_uint(0));
  recorder.barrier(target, use::kTransferWrite, use::kTransferWrite);
  recorder.copy(source.view(), target, 0, {{1, 1}, {2, 2}});
  succeed(lane_->submit_and_wait(std::move(recorder)));
  auto const values = texels<std::uint32_t>(target, use::kTransferWrite);
  EXPECT_EQ(values[2 * (5 + 1)], 1U);
  EXPECT_EQ(values[2 * (5 + 2)], 3U);
  EXPECT_EQ(values[2 * (10 + 1)], 5U);
  EXPECT_EQ(values[2 * (10 + 2) + 1], 8U);
  EXPECT_EQ(std::ranges::count(values, 0U), 30 - 8);
}

}  // namespace
}  // namespace garuda::vk
