// The context that all passes of one slice share, whatever the operator: the lane, its memory and budget, the shapes of
// images, and the passes of one kernel, recorded and cut into submissions by the device's pace.
#pragma once

#include <bit>
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
#include "shaders/shared/join_layout.h"
#include "vk_runtime/device/device.hpp"
#include "vk_runtime/lane.hpp"

namespace garuda::vulkan {

/// `value` > 0.
constexpr std::uint32_t log2_floor(std::uint64_t value) noexcept {
  return static_cast<std::uint32_t>(std::bit_width(value)) - 1;
}
constexpr std::uint32_t log2_ceil(std::uint64_t value) noexcept { return value <= 1 ? 0 : log2_floor(value - 1) + 1; }

/// Greatest width and height of hash images (GARUDA §5).
inline constexpr std::uint32_t kDefaultImageExtent = 4096;
/// Greatest width and height of result FBOs.
inline constexpr std::uint32_t kDefaultResultExtent = 2048;
/// Most pixels of an image: direct addresses and prefix sums of pixels stay within 32 bits. A hash is shifted right by
/// 32 - log2(pixels), so at least 4 bits are left.
inline constexpr std::uint64_t kMostPixels = std::uint64_t{1} << 28;

/// A row-major image with a width that is a power of two.
struct ImageShape {
  std::uint32_t log2_width = 0;
  std::uint32_t height = 0;

  std::uint32_t width() const noexcept { return std::uint32_t{1} << log2_width; }
  std::uint64_t pixels() const noexcept { return std::uint64_t{width()} * height; }
  shaders::Raster raster() const noexcept {
    return {log2_width, 2.0F / static_cast<float>(width()), 2.0F / static_cast<float>(height)};
  }
  friend bool operator==(ImageShape const&, ImageShape const&) = default;
};

/// The smallest image of at least `texels` texels, width and height at most `extent`; the largest one when none is.
/// `texels` ≥ 1, `extent` ≥ 1.
ImageShape image_for(std::uint64_t texels, std::uint32_t extent) noexcept;

/// Texels of the largest image that image_for makes: its width is a power of two, so they may be fewer than extent².
std::uint64_t most_texels(std::uint32_t extent) noexcept;

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
  void max_counter(std::string_view name, std::uint64_t value) {
    if (stats_ != nullptr) stats_->max_counter(name, value);
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

/// The last member of a kernel: its lane is drained before what its passes use goes.
struct DrainedLane {
  vk::Lane& lane;

  ~DrainedLane() {
    // A failure to drain is a lost device: nothing runs any more, and the next call on the lane reports it.
    (void)lane.drain();
  }
};

/// `result`; where it is an error, once the device does nothing more for the lane. Who gets the error lets go of
/// buffers and images of its own, which submissions before it may still use: a driver writes to what they were. Blocks
/// for as long as two submissions take.
template <class T>
Result<T> settled(vk::Lane& lane, Result<T> result) {
  if (!result) (void)lane.drain();
  return result;
}

/// References outlive the context; used by one thread.
class PassContext {
 public:
  PassContext(vk::Lane& lane, Submissions& submissions, std::uint64_t memory_budget_bytes)
      : lane_(lane), submissions_(submissions), budget_bytes_(memory_budget_bytes) {}

  vk::Lane& lane() noexcept { return lane_; }
  Submissions& submissions() noexcept { return submissions_; }

  /// Device memory that this lane may still take. Bytes.
  std::uint64_t bytes_left() const noexcept;

  /// A buffer for the device alone, at least one word. Errors: limit_exceeded past the lane's share, or past what a
  /// shader sees of one buffer (maxStorageBufferRange); those of the arena.
  Result<vk::Buffer> buffer(std::uint64_t bytes, char const* name, vk::MemoryUse use = vk::MemoryUse::device);
  /// A buffer filled with zeros by a command of `phase`; the commands that follow see them in compute and vertices.
  Result<vk::Buffer> zeroed_buffer(std::uint64_t bytes, char const* name, char const* phase);
  /// The use of memory that upload() writes: mapped where that is the lane's way.
  vk::MemoryUse upload_use() const noexcept;
  /// A buffer that upload() writes.
  Result<vk::Buffer> upload_buffer(std::uint64_t bytes, char const* name);
  /// An image to draw into and to read.
  Result<vk::Image> image(VkFormat format, ImageShape const& shape, std::uint32_t layers, char const* name);

  /// The result of `make(size)`, with `size` halved, not below `least`, while the device has no memory for it: heaps
  /// may hold less than they say. The caller does the rest in further passes. Counted as "images_halved".
  template <class Make>
  auto halved_until_it_fits(std::uint64_t& size, std::uint64_t least, Make const& make) -> decltype(make(size)) {
    while (true) {
      auto made = make(size);
      if (made || made.error().code() != ErrorCode::out_of_memory || size / 2 < least) return made;
      size /= 2;
      submissions_.add_counter("images_halved", 1);
    }
  }

  /// Starts the copy of `source` to `destination` at `offset`; what is submitted next waits for it. The host's time is
  /// the upload phase's time. In mode import_host `source` stays unchanged until then.
  Result<void> upload(vk::Buffer const& destination, std::uint64_t offset, std::span<std::byte const> source);

  /// The bytes of `source` (not empty), for passes to read. On a lane that reads in place it is the host's memory
  /// itself, unless the driver refuses these pages or they do not lie at a multiple of `alignment` bytes (0: as
  /// descriptors need it); else a buffer that upload() writes. `source` stays alive and unchanged as long as the
  /// buffer, which is not dropped before the device is done.
  Result<vk::Buffer> input(std::span<std::byte const> source, char const* name, std::uint64_t alignment = 0);

  /// Fills a buffer of upload_buffer() with what `write` writes to a span of its words: in place where it is mapped.
  template <class Write>
  Result<void> make(vk::Buffer const& destination, Write const& write) {
    if (destination.mapped() != nullptr) {
      write(destination.mapped_as<std::uint32_t>());
      return destination.flush(0, destination.bytes());
    }
    std::vector<std::uint32_t> words(destination.bytes() / sizeof(std::uint32_t));
    write(std::span(words));
    GARUDA_TRY(upload(destination, 0, std::as_bytes(std::span(words))));
    return lane_.transfer().drain();
  }

  /// Binds and dispatches a compute pass, one invocation per `invocations`, each of which works on `items_each`
  /// elements. Its barriers are the caller's.
  Result<void> dispatch(char const* phase, char const* label, vk::Pipeline const& pipeline,
                        std::span<vk::BoundResource const> resources, std::span<std::byte const> push,
                        std::uint64_t invocations, std::uint64_t items_each = 1);

  /// Orders all accesses of one kind before all of another, in `phase`.
  Result<void> order(char const* phase, vk::ResourceUse producer, vk::ResourceUse consumer);

  /// Takes the memory that read_back needs, which it would else take at its first call.
  Result<void> reserve_read_back();
  /// Reads `values` (trivially copyable, at most 4096 bytes) from `buffer` at `offset`, written by compute; submits
  /// what was recorded and waits for it.
  Result<void> read_back(char const* phase, vk::Buffer const& buffer, std::uint64_t offset,
                         std::span<std::byte> values);

  /// Submits what was recorded, waits, and copies the bytes of `buffer` from `offset` on to the host.
  Result<void> download(vk::Buffer const& buffer, std::span<std::byte> destination, std::uint64_t offset = 0);

  /// `count` values that passes have written to `buffer` from byte `offset` on. Submits what was recorded and waits.
  /// In place where the host reads this memory as its own, else a copy in `room`: good as long as both, until the
  /// device writes there again.
  template <class T>
  Result<std::span<T const>> read(vk::Buffer const& buffer, std::uint64_t offset, std::size_t count,
                                  std::vector<T>& room) {
    GARUDA_TRY_ASSIGN(auto const* const bytes, written(buffer, offset, count * sizeof(T)));
    if (bytes != nullptr) return std::span(reinterpret_cast<T const*>(bytes), count);
    room.resize(count);
    GARUDA_TRY(download(buffer, std::as_writable_bytes(std::span(room)), offset));
    return std::span<T const>(room);
  }

 private:
  Result<void> check_budget(std::uint64_t bytes, char const* name) const;
  /// The host's view of what passes have written, once they are done; nullptr where it has none as fast as its own.
  Result<std::byte const*> written(vk::Buffer const& buffer, std::uint64_t offset, std::uint64_t bytes);

  vk::Lane& lane_;
  Submissions& submissions_;
  std::uint64_t budget_bytes_;
  vk::Buffer staging_;  // for read_back
};

}  // namespace garuda::vulkan
