// The CUDA path without a plug-in, or with another library in its place; and the choice among its devices.

#include <gtest/gtest.h>

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "core/os/environment.hpp"
#include "operators/cuda/cuda_device.hpp"
#include "operators/plan/path_choice.hpp"
#include "tests/engine/fake_device.hpp"

namespace garuda::cuda {
namespace {

using testing::FakeDevice;

/// Names the plug-in for one test.
class NamedPlugin {
 public:
  explicit NamedPlugin(char const* file) { os::set_variable("GARUDA_CUDA_PLUGIN", file); }
  NamedPlugin(NamedPlugin const&) = delete;
  NamedPlugin& operator=(NamedPlugin const&) = delete;
  ~NamedPlugin() { os::set_variable("GARUDA_CUDA_PLUGIN", std::nullopt); }
};

TEST(CudaLibrary, AMissingFileIsNamed) {
  NamedPlugin const named("/nonexistent/libgaruda_cuda.so");
  auto const library = CudaLibrary::load();
  ASSERT_FALSE(library);
  EXPECT_EQ(library.error().code(), ErrorCode::no_device);
  EXPECT_NE(library.error().describe().find("/nonexistent/libgaruda_cuda.so"), std::string::npos);
}

TEST(CudaLibrary, AnotherLibraryIsNoPlugin) {
  NamedPlugin const named(GARUDA_OTHER_LIBRARY);
  auto const library = CudaLibrary::load();
  ASSERT_FALSE(library);
  EXPECT_EQ(library.error().code(), ErrorCode::no_device);
  EXPECT_NE(library.error().describe().find("no CUDA plug-in"), std::string::npos);
}

TEST(CudaLibrary, APluginOfAnotherVersionIsRefused) {
  NamedPlugin const named(GARUDA_OLD_PLUGIN);
  auto const library = CudaLibrary::load();
  ASSERT_FALSE(library);
  EXPECT_EQ(library.error().code(), ErrorCode::no_device);
  EXPECT_NE(library.error().describe().find("another version of garuda"), std::string::npos);
  EXPECT_NE(library.error().describe().find(GARUDA_OLD_PLUGIN), std::string::npos);
}

GarudaCudaTraits traits_of(std::uint8_t uuid, std::uint32_t major = 9) {
  GarudaCudaTraits traits{};
  std::string("a GPU").copy(traits.name, sizeof traits.name - 1);
  traits.uuid[0] = uuid;
  traits.memory_bytes = std::uint64_t{80} << 30;
  traits.compute_major = major;
  traits.driver_version = 13'000;
  traits.has_code = 1;
  return traits;
}

TEST(CudaDevices, ArePairedByUuid) {
  FakeDevice vulkan(vk::DeviceType::discrete);
  std::vector<contract::FoundDevice> all{{vulkan.info, {7}, &vulkan.traits}};
  contract::add_devices(all, std::array{describe_cuda(traits_of(8)), describe_cuda(traits_of(7))});
  ASSERT_EQ(all.size(), 3U);
  EXPECT_EQ(all[1].info.same_gpu, std::nullopt);
  EXPECT_EQ(all[2].info.same_gpu, 0U);
  EXPECT_EQ(all[2].info.index, 2U);
  EXPECT_EQ(all[2].info.api_version, "13.0");
}

TEST(CudaDevices, OldOnesAreNotUsable) {
  auto const info = describe_cuda(traits_of(1, 6)).info;
  EXPECT_FALSE(info.usable);
  EXPECT_EQ(info.reason, "older than compute capability 7.5");
  EXPECT_TRUE(describe_cuda(traits_of(1, 9)).info.usable);
}

TEST(CudaDevices, ThosePluginsHaveNoCodeForAreNotUsable) {
  auto traits = traits_of(1, 8);
  traits.compute_minor = 6;
  traits.has_code = 0;
  auto const info = describe_cuda(traits).info;
  EXPECT_FALSE(info.usable);
  EXPECT_EQ(info.reason, "the CUDA plug-in was built without code for compute capability 8.6");
}

/// A Vulkan GPU, a software device and two CUDA devices, of which the first is the Vulkan GPU.
/// An operator for which every path has one offer a place, CUDA the cheapest, the CPU the dearest.
class PricedPaths final : public plan::Node {
 public:
  using Node::Node;
  bool is_of(contract::PathRow const& path) const override { return path.join.offers != nullptr; }
  Result<plan::AnyOffers> ask(contract::PathRow const& path, contract::Place const& place) const override {
    auto offer = std::make_unique<contract::Offer>();
    offer->candidate = {path.path, "", "", !path.api ? 100.0 : path.path == Path::cuda ? 1.0 : 2.0, "", {}};
    offer->device = place.device;
    plan::AnyOffers offers;
    offers.list.push_back(std::move(offer));
    return offers;
  }
};

class CudaChoice : public ::testing::Test {
 protected:
  CudaChoice() : gpu_(vk::DeviceType::discrete), software_(vk::DeviceType::cpu) {
    all_ = {{gpu_.info, {1}, &gpu_.traits}, {software_.info, {2}, &software_.traits}};
    contract::add_devices(all_, std::array{describe_cuda(traits_of(1)), describe_cuda(traits_of(9))});
  }

  std::vector<contract::DeviceFacts> facts() const {
    std::vector<contract::DeviceFacts> facts;
    for (auto const& device : all_) facts.push_back({&device.info, device.vulkan});
    return facts;
  }

  /// The device that is chosen.
  std::optional<std::size_t> chosen(RunOptions const& options, bool with_gpu = true) const {
    auto devices = facts();
    DeviceInfo missing = *devices[0].info;
    missing.usable = false;
    if (!with_gpu) devices[0].info = &missing;
    contract::QueryShape const shape;
    auto const best =
        plan::choose_offer(PricedPaths(shape, options, Placement::automatic), {devices, std::nullopt, {}});
    EXPECT_TRUE(best) << best.error().describe();
    return best->offer->device;
  }

  FakeDevice gpu_;
  FakeDevice software_;
  std::vector<contract::FoundDevice> all_;
};

TEST_F(CudaChoice, AutoTakesCudaOnlyWithPermissionOrAlone) {
  RunOptions options;
  EXPECT_EQ(chosen(options), 0U);
  EXPECT_EQ(chosen(options, false), 2U);
  options.allow_cuda = true;
  EXPECT_EQ(chosen(options), 2U);
}

TEST_F(CudaChoice, PathsTakeTheDevicesOfTheirApi) {
  RunOptions options;
  options.path = Path::compute;
  EXPECT_EQ(chosen(options), 0U);
  options.path = Path::cuda;
  EXPECT_EQ(chosen(options), 2U);
  options.device = "3";
  EXPECT_EQ(chosen(options), 3U);
  options.device = "0";  // the same GPU
  EXPECT_EQ(chosen(options), 2U);
  options.device = "a gpu";
  EXPECT_EQ(chosen(options), 2U);
}

TEST_F(CudaChoice, ACudaDeviceMayBeAskedForByIndexOrName) {
  RunOptions options;
  options.device = "3";
  EXPECT_EQ(chosen(options), 3U);
  options.device = "A GPU";
  EXPECT_EQ(chosen(options), 2U);
}

TEST_F(CudaChoice, WhatThereIsNotIsNamed) {
  RunOptions options;
  options.path = Path::cuda;
  options.device = "1";  // software, no CUDA device
  auto const requested = plan::requested_device(facts(), options);
  ASSERT_FALSE(requested);
  EXPECT_EQ(requested.error().code(), ErrorCode::no_device);
}

}  // namespace
}  // namespace garuda::cuda
