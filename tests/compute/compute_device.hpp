// A lane of the test device for compute passes, and copies to and from it.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "operators/compute/primitives/compute_context.hpp"
#include "tests/graphics/graphics_device.hpp"
#include "tests/unwrap.hpp"

namespace garuda::testing {

/// Everything a compute context needs, on one device.
class ComputeLane {
 public:
  ComputeLane(vk::Device& device, vk::PipelineStore& store, compute::ComputeTuning const& tuning)
      : tuning_(tuning),
        lane_(value_of(vk::Lane::create(device, {}))),
        submissions_(*lane_, nullptr, nullptr),
        context_(*lane_, store, submissions_, tuning_, std::uint64_t{1} << 31) {}

  compute::ComputeContext& context() { return context_; }
  compute::ComputeTuning const& tuning() const { return tuning_; }

  vk::Buffer buffer(std::uint64_t bytes, char const* name = "test buffer") {
    return value_of(context_.device_buffer(bytes, name));
  }

  template <class T>
  vk::Buffer upload(std::vector<T> const& values) {
    auto const bytes = std::as_bytes(std::span(values));
    auto result = buffer(bytes.size(), "test input");
    if (!bytes.empty()) succeed(context_.upload(result, 0, bytes));
    return result;
  }

  template <class T>
  std::vector<T> download(vk::Buffer const& buffer, std::size_t count) {
    std::vector<T> values(count);
    if (count > 0) succeed(context_.download(buffer, std::as_writable_bytes(std::span(values))));
    return values;
  }

 private:
  compute::ComputeTuning tuning_;
  std::unique_ptr<vk::Lane> lane_;
  vulkan::Submissions submissions_;
  compute::ComputeContext context_;
};

/// Runs on the one driver of this process, under validation.
class ComputeDeviceTest : public GraphicsDeviceTest {
 protected:
  static compute::ComputeTuning tuning() { return value_of(compute::compute_tuning(device().traits())); }

  /// Subgroup sizes that the device lets pipelines ask for.
  static std::vector<std::uint32_t> subgroup_sizes() {
    std::vector<std::uint32_t> sizes;
    for (std::uint32_t size = 4; size <= 128; size *= 2) {
      if (compute::compute_tuning(device().traits(), size)) sizes.push_back(size);
    }
    return sizes;
  }
};

}  // namespace garuda::testing
