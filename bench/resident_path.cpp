#include "bench/resident_path.hpp"

#include <fmt/format.h>

namespace garuda::bench {

Result<SharedMemory> DeviceBlock::share() const {
  return fail(ErrorCode::no_device, "this device memory was not made to be shared");
}

Result<UploadedTable> ResidentPath::open_shared(UploadedTable const&) {
  return fail(ErrorCode::no_device, fmt::format("path {} does not open memory of other paths", to_string(path())));
}

}  // namespace garuda::bench
