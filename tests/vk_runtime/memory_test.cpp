#include "vk_runtime/memory/memory.hpp"

#include "tests/vk_runtime/device_fixture.hpp"

namespace garuda::vk {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;

class MemoryTest : public DeviceTest {
 protected:
  MemoryArena& arena() { return lane_->arena(); }
  std::uint32_t device_local_type() const {
    return device_->memory().find_type(~0U, VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT).value();
  }
};

TEST_F(MemoryTest, SubAllocatesFromOneBlock) {
  std::vector<Buffer> buffers;
  for (std::uint64_t bytes : {1, 7, 16, 4'095, 65'537}) buffers.push_back(value_of(arena().buffer({.bytes = bytes})));
  EXPECT_EQ(arena().live(), 5U);
  EXPECT_EQ(arena().reserved_bytes(), 16 * kMiB);
  EXPECT_EQ(device_->memory().used_bytes(), 16 * kMiB);
  for (Buffer const& buffer : buffers)
    EXPECT_EQ(buffer.address() != 0, device_->traits().features.buffer_device_address);
}

TEST_F(MemoryTest, MappedBuffersDoNotOverlap) {
  std::vector<Buffer> buffers;
  for (std::uint64_t bytes = 1; bytes < 300; bytes += 13) {
    buffers.push_back(value_of(arena().buffer({.bytes = bytes, .use = MemoryUse::upload})));
    std::fill_n(buffers.back().mapped(), bytes, static_cast<std::byte>(bytes));
    ASSERT_TRUE(buffers.back().flush(0, bytes));
  }
  for (Buffer const& buffer : buffers) {
    auto const bytes = buffer.mapped_as<std::byte>();
    EXPECT_EQ(bytes.size(), buffer.bytes());
    EXPECT_TRUE(std::ranges::all_of(bytes, [&](std::byte b) { return b == static_cast<std::byte>(buffer.bytes()); }));
  }
}

TEST_F(MemoryTest, LargeBuffersGetABlockOfTheirSize) {
  Buffer const buffer = value_of(arena().buffer({.bytes = 40 * kMiB}));
  EXPECT_GE(arena().reserved_bytes(), 40 * kMiB);
  EXPECT_LT(arena().reserved_bytes(), 41 * kMiB);
}

TEST_F(MemoryTest, FurtherBlocksAreAsLargeAsAllBefore) {
  std::vector<Buffer> buffers;
  auto const take = [&](int count) {
    for (int i = 0; i < count; ++i) buffers.push_back(value_of(arena().buffer({.bytes = 7 * kMiB})));
    return arena().reserved_bytes() / kMiB;
  };
  EXPECT_EQ(take(2), 16U);
  EXPECT_EQ(take(4), 16U + 32U);
  EXPECT_EQ(take(9), 16U + 32U + 64U);
  EXPECT_EQ(take(1), 16U + 32U + 64U + 64U) << "and no larger than an ordinary one";
}

TEST_F(MemoryTest, ResetKeepsBlocksAndTrimFreesThem) {
  for (int round = 0; round < 5; ++round) {
    {
      Buffer const a = value_of(arena().buffer({.bytes = 4 * kMiB}));
      Image const b = value_of(arena().image({.format = VK_FORMAT_R32_UINT, .width = 65, .height = 33, .layers = 3}));
      EXPECT_NE(b.layer_view(2), VK_NULL_HANDLE);
      EXPECT_NE(b.array_view(), VK_NULL_HANDLE);
    }
    EXPECT_GT(arena().used_bytes(), 4 * kMiB);
    arena().reset();
    EXPECT_EQ(arena().used_bytes(), 0U);
    EXPECT_EQ(arena().reserved_bytes(), 16 * kMiB);
  }
  arena().trim();
  EXPECT_EQ(arena().reserved_bytes(), 0U);
  EXPECT_EQ(device_->memory().used_bytes(), 0U);
}

TEST_F(MemoryTest, ThePoolKeepsBlocksForTheNextArena) {
  auto& pool = device_->memory();
  VkDeviceMemory first = VK_NULL_HANDLE;
  {
    MemoryBlock const block = value_of(pool.allocate({.bytes = 8 * kMiB, .type = device_local_type()}));
    first = block.handle();
    EXPECT_EQ(pool.kept_bytes(), 0U);
  }
  EXPECT_EQ(pool.kept_bytes(), 8 * kMiB);
  {
    // Too small for a block of 8 MiB to be worth it, and too large for one.
    MemoryBlock const smaller = value_of(pool.allocate({.bytes = 5 * kMiB, .type = device_local_type()}));
    MemoryBlock const larger = value_of(pool.allocate({.bytes = 9 * kMiB, .type = device_local_type()}));
    EXPECT_NE(smaller.handle(), first);
    EXPECT_NE(larger.handle(), first);
    MemoryBlock const fitting = value_of(pool.allocate({.bytes = 6 * kMiB, .type = device_local_type()}));
    EXPECT_EQ(fitting.handle(), first);
    EXPECT_EQ(fitting.bytes(), 8 * kMiB);
    EXPECT_EQ(pool.kept_bytes(), 0U);
  }
  EXPECT_EQ(pool.kept_bytes(), 22 * kMiB);
  pool.trim();
  EXPECT_EQ(pool.kept_bytes(), 0U);
  EXPECT_EQ(pool.used_bytes(), 0U);
}

TEST_F(MemoryTest, KeptBlocksGiveWayToALimit) {
  auto& pool = device_->memory();
  { MemoryBlock const block = value_of(pool.allocate({.bytes = 8 * kMiB, .type = device_local_type()})); }
  auto const available = pool.available_bytes();
  pool.set_limit_bytes(10 * kMiB);
  EXPECT_EQ(pool.available_bytes(), 10 * kMiB);
  MemoryBlock const block = value_of(pool.allocate({.bytes = 4 * kMiB, .type = device_local_type()}));
  EXPECT_EQ(pool.kept_bytes(), 0U);
  EXPECT_EQ(pool.used_bytes(), 4 * kMiB);
  pool.set_limit_bytes(0);
  // Budgets are the driver's: they change with what other programs take, and with what the driver keeps for itself.
  if (device_->traits().features.memory_budget) {
    EXPECT_GT(pool.available_bytes(), 10 * kMiB);
  } else {
    EXPECT_EQ(pool.available_bytes(), available - 4 * kMiB);
  }
}

TEST_F(MemoryTest, RewindFreesWhatCameAfterTheMark) {
  Buffer const kept = value_of(arena().buffer({.bytes = 1'000, .use = MemoryUse::upload}));
  ArenaMark const mark = arena().mark();
  std::uint64_t const used = arena().used_bytes();
  Buffer dropped = value_of(arena().buffer({.bytes = 50 * kMiB, .use = MemoryUse::upload}));
  EXPECT_THROW(arena().rewind(mark), LogicError);
  dropped = Buffer();
  arena().rewind(mark);
  EXPECT_EQ(arena().used_bytes(), used);
  EXPECT_THROW(arena().reset(), LogicError);
}

TEST_F(MemoryTest, DroppedBuffersOutliveTheWorkThatUsesThem) {
  // The copy is still under way, or not even begun, when its buffers go.
  for (int round = 0; round < 20; ++round) {
    Buffer const source = value_of(arena().buffer({.bytes = 4 * kMiB}));
    Buffer const target = value_of(arena().buffer({.bytes = 4 * kMiB}));
    CommandRecorder recorder = value_of(lane_->begin());
    recorder.fill(source.view(), 1);
    recorder.barrier(source, use::kTransferWrite, use::kTransferRead);
    recorder.copy(source.view(), target.view());
    value_of(lane_->submit(std::move(recorder)));
  }
  EXPECT_EQ(arena().live(), 0U);
  ASSERT_TRUE(lane_->reset());
}

TEST_F(MemoryTest, LimitIsKeptAndNamedInTheError) {
  device_->memory().set_limit_bytes(8 * kMiB);
  Buffer const first = value_of(arena().buffer({.bytes = 6 * kMiB}));  // a smaller block than usual
  EXPECT_LE(device_->memory().used_bytes(), 8 * kMiB);
  auto const second = arena().buffer({.bytes = 6 * kMiB});
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code(), ErrorCode::limit_exceeded);
  EXPECT_THAT(second.error().message(), AllOf(HasSubstr("8388608"), HasSubstr("6291456")));
  EXPECT_LE(device_->memory().available_bytes(), 2 * kMiB);
  EXPECT_TRUE(arena().buffer({.bytes = kMiB}));
}

TEST_F(MemoryTest, UnusedBlocksMakeRoomForOthers) {
  device_->memory().set_limit_bytes(64 * kMiB);
  { Buffer const small = value_of(arena().buffer({.bytes = 100})); }
  arena().reset();
  EXPECT_EQ(arena().reserved_bytes(), 16 * kMiB);
  // Memory of another type has no block yet, and the limit leaves no room but what is unused.
  auto const image = arena().image({.format = VK_FORMAT_R32_UINT, .width = 2'048, .height = 2'048});
  EXPECT_TRUE(image) << image.error().describe();
  auto const large = arena().buffer({.bytes = 40 * kMiB});
  EXPECT_TRUE(large) << large.error().describe();
}

TEST_F(MemoryTest, SizesPastTheDevicesLimitsAreErrors) {
  DeviceLimits const& limits = device_->traits().limits;
  auto const buffer = arena().buffer({.bytes = limits.max_buffer_size + 1});
  ASSERT_FALSE(buffer);
  EXPECT_EQ(buffer.error().code(), ErrorCode::limit_exceeded);
  std::uint32_t const extent = device_->traits().max_render_extent();
  auto const wide = arena().image({.format = VK_FORMAT_R32_UINT, .width = extent + 1, .height = 1});
  ASSERT_FALSE(wide);
  EXPECT_EQ(wide.error().code(), ErrorCode::limit_exceeded);
  auto const deep = arena().image(
      {.format = VK_FORMAT_R32_UINT, .width = 1, .height = 1, .layers = limits.max_image_array_layers + 1});
  ASSERT_FALSE(deep);
  EXPECT_EQ(deep.error().code(), ErrorCode::limit_exceeded);
}

TEST_F(MemoryTest, AllocationsPastTheDevicesLargestAreErrors) {
  auto const block = device_->memory().allocate(
      {.bytes = device_->traits().limits.max_memory_allocation_size + 1, .type = device_local_type()});
  ASSERT_FALSE(block);
  EXPECT_EQ(block.error().code(), ErrorCode::out_of_memory);
  EXPECT_EQ(device_->memory().used_bytes(), 0U);
}

/// Everything that allocates, once.
Result<void> allocate_all_kinds(Device& device) {
  GARUDA_TRY_ASSIGN(
      auto lane,
      Lane::create(device, {.transfer = {.mode = UploadMode::stage, .segment_bytes = 4'096, .stage_downloads = true}}));
  std::vector<std::byte> data(20'000, std::byte{42});
  GARUDA_TRY_ASSIGN(Buffer const buffer, lane->arena().buffer({.bytes = data.size()}));
  GARUDA_TRY_ASSIGN(Buffer const mapped, lane->arena().buffer({.bytes = 99, .use = MemoryUse::upload}));
  GARUDA_TRY_ASSIGN(Buffer const large, lane->arena().buffer({.bytes = 40 * kMiB}));
  GARUDA_TRY_ASSIGN(Image const image,
                    lane->arena().image({.format = VK_FORMAT_R32G32_UINT, .width = 65, .height = 33, .layers = 2}));
  GARUDA_TRY_ASSIGN(Ticket const uploaded, lane->transfer().upload(buffer, 0, data));
  std::vector<std::byte> back(data.size());
  GARUDA_TRY(lane->transfer().download(buffer, 0, back, uploaded));
  EXPECT_EQ(data, back);
  return {};
}

TEST_F(MemoryTest, EveryFailureIsReportedAndFreesEverything) {
  lane_.reset();
  std::uint64_t failures = 0;
  for (std::uint64_t n = 1;; ++n) {
    device_->memory().inject_failure(n);
    auto const result = allocate_all_kinds(*device_);
    if (device_->memory().failure_pending()) {
      EXPECT_TRUE(result) << result.error().describe();
      device_->memory().inject_failure(std::nullopt);
      break;
    }
    // The failure of a block may be made good by a smaller one; all others end the attempt.
    if (!result) {
      ++failures;
      EXPECT_EQ(result.error().code(), ErrorCode::out_of_memory);
      EXPECT_THAT(result.error().message(), HasSubstr("injected"));
    }
    EXPECT_EQ(device_->memory().used_bytes(), 0U) << n;
    ASSERT_LT(n, 1'000U);
  }
  EXPECT_GE(failures, 10U);  // 3 buffers, an image, 3 + 3 staging segments at the least
}

/// Memory of which the driver gives less than it says.
class FalseMemory : public MemoryTest {
 protected:
  void TearDown() override {
    inject_given_memory(std::nullopt);
    MemoryTest::TearDown();
  }
};

TEST_F(FalseMemory, BlocksThatAreRefusedBecomeSmallerOnes) {
  inject_given_memory(GivenMemory{.largest_block = 2 * kMiB, .heap_bytes = {}});
  Buffer const first = value_of(arena().buffer({.bytes = kMiB}));
  Buffer const second = value_of(arena().buffer({.bytes = kMiB}));
  EXPECT_LE(arena().reserved_bytes(), 2 * kMiB + 1'024);
  auto const large = arena().buffer({.bytes = 3 * kMiB});
  ASSERT_FALSE(large);
  EXPECT_EQ(large.error().code(), ErrorCode::out_of_memory);
}

TEST_F(FalseMemory, WhatWasRefusedIsNotPlannedWith) {
  auto& pool = device_->memory();
  auto const said = pool.available_bytes();
  inject_given_memory(GivenMemory{.heap_bytes = std::vector<std::uint64_t>(16, 8 * kMiB)});
  Buffer const first = value_of(arena().buffer({.bytes = 5 * kMiB}));
  EXPECT_FALSE(arena().buffer({.bytes = 5 * kMiB}));
  // Where there is another heap of the device's, a small window for the host, it is planned with as it says.
  if (std::ranges::count(device_->traits().heaps, true, &MemoryHeap::device_local) == 1) {
    EXPECT_LT(pool.available_bytes(), 5 * kMiB);
  }
  Buffer const third = value_of(arena().buffer({.bytes = kMiB}));
  inject_given_memory(std::nullopt);  // others gave theirs back
  Buffer const fourth = value_of(arena().buffer({.bytes = 20 * kMiB}));
  EXPECT_GT(pool.available_bytes(), said / 2) << "the driver gave more than it was thought to have";
}

VolkDeviceTable real_driver;

/// An integrated GPU with a small heap of its own, not mapped, beside the processor's memory: made of a driver that has
/// one heap, whose only type serves for both.
class TwoHeaps : public FalseMemory {
 protected:
  void SetUp() override {
    MemoryTest::SetUp();
    if (IsSkipped()) return;
    if (device_->traits().memory_types.size() != 1) GTEST_SKIP() << "the device has heaps of its own";
    real_driver = device_->fn();
    auto& driver = const_cast<VolkDeviceTable&>(device_->fn());
    driver.vkAllocateMemory = [](VkDevice device, VkMemoryAllocateInfo const* info,
                                 VkAllocationCallbacks const* callbacks, VkDeviceMemory* memory) {
      auto one = *info;
      one.memoryTypeIndex = 0;
      return real_driver.vkAllocateMemory(device, &one, callbacks, memory);
    };
    driver.vkGetBufferMemoryRequirements2 = [](VkDevice device, VkBufferMemoryRequirementsInfo2 const* info,
                                               VkMemoryRequirements2* requirements) {
      real_driver.vkGetBufferMemoryRequirements2(device, info, requirements);
      requirements->memoryRequirements.memoryTypeBits = 3;
    };
  }
  void become(DeviceType type) {
    auto& traits = const_cast<DeviceTraits&>(device_->traits());
    traits.type = type;
    traits.unified_memory = false;
    traits.features.memory_budget = false;
    traits.heaps = {{64 * kMiB, true}, {1'024 * kMiB, false}};
    traits.memory_types = {
        {.heap = 0, .device_local = true},
        {.heap = 1, .host_visible = true, .host_coherent = true, .host_cached = true},
    };
  }
};

TEST_F(TwoHeaps, AnIntegratedGpuTakesTheProcessorsMemoryWhereItsOwnEnds) {
  become(DeviceType::integrated);
  inject_given_memory(GivenMemory{.heap_bytes = {8 * kMiB}});  // of 64 MiB that it says
  EXPECT_GE(device_->memory().available_bytes(), 1'024 * kMiB);
  Buffer const own = value_of(arena().buffer({.bytes = 6 * kMiB}));
  EXPECT_EQ(own.mapped(), nullptr);
  EXPECT_EQ(arena().take_bytes_elsewhere(), 0U);
  Buffer const elsewhere = value_of(arena().buffer({.bytes = 6 * kMiB}));
  EXPECT_NE(elsewhere.mapped(), nullptr);
  EXPECT_EQ(arena().take_bytes_elsewhere(), 6 * kMiB);
  EXPECT_EQ(arena().take_bytes_elsewhere(), 0U);
}

TEST_F(TwoHeaps, ADiscreteGpuDoesNotWorkOverTheBus) {
  become(DeviceType::discrete);
  inject_given_memory(GivenMemory{.heap_bytes = {8 * kMiB}});
  Buffer const own = value_of(arena().buffer({.bytes = 6 * kMiB}));
  auto const second = arena().buffer({.bytes = 6 * kMiB});
  ASSERT_FALSE(second) << "smaller slices are faster";
  EXPECT_EQ(second.error().code(), ErrorCode::out_of_memory);
  EXPECT_TRUE(arena().buffer({.bytes = 6 * kMiB, .use = MemoryUse::upload}));
}

TEST_F(MemoryTest, HostMemoryIsImportedInPlace) {
  if (!device_->traits().features.external_memory_host) GTEST_SKIP() << "no VK_EXT_external_memory_host";
  std::uint64_t const page = device_->traits().limits.min_imported_host_pointer_alignment;
  auto const memory = host_memory(page, 4 * page);
  std::vector<std::byte> const data = pattern(4 * page);
  std::ranges::copy(data, memory.get());
  Buffer const imported = value_of(arena().import_host({memory.get(), 4 * page}));
  EXPECT_EQ(device_->memory().used_bytes(), 0U);
  std::vector<std::byte> back(data.size());
  ASSERT_TRUE(lane_->transfer().download(imported, 0, back));
  EXPECT_EQ(back, data);
  // Any part of it, beside the other import; what is dropped is the host's at once.
  auto const live = arena().live();
  for (std::size_t const begin : {std::size_t{4}, static_cast<std::size_t>(page - 4)}) {
    Buffer const part = value_of(arena().import_host({memory.get() + begin, 12}));
    EXPECT_EQ(part.mapped(), memory.get() + begin);
    back.resize(part.bytes());
    ASSERT_TRUE(lane_->transfer().download(part, 0, back));
    EXPECT_TRUE(std::ranges::equal(back, std::span(data).subspan(begin, 12)));
  }
  EXPECT_EQ(arena().live(), live);
}

}  // namespace
}  // namespace garuda::vk
