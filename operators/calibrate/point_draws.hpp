// Bare draws: one point a row, its pixel pulled from a buffer. The least that a pass of the graphics path can cost.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "garuda/error.hpp"
#include "vk_runtime/device/device.hpp"
#include "vk_runtime/lane.hpp"
#include "vk_runtime/pipelines.hpp"

namespace garuda::calibrate {

/// Where points go and how they meet what is there.
enum class PointTarget : std::uint8_t {
  overwrite_2,  ///< R32G32_UINT, (row + 1, pixel) overwrites in row order
  overwrite_4,  ///< R32G32B32A32_UINT, (row + 1, pixel, 0, 0)
  add,          ///< R32_SFLOAT, 1 is added
};

/// Words (u32 or float) of a pixel.
std::uint32_t words_per_pixel(PointTarget target) noexcept;

/// The image of a draw: the width a power of two.
struct PointImage {
  std::uint32_t width = 0;
  std::uint32_t height = 0;
  PointTarget target = PointTarget::overwrite_2;

  std::uint64_t num_pixels() const noexcept { return std::uint64_t{width} * height; }
};

/// Pixels of an image on the device and the points to draw into it. Used by one thread; borrows lane and pipelines,
/// which outlive it.
class PointDraw {
 public:
  /// Uploads `pixels` (row-major pixel number of each row; those from image.num_pixels() on are clipped) and makes
  /// image and pipeline.
  /// Blocks. Errors: limit_exceeded for an image larger than the device renders; no_device where it cannot blend
  /// R32_SFLOAT; out_of_memory, device_failure.
  static Result<PointDraw> create(vk::Lane& lane, vk::PipelineStore& pipelines, PointImage const& image,
                                  std::span<std::uint32_t const> pixels);

  /// Clears the image, waits, then draws every row in order and returns the nanoseconds of the draws alone: GPU
  /// timestamps where they can be trusted, else host time from submission to the end of the wait. Rows are drawn in
  /// submissions of at most max_points_per_submission points. Blocks.
  Result<std::uint64_t> run();

  /// Reads the image back: num_pixels() × words_per_pixel(), floats bit by bit. Blocks.
  Result<std::vector<std::uint32_t>> read_image();

  std::uint64_t num_rows() const noexcept { return num_rows_; }
  PointImage const& image() const noexcept { return spec_; }

 private:
  PointDraw(vk::Lane& lane, PointImage const& spec, std::uint64_t num_rows) noexcept
      : lane_(&lane), spec_(spec), num_rows_(num_rows) {}

  Result<void> clear();
  Result<void> draw_rows(std::uint64_t first, std::uint32_t count);
  std::uint32_t rows_per_submission() const noexcept;

  vk::Lane* lane_;
  PointImage spec_;
  std::uint64_t num_rows_;
  vk::Pipeline const* pipeline_ = nullptr;
  vk::Buffer pixels_;
  vk::Image target_;
};

}  // namespace garuda::calibrate
