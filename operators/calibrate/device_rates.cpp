#include "operators/calibrate/device_rates.hpp"

#include <algorithm>
#include <bit>
#include <memory>
#include <thread>
#include <vector>

#include "core/stopwatch.hpp"
#include "keys/numbering/mix.hpp"
#include "operators/calibrate/copy_rates.hpp"
#include "operators/calibrate/point_draws.hpp"
#include "operators/calibrate/word_passes.hpp"
#include "vk_runtime/lane.hpp"

namespace garuda::calibrate {
namespace {

constexpr std::uint64_t kLeastItems = std::uint64_t{1} << 14;
constexpr std::uint64_t kMostPoints = std::uint64_t{1} << 24;
constexpr std::uint64_t kMostAccesses = std::uint64_t{1} << 32;
constexpr std::uint64_t kLeastPairs = std::uint64_t{1} << 20;
constexpr std::uint64_t kMostPairs = std::uint64_t{1} << 40;
constexpr std::uint32_t kImageEdge = 4096;  // GARUDA §5
constexpr std::uint32_t kSoftwareImageEdge = 1024;
/// Words of the compute passes: beyond the last-level cache of a GPU; on a software device beyond a core's.
constexpr std::uint32_t kWords = std::uint32_t{1} << 25;
constexpr std::uint32_t kSoftwareWords = std::uint32_t{1} << 22;
constexpr std::int64_t kLargeCopyBytes = std::int64_t{64} << 20;
constexpr std::int64_t kTeamCopyBytes = std::int64_t{128} << 20;
constexpr std::int64_t kSoftwareCopyBytes = std::int64_t{16} << 20;
constexpr std::int64_t kSmallCopyBytes = std::int64_t{64} << 10;
/// Share of the time after which what is left, some tenths of a second, is measured in one run a rate.
constexpr double kShare = 0.5;

std::vector<std::uint32_t> make_pixels(std::uint64_t points, PixelOrder order, PointImage const& image) {
  std::vector<std::uint32_t> pixels(points);
  auto const num_pixels = image.num_pixels();
  for (std::uint64_t i = 0; i < points; ++i) {
    auto const pixel = order == PixelOrder::random ? keys::mix(i) % num_pixels : i % num_pixels;
    pixels[i] = static_cast<std::uint32_t>(order == PixelOrder::clipped ? num_pixels + pixel : pixel);
  }
  return pixels;
}

std::uint32_t image_edge(vk::DeviceTraits const& traits) {
  auto const edge = traits.type == vk::DeviceType::cpu ? kSoftwareImageEdge : kImageEdge;
  return std::min(edge, std::bit_floor(traits.max_render_extent()));
}

class DeviceMeasurement {
 public:
  DeviceMeasurement(vk::Device& device, vk::PipelineStore& pipelines, MeasuringTime& time)
      : device_(device), pipelines_(pipelines), time_(time) {}

  Result<rates::DeviceRates> run() {
    vk::LaneOptions options;
    options.name = "calibration";
    GARUDA_TRY_ASSIGN(lane_, vk::Lane::create(device_, options));
    // First: every query whose tables are in host memory is priced by them, and they take tenths of a second.
    GARUDA_TRY(copies());
    GARUDA_TRY(points());
    GARUDA_TRY(small_draws());
    GARUDA_TRY(clears());
    GARUDA_TRY(words());
    GARUDA_TRY(comparisons());
    GARUDA_TRY(submissions());
    return rates_;
  }

 private:
  bool is_software() const { return device_.traits().type == vk::DeviceType::cpu; }

  template <class Run>
  Result<double> rate(std::uint64_t least, std::uint64_t most, Run const& run) const {
    return measure_rate(least, most, time_, kShare, run);
  }
  int repetitions() const { return time_.repetitions(kShare); }

  Result<double> point_rate(PointTarget target, PixelOrder order) {
    auto per_s = measure_points(*lane_, pipelines_, target, order, time_, kShare);
    GARUDA_TRY(lane_->reset());
    return per_s;
  }

  Result<void> points() {
    time_.report("points");
    GARUDA_TRY_ASSIGN(rates_.random_points_per_s, point_rate(PointTarget::overwrite_2, PixelOrder::random));
    GARUDA_TRY_ASSIGN(rates_.ordered_points_per_s, point_rate(PointTarget::overwrite_2, PixelOrder::ordered));
    GARUDA_TRY_ASSIGN(rates_.clipped_points_per_s, point_rate(PointTarget::overwrite_2, PixelOrder::clipped));
    if (!device_.traits().format(vk::PixelFormat::r32_sfloat).blend) return {};
    GARUDA_TRY_ASSIGN(rates_.random_blends_per_s, point_rate(PointTarget::add, PixelOrder::random));
    GARUDA_TRY_ASSIGN(rates_.ordered_blends_per_s, point_rate(PointTarget::add, PixelOrder::ordered));
    return {};
  }

  Result<double> small_rate(PointTarget target, PixelOrder order) {
    Result<double> per_s = 0.0;
    {
      PointImage const image{rates::kSmallDrawEdge, rates::kSmallDrawEdge, target};
      GARUDA_TRY_ASSIGN(
          auto draw, PointDraw::create(*lane_, pipelines_, image, make_pixels(rates::kSmallDrawPoints, order, image)));
      per_s = rate(rates::kSmallDrawPoints, rates::kSmallDrawPoints, [&](std::uint64_t) { return draw.run(); });
    }
    GARUDA_TRY(lane_->reset());
    return per_s;
  }

  Result<void> small_draws() {
    time_.report("small draws");
    GARUDA_TRY_ASSIGN(rates_.small_random_points_per_s, small_rate(PointTarget::overwrite_2, PixelOrder::random));
    GARUDA_TRY_ASSIGN(rates_.small_ordered_points_per_s, small_rate(PointTarget::overwrite_2, PixelOrder::ordered));
    GARUDA_TRY_ASSIGN(rates_.small_random_reads_per_s, access_rate(WordAccess::random, 2 * rates::kSmallDrawPoints));
    if (!device_.traits().format(vk::PixelFormat::r32_sfloat).blend) return {};
    GARUDA_TRY_ASSIGN(rates_.small_random_blends_per_s, small_rate(PointTarget::add, PixelOrder::random));
    GARUDA_TRY_ASSIGN(rates_.small_ordered_blends_per_s, small_rate(PointTarget::add, PixelOrder::ordered));
    return {};
  }

  Result<void> clears() {
    time_.report("clears");
    {
      auto const edge = image_edge(device_.traits());
      GARUDA_TRY_ASSIGN(auto const image, lane_->arena().image({.format = VK_FORMAT_R32G32_UINT,
                                                                .width = edge,
                                                                .height = edge,
                                                                .usage = VK_IMAGE_USAGE_COLOR_ATTACHMENT_BIT,
                                                                .name = "cleared"}));
      auto const pixels = std::uint64_t{edge} * edge;
      GARUDA_TRY_ASSIGN(rates_.cleared_pixels_per_s, rate(pixels, kMostAccesses, [&](std::uint64_t count) {
                          return clear_pixels(*lane_, image, count);
                        }));
    }
    return lane_->reset();
  }

  std::uint64_t most_words() const {
    auto const most = device_.traits().limits.max_storage_buffer_range / sizeof(std::uint32_t);
    return std::bit_floor(std::min<std::uint64_t>(is_software() ? kSoftwareWords : kWords, most));
  }

  Result<double> access_rate(WordAccess access, std::uint64_t num_words) {
    auto const words = static_cast<std::uint32_t>(num_words);
    Result<double> per_s = 0.0;
    {
      GARUDA_TRY_ASSIGN(auto pass, WordPass::create(*lane_, pipelines_, access, words));
      per_s = rate(words, kMostAccesses, [&](std::uint64_t count) { return pass.run(count); });
    }
    GARUDA_TRY(lane_->reset());
    return per_s;
  }

  Result<void> words() {
    time_.report("compute passes");
    GARUDA_TRY_ASSIGN(auto const streamed, access_rate(WordAccess::stream, most_words()));
    rates_.streamed_bytes_per_s = streamed * 2 * sizeof(std::uint32_t);
    GARUDA_TRY_ASSIGN(rates_.random_reads_per_s, access_rate(WordAccess::random, most_words()));
    GARUDA_TRY_ASSIGN(rates_.atomics_per_s, access_rate(WordAccess::atomic, most_words()));
    auto const cached = std::min(rates::kCachedWords, most_words());
    GARUDA_TRY_ASSIGN(rates_.cached_reads_per_s, access_rate(WordAccess::random, cached));
    GARUDA_TRY_ASSIGN(rates_.cached_atomics_per_s, access_rate(WordAccess::atomic, cached));
    return {};
  }

  /// Items are pairs of rows, so rows double. Where the compute path does not run there is no such rate.
  Result<void> comparisons() {
    time_.report("comparisons");
    auto per_s = rate(kLeastPairs, kMostPairs, [&](std::uint64_t pairs) {
      return compare_pairs(device_, pipelines_, time_.control(), std::uint64_t{1} << std::bit_width(pairs) / 2);
    });
    if (!per_s && per_s.error().code() == ErrorCode::no_device) return {};
    GARUDA_TRY_ASSIGN(rates_.comparisons_per_s, std::move(per_s));
    return {};
  }

  Result<void> submissions() {
    time_.report("submissions");
    std::vector<double> samples_ns;
    for (int i = 0; i < 21; ++i) {
      GARUDA_TRY_ASSIGN(auto const ns, submit_nothing(*lane_));
      samples_ns.push_back(static_cast<double>(ns));
    }
    rates_.submission_ns = fastest(samples_ns);
    GARUDA_TRY(lane_->reset());
    return lanes();
  }

  /// Measures the start of every query: a lane with one block of memory and one submission.
  Result<void> lanes() {
    std::vector<double> samples_ns;
    for (int i = 0; i < repetitions(); ++i) {
      GARUDA_TRY(time_.check());
      Stopwatch const watch;
      {
        vk::LaneOptions options;
        options.name = "calibration lane";
        GARUDA_TRY_ASSIGN(auto const lane, vk::Lane::create(device_, options));
        GARUDA_TRY(submit_nothing(*lane));
      }
      samples_ns.push_back(static_cast<double>(watch.elapsed_ns()));
    }
    rates_.lane_ns = fastest(samples_ns);
    return {};
  }

  /// A large copy gives the rate, a small one what every call costs beside it.
  Result<rates::UploadRate> upload(vk::UploadMode mode) {
    auto const bytes = is_software() ? kSoftwareCopyBytes : kLargeCopyBytes;
    GARUDA_TRY(time_.check());
    GARUDA_TRY_ASSIGN(auto const small, measure_device_copy(device_, mode, kSmallCopyBytes, repetitions()));
    GARUDA_TRY_ASSIGN(auto const large, measure_device_copy(device_, mode, bytes, repetitions()));
    if (mode == vk::UploadMode::stage)
      rates_.download_bytes_per_s = static_cast<double>(bytes) / large.download_ns * 1e9;
    auto const rate = static_cast<double>(bytes - kSmallCopyBytes) / std::max(large.upload_ns - small.upload_ns, 1.0);
    return rates::UploadRate{rate * 1e9, std::max(small.upload_ns - static_cast<double>(kSmallCopyBytes) / rate, 0.0)};
  }

  Result<void> copies() {
    time_.report("copies");
    auto const& traits = device_.traits();
    GARUDA_TRY_ASSIGN(auto const staged, upload(vk::UploadMode::stage));
    rates_.stage_bytes_per_s = staged.bytes_per_s;
    rates_.stage_call_ns = staged.call_ns;
    if (traits.features.external_memory_host) {
      GARUDA_TRY_ASSIGN(auto const imported, upload(vk::UploadMode::import_host));
      rates_.import_bytes_per_s = imported.bytes_per_s;
      rates_.import_call_ns = imported.call_ns;
    }
    if (traits.device_memory_mappable()) {
      GARUDA_TRY_ASSIGN(auto const mapped, upload(vk::UploadMode::map));
      rates_.map_bytes_per_s = mapped.bytes_per_s;
      rates_.map_call_ns = mapped.call_ns;
    }
    return team_copies();
  }

  /// Measures copies of as many bytes as a column of a table that is worth sending there.
  Result<void> team_copies() {
    auto const bytes = is_software() ? kSoftwareCopyBytes : kTeamCopyBytes;
    auto const threads = std::clamp(std::thread::hardware_concurrency(), 1U, vk::kMostStreamingThreads);
    GARUDA_TRY(time_.check());
    auto const measure = [&](vk::CopyDirection direction) {
      auto const team = vk::streaming_team(direction, threads, vk::UploadMode::stage);
      return measure_team_copy(device_, team, bytes, repetitions());
    };
    GARUDA_TRY_ASSIGN(rates_.team_upload_bytes_per_s, measure(vk::CopyDirection::up));
    GARUDA_TRY_ASSIGN(rates_.team_download_bytes_per_s, measure(vk::CopyDirection::down));
    return {};
  }

  vk::Device& device_;
  vk::PipelineStore& pipelines_;
  MeasuringTime& time_;
  std::unique_ptr<vk::Lane> lane_;
  rates::DeviceRates rates_;
};

}  // namespace

Result<double> measure_points(vk::Lane& lane, vk::PipelineStore& pipelines, PointTarget target, PixelOrder order,
                              MeasuringTime const& time, double share) {
  auto const edge = image_edge(lane.device().traits());
  PointImage const image{edge, edge, target};
  return measure_rate(kLeastItems, kMostPoints, time, share, [&](std::uint64_t points) -> Result<std::uint64_t> {
    GARUDA_TRY_ASSIGN(auto draw, PointDraw::create(lane, pipelines, image, make_pixels(points, order, image)));
    return draw.run();
  });
}

Result<rates::DeviceRates> measure_device(vk::Device& device, vk::PipelineStore& pipelines, MeasuringTime& time) {
  GARUDA_TRY_ASSIGN(auto rates, DeviceMeasurement(device, pipelines, time).run());
  if (!rates::are_sane(rates))
    return fail(ErrorCode::device_failure, "the device gave times that cannot be: " + device.traits().name);
  return rates;
}

}  // namespace garuda::calibrate
