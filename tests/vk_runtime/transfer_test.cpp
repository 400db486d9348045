#include "vk_runtime/memory/transfer.hpp"

#include <thread>

#include "tests/vk_runtime/device_fixture.hpp"

namespace garuda::vk {
namespace {

constexpr std::uint64_t kSegment = 4'096;

class TransferTest : public DeviceTest, public ::testing::WithParamInterface<UploadMode> {
 protected:
  void SetUp() override {
    DeviceTest::SetUp();
    if (IsSkipped()) return;
    if (GetParam() == UploadMode::import_host && !device_->traits().features.external_memory_host) {
      GTEST_SKIP() << "no VK_EXT_external_memory_host";
    }
    if (GetParam() == UploadMode::map && !device_->traits().device_memory_mappable()) {
      GTEST_SKIP() << "device memory cannot be mapped";
    }
    lane_.reset();
    lane_ = value_of(Lane::create(*device_, {.transfer = transfer_options()}));
  }
  TransferOptions transfer_options() const {
    return {.mode = GetParam(), .segment_bytes = kSegment, .stage_downloads = GetParam() == UploadMode::stage};
  }
  MemoryUse use() const { return GetParam() == UploadMode::map ? MemoryUse::device_mapped : MemoryUse::device; }
};

TEST_P(TransferTest, RoundTripsAnySizeAtAnyOffset) {
  for (std::uint64_t bytes : {1, 3, 7, 4'095, 4'096, 4'097, 12'287, 12'288, 12'289, 100'003}) {
    for (std::uint64_t offset : {0, 1, 5, 4'096}) {
      std::vector<std::byte> expected(bytes + offset + 9, std::byte{0xee});
      Buffer const buffer = value_of(lane_->arena().buffer({.bytes = expected.size(), .use = use()}));
      Ticket const cleared = value_of(lane_->transfer().upload(buffer, 0, expected));
      std::vector<std::byte> const data = pattern(bytes, static_cast<std::uint32_t>(bytes + offset));
      Ticket const written = value_of(lane_->transfer().upload(buffer, offset, data, cleared));
      std::ranges::copy(data, expected.begin() + static_cast<std::ptrdiff_t>(offset));

      std::vector<std::byte> back(expected.size());
      ASSERT_TRUE(lane_->transfer().download(buffer, 0, back, written));
      EXPECT_EQ(back, expected) << bytes << " at " << offset;
      std::vector<std::byte> part(bytes);
      ASSERT_TRUE(lane_->transfer().download(buffer, offset, part, written));
      EXPECT_EQ(part, data) << bytes << " at " << offset;
      ASSERT_TRUE(lane_->transfer().drain());
    }
  }
}

TEST_P(TransferTest, NothingIsCopiedForNothing) {
  Buffer const buffer = value_of(lane_->arena().buffer({.bytes = 16, .use = use()}));
  EXPECT_TRUE(lane_->transfer().upload(buffer, 16, {}));
  EXPECT_TRUE(lane_->transfer().download(buffer, 16, {}));
  EXPECT_EQ(lane_->transfer().uploaded_bytes(), 0U);
  std::vector<std::byte> const data(17);
  EXPECT_THROW(static_cast<void>(lane_->transfer().upload(buffer, 0, data)), LogicError);
}

TEST_P(TransferTest, ManyUploadsSideBySide) {
  // More than the ring has segments, without a wait by the caller; sources stay alive as imports need.
  std::vector<std::vector<std::byte>> sources;
  std::vector<Buffer> buffers;
  std::vector<Ticket> tickets;
  for (std::uint32_t i = 0; i < 20; ++i) {
    sources.push_back(pattern(5'000 + 777 * i, i));
    buffers.push_back(value_of(lane_->arena().buffer({.bytes = sources[i].size(), .use = use()})));
    tickets.push_back(value_of(lane_->transfer().upload(buffers[i], 0, sources[i])));
  }
  for (std::uint32_t i = 0; i < 20; ++i) {
    std::vector<std::byte> back(sources[i].size());
    ASSERT_TRUE(lane_->transfer().download(buffers[i], 0, back, tickets[i]));
    EXPECT_EQ(back, sources[i]);
  }
}

TEST_P(TransferTest, SegmentsGrowWithWhatGoesThroughThem) {
  // Every segment is small first, and the largest copy takes several of the largest.
  auto options = transfer_options();
  options.segment_bytes = std::uint64_t{1} << 18;
  auto lane = value_of(Lane::create(*device_, {.transfer = options}));
  for (std::uint32_t round = 0; round < 14; ++round) {
    auto const data = pattern(std::size_t{90} << round, round);
    Buffer const buffer = value_of(lane->arena().buffer({.bytes = data.size(), .use = use()}));
    for (int copy = 0; copy < 4; ++copy) {
      Ticket const uploaded = value_of(lane->transfer().upload(buffer, 0, data));
      std::vector<std::byte> back(data.size());
      ASSERT_TRUE(lane->transfer().download(buffer, 0, back, uploaded));
      EXPECT_EQ(back, data) << data.size();
    }
    ASSERT_TRUE(lane->transfer().drain());
  }
}

TEST_P(TransferTest, UploadsFeedThePassesThatWaitForThem) {
  std::vector<std::byte> const data = pattern(40'000);
  Buffer const buffer = value_of(lane_->arena().buffer({.bytes = data.size(), .use = use()}));
  Buffer const copied = value_of(lane_->arena().buffer({.bytes = data.size(), .use = MemoryUse::download}));
  Ticket const uploaded = value_of(lane_->transfer().upload(buffer, 0, data));
  CommandRecorder recorder = value_of(lane_->begin());
  recorder.copy(buffer.view(), copied.view());
  Ticket const done = value_of(lane_->submit(std::move(recorder), {{uploaded}}));
  std::vector<std::byte> back(data.size());
  ASSERT_TRUE(lane_->transfer().download(copied, 0, back, done));
  EXPECT_EQ(back, data);
}

TEST_P(TransferTest, LanesWorkSideBySide) {
  auto const run = [&](std::uint32_t seed) {
    auto lane = value_of(Lane::create(*device_, {.transfer = transfer_options(), .block_bytes = 1 << 20}));
    for (std::uint32_t round = 0; round < 10; ++round) {
      std::vector<std::byte> const data = pattern(20'001, seed * 100 + round);
      Buffer const buffer = value_of(lane->arena().buffer({.bytes = data.size(), .use = use()}));
      Ticket const uploaded = value_of(lane->transfer().upload(buffer, 0, data));
      std::vector<std::byte> back(data.size());
      succeed(lane->transfer().download(buffer, 0, back, uploaded));
      EXPECT_EQ(back, data);
    }
  };
  std::vector<std::jthread> threads;
  for (std::uint32_t seed = 0; seed < 3; ++seed) threads.emplace_back(run, seed);
}

INSTANTIATE_TEST_SUITE_P(, TransferTest, ::testing::Values(UploadMode::map, UploadMode::stage, UploadMode::import_host),
                         [](auto const& parameter) { return std::string(to_string(parameter.param)); });

class TransferChoiceTest : public DeviceTest {};

TEST_F(TransferChoiceTest, PagesAreImportedAndEdgesStaged) {
  if (!device_->traits().features.external_memory_host) GTEST_SKIP() << "no VK_EXT_external_memory_host";
  auto transfer = value_of(Transfer::create(*device_, lane_->queue(), {.mode = UploadMode::import_host}));
  std::uint64_t const page = device_->traits().limits.min_imported_host_pointer_alignment;
  auto const memory = host_memory(page, 8 * page);
  std::vector<std::byte> const data = pattern(8 * page);
  std::ranges::copy(data, memory.get());
  std::span<std::byte const> const source(memory.get() + 10, 8 * page - 20);  // six whole pages and two edges
  Buffer const buffer = value_of(lane_->arena().buffer({.bytes = source.size()}));
  Ticket const uploaded = value_of(transfer->upload(buffer, 0, source));
  EXPECT_EQ(transfer->imported_bytes(), 6 * page);
  std::vector<std::byte> back(source.size());
  ASSERT_TRUE(transfer->download(buffer, 0, back, uploaded));
  EXPECT_TRUE(std::ranges::equal(back, source));
  ASSERT_TRUE(transfer->release_imports());
}

TEST_F(TransferChoiceTest, DefaultFollowsTheMemory) {
  bool const unified = device_->traits().unified_memory && device_->traits().device_memory_mappable();
  EXPECT_EQ(lane_->transfer().mode(), unified ? UploadMode::map : UploadMode::stage);
}

}  // namespace
}  // namespace garuda::vk
