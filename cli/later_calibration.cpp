#include "cli/later_calibration.hpp"

#include <exception>

#include "core/os/process.hpp"

namespace garuda::cli {

void calibrate_later() noexcept {
  try {
    os::start_detached({"garuda", "calibrate", "--missing"});
  } catch (std::exception const&) {  // no memory for the arguments: it is left to a later run
  }
}

}  // namespace garuda::cli
