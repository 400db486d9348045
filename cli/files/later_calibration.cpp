#include "cli/files/later_calibration.hpp"

#include <atomic>
#include <exception>

#include "core/os/process.hpp"

namespace garuda::cli {

void calibrate_later() noexcept {
  static std::atomic_flag started;  // by an earlier command of a batch
  if (started.test_and_set()) return;
  try {
    os::start_detached({"garuda", "calibrate", "--missing"});
  } catch (std::exception const&) {  // no memory for the arguments: it is left to a later run
  }
}

}  // namespace garuda::cli
