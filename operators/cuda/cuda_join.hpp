// The CUDA path of the join.
#pragma once

#include <cstdint>
#include <memory>

#include "garuda/error.hpp"
#include "operators/contract/join_kernel.hpp"
#include "operators/cuda/cuda_device.hpp"

namespace garuda::cuda {

/// Opens the CUDA path for one join: a stream for each of `options.lanes`. Its kernels build on the side that
/// `tuning.build` names, else on the smaller one (the left one of two equal ones), by `tuning.method`. `device` and
/// what `options` refers to outlive the backend. Phases reported: upload, partition, build, count, prefix, probe,
/// download, mark. Errors: no_device, out_of_memory, device_failure.
Result<std::unique_ptr<contract::JoinBackend>> open_cuda_join(CudaDevice& device,
                                                              contract::BackendOptions const& options);

/// Device bytes that a slice takes at most.
std::uint64_t cuda_join_bytes(std::uint64_t left_rows, std::uint64_t right_rows, std::uint32_t key_bits);

}  // namespace garuda::cuda
