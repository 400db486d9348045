// Records the passes of one kernel and cuts them into submissions by the device's pace.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "garuda/control.hpp"
#include "garuda/error.hpp"
#include "operators/contract/stats_sink.hpp"
#include "vk_runtime/commands.hpp"
#include "vk_runtime/lane.hpp"
#include "vk_runtime/pace.hpp"

namespace garuda::vulkan {

/// Names of the phases, as RunStats has them.
namespace phase {
inline constexpr char const* kUpload = "upload";
inline constexpr char const* kStatistics = "statistics";
inline constexpr char const* kBuild = "build";
inline constexpr char const* kCount = "count";
inline constexpr char const* kPrefix = "prefix";
inline constexpr char const* kProbe = "probe";
inline constexpr char const* kDownload = "download";
inline constexpr char const* kMark = "mark";
inline constexpr char const* kHash = "hash";
inline constexpr char const* kMap = "map";
inline constexpr char const* kWindows = "windows";
inline constexpr char const* kSum = "sum";
inline constexpr char const* kExtremes = "extremes";
inline constexpr char const* kFold = "fold";
}  // namespace phase

/// Points drawn into one layer of an image, or into several at once.
struct PointPass {
  char const* phase = nullptr;
  char const* label = nullptr;  ///< as the paper names the pass
  vk::Pipeline const* pipeline = nullptr;
  std::span<vk::BoundResource const> resources;
  std::span<std::byte const> push;
  vk::Image const* target = nullptr;
  std::uint32_t layer = 0;
  std::uint32_t attachments = 1;           ///< layers layer, layer + 1, …, each a colour attachment of its own
  VkExtent2D area{};                       ///< drawn into, from texel (0, 0)
  std::optional<VkClearColorValue> clear;  ///< of the area; nothing when every texel of it is drawn
  std::uint32_t first_vertex = 0;
  std::uint32_t vertices = 0;
  std::uint32_t instances = 1;
  /// Uses that read the target's layer before (its contents are dropped), and next.
  vk::ResourceUse last_use = vk::use::kUndefined;
  vk::ResourceUse next_use;
};

/// Elements of a compute pass that cost as much as a point drawn: 30 G elements/s against 0.6 G points/s on an H200,
/// 24 M inserts/s against 2.4 M points/s on lavapipe (2025-10).
constexpr std::uint64_t kItemsPerPoint = 10;
/// Submissions that a pass is cut into at most.
constexpr std::uint64_t kMostParts = 1024;

/// Submissions of one kernel on its lane. Work is recorded in order and each pass's barriers are its recorder's duty.
/// A submission ends before the pass that would take it past the device's Pace::aim_ns(); longer passes are cut, the
/// first part of a phase shorter, and each part is measured before the next one is. Between submissions the caller's
/// cancellation flag is looked at, and the device takes other programs' work; two submissions at most are in flight.
///
/// Where phases are timed by host clocks (see vk::PhaseTimer), each submission is waited for, and a change of phase
/// submits.
class Submissions {
 public:
  /// The arguments outlive this. `stats` and `control` may be null.
  Submissions(vk::Lane& lane, Control const* control, contract::StatsSink* stats);

  /// The recorder to put the next commands of `phase` into; good until the next call of any member. `points`: expected
  /// cost, see draw(). Errors: cancelled, device_failure, out_of_memory.
  Result<vk::CommandRecorder*> record(char const* phase, std::uint64_t points = 0);

  /// Draws `pass`, as often submitting as its points need; primitives keep their order.
  Result<void> draw(PointPass const& pass);

  /// Parts, each in a submission, in which work of `points` is to be done, at most `most`; 1 where one submission holds
  /// it. With `most` workgroups or more each part has some, unless they fill rows.
  std::uint32_t parts_of(char const* phase, std::uint64_t points, std::uint64_t most = kMostParts) const;

  /// Binds and dispatches `groups` workgroups, each invocation of which works on `items_each` elements, in parts where
  /// the pace asks for it.
  Result<void> dispatch(char const* phase, char const* label, vk::Pipeline const& pipeline,
                        std::span<vk::BoundResource const> resources, std::span<std::byte const> push,
                        std::uint64_t groups, std::uint64_t items_each);

  /// The next submission starts after `ticket`.
  void start_after(vk::Ticket ticket) { waits_.push_back(ticket); }

  /// Submits what is recorded, without waiting for it.
  Result<void> submit();

  /// Submits what is recorded and waits until all of it is done; takes command buffers and descriptors back.
  Result<void> finish();

  /// Completion of the latest submission.
  vk::Ticket last() const noexcept { return last_; }

  void add_counter(std::string_view name, std::uint64_t value) {
    if (stats_ != nullptr) stats_->add_counter(name, value);
  }
  /// Adds to what the phase is reported to have moved.
  void count_bytes(std::string_view phase, std::uint64_t bytes) { work_of(phase).bytes += bytes; }
  /// Adds to the bytes of a phase that copies to the host by itself.
  void count_download(std::string_view phase, std::uint64_t bytes) {
    count_bytes(phase, bytes);
    if (stats_ != nullptr) stats_->add_counter(contract::kCopiedDown, bytes);
  }
  /// Adds to the time of a phase that ran on the host.
  void count_time(std::string_view phase, std::uint64_t ns) { work_of(phase).ns += ns; }

  /// Options of waits on this lane.
  vk::WaitOptions wait_options() const noexcept;

 private:
  struct Work {
    std::string_view phase;
    std::uint64_t ns = 0;
    std::uint64_t bytes = 0;
    std::uint64_t items = 0;
    std::uint64_t points = 0;  // expected cost of what is recorded
  };

  Work& work_of(std::string_view phase);
  /// The longest that a submission which ends with work of this phase may take.
  double most_ns(std::string_view phase) const;
  Result<void> draw_range(PointPass const& pass, bool first, std::uint32_t vertex, std::uint32_t vertices);
  Result<void> report();
  void report_copies();

  vk::Lane& lane_;
  Control const* control_;
  contract::StatsSink* stats_;
  vk::Pace& pace_;
  std::optional<vk::CommandRecorder> recorder_;
  char const* phase_ = nullptr;     // open in recorder_
  double expected_ns_ = 0;          // of what was recorded since the last submission
  std::uint32_t phases_begun_ = 0;  // since the timer was last read
  std::vector<vk::Ticket> waits_;
  std::deque<vk::Ticket> in_flight_;
  vk::Ticket last_;
  std::vector<Work> work_;
  std::vector<std::string_view> measured_;  // phases, on these rows
  std::uint64_t uploaded_bytes_ = 0;        // by the lane's transfer, as far as it is reported
  std::uint64_t downloaded_bytes_ = 0;
};

/// Bytes of a struct of push constants.
template <class Push>
std::span<std::byte const> push_bytes(Push const& push) {
  return std::as_bytes(std::span<Push const, 1>(&push, 1));
}

/// `result`; where it is an error, once the device does nothing more for the lane. Who gets the error lets go of
/// buffers and images of its own, which submissions before it may still use: a driver writes to what they were. Blocks
/// for as long as two submissions take.
template <class T>
Result<T> settled(vk::Lane& lane, Result<T> result) {
  if (!result) (void)lane.drain();
  return result;
}

}  // namespace garuda::vulkan
