// The CUDA path on resident tables, for the benchmarks.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "bench/record.hpp"
#include "bench/resident_path.hpp"
#include "garuda/error.hpp"

namespace garuda::bench {

/// Opens the device with this UUID where one is given, else `device` (CUDA's index, a part of a name, or nothing: the
/// first). Samples are timed by CUDA events, from the
/// first step of each stretch of work to its wait; host_ns has the waits between them too.
/// `tuning`: of joins, as
/// method=partitioned|global|sorted,payload=carry|gather,partition_rows=N,partition_by=passes|sort,
/// tile_threads=512|1024,tile_items=8|16. Errors: usage, no_device, device_failure.
Result<std::unique_ptr<ResidentPath>> open_cuda_path(std::optional<std::string> const& device,
                                                     std::optional<DeviceUuid> const& uuid, std::string const& tuning);

/// Copies to the CUDA device of this name and back. Errors: no_device, out_of_memory, device_failure.
Result<CopyBandwidth> measure_cuda_copy(std::string const& device);

}  // namespace garuda::bench
