#include "cli/terminal/standard_streams.hpp"

#include "core/os/file.hpp"
#include "core/os/streams.hpp"

namespace garuda::cli {

Result<void> occupy_standard_streams() {
  auto const error_number = os::prepare_standard_streams();
  if (error_number == 0) return {};
  return tl::unexpected(Error(ErrorCode::output, os::system_message(error_number)).wrap("cannot open the null device"));
}

Result<void> check_output_is_open() {
  if (os::is_writable(os::kOutput)) return {};
  return fail(ErrorCode::output, "cannot write to standard output: it is closed");
}

}  // namespace garuda::cli
