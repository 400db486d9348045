// Bare compute passes over words and bare clears of images: the least that such a pass can cost on a device.
#pragma once

#include <cstdint>

#include "garuda/control.hpp"
#include "garuda/error.hpp"
#include "vk_runtime/device/device.hpp"
#include "vk_runtime/lane.hpp"
#include "vk_runtime/pipelines.hpp"

namespace garuda::calibrate {

/// The access of a pass to each word.
enum class WordAccess : std::uint8_t {
  stream,  ///< copies it
  random,  ///< reads one at a random position, writes in order
  atomic,  ///< adds to one at a random position
};

/// Two buffers of words on the device. Used by one thread; borrows lane and pipelines, which outlive it.
class WordPass {
 public:
  /// `num_words`: a power of two. Errors: out_of_memory, limit_exceeded, device_failure.
  static Result<WordPass> create(vk::Lane& lane, vk::PipelineStore& pipelines, WordAccess access,
                                 std::uint32_t num_words);

  /// Accesses `accesses` words (in passes over all of them when these are more), one submission, and returns the
  /// nanoseconds of the passes alone, as PointDraw::run. Blocks.
  Result<std::uint64_t> run(std::uint64_t accesses);

 private:
  WordPass(vk::Lane& lane, std::uint32_t num_words) noexcept : lane_(&lane), num_words_(num_words) {}

  vk::Lane* lane_;
  std::uint32_t num_words_;
  vk::Pipeline const* pipeline_ = nullptr;
  vk::Buffer source_;
  vk::Buffer target_;
};

/// Clears `image`, which is of usage colour attachment, as often as gives `pixels` pixels; nanoseconds as above.
/// Blocks.
Result<std::uint64_t> clear_pixels(vk::Lane& lane, vk::Image const& image, std::uint64_t pixels);

/// Submits a copy of 16 bytes and waits for it; the host's nanoseconds. Blocks.
Result<std::uint64_t> submit_nothing(vk::Lane& lane);

/// Compares each of `rows` words of 32 bits with each of as many others once, and returns the nanoseconds of the passes
/// alone, as PointDraw::run. Blocks. Errors: no_device where the compute path cannot run; out_of_memory,
/// device_failure, cancelled.
Result<std::uint64_t> compare_pairs(vk::Device& device, vk::PipelineStore& pipelines, Control const& control,
                                    std::uint64_t rows);

}  // namespace garuda::calibrate
