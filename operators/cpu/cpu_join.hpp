// The CPU path of the join: a hash join of each slice on oneTBB.
#pragma once

#include <cstdint>
#include <memory>

#include "garuda/error.hpp"
#include "operators/join_kernel.hpp"

namespace garuda::operators {

/// Opens the CPU path. Its kernels build on the smaller side of a slice (the right one of two equal ones) unless
/// `tuning.build` names one; the other knobs do not apply. Every call of a kernel runs on the threads of the calling
/// task arena. Pairs come in the order of probe rows, those of one probe row in ascending order of build rows.
/// Phases reported: build, count, probe (pairs), mark.
/// Requires: options.key_bits is 32 or 64. `options.control` and `options.stats` may be null.
Result<std::unique_ptr<JoinBackend>> open_cpu_join(BackendOptions const& options);

/// Upper bound of the host memory that a kernel of the CPU path holds beside its keys, in bytes.
/// `key_bits`: 32 or 64.
std::uint64_t cpu_join_bytes(std::uint64_t build_rows, std::uint64_t probe_rows, std::uint32_t key_bits) noexcept;

}  // namespace garuda::operators
