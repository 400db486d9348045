// Tickets, waiting, phase times, and the check that misuse does not go unseen.
#include <chrono>

#include "tests/test_run.hpp"
#include "tests/vk_runtime/device_fixture.hpp"
#include "vk_runtime/pipelines.hpp"
#include "vk_runtime_test_shaders.hpp"

namespace garuda::vk {
namespace {

using namespace std::chrono_literals;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

class SubmissionTest : public DeviceTest {
 protected:
  Ticket submit_fill(Buffer const& buffer, std::uint32_t word, char const* phase) {
    CommandRecorder recorder = value_of(lane_->begin());
    // Producer: the fill before. Consumer: this one.
    recorder.barrier(buffer, use::kTransferWrite, use::kTransferWrite);
    recorder.begin_phase(phase);
    recorder.fill(buffer.view(), word);
    recorder.end_phase();
    return value_of(lane_->submit(std::move(recorder)));
  }
};

TEST_F(SubmissionTest, TicketsAreReachedInOrder) {
  Buffer const buffer = value_of(lane_->arena().buffer({.bytes = 4'096}));
  Ticket last;
  for (std::uint32_t i = 1; i <= 20; ++i) {
    Ticket const ticket = submit_fill(buffer, i, "fill");
    EXPECT_EQ(ticket.value, i);
    last = ticket;
  }
  std::vector<std::uint32_t> words(1'024);
  ASSERT_TRUE(lane_->transfer().download(buffer, 0, std::as_writable_bytes(std::span(words)), last));
  EXPECT_THAT(words, ::testing::Each(20U));
  EXPECT_TRUE(lane_->wait(last));
  EXPECT_TRUE(lane_->wait(Ticket{}));
}

TEST_F(SubmissionTest, WaitsEndWhenCancelledOrTooLong) {
  Timeline timeline(*device_, lane_->queue());
  Ticket const first = value_of(timeline.submit({}));
  ASSERT_TRUE(timeline.wait(first));
  Ticket const never{first.semaphore, first.value + 1};
  EXPECT_FALSE(value_of(timeline.reached(never)));
  std::atomic<bool> cancelled{true};
  auto const stopped = timeline.wait(never, {.cancelled = &cancelled, .timeout = {}});
  ASSERT_FALSE(stopped);
  EXPECT_EQ(stopped.error().code(), ErrorCode::cancelled);
  auto const late = timeline.wait(never, {.cancelled = nullptr, .timeout = 30ms});
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().code(), ErrorCode::device_failure);
}

/// A semaphore outlives whoever counted by it: a driver's thread may still touch it. Whoever comes next counts on.
TEST_F(SubmissionTest, TimelinesAreLentAgain) {
  Ticket done;
  {
    Timeline timeline(*device_, lane_->queue());
    done = value_of(timeline.submit({}));
    ASSERT_TRUE(timeline.wait(done));
  }
  Timeline next(*device_, lane_->queue());
  EXPECT_TRUE(value_of(next.reached(next.last()))) << "nothing was submitted";
  Ticket const later = value_of(next.submit({}, {&done, 1}));
  EXPECT_EQ(later.semaphore, done.semaphore);
  EXPECT_EQ(later.value, done.value + 1);
  ASSERT_TRUE(next.wait(later));
  Timeline other(*device_, lane_->queue());
  Ticket const beside = value_of(other.submit({}));
  EXPECT_NE(beside.semaphore, done.semaphore);
  ASSERT_TRUE(other.wait(beside));
}

TEST_F(SubmissionTest, DroppedRecordersAreTakenBack) {
  Buffer const buffer = value_of(lane_->arena().buffer({.bytes = 4'096}));
  {
    CommandRecorder dropped = value_of(lane_->begin());
    dropped.begin_phase("dropped");
    dropped.fill(buffer.view(), 1);
  }
  submit_fill(buffer, 2, "kept");
  ASSERT_TRUE(lane_->recycle());
  ASSERT_EQ(lane_->timer().times().size(), 1U);
  EXPECT_EQ(lane_->timer().times()[0].name, "kept");
}

TEST_F(SubmissionTest, LanesAreReusedPartitionAfterPartition) {
  auto store = value_of(PipelineStore::create(*device_, std::nullopt));
  Pipeline const& pipeline =
      *value_of(store->compile(ComputePipelineSpec{.compute = test_shaders::get("group_ids.comp"),
                                                   .bindings = {{0, BindingKind::storage_buffer}},
                                                   .push_bytes = 4}));
  for (int partition = 0; partition < 3; ++partition) {
    {
      Buffer const ids = value_of(lane_->arena().buffer({.bytes = 4'000}));
      // More sets than one descriptor pool holds.
      CommandRecorder recorder = value_of(lane_->begin());
      for (int i = 0; i < 600; ++i) {
        succeed(recorder.bind(pipeline, {{BoundResource::of(0, ids)}}, 1'000U));
        recorder.dispatch(10);
        recorder.barrier(ids, use::kComputeWrite, use::kComputeWrite);
      }
      succeed(lane_->submit_and_wait(std::move(recorder)));
    }
    ASSERT_TRUE(lane_->reset());
    EXPECT_EQ(lane_->arena().used_bytes(), 0U);
  }
}

TEST_F(SubmissionTest, TimesWithWhatASoftwareDriverCompilesAreTold) {
  auto store = value_of(PipelineStore::create(*device_, std::nullopt));
  Pipeline const& pipeline =
      *value_of(store->compile(ComputePipelineSpec{.compute = test_shaders::get("group_ids.comp"),
                                                   .bindings = {{0, BindingKind::storage_buffer}},
                                                   .push_bytes = 4}));
  Buffer const ids = value_of(lane_->arena().buffer({.bytes = 4'000}));
  for (int run = 0; run < 2; ++run) {
    CommandRecorder recorder = value_of(lane_->begin());
    recorder.begin_phase(run == 0 ? "first" : "second");
    succeed(recorder.bind(pipeline, {{BoundResource::of(0, ids)}}, 10U));
    recorder.dispatch(10);
    recorder.end_phase();
    succeed(lane_->submit_and_wait(std::move(recorder)));
  }
  ASSERT_TRUE(lane_->recycle());
  bool const is_software = device_->traits().type == DeviceType::cpu;
  ASSERT_EQ(lane_->timer().times().size(), 2U);
  ASSERT_EQ(lane_->timer().submission_times().size(), 2U);
  EXPECT_EQ(lane_->timer().times()[0].compiles, is_software);
  EXPECT_EQ(lane_->timer().submission_times()[0].compiles, is_software);
  EXPECT_EQ(lane_->timer().submission_times()[0].phases, "first");
  EXPECT_FALSE(lane_->timer().times()[1].compiles);
  EXPECT_FALSE(lane_->timer().submission_times()[1].compiles);
}

TEST_F(SubmissionTest, PhasesAreTimedByName) {
  Buffer const buffer = value_of(lane_->arena().buffer({.bytes = 8 << 20}));
  for (std::uint32_t i = 0; i < 3; ++i) {
    for (char const* phase : {"build", "probe"}) {
      auto const ticket = submit_fill(buffer, i, phase);
      ASSERT_TRUE(lane_->wait(ticket));
    }
  }
  ASSERT_TRUE(lane_->recycle());
  auto const& times = lane_->timer().times();
  ASSERT_EQ(times.size(), 2U);
  EXPECT_EQ(times[0].name, "build");
  EXPECT_EQ(times[1].name, "probe");
  for (PhaseTime const& time : times) {
    EXPECT_GT(time.ns, 0);
    EXPECT_LT(time.ns, 60'000'000'000);
  }
  EXPECT_EQ(lane_->timer().dropped_phases(), 0U);
}

TEST_F(SubmissionTest, HostTimeNamesThePhasesOfASubmission) {
  DeviceTraits const& traits = device_->traits();
  EXPECT_EQ(lane_->timer().source(), traits.timestamps_reliable ? ClockSource::device : ClockSource::host);
  CommandRecorder recorder = value_of(lane_->begin());
  for (char const* phase : {"count", "scan"}) {
    recorder.begin_phase(phase);
    recorder.end_phase();
  }
  succeed(lane_->submit_and_wait(std::move(recorder)));
  ASSERT_TRUE(lane_->recycle());
  std::vector<std::string> names;
  for (PhaseTime const& time : lane_->timer().times()) names.push_back(time.name);
  if (lane_->timer().source() == ClockSource::host) {
    EXPECT_THAT(names, ::testing::ElementsAre("count+scan"));
  } else {
    EXPECT_THAT(names, ::testing::ElementsAre("count", "scan"));
  }
}

TEST_F(SubmissionTest, PhasesPastTheCapacityAreCounted) {
  PhaseTimer timer = value_of(PhaseTimer::create(*device_, lane_->queue(), 2));
  CommandRecorder recorder = value_of(lane_->begin());
  for (char const* phase : {"a", "b", "c"}) {
    timer.begin(recorder.handle(), phase);
    timer.end(recorder.handle());
  }
  Ticket const ticket = value_of(lane_->submit(std::move(recorder)));
  timer.submitted(ticket);
  ASSERT_TRUE(lane_->wait(ticket));
  timer.completed(ticket);
  ASSERT_TRUE(timer.collect());
  EXPECT_EQ(timer.dropped_phases(), 1U);
}

/// Faults that only the validation layer sees.
class ValidationTest : public DeviceTest {
 protected:
  void SetUp() override {
    DeviceTest::SetUp();
    if (!testing::with_validation()) GTEST_SKIP() << "without the validation layer";
  }
};

TEST_F(ValidationTest, AMissingBarrierIsReported) {
  Buffer const a = value_of(lane_->arena().buffer({.bytes = 4'096}));
  Buffer const b = value_of(lane_->arena().buffer({.bytes = 4'096}));
  CommandRecorder recorder = value_of(lane_->begin());
  recorder.fill(a.view(), 1);
  recorder.copy(a.view(), b.view());
  succeed(lane_->submit_and_wait(std::move(recorder)));
  EXPECT_THAT(instance_->validation_messages(), Contains(HasSubstr("SYNC-HAZARD-READ-AFTER-WRITE")));
  instance_->clear_validation_messages();
}

TEST_F(ValidationTest, AWrongBarrierIsReported) {
  Buffer const a = value_of(lane_->arena().buffer({.bytes = 4'096}));
  Buffer const b = value_of(lane_->arena().buffer({.bytes = 4'096}));
  CommandRecorder recorder = value_of(lane_->begin());
  recorder.fill(a.view(), 1);
  recorder.barrier(a, use::kComputeWrite, use::kTransferRead);  // the producer is a transfer
  recorder.copy(a.view(), b.view());
  succeed(lane_->submit_and_wait(std::move(recorder)));
  EXPECT_THAT(instance_->validation_messages(), Contains(HasSubstr("SYNC-HAZARD-READ-AFTER-WRITE")));
  instance_->clear_validation_messages();
}

TEST_F(ValidationTest, MisuseOfTheApiIsReported) {
  Buffer const a = value_of(lane_->arena().buffer({.bytes = 64}));
  CommandRecorder recorder = value_of(lane_->begin());
  recorder.fill({a.handle(), 0, 128}, 1);  // past the end
  EXPECT_THAT(instance_->validation_messages(), Contains(HasSubstr("VUID-vkCmdFillBuffer-size-00027")));
  instance_->clear_validation_messages();
}

}  // namespace
}  // namespace garuda::vk
