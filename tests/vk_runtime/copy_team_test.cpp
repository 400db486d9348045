#include "vk_runtime/memory/copy_team.hpp"

#include <atomic>
#include <cstring>

#include "tests/vk_runtime/device_fixture.hpp"
#include "vk_runtime/memory/pinned_memory.hpp"

namespace garuda::vk {
namespace {

constexpr std::uint64_t kBytes = 300'001;

class CopyTeamTest : public DeviceTest {
 protected:
  CopyTeamOptions options(CopyDirection direction, bool pinned = false) const {
    CopyTeamOptions options;
    options.direction = direction;
    options.threads = 3;
    options.piece_bytes = 10'000;
    options.transfer.mode = UploadMode::stage;
    options.transfer.segment_bytes = 4'096;
    options.transfer.stage_downloads = true;
    options.transfer.use_pinned = pinned;
    options.transfer.queue = direction == CopyDirection::up ? 0 : 1;
    return options;
  }
  std::unique_ptr<CopyTeam> team(CopyTeamOptions const& options) {
    return value_of(CopyTeam::create(*device_, device_->graphics_queue(), options));
  }

  /// Uploads `source` in two groups and downloads it to `target`, both kBytes long.
  void round_trip(std::byte* source, std::byte* target, bool pinned) {
    Buffer const buffer = value_of(lane_->arena().buffer({.bytes = kBytes}));
    auto const up = team(options(CopyDirection::up, pinned));
    auto const first = up->start({{&buffer, 0, source, 100'003}, {&buffer, 100'003, source + 100'003, 5}});
    auto const second = up->start({{&buffer, 100'008, source + 100'008, kBytes - 100'008}});
    // A submission that waits for all copies stands for the passes of a caller.
    std::vector<Ticket> tickets = value_of(up->wait(*first));
    for (Ticket const ticket : value_of(up->wait(*second))) tickets.push_back(ticket);
    CommandRecorder recorder = value_of(lane_->begin());
    recorder.barrier(use::kTransferWrite, use::kTransferRead);
    Ticket const passed = value_of(lane_->submit(std::move(recorder), tickets));
    auto const down = team(options(CopyDirection::down, pinned));
    auto const group = down->start({{&buffer, 0, target, kBytes}}, passed);
    static_cast<void>(value_of(down->wait(*group)));
    EXPECT_EQ(std::memcmp(source, target, kBytes), 0);
    succeed(lane_->drain());
  }
};

TEST_F(CopyTeamTest, CopiesOrdinaryMemory) {
  auto source = pattern(kBytes);
  std::vector<std::byte> target(kBytes);
  round_trip(source.data(), target.data(), false);
}

TEST_F(CopyTeamTest, CopiesPinnedMemoryAndKeepsIt) {
  auto& registry = device_->pinned();
  if (!registry.is_supported()) {
    EXPECT_EQ(registry.allocate(1).error().code(), ErrorCode::no_device);
    GTEST_SKIP() << "no VK_EXT_external_memory_host";
  }
  auto const data = pattern(kBytes);
  {
    PinnedMemory source = value_of(registry.allocate(kBytes));
    PinnedMemory target = value_of(registry.allocate(kBytes));
    EXPECT_GE(source.bytes(), kBytes);
    EXPECT_TRUE(registry.covers(source.data(), kBytes));
    EXPECT_FALSE(registry.covers(source.data(), source.bytes() + kBytes));
    EXPECT_FALSE(registry.covers(data.data(), 1));
    std::memcpy(source.data(), data.data(), kBytes);
    round_trip(source.data(), target.data(), true);
    // Ordinary memory goes through the ring all the same.
    std::vector<std::byte> ordinary(kBytes);
    round_trip(source.data(), ordinary.data(), true);
  }
  auto const kept = registry.kept_bytes();
  EXPECT_GE(kept, 2 * kBytes);
  {
    PinnedMemory const again = value_of(registry.allocate(kBytes));
    EXPECT_LT(registry.kept_bytes(), kept);
  }
  registry.set_kept_limit(kBytes + 4'096);
  EXPECT_LE(registry.kept_bytes(), kBytes + 4'096);
  registry.trim();
  EXPECT_EQ(registry.kept_bytes(), 0U);
}

TEST_F(CopyTeamTest, SaysWhatFailedAndGoesOn) {
  auto source = pattern(kBytes);
  Buffer const buffer = value_of(lane_->arena().buffer({.bytes = kBytes}));
  auto const up = team(options(CopyDirection::up));
  device_->memory().inject_failure(1);
  auto const group = up->start({{&buffer, 0, source.data(), kBytes}});
  auto const failed = up->wait(*group);
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code(), ErrorCode::out_of_memory);
  auto const again = up->start({{&buffer, 0, source.data(), kBytes}});
  static_cast<void>(value_of(up->wait(*again)));
}

TEST_F(CopyTeamTest, StopsWithWorkLeft) {
  auto source = pattern(kBytes);
  Buffer const buffer = value_of(lane_->arena().buffer({.bytes = kBytes}));
  auto up = team(options(CopyDirection::up));
  auto const group = up->start({{&buffer, 0, source.data(), kBytes}});
  up.reset();
  succeed(device_->wait_idle());
}

TEST_F(CopyTeamTest, EndsWaitsThatAreCancelled) {
  std::vector<std::byte> target(kBytes);
  Buffer const buffer = value_of(lane_->arena().buffer({.bytes = kBytes}));
  std::atomic<bool> const cancelled{true};
  auto chosen = options(CopyDirection::down);
  chosen.wait.cancelled = &cancelled;
  auto const down = team(chosen);
  auto const group = down->start({{&buffer, 0, target.data(), kBytes}});
  auto const ended = down->wait(*group);
  // Copies that are done before anybody looks at the flag are no error.
  EXPECT_TRUE(ended || ended.error().code() == ErrorCode::cancelled);
}

}  // namespace
}  // namespace garuda::vk
