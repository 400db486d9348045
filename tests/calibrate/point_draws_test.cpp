// Bare draws against the image computed on the host, under the validation layer.
#include "operators/calibrate/point_draws.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <memory>
#include <span>
#include <vector>

#include "keys/numbering/mix.hpp"
#include "tests/test_run.hpp"
#include "vk_runtime/device/instance.hpp"

namespace garuda::calibrate {
namespace {

std::vector<std::uint32_t> random_pixels(std::uint64_t num_rows, std::uint64_t num_pixels) {
  std::vector<std::uint32_t> pixels(num_rows);
  for (std::uint64_t row = 0; row < num_rows; ++row)
    pixels[row] = static_cast<std::uint32_t>(keys::mix(row) % num_pixels);
  return pixels;
}

/// The image that drawing `pixels` in order must give, laid out as read_image().
std::vector<std::uint32_t> expected_image(PointImage const& image, std::span<std::uint32_t const> pixels) {
  auto const words = words_per_pixel(image.target);
  std::vector<std::uint32_t> expected(image.num_pixels() * words);
  for (std::size_t row = 0; row < pixels.size(); ++row) {
    auto const pixel = pixels[row];
    GARUDA_EXPECTS(pixel < image.num_pixels());
    if (image.target == PointTarget::add) {
      ++expected[pixel];
    } else {
      expected[std::size_t{pixel} * words] = static_cast<std::uint32_t>(row + 1);
      expected[std::size_t{pixel} * words + 1] = pixel;
    }
  }
  // A float that counts in ones stops at 2^24: the next odd number rounds back to it.
  constexpr std::uint32_t kLargestCount = 1U << 24;
  if (image.target == PointTarget::add)
    for (auto& word : expected) word = std::bit_cast<std::uint32_t>(static_cast<float>(std::min(word, kLargestCount)));
  return expected;
}

class PointDraws : public ::testing::Test {
 protected:
  void SetUp() override {
    auto instance = vk::Instance::create({.validation = testing::with_validation()});
    ASSERT_TRUE(instance) << instance.error().describe();
    instance_ = std::move(*instance);
    auto const found = instance_->physical_devices();
    ASSERT_TRUE(found) << found.error().describe();
    auto device = vk::Device::create(*instance_, found->front());
    ASSERT_TRUE(device) << device.error().describe();
    device_ = std::move(*device);
    pipelines_ = vk::PipelineStore::create(*device_, std::nullopt).value();
    lane_ = vk::Lane::create(*device_, {}).value();
  }

  void TearDown() override {
    lane_.reset();
    pipelines_.reset();
    device_.reset();
    if (instance_) {
      EXPECT_EQ(instance_->validation_messages(), std::vector<std::string>{});
    }
  }

  void expect_drawn(PointImage const& image, std::vector<std::uint32_t> const& pixels) {
    auto draw = PointDraw::create(*lane_, *pipelines_, image, pixels);
    ASSERT_TRUE(draw) << draw.error().describe();
    for (int run = 0; run < 2; ++run) {
      auto const ns = draw->run();
      ASSERT_TRUE(ns) << ns.error().describe();
      EXPECT_EQ(*ns > 0, !pixels.empty());
      EXPECT_EQ(draw->read_image().value(), expected_image(image, pixels));
    }
  }

  std::unique_ptr<vk::Instance> instance_;
  std::unique_ptr<vk::Device> device_;
  std::unique_ptr<vk::PipelineStore> pipelines_;
  std::unique_ptr<vk::Lane> lane_;
};

TEST_F(PointDraws, EveryTargetGivesTheExpectedImage) {
  for (auto const target : {PointTarget::overwrite_2, PointTarget::overwrite_4, PointTarget::add}) {
    for (std::uint64_t const rows : {0ULL, 1ULL, 257ULL, 20'000ULL}) {
      SCOPED_TRACE(::testing::Message() << "target " << static_cast<int>(target) << " rows " << rows);
      expect_drawn({64, 64, target}, random_pixels(rows, 64 * 64));
      expect_drawn({128, 32, target}, random_pixels(rows, 128 * 32));
    }
  }
}

TEST_F(PointDraws, RowsBeyondOneSubmissionAreDrawnInOrder) {
  auto const rows = device_->traits().max_points_per_submission + 1000;
  if (rows > 1'000'000) GTEST_SKIP() << "one submission of this device draws " << rows << " points";
  expect_drawn({64, 64, PointTarget::overwrite_2}, random_pixels(rows, 64 * 64));
}

TEST_F(PointDraws, EveryPixelOfAnImageIsHit) {
  std::vector<std::uint32_t> pixels(512 * 512);
  for (std::uint32_t i = 0; i < pixels.size(); ++i) pixels[i] = i;
  expect_drawn({512, 512, PointTarget::overwrite_2}, pixels);
}

TEST_F(PointDraws, RefusesImagesTheDeviceCannotRender) {
  auto const edge = 2 * std::bit_ceil(device_->traits().max_render_extent());
  auto const draw = PointDraw::create(*lane_, *pipelines_, {edge, 64, PointTarget::add}, {});
  ASSERT_FALSE(draw.has_value());
  EXPECT_EQ(draw.error().code(), ErrorCode::limit_exceeded);
}

TEST(ExpectedImage, CountsAndLastRows) {
  std::vector<std::uint32_t> const pixels{3, 0, 3};
  EXPECT_EQ(expected_image({2, 2, PointTarget::overwrite_2}, pixels),
            (std::vector<std::uint32_t>{2, 0, 0, 0, 0, 0, 3, 3}));
  auto const one = std::bit_cast<std::uint32_t>(1.0F);
  auto const two = std::bit_cast<std::uint32_t>(2.0F);
  EXPECT_EQ(expected_image({2, 2, PointTarget::add}, pixels), (std::vector<std::uint32_t>{one, 0, 0, two}));
  EXPECT_THROW(expected_image({1, 2, PointTarget::add}, pixels), LogicError);
}

}  // namespace
}  // namespace garuda::calibrate
