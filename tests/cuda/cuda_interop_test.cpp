// Memory that Vulkan exports, seen by CUDA: the same bytes, in both directions, on a GPU that has both.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <numeric>
#include <vector>

#include "operators/cuda/cuda_lane.hpp"
#include "tests/cuda/cuda_device.hpp"
#include "tests/unwrap.hpp"
#include "vk_runtime/device/instance.hpp"
#include "vk_runtime/memory/exported_buffer.hpp"

namespace garuda::cuda {
namespace {

using testing::succeed;
using testing::value_of;

constexpr std::uint64_t kWords = std::uint64_t{1} << 16;

/// The Vulkan device that is the tests' CUDA device.
class CudaInterop : public testing::CudaDeviceTest {
 protected:
  void SetUp() override {
    CudaDeviceTest::SetUp();
    if (IsSkipped()) return;
    auto instance = vk::Instance::create();
    if (!instance) GTEST_SKIP() << instance.error().describe();
    instance_ = std::move(*instance);
    for (auto const& physical : value_of(instance_->physical_devices())) {
      if (!std::ranges::equal(physical.traits.uuid, device().traits().uuid)) continue;
      vulkan_ = value_of(vk::Device::create(*instance_, physical));
    }
    if (vulkan_ == nullptr) GTEST_SKIP() << "the CUDA device is no Vulkan device";
    lanes_ = value_of(CudaLane::open(device(), {}));
  }
  void TearDown() override { lanes_.clear(); }

  GarudaCudaApi const& api() const { return device().api(); }
  GarudaCudaLane* lane() const { return lanes_.front()->handle(); }

  std::unique_ptr<vk::Instance> instance_;
  std::unique_ptr<vk::Device> vulkan_;
  std::vector<std::unique_ptr<CudaLane>> lanes_;
};

/// A view of an exported buffer, which it outlives in no case.
struct View {
  GarudaCudaImported* imported = nullptr;
  std::uint64_t address = 0;
};

TEST_F(CudaInterop, SeesOneMemoryThroughEveryView) {
  auto const buffer = value_of(vk::ExportedBuffer::create(*vulkan_, kWords * 4, "shared"));
  std::vector<View> views(2);
  GarudaCudaError error{};
  for (auto& view : views) {
    auto descriptor = value_of(buffer.open_memory());
    GarudaCudaImport const request{descriptor.get(), buffer.memory_bytes(), 1};
    succeed(cuda_result(api().import_memory(lane(), &request, &view.imported, &view.address, &error), error));
    descriptor.take();
  }
  std::vector<std::uint32_t> written(kWords);
  std::iota(written.begin(), written.end(), 7U);
  succeed(cuda_result(api().upload(lane(), views[0].address, written.data(), kWords * 4, &error), error));
  std::vector<std::uint32_t> read(kWords);
  succeed(cuda_result(api().download(lane(), views[1].address, read.data(), kWords * 4, &error), error));
  EXPECT_EQ(read, written);
  for (auto const& view : views) api().release_imported(view.imported);
}

TEST_F(CudaInterop, RefusesWhatIsNoMemory) {
  GarudaCudaError error{};
  GarudaCudaImported* imported = nullptr;
  std::uint64_t address = 0;
  GarudaCudaImport const nothing{-1, 0, 1};
  EXPECT_EQ(api().import_memory(lane(), &nothing, &imported, &address, &error), GARUDA_CUDA_USAGE);
  GarudaCudaImport const closed{-1, 4'096, 1};
  EXPECT_NE(api().import_memory(lane(), &closed, &imported, &address, &error), GARUDA_CUDA_OK);
  EXPECT_EQ(imported, nullptr);
}

}  // namespace
}  // namespace garuda::cuda
