#include "operators/calibrate/measuring.hpp"

#include <fmt/format.h>

namespace garuda::calibrate {

void MeasuringTime::report(std::string_view what) {
  before_ns_ += watch_.elapsed_ns();
  if (control_.on_progress) control_.on_progress({what, 0, 0, 0});
  watch_ = Stopwatch();
}

bool MeasuringTime::is_late(double share) const {
  return static_cast<double>(before_ns_ + watch_.elapsed_ns()) > share * static_cast<double>(most_.count());
}

Result<void> MeasuringTime::check() const {
  if (control_.is_cancelled()) return fail(ErrorCode::cancelled, "the calibration was cancelled");
  if (gives_up_ && is_late(1))
    return fail(ErrorCode::limit_exceeded,
                fmt::format("measuring was given up after {} s", std::chrono::duration<double>(most_).count()));
  return {};
}

}  // namespace garuda::calibrate
