#include "operators/calibrate/background_calibration.hpp"

#include <chrono>
#include <fstream>
#include <iterator>
#include <system_error>
#include <utility>

#include "core/os/process.hpp"

namespace garuda::calibrate {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::hours kLately{24};
constexpr std::chrono::milliseconds kLook{50};
constexpr std::chrono::milliseconds kQuiet{500};

/// Stops what still measures when the process ends, before libraries that it uses do.
class Running {
 public:
  static Running& instance() {
    static Running running;
    return running;
  }
  void add(BackgroundCalibration* one, std::function<void()> stop) {
    std::lock_guard const lock(mutex_);
    stops_.emplace_back(one, std::move(stop));
  }
  void remove(BackgroundCalibration const* one) {
    std::lock_guard const lock(mutex_);
    std::erase_if(stops_, [one](auto const& entry) { return entry.first == one; });
  }
  Running(Running const&) = delete;
  Running& operator=(Running const&) = delete;
  ~Running() {
    std::lock_guard const lock(mutex_);
    for (auto const& [one, stop] : stops_) stop();
  }

 private:
  Running() = default;
  std::mutex mutex_;
  std::vector<std::pair<BackgroundCalibration*, std::function<void()>>> stops_;
};

fs::path mark_of(fs::path const& folder, std::string const& file) { return folder / (file + ".failed"); }

}  // namespace

std::optional<MeasuringLock> MeasuringLock::take(fs::path const& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  auto lock = os::FileLock::take(folder / "measuring.lock");
  if (!lock) return std::nullopt;
  return MeasuringLock(folder, *std::move(lock));
}

bool MeasuringLock::failed_lately(std::string const& file) const {
  std::error_code error;
  auto const mark = mark_of(folder_, file);
  auto const when = fs::last_write_time(mark, error);
  if (error || fs::file_time_type::clock::now() - when > kLately) return false;
  std::ifstream in(mark);
  return std::string(std::istreambuf_iterator<char>(in), {}) == GARUDA_VERSION;
}

void MeasuringLock::remember_failure(std::string const& file) const {
  std::ofstream(mark_of(folder_, file)) << GARUDA_VERSION;
}

Result<void> measure_missing(std::filesystem::path const& folder, std::vector<Measurement> const& measurements,
                             std::atomic<bool> const* cancelled, std::function<void()> const& before_rate,
                             std::chrono::nanoseconds most) {
  auto const lock = MeasuringLock::take(folder);
  if (!lock) return {};
  Control control;
  control.cancelled = cancelled;
  control.on_progress = [&](Progress const&) { before_rate(); };
  for (auto const& measurement : measurements) {
    if (lock->failed_lately(measurement.file)) continue;
    before_rate();
    if (control.is_cancelled()) return fail(ErrorCode::cancelled, "measuring was stopped");
    MeasuringTime time(control, most, true);
    auto measured = measurement.run(time);
    if (control.is_cancelled()) return fail(ErrorCode::cancelled, "measuring was stopped");
    if (measured) continue;
    lock->remember_failure(measurement.file);
    return measured;
  }
  return {};
}

BackgroundCalibration::BackgroundCalibration(std::filesystem::path folder, std::vector<Measurement> measurements,
                                             std::function<bool()> is_busy, std::function<void()> at_end)
    : is_busy_(std::move(is_busy)), process_(os::process_id()) {
  Running::instance().add(this, [this] { stop(); });
  thread_ = std::thread(
      [this, folder = std::move(folder), measurements = std::move(measurements), at_end = std::move(at_end)] {
        // Nobody waits for an answer: plans say what rates they have.
        (void)measure_missing(folder, measurements, &stopping_->is_wanted, [this] { wait_until_idle(); });
        at_end();
      });
}

BackgroundCalibration::~BackgroundCalibration() {
  Running::instance().remove(this);
  stop();
}

void BackgroundCalibration::stop() noexcept {
  if (!thread_.joinable()) return;
  if (os::process_id() != process_) {
    (void)stopping_.release();
    return thread_.detach();
  }
  {
    std::lock_guard const lock(stopping_->mutex);
    stopping_->is_wanted = true;
  }
  stopping_->wakes.notify_all();
  thread_.join();
}

void BackgroundCalibration::wait_until_idle() {
  auto quiet_since = std::chrono::steady_clock::now();
  std::unique_lock lock(stopping_->mutex);
  while (!stopping_->is_wanted) {
    auto const now = std::chrono::steady_clock::now();
    if (is_busy_()) quiet_since = now;
    if (now - quiet_since >= kQuiet) return;
    stopping_->wakes.wait_for(lock, kLook);
  }
}

}  // namespace garuda::calibrate
